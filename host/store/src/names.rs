//! The names that people give, each with one rule, so that a name which was
//! parsed can stand in a path, a URL and a row without being looked at again.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A text that can't be a name of its kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` can't be a {kind}: {rule}; try `{proposal}`")]
pub struct NameError {
    /// What was asked for: "source name".
    pub kind: &'static str,
    /// The text, shortened, with control characters escaped.
    pub given: String,
    /// What such a name must be like.
    pub rule: &'static str,
    /// A valid name that resembles the text.
    pub proposal: String,
}

const LABEL_RULE: &str =
    "it must be 1 to 63 lower-case letters, digits, `_` and `-`, and start with a letter or digit";
const SOURCE_RULE: &str = "it must be 1 to 40 lower-case letters, digits and `_`, and start with a letter";
const RESERVED_RULE: &str = "it is reserved";

const LABEL_LIMIT: usize = 63;
const SOURCE_LIMIT: usize = 40;

/// What `tools.<name>` can't be: the host's own roots, and the properties
/// that JavaScript looks up on any object that is awaited or printed.
const RESERVED: [&str; 9] =
    ["constructor", "describe", "devices", "executor", "prototype", "search", "sources", "then", "tools"];

/// Gives a newtype over text its common parts; `check` and `propose` are the
/// rule of that name.
macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $check:path, $propose:path) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Takes a text that follows the rule.
            ///
            /// # Errors
            /// Says the rule and proposes a name that follows it.
            pub fn parse(text: &str) -> Result<Self, NameError> {
                match $check(text) {
                    Ok(()) => Ok(Self(text.to_owned())),
                    Err(rule) => Err(NameError {
                        kind: $kind,
                        given: shown(text),
                        rule,
                        proposal: $propose(text),
                    }),
                }
            }

            /// The name's text.
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
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                Self::parse(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;

            fn try_from(text: String) -> Result<Self, NameError> {
                Self::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0
            }
        }
    };
}

name!(
    /// The name of a workspace: a directory of the home and a part of URLs.
    WorkspaceName,
    "workspace name",
    check_label,
    propose_label
);
name!(
    /// The name of an account: somebody who signs in.
    AccountName,
    "account name",
    check_label,
    propose_label
);
name!(
    /// The name of an organization: those who share workspaces.
    OrganizationName,
    "organization name",
    check_label,
    propose_label
);
name!(
    /// The name of a connection, unique within its source.
    ConnectionName,
    "connection name",
    check_label,
    propose_label
);
name!(
    /// The name of a source or an app: what follows `tools.` in TypeScript.
    SourceName,
    "source name",
    check_source,
    propose_source
);

fn check_label(text: &str) -> Result<(), &'static str> {
    let starts_well =
        text.bytes().next().is_some_and(|first| first.is_ascii_lowercase() || first.is_ascii_digit());
    let all_well = text.bytes().all(is_label_byte);
    if starts_well && all_well && text.len() <= LABEL_LIMIT { Ok(()) } else { Err(LABEL_RULE) }
}

fn check_source(text: &str) -> Result<(), &'static str> {
    let starts_well = text.bytes().next().is_some_and(|first| first.is_ascii_lowercase());
    let all_well = text.bytes().all(is_source_byte);
    if !(starts_well && all_well && text.len() <= SOURCE_LIMIT) {
        Err(SOURCE_RULE)
    } else if RESERVED.contains(&text) {
        Err(RESERVED_RULE)
    } else {
        Ok(())
    }
}

fn is_label_byte(byte: u8) -> bool {
    is_source_byte(byte) || byte == b'-'
}

fn is_source_byte(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_'
}

fn propose_label(text: &str) -> String {
    let mapped = mapped(text, is_label_byte, '-', LABEL_LIMIT);
    let proposal = mapped.trim_matches(['-', '_']);
    if proposal.is_empty() { "default".to_owned() } else { proposal.to_owned() }
}

fn propose_source(text: &str) -> String {
    // Four characters are left for what may have to be put around it.
    let mapped = mapped(text, is_source_byte, '_', SOURCE_LIMIT - 4);
    let proposal = mapped.trim_matches('_');
    if proposal.is_empty() {
        "api".to_owned()
    } else if proposal.starts_with(|first: char| first.is_ascii_digit()) {
        format!("api_{proposal}")
    } else if RESERVED.contains(&proposal) {
        format!("{proposal}_api")
    } else {
        proposal.to_owned()
    }
}

