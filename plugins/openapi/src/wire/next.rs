//! Links to a next page. An answer tells one as a whole URL; what is callable
//! again is the same operation with the link's query. A link never leads
//! anywhere else: another path would be another tool, which a policy may
//! forbid.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::encode;
use super::headers::Headers;
use crate::address;

/// The argument that takes a link.
pub(crate) const ARGUMENT: &str = "nextLink";
/// Members of answers that hold a link, or an object that does.
const KEYS: [&str; 17] = [
    "@odata.nextLink",
    "odata.nextLink",
    "nextLink",
    "next_link",
    "next",
    "next_url",
    "nextUrl",
    "next_page_url",
    "nextPageUrl",
    "next_page_uri",
    "nextPageUri",
    "nextPage",
    "next_page",
    "nextRecordsUrl",
    "next_href",
    "href",
    "url",
];
const HOLDERS: [&str; 8] = ["links", "_links", "paging", "pagination", "meta", "page", "next", "metadata"];
const MAX_DEPTH: usize = 3;
const MAX_LINK_BYTES: usize = 8 << 10;
const MAX_ARGUMENTS_BYTES: usize = 16 << 10;
/// What the host writes where a credential stood.
const REDACTED: [&str; 2] = ["[redacted]", "%5Bredacted%5D"];

/// Whether a member of this name may hold a link.
pub(crate) fn is_named(name: &str) -> bool {
    KEYS[..15].contains(&name) || HOLDERS[..4].contains(&name)
}

/// The query of a link, where it is one of the API at `base`.
///
/// # Errors
/// In words, why it is not.
pub(super) fn query_of(link: &str, base: &str) -> Result<String, String> {
    if link.len() > MAX_LINK_BYTES {
        return Err(format!("it has more than {MAX_LINK_BYTES} bytes"));
    }
    let whole = address::join(base, link).filter(|whole| address::origin(whole) == address::origin(base));
    let whole = whole.ok_or_else(|| "it leads to another server than the call".to_owned())?;
    let whole = whole.split('#').next().unwrap_or_default();
    let query = whole.split_once('?').map_or("", |(_, query)| query);
    let pairs: Vec<String> = query
        .split('&')
        .filter(|pair| !pair.is_empty() && !REDACTED.iter().any(|mark| pair.contains(mark)))
        .map(encode::literal)
        .collect();
    if pairs.is_empty() {
        return Err("it has no query, and so says nothing about a page".to_owned());
    }
    Ok(pairs.join("&"))
}

/// The arguments with which the same call gives the next page, where the
/// answer tells one.
pub(super) fn arguments(headers: &Headers, data: &str, given: &str, base: &str) -> Option<Value> {
    let link =
        in_header(headers).or_else(|| in_object(data, 0)).filter(|link| query_of(link, base).is_ok())?;
    if given.len() > MAX_ARGUMENTS_BYTES {
        return None;
    }
    let mut arguments: Map<String, Value> = serde_json::from_str(given).ok()?;
    arguments.insert(ARGUMENT.to_owned(), json!(link));
    Some(Value::Object(arguments))
}

/// RFC 8288: `<https://…?page=2>; rel="next"`.
fn in_header(headers: &Headers) -> Option<String> {
    let line = headers.all("link");
    for part in line.split('<').skip(1) {
        let Some((target, parameters)) = part.split_once('>') else { continue };
        let mut relations = parameters.split(';').filter_map(|each| each.trim().split_once('='));
        let is_next = relations.any(|(name, value)| {
            let value = value.trim().trim_end_matches(',').trim_end().trim_matches('"');
            name.trim().eq_ignore_ascii_case("rel")
                && value.split_ascii_whitespace().any(|word| word.eq_ignore_ascii_case("next"))
        });
        if is_next {
            return Some(target.trim().to_owned());
        }
    }
    None
}

fn in_object(json: &str, depth: usize) -> Option<String> {
    if depth == MAX_DEPTH || !json.trim_start().starts_with('{') {
        return None;
    }
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(json).ok()?;
    // A link by itself, `href` and `url`, stands in an object called `next`.
    let keys = if depth == 0 { &KEYS[..15] } else { &KEYS[..] };
    for key in keys {
        let text = members.get(*key).and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
        if let Some(link) = text.filter(|text| is_link(text)) {
            return Some(link);
        }
    }
    HOLDERS.iter().find_map(|key| in_object(members.get(*key)?.get(), depth + 1))
}

fn is_link(text: &str) -> bool {
    ["http://", "https://", "/", "?"].iter().any(|start| text.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "https://api.example.com/v1";

    fn headers(link: &str) -> Headers {
        Headers::new(vec![("link".to_owned(), link.as_bytes().to_vec())])
    }

    fn link(header: &str, data: &str) -> Option<String> {
        let arguments = arguments(&headers(header), data, r#"{"id":1}"#, BASE)?;
        assert_eq!(arguments["id"], 1);
        arguments[ARGUMENT].as_str().map(str::to_owned)
    }

    #[test]
    fn links_are_found_where_apis_put_them() {
        let github = "<https://api.example.com/repositories/1/issues?page=1>; rel=\"prev\", <https://api.example.com/repositories/1/issues?page=3>; rel=\"next\"";
        assert_eq!(
            link(github, "[]").as_deref(),
            Some("https://api.example.com/repositories/1/issues?page=3")
        );
        let next = |data: &str| link("", data);
        assert_eq!(
            next(r#"{"@odata.nextLink":"https://api.example.com/v1/users?$skiptoken=x"}"#).as_deref(),
            Some("https://api.example.com/v1/users?$skiptoken=x")
        );
        assert_eq!(next(r#"{"links":{"next":{"href":"/v1/a?c=2"}}}"#).as_deref(), Some("/v1/a?c=2"));
        assert_eq!(next(r#"{"meta":{"pagination":{"next_url":"?p=2"}}}"#).as_deref(), Some("?p=2"));
        assert_eq!(next(r#"{"next":"cursor"}"#), None);
        assert_eq!(next(r#"{"url":"https://api.example.com/v1/a?c=2"}"#), None);
        assert_eq!(next(r#"{"next":"https://evil.example/v1?a=b"}"#), None);
        assert_eq!(next(r#"{"next":null}"#), None);
    }

    #[test]
    fn a_link_gives_its_query_and_nothing_else() {
        assert_eq!(
            query_of("https://api.example.com/other?a=b c&$t=%20x#f", BASE).unwrap(),
            "a=b%20c&$t=%20x"
        );
        assert_eq!(query_of("?page=2&api_key=[redacted]", BASE).unwrap(), "page=2");
        assert!(query_of("https://api.example.com.evil.example/?a", BASE).is_err());
        assert!(query_of("//evil.example/?a", BASE).is_err());
        assert!(query_of("http://api.example.com/?a", BASE).is_err());
        assert!(query_of("/v1/next/7", BASE).is_err());
        assert_eq!(query_of("?a=\r\nX", BASE).unwrap(), "a=%0D%0AX");
    }
}
