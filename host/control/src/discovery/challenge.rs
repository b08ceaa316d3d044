//! What an answer says of how to sign in: challenges (RFC 9110, section
//! 11.6.1).

use super::shown;

const SHOWN_CHARS: usize = 100;
/// How many challenges of one answer are read.
const CHALLENGES: usize = 10;

/// A scheme that an answer offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Challenge {
    /// In lower case.
    pub(super) scheme: String,
    parameters: Vec<(String, String)>,
}

impl Challenge {
    fn get(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The kind of auth method that it asks for, and what it is about.
    pub(super) fn method(&self) -> (String, String) {
        let about = self.get("realm").filter(|realm| !realm.is_empty());
        let about = about.map(|realm| format!(" for {:?}", shown(realm, SHOWN_CHARS))).unwrap_or_default();
        match self.scheme.as_str() {
            "basic" => ("http-basic".into(), format!("user name and password{about}")),
            // RFC 9728, section 5.1.
            "bearer" if self.get("resource_metadata").is_some() => {
                ("oauth2".into(), format!("a token by OAuth{about}"))
            }
            "bearer" => ("http-bearer".into(), format!("a bearer token{about}")),
            other => (
                shown(other, SHOWN_CHARS),
                format!("{}{about}, which can't be placed", shown(other, SHOWN_CHARS)),
            ),
        }
    }
}

/// The challenges in an answer's headers, whose names are in lower case.
pub(super) fn challenges(headers: &[(String, String)]) -> Vec<Challenge> {
    let mut found: Vec<Challenge> = Vec::new();
    for (_, value) in headers.iter().filter(|(name, _)| name == "www-authenticate") {
        let mut rest = value.as_str();
        while let Some((word, parameter, after)) = next(rest) {
            rest = after;
            match parameter {
                Some(text) => {
                    if let Some(challenge) = found.last_mut() {
                        challenge.parameters.push((word, text));
                    }
                }
                None if found.len() == CHALLENGES => return found,
                None => found.push(Challenge { scheme: word, parameters: Vec::new() }),
            }
        }
    }
    found
}

/// A scheme, or a parameter with its value, and what follows.
fn next(text: &str) -> Option<(String, Option<String>, &str)> {
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
    let end = text.find(|c: char| c.is_whitespace() || matches!(c, '=' | ',')).unwrap_or(text.len());
    if text.is_empty() {
        return None;
    }
    let (word, after) = text.split_at(end);
    let word = word.to_ascii_lowercase();
    let Some(value) = after.trim_start().strip_prefix('=') else {
        return Some((word, None, after));
    };
    let value = value.trim_start();
    if let Some(quoted) = value.strip_prefix('"') {
        let end = quoted.find('"').unwrap_or(quoted.len());
        return Some((word, Some(quoted[..end].to_owned()), quoted.get(end + 1..).unwrap_or_default()));
    }
    let (value, after) = value.split_at(value.find([',', ' ']).unwrap_or(value.len()));
    Some((word, Some(value.to_owned()), after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(values: &[&str], expect: &[(&str, &str)]) {
        let headers: Vec<(String, String)> =
            values.iter().map(|value| ("www-authenticate".to_owned(), (*value).to_owned())).collect();
        let found: Vec<(String, String)> = challenges(&headers).iter().map(Challenge::method).collect();
        let found: Vec<(&str, &str)> =
            found.iter().map(|(kind, label)| (kind.as_str(), label.as_str())).collect();
        assert_eq!(found, expect, "{values:?}");
    }

    #[test]
    fn schemes_are_told_apart() {
        check(&["Basic realm=\"a, b\""], &[("http-basic", "user name and password for \"a, b\"")]);
        check(
            &["Basic, Bearer error=\"invalid_token\" , scope=x"],
            &[("http-basic", "user name and password"), ("http-bearer", "a bearer token")],
        );
        check(
            &["Bearer resource_metadata=\"https://x/.well-known/oauth-protected-resource\""],
            &[("oauth2", "a token by OAuth")],
        );
        check(
            &["Digest nonce=1", "Negotiate"],
            &[("digest", "digest, which can't be placed"), ("negotiate", "negotiate, which can't be placed")],
        );
    }

    #[test]
    fn what_is_broken_ends() {
        check(&["", ",,,", "=x", "realm=\"open"], &[]);
        check(&["Bearer realm=\"\u{1b}[2Jx"], &[("http-bearer", "a bearer token for \"[2Jx\"")]);
        let many = "a,".repeat(1_000);
        assert_eq!(challenges(&[("www-authenticate".into(), many)]).len(), CHALLENGES);
    }
}