/// The text in lower case with each run of other characters as one filler.
fn mapped(text: &str, keep: fn(u8) -> bool, filler: char, limit: usize) -> String {
    let mut mapped = String::new();
    for character in text.chars().map(|character| character.to_ascii_lowercase()) {
        let kept = u8::try_from(character).is_ok_and(keep);
        if kept {
            mapped.push(character);
        } else if !mapped.is_empty() && !mapped.ends_with(filler) {
            mapped.push(filler);
        }
        if mapped.len() == limit {
            break;
        }
    }
    mapped
}

/// A stranger's text as it may stand in an error: 80 characters at most, and
/// nothing that a terminal would act upon.
fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(80).flat_map(char::escape_debug).collect();
    if text.chars().nth(80).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(length: usize) -> String {
        "a".repeat(length)
    }

    #[test]
    fn labels_follow_their_rule_and_every_proposal_does() {
        let longest = long(63);
        let valid = ["a", "0", "work", "my-team_2", "9-lives", longest.as_str()];
        for text in valid {
            assert_eq!(WorkspaceName::parse(text).unwrap().as_str(), text);
            assert_eq!(ConnectionName::parse(text).unwrap().as_str(), text);
        }
        let too_long = long(64);
        let invalid = [
            ("", "default"),
            ("-a", "a"),
            ("_a", "a"),
            ("My Team", "my-team"),
            ("a/b", "a-b"),
            ("..", "default"),
            ("ünï", "n"),
            ("a\n", "a"),
            ("a\0b", "a-b"),
            (too_long.as_str(), longest.as_str()),
        ];
        for (text, proposal) in invalid {
            let error = WorkspaceName::parse(text).unwrap_err();
            assert_eq!(error.proposal, proposal, "for {text:?}");
            WorkspaceName::parse(&error.proposal).unwrap();
            ConnectionName::parse(text).unwrap_err();
        }
    }

    #[test]
    fn source_names_follow_their_rule_and_every_proposal_does() {
        let longest = long(40);
        for text in ["a", "github", "api_v2", "a__", longest.as_str()] {
            assert_eq!(SourceName::parse(text).unwrap().as_str(), text);
        }
        let (too_long, cut) = (long(41), long(36));
        let digits = format!("1{}", long(60));
        let digits_proposal = format!("api_1{}", long(35));
        let invalid = [
            ("", "api"),
            ("GitHub API", "github_api"),
            ("1password", "api_1password"),
            ("my-api", "my_api"),
            ("__proto__", "proto"),
            ("toJSON", "tojson"),
            ("then", "then_api"),
            ("Search", "search_api"),
            ("search", "search_api"),
            ("💥", "api"),
            (too_long.as_str(), cut.as_str()),
            (digits.as_str(), digits_proposal.as_str()),
        ];
        for (text, proposal) in invalid {
            let error = SourceName::parse(text).unwrap_err();
            assert_eq!(error.proposal, proposal, "for {text:?}");
            SourceName::parse(&error.proposal).unwrap();
        }
        for text in RESERVED {
            let error = SourceName::parse(text).unwrap_err();
            assert_eq!(error.rule, RESERVED_RULE);
            SourceName::parse(&error.proposal).unwrap();
        }
    }

    #[test]
    fn an_error_is_short_and_holds_no_control_characters() {
        let text = format!("\u{1b}[2J{}", long(100_000));
        let error = SourceName::parse(&text).unwrap_err().to_string();
        assert!(error.len() < 400, "{error}");
        assert!(!error.contains('\u{1b}'));
        assert!(error.contains("source name"), "{error}");
    }

    #[test]
    fn json_is_the_text_and_is_checked_on_the_way_in() {
        let name: SourceName = serde_json::from_str("\"github\"").unwrap();
        assert_eq!(serde_json::to_string(&name).unwrap(), "\"github\"");
        let error = serde_json::from_str::<SourceName>("\"Git Hub\"").unwrap_err();
        assert!(error.to_string().contains("try `git_hub`"), "{error}");
    }
}
