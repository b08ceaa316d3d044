//! Credentials, as the host places them into requests: a guest names the
//! auth methods, the values never enter it.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use url::form_urlencoded;

use super::Origin;
use super::place::{COOKIE_VALUE, PlaceError, SEGMENT, Sealing};
use super::redact::Redactor;
use super::sign::Signing;

/// A value that is shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a value.
    pub fn new(value: String) -> Self {
        Self(value)
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        let mut bytes = std::mem::take(&mut self.0).into_bytes();
        bytes.fill(0);
        std::hint::black_box(&bytes);
    }
}

/// Where a value goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Location {
    /// A header.
    Header,
    /// A query parameter.
    Query,
    /// A cookie.
    Cookie,
    /// The placeholder `{name}` in the URL's path.
    Path,
    /// A field of a form in the body.
    Form,
}

/// One value and its place.
#[derive(Debug, Clone)]
pub struct Placement {
    /// Where.
    pub location: Location,
    /// The name of the header, parameter, cookie, placeholder or field.
    pub name: String,
    /// The whole value, its template filled: `Bearer …`.
    pub value: Secret,
}

/// One auth method of a connection, ready to be placed.
#[derive(Debug, Clone, Default)]
pub struct CredentialMethod {
    /// The auth method's id.
    pub id: String,
    /// Its placements.
    pub placements: Vec<Placement>,
    /// What signs the request once everything is placed.
    pub signing: Option<Signing>,
}

/// How to get a newer credential than the one that an upstream refused.
#[derive(Clone)]
pub struct Renewal {
    /// The auth method whose values age.
    pub method: String,
    /// Asks for it; none where there is none to be had.
    pub ask: Arc<dyn Fn() -> BoxFuture<'static, Option<Credential>> + Send + Sync>,
}

impl fmt::Debug for Renewal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Renewal({})", self.method)
    }
}

/// What a connection gives a tool call.
#[derive(Debug, Clone, Default)]
pub struct Credential {
    /// The connection's name, for records.
    pub connection: String,
    /// The origins that a value of it may travel to.
    pub origins: Vec<Origin>,
    /// Its methods.
    pub methods: Vec<CredentialMethod>,
    /// The methods of the running tool.
    pub default_methods: Vec<String>,
    /// Every secret value in it, to be found in what comes back.
    pub secrets: Vec<Secret>,
    /// How to get a newer one; none where its values do not age.
    pub renewal: Option<Renewal>,
    /// Counts its renewals.
    pub generation: u64,
}

impl Credential {
    /// Finds its secrets as they are, and as they are written in URLs, forms,
    /// cookies and JSON.
    pub(crate) fn redactor(&self) -> Redactor {
        let written: Vec<String> =
            self.secrets.iter().flat_map(|secret| spellings(secret.expose())).collect();
        Redactor::new(written.iter().map(String::as_str))
    }

    /// The methods that a request gets: the named ones, the tool's own where
    /// none are named.
    pub(crate) fn placed<'a>(&'a self, named: Option<&'a [String]>) -> &'a [String] {
        named.unwrap_or(&self.default_methods)
    }

    /// Places the values of these methods; then signs.
    pub(crate) fn place(&self, request: &mut Sealing, named: Option<&[String]>) -> Result<(), PlaceError> {
        let ids = self.placed(named);
        let methods: Vec<&CredentialMethod> = ids
            .iter()
            .map(|id| {
                let method = self.methods.iter().find(|method| method.id == *id);
                method.ok_or_else(|| PlaceError::Unknown(id.clone()))
            })
            .collect::<Result<_, _>>()?;
        for placement in methods.iter().flat_map(|method| &method.placements) {
            request.place(placement)?;
        }
        for signing in methods.iter().filter_map(|method| method.signing.as_ref()) {
            request.sign(signing)?;
        }
        Ok(())
    }
}

/// A value as it may be written in what comes back.
fn spellings(value: &str) -> Vec<String> {
    let sets = [NON_ALPHANUMERIC, SEGMENT, COOKIE_VALUE];
    let escaped = sets.map(|set| utf8_percent_encode(value, set).to_string());
    let form: String = form_urlencoded::byte_serialize(value.as_bytes()).collect();
    let quoted = serde_json::Value::from(value).to_string();
    let json = &quoted[1..quoted.len() - 1];
    let mut spellings = vec![value.to_owned(), json.to_owned(), json.replace('/', "\\/")];
    for escaped in escaped.into_iter().chain([form]) {
        spellings.push(small_hex(&escaped));
        spellings.push(escaped);
    }
    spellings
}

/// Escapes with small letters, as some write them.
fn small_hex(escaped: &str) -> String {
    let mut parts = escaped.split('%');
    let mut written = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2).unwrap_or((part, ""));
        written.push('%');
        written.push_str(&digits.to_ascii_lowercase());
        written.push_str(rest);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: &str, echo: &str, expect: &str) {
        let credential = Credential { secrets: vec![Secret::new(value.into())], ..Credential::default() };
        let found = credential.redactor().text(echo.as_bytes());
        assert_eq!(String::from_utf8(found).expect("text stays text"), expect, "{echo}");
    }

    #[test]
    fn an_echo_is_found_however_it_is_written() {
        check("123:AAE-x_y", "/bot123:AAE-x_y/a", "/bot[redacted]/a");
        check("123:AAE-x_y", "/bot123%3AAAE-x_y/a", "/bot[redacted]/a");
        check("123:AAE-x_y", "/bot123%3aAAE-x_y/a", "/bot[redacted]/a");
        check("123:AAE-x_y", "/bot123%3AAAE%2Dx%5Fy/a", "/bot[redacted]/a");
        check("ab_c d/e==", "next?key=ab_c+d%2Fe%3D%3D&p=2", "next?key=[redacted]&p=2");
        check("ab_c d/e==", r#"{"key":"ab_c d\/e=="}"#, r#"{"key":"[redacted]"}"#);
        check("quo\"te\\d-key", r#"{"key":"quo\"te\\d-key"}"#, r#"{"key":"[redacted]"}"#);
        check("s e;c/+=%long", "session=s%20e%3Bc/+=%long", "session=[redacted]");
    }
}
