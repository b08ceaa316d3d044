//! HTTP headers: what a server says in them, and values that are safe there.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::text::line;

/// A header that belongs to a session is no longer than this.
const MAX_SESSION_BYTES: usize = 1_024;
/// No server is waited for longer than a week.
const MAX_RETRY_AFTER_MS: u64 = 7 * 86_400_000;
/// Challenges of one answer that are read.
const MAX_CHALLENGES: usize = 10;
const MAX_PARAMETER_CHARS: usize = 2_000;

/// The headers of an answer.
pub(crate) struct Headers(Vec<(String, Vec<u8>)>);

impl Headers {
    pub(crate) fn new(headers: Vec<(String, Vec<u8>)>) -> Self {
        Self(headers)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = self.0.iter().find(|(held, _)| held.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(value).ok().map(str::trim)
    }

    /// The media type alone, in lower case.
    pub(crate) fn media_type(&self) -> String {
        let value = self.get("content-type").unwrap_or_default();
        value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }

    /// An `Mcp-Session-Id` that may be sent back: visible ASCII.
    pub(crate) fn session(&self) -> Option<String> {
        let id = self.get("mcp-session-id")?;
        let sound = !id.is_empty()
            && id.len() <= MAX_SESSION_BYTES
            && id.bytes().all(|byte| (0x21..=0x7E).contains(&byte));
        sound.then(|| id.to_owned())
    }

    /// `Retry-After` in seconds; a date is not read.
    pub(crate) fn retry_after_ms(&self) -> Option<u64> {
        let seconds: u64 = self.get("retry-after")?.parse().ok()?;
        Some(seconds.saturating_mul(1_000).min(MAX_RETRY_AFTER_MS))
    }

    pub(crate) fn challenge(&self) -> Option<Challenge> {
        let values = self.0.iter().filter(|(name, _)| name.eq_ignore_ascii_case("www-authenticate"));
        Challenge::read(values.filter_map(|(_, value)| std::str::from_utf8(value).ok()))
    }
}

/// What a `WWW-Authenticate` header asks for by the scheme `Bearer` (RFC 6750, RFC 9728).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Challenge {
    /// Where the protected resource's metadata lie.
    pub(crate) resource_metadata: Option<String>,
    /// The scopes that are needed.
    pub(crate) scope: Option<String>,
    /// `invalid_token`, `insufficient_scope`.
    pub(crate) error: Option<String>,
}

impl Challenge {
    /// Reads the headers of an answer, each of which may have several
    /// challenges (RFC 9110, section 11.6.1); none where none asks for a bearer
    /// token. Of several, the first that says where to find out more.
    pub(crate) fn read<'h>(headers: impl Iterator<Item = &'h str>) -> Option<Self> {
        let mut bearers: Vec<Self> = Vec::new();
        for header in headers {
            let mut rest = header;
            let mut is_bearer = false;
            while let Some((word, value, after)) = next(rest) {
                rest = after;
                match (value, bearers.last_mut().filter(|_| is_bearer)) {
                    (Some(value), Some(challenge)) => challenge.take(&word, &value),
                    (Some(_), None) => {}
                    (None, _) => {
                        is_bearer = word == "bearer" && bearers.len() < MAX_CHALLENGES;
                        bearers.extend(is_bearer.then(Self::default));
                    }
                }
            }
        }
        let told = bearers.iter().position(|challenge| challenge.resource_metadata.is_some());
        (!bearers.is_empty()).then(|| bearers.swap_remove(told.unwrap_or(0)))
    }

    fn take(&mut self, name: &str, value: &str) {
        let value = Some(line(value, MAX_PARAMETER_CHARS)).filter(|value| !value.is_empty());
        match name {
            "resource_metadata" => {
                self.resource_metadata = value.filter(|url| crate::address::origin(url).is_some());
            }
            "scope" => self.scope = value,
            "error" => self.error = value,
            _ => {}
        }
    }
}

/// The name of a scheme, or that of a parameter and its value, at the beginning
/// of a text, in lower case, and what follows.
fn next(text: &str) -> Option<(String, Option<String>, &str)> {
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
    let end = text.find(|c: char| c.is_whitespace() || matches!(c, '=' | ',')).unwrap_or(text.len());
    let (word, after) = text.split_at(end);
    let word = word.to_ascii_lowercase();
    let Some(value) = after.trim_start().strip_prefix('=') else {
        return (!word.is_empty()).then_some((word, None, after));
    };
    let value = value.trim_start();
    let Some(quoted) = value.strip_prefix('"') else {
        let (value, after) = value.split_at(value.find([',', ' ', '\t']).unwrap_or(value.len()));
        return Some((word, Some(value.to_owned()), after));
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((word, Some(value), &quoted[at + 1..])),
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            other => value.push(other),
        }
    }
    Some((word, Some(value), ""))
}

