//! HTTP headers: what a server says in them, and values that are safe there.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::text::line;

/// A header that belongs to a session is no longer than this.
const MAX_SESSION_BYTES: usize = 1_024;
/// No server is waited for longer than a week.
const MAX_RETRY_AFTER_MS: u64 = 7 * 86_400_000;

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
        self.get("www-authenticate").and_then(Challenge::read)
    }
}

/// What a `WWW-Authenticate: Bearer` header asks for (RFC 6750, RFC 9728).
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
    /// Reads a header; none where it does not ask for a bearer token.
    pub(crate) fn read(header: &str) -> Option<Self> {
        let start = header.to_ascii_lowercase().find("bearer")?;
        let is_word = start == 0
            || header.as_bytes()[start - 1].is_ascii_whitespace()
            || header.as_bytes()[start - 1] == b',';
        let rest = header.get(start + "bearer".len()..).filter(|_| is_word)?;
        let mut challenge = Self::default();
        let mut rest = rest.trim_start();
        while let Some((name, value, tail)) = parameter(rest) {
            let value = Some(line(&value, 2_000)).filter(|value| !value.is_empty());
            match name.to_ascii_lowercase().as_str() {
                "resource_metadata" => {
                    challenge.resource_metadata = value.filter(|url| crate::address::origin(url).is_some());
                }
                "scope" => challenge.scope = value,
                "error" => challenge.error = value,
                _ => {}
            }
            rest = tail.trim_start_matches([',', ' ', '\t']);
        }
        Some(challenge)
    }
}

/// `name=value` or `name="value"` at the beginning of a text, and what follows.
fn parameter(text: &str) -> Option<(&str, String, &str)> {
    let (name, rest) = text.split_once('=')?;
    let name = name.trim();
    if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c == ',') {
        return None;
    }
    let rest = rest.trim_start();
    let Some(quoted) = rest.strip_prefix('"') else {
        let end = rest.find([',', ' ', '\t']).unwrap_or(rest.len());
        return Some((name, rest[..end].to_owned(), &rest[end..]));
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((name, value, &quoted[at + 1..])),
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            other => value.push(other),
        }
    }
    Some((name, value, ""))
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
        let read = |text: &str| Challenge::read(text);
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
