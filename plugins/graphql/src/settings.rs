//! What a person sets on a source.

use serde::Deserialize;

use crate::address;
use crate::seam::Failure;

/// What GitHub takes at most is 100; more than some is a lot to read.
const DEFAULT_PAGE_SIZE: u32 = 30;
const MAX_PAGE_SIZE: u32 = 1_000;

/// The source's settings, as `index` and every call get them. Unknown keys are
/// the host's business.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The endpoint, instead of the one that was found.
    pub(crate) endpoint: Option<String>,
    /// A header that carries a key, for APIs that take no bearer token.
    pub(crate) auth_header: Option<String>,
    /// What `first` is where a list demands it and nobody said.
    pub(crate) page_size: u32,
    /// Whether an answer of which parts failed is an answer.
    pub(crate) partial: Partial,
}

/// What becomes of an answer of which parts failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Partial {
    /// The call fails; data and errors are in its details.
    #[default]
    Fail,
    /// The data is the answer; the errors stand beside status and headers.
    Answer,
}

impl Default for Settings {
    fn default() -> Self {
        Self { endpoint: None, auth_header: None, page_size: DEFAULT_PAGE_SIZE, partial: Partial::Fail }
    }
}

#[derive(Default, Deserialize)]
struct Raw {
    base_url: Option<String>,
    auth_header: Option<String>,
    page_size: Option<u32>,
    partial: Option<String>,
}

impl Settings {
    /// # Errors
    /// `settings-invalid`, naming the key.
    pub(crate) fn read(json: &str) -> Result<Self, Failure> {
        if json.trim().is_empty() {
            return Ok(Self::default());
        }
        let raw: Option<Raw> = serde_json::from_str(json).map_err(|fault| invalid(&fault.to_string()))?;
        let raw = raw.unwrap_or_default();
        let given = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let endpoint = given(raw.base_url)
            .map(|url| address::endpoint(&url))
            .transpose()
            .map_err(|fault| invalid(&format!("base_url: {fault}")))?;
        let auth_header = given(raw.auth_header).map(|name| header_name(&name)).transpose()?;
        let page_size = raw.page_size.unwrap_or(DEFAULT_PAGE_SIZE);
        if !(1..=MAX_PAGE_SIZE).contains(&page_size) {
            return Err(invalid(&format!("page_size is {page_size}: 1 to {MAX_PAGE_SIZE} are taken")));
        }
        let partial = match raw.partial.as_deref() {
            None | Some("fail") => Partial::Fail,
            Some("answer") => Partial::Answer,
            Some(other) => {
                let given = crate::text::line(other, 60);
                return Err(invalid(&format!("partial is {given:?}: use \"fail\" or \"answer\"")));
            }
        };
        Ok(Self { endpoint, auth_header, page_size, partial })
    }
}

/// A token of RFC 9110, section 5.6.2.
fn header_name(text: &str) -> Result<String, Failure> {
    let name = text.trim();
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.bytes().all(fits) && name.len() <= 100 {
        return Ok(name.to_owned());
    }
    Err(invalid(&format!("auth_header: {:?} is no name of a header", crate::text::line(name, 60))))
}

fn invalid(why: &str) -> Failure {
    Failure::new("settings-invalid", format!("the source's settings can't be used: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_or_say_what_is_wrong() {
        assert_eq!(Settings::read("").unwrap(), Settings::default());
        assert_eq!(Settings::read("null").unwrap(), Settings::default());
        let read = Settings::read(
            r#"{"base_url":"https://a.example/graphql/","auth_header":"X-Key","page_size":5,"partial":"answer"}"#,
        )
        .unwrap();
        assert_eq!(read.endpoint.as_deref(), Some("https://a.example/graphql/"));
        assert_eq!((read.auth_header.as_deref(), read.page_size), (Some("X-Key"), 5));
        assert_eq!(read.partial, Partial::Answer);
        let check = |json: &str, part: &str| {
            let fault = Settings::read(json).unwrap_err();
            assert!(fault.code == "settings-invalid" && fault.message.contains(part), "{}", fault.message);
        };
        check(r#"{"base_url":"ftp://a"}"#, "base_url");
        check(r#"{"auth_header":"a b"}"#, "auth_header");
        check(r#"{"page_size":0}"#, "page_size");
        check(r#"{"partial":"maybe"}"#, "partial");
        check("[", "settings");
    }
}