/// A value as it may stand in `Mcp-Name` and `Mcp-Param-*`: as it is where it
/// is plain ASCII, else in the base64 form of revision 2026-07-28 (streamable
/// HTTP, "Value Encoding").
pub(crate) fn encoded(value: &str) -> String {
    let plain = value.bytes().all(|byte| (0x20..=0x7E).contains(&byte) || byte == b'\t');
    let padded = value.starts_with([' ', '\t']) || value.ends_with([' ', '\t']);
    let marked = value.starts_with("=?base64?") && value.ends_with("?=");
    if plain && !padded && !marked {
        return value.to_owned();
    }
    format!("=?base64?{}?=", STANDARD.encode(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_encoded_as_the_revision_says() {
        // The table of revision 2026-07-28.
        let check = |value: &str, expected: &str| assert_eq!(encoded(value), expected);
        check("us-west1", "us-west1");
        check("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?=");
        check(" padded ", "=?base64?IHBhZGRlZCA=?=");
        check("line1\nline2", "=?base64?bGluZTEKbGluZTI=?=");
        check("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=");
    }

    #[test]
    fn challenges_are_read() {
        let read = |text: &str| Challenge::read([text].into_iter());
        let found = read(
            r#"Bearer realm="x, y", error="invalid_token", resource_metadata="https://a/.well-known/oauth-protected-resource/mcp", scope="read write""#,
        );
        let expected = Challenge {
            resource_metadata: Some("https://a/.well-known/oauth-protected-resource/mcp".to_owned()),
            scope: Some("read write".to_owned()),
            error: Some("invalid_token".to_owned()),
        };
        assert_eq!(found, Some(expected));
        assert_eq!(read("Bearer"), Some(Challenge::default()));
        assert_eq!(read("bearer scope=a").unwrap().scope.as_deref(), Some("a"));
        assert_eq!(read("Basic realm=\"Bearerless\""), None);
        assert_eq!(read("Basic realm=x, Bearer scope=b").unwrap().scope.as_deref(), Some("b"));
        assert_eq!(read(r#"Bearer resource_metadata="javascript:x""#).unwrap().resource_metadata, None);
        assert_eq!(read("Bearer scope=\"never closed").unwrap().scope.as_deref(), Some("never closed"));
        assert_eq!(read(r#"Basic realm="bearer", Bearer scope=x"#).unwrap().scope.as_deref(), Some("x"));
        assert_eq!(read("Negotiate YWI9, Bearer scope=x").unwrap().scope.as_deref(), Some("x"));
        assert_eq!(read("Bearer, Basic scope=b").unwrap().scope, None);
        assert_eq!(
            read(r#"Bearer realm="a \"Bearer scope=z\"", scope=x"#).unwrap().scope.as_deref(),
            Some("x")
        );
        for none in ["", ",,,", "=x", "Bearerless scope=x", "realm=\"open"] {
            assert_eq!(read(none), None, "{none}");
        }
    }

    #[test]
    fn a_challenge_is_found_in_whatever_header_it_stands() {
        let headers = |values: &[&str]| {
            let header = |value: &&str| ("WWW-Authenticate".to_owned(), value.as_bytes().to_vec());
            Headers::new(values.iter().map(header).collect()).challenge()
        };
        let bearer = r#"Bearer resource_metadata="https://a/x", scope=y"#;
        let found = headers(&["Basic realm=\"x\"", bearer]).unwrap();
        assert_eq!(
            (found.resource_metadata.as_deref(), found.scope.as_deref()),
            (Some("https://a/x"), Some("y"))
        );
        // Of several, the one that says where to find out more.
        assert_eq!(headers(&["Bearer realm=x", bearer]), Some(found));
        assert_eq!(headers(&["Bearer scope=1", "Bearer scope=2"]).unwrap().scope.as_deref(), Some("1"));
        assert_eq!(headers(&["Basic", "Digest nonce=1"]), None);
    }

    #[test]
    fn sessions_are_plain_or_none() {
        let session =
            |value: &[u8]| Headers::new(vec![("Mcp-Session-Id".to_owned(), value.to_vec())]).session();
        assert_eq!(session(b"abc-1").as_deref(), Some("abc-1"));
        assert_eq!(session(b"a b"), None);
        assert_eq!(session(b"a\r\nx: y"), None);
        assert_eq!(session(&[b'a'; 2000]), None);
    }
}
