//! The identifiers that the host gives out: a prefix that says the kind, then
//! 20 characters that sort by the time they were made at.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A text that is no identifier of its kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "this is not an identifier of {kind}: such a one is `{prefix}` and {CHARACTERS} characters of 0-9 and a-z"
)]
pub struct IdentifierError {
    /// What was asked for: "an execution".
    pub kind: &'static str,
    /// What such an identifier begins with.
    pub prefix: &'static str,
}

/// Crockford's base 32 in lower case: in the order of ASCII, and without the
/// letters that are taken for digits.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const CHARACTERS: usize = 20;
/// 20 characters are 100 bits: 48 of time in milliseconds, 52 of randomness.
const RANDOM_BITS: u32 = 52;

macro_rules! identifier {
    ($(#[$doc:meta])* $name:ident, $prefix:literal, $kind:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Makes an identifier that sorts after all of earlier milliseconds.
            /// Of `random`, seven bytes count; fewer make a collision likelier.
            pub fn new(now_ms: i64, random: impl AsRef<[u8]>) -> Self {
                Self(compose($prefix, now_ms, random.as_ref()))
            }

            /// Takes a text that is such an identifier.
            ///
            /// # Errors
            /// Says what such an identifier looks like.
            pub fn parse(text: &str) -> Result<Self, IdentifierError> {
                if is_identifier(text, $prefix) {
                    Ok(Self(text.to_owned()))
                } else {
                    Err(IdentifierError {
                        kind: $kind,
                        prefix: $prefix,
                    })
                }
            }

            /// The identifier's text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = IdentifierError;

            fn from_str(text: &str) -> Result<Self, IdentifierError> {
                Self::parse(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdentifierError;

            fn try_from(text: String) -> Result<Self, IdentifierError> {
                Self::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(identifier: $name) -> String {
                identifier.0
            }
        }
    };
}

identifier!(
    /// One execution.
    ExecutionId,
    "exe_",
    "an execution"
);
identifier!(
    /// One token of a client.
    TokenId,
    "tok_",
    "a token"
);
identifier!(
    /// One session of a person.
    SessionId,
    "ses_",
    "a session"
);
identifier!(
    /// One invitation into an organization.
    InvitationId,
    "inv_",
    "an invitation"
);
identifier!(
    /// One question to a person.
    InteractionId,
    "int_",
    "an interaction"
);
identifier!(
    /// One secret of a workspace.
    SecretId,
    "sec_",
    "a secret"
);
identifier!(
    /// One policy rule.
    PolicyId,
    "pol_",
    "a policy"
);

fn compose(prefix: &str, now_ms: i64, random: &[u8]) -> String {
    let time = u128::from(now_ms.max(0).cast_unsigned()) & ((1 << 48) - 1);
    let mut bytes = [0; 8];
    for (byte, given) in bytes[1..].iter_mut().zip(random) {
        *byte = *given;
    }
    let random = u128::from(u64::from_be_bytes(bytes)) & ((1 << RANDOM_BITS) - 1);
    let bits = (time << RANDOM_BITS) | random;
    let mut text = String::with_capacity(prefix.len() + CHARACTERS);
    text.push_str(prefix);
    for place in (0..CHARACTERS).rev() {
        let index = usize::try_from((bits >> (5 * place)) & 31).expect("five bits fit");
        text.push(char::from(ALPHABET[index]));
    }
    text
}

fn is_identifier(text: &str, prefix: &str) -> bool {
    text.strip_prefix(prefix)
        .is_some_and(|rest| rest.len() == CHARACTERS && rest.bytes().all(|byte| ALPHABET.contains(&byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_sort_by_time_and_parse_back() {
        let times = [-5, 0, 1, 1_000, 1_790_000_000_000, (1 << 48) - 1];
        let ids: Vec<ExecutionId> = times.iter().map(|time| ExecutionId::new(*time, [0xff; 16])).collect();
        assert_eq!(ids[0], ids[1]);
        assert!(ids[1..].is_sorted_by(|one, other| one < other));
        for id in &ids {
            assert_eq!(ExecutionId::parse(id.as_str()).unwrap(), *id);
            assert_eq!(id.as_str().len(), 24);
        }
        assert_ne!(ExecutionId::new(7, [0, 0, 0, 0, 0, 0, 1]), ExecutionId::new(7, [0, 0, 0, 0, 0, 0, 2]));
    }

    #[test]
    fn what_is_no_identifier_is_refused() {
        let id = ExecutionId::new(7, [1; 8]);
        let other_kind = id.as_str().replace("exe_", "int_");
        let longer = format!("{id}0");
        let upper = id.as_str().to_uppercase();
        for text in ["", "exe_", "exe_../../etc/passwd__", &other_kind, &longer, &upper] {
            let error = ExecutionId::parse(text).unwrap_err();
            assert!(error.to_string().contains("exe_"), "{error}");
        }
        InteractionId::parse(&other_kind).unwrap();
    }
}
