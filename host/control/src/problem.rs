//! What the control plane answers when it can't do what was asked.

use std::fmt::Display;

use executor_runtime::{AdapterError, CallError, EgressError, FaultKind, LoadError};
use executor_store::{KeyringError, StoreError};
use serde_json::Value;

/// Characters of a name that is told back to whoever asked for it.
const NAME_LIMIT: usize = 200;

/// The kinds of problems; each is one HTTP status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProblemKind {
    /// 400: the request makes no sense.
    Invalid,
    /// 401: it is not known who asks.
    Unauthenticated,
    /// 403: it may not be done.
    Denied,
    /// 404: there is no such thing.
    NotFound,
    /// 409: it stands against what is there.
    Conflict,
    /// 422: understood, and wrong in itself.
    Unprocessable,
    /// 429: too often; `retry_after_seconds` of the details says when again.
    TooMany,
    /// 502: somebody else failed.
    Upstream,
    /// 503: not now.
    Unavailable,
    /// 500: our own fault.
    Internal,
}

/// One problem, as a person and a program are told of it.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct Problem {
    /// Its kind.
    pub kind: ProblemKind,
    /// A stable code; `executor explain CODE` tells more.
    pub code: String,
    /// What is wrong, and where.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
    /// More, for programs.
    pub details: Option<Value>,
}

impl Problem {
    /// A problem without a hint.
    pub fn new(kind: ProblemKind, code: &str, message: impl Into<String>) -> Self {
        Self { kind, code: code.to_owned(), message: message.into(), hint: None, details: None }
    }

    /// With what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// With more for programs.
    #[must_use]
    pub fn details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ProblemKind::Invalid, "invalid-request", message)
    }

    pub(crate) fn not_found(what: &str, name: impl Display) -> Self {
        Self::new(
            ProblemKind::NotFound,
            "not-found",
            format!("there is no {what} {}", shown(&name.to_string())),
        )
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(ProblemKind::Internal, "internal", message)
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        match error {
            StoreError::DiskFull => Self::new(ProblemKind::Unavailable, "disk-full", message)
                .hint("free some space, or move the home to a larger disk"),
            StoreError::Stopped => Self::new(ProblemKind::Unavailable, "storage-stopped", message)
                .hint("the disk refused a write; look at it, then restart the daemon"),
            StoreError::WrongKey { .. } => Self::new(ProblemKind::Unavailable, "key-missing", message).hint(
                "`executor secrets import-key` restores it from the recovery code that `export-key` printed",
            ),
            StoreError::KeyringUnavailable { why } => {
                let hint = format!(
                    "{}; elsewhere, `executor secrets import-key` puts the key into a file, from its recovery code",
                    remedy(&why)
                );
                Self::new(ProblemKind::Unavailable, "keyring-unavailable", message).hint(hint)
            }
            StoreError::KeyringRefused { why } => {
                let hint = format!("{}; with secrets.keyring = \"off\" it goes into a file", remedy(&why));
                Self::new(ProblemKind::Unavailable, "keyring-unavailable", message).hint(hint)
            }
            StoreError::Conflict { .. } => Self::new(ProblemKind::Conflict, "conflict", message),
            StoreError::TooLarge { .. } => Self::new(ProblemKind::Unprocessable, "too-large", message),
            StoreError::NotFound { .. } => Self::new(ProblemKind::NotFound, "not-found", message),
            _ => {
                tracing::error!(error = %chain(&error), "storage failed");
                Self::internal(message)
            }
        }
    }
}

/// What gets at a keyring.
fn remedy(why: &KeyringError) -> &'static str {
    match why {
        KeyringError::Locked | KeyringError::NoCollection => {
            "unlock the keyring: sign in to the desktop, or open its password manager"
        }
        KeyringError::NoBus | KeyringError::Bus(_) | KeyringError::Foreign(_) => {
            "start the daemon within your own desktop session"
        }
        KeyringError::NoService => "start the program that keeps your passwords",
        KeyringError::Silent(_) | KeyringError::Forgetful | KeyringError::Refused(_) => {
            "see what your password manager says"
        }
    }
}

impl From<EgressError> for Problem {
    fn from(error: EgressError) -> Self {
        let kind = if error.code.starts_with("denied") { ProblemKind::Denied } else { ProblemKind::Upstream };
        Self::new(kind, error.code, error.message)
    }
}

impl From<LoadError> for Problem {
    fn from(error: LoadError) -> Self {
        let message = chain(&error);
        match &error {
            LoadError::Artifact(artifact) => {
                Self::new(ProblemKind::Unprocessable, "not-a-component", message).hint(artifact.hint())
            }
            LoadError::World { .. } => Self::new(ProblemKind::Unprocessable, "wrong-world", message),
            LoadError::Prepare { .. } => Self::new(ProblemKind::Unprocessable, "component-broken", message),
        }
    }
}

impl From<CallError> for Problem {
    fn from(error: CallError) -> Self {
        match &error {
            CallError::Guest(fault) => {
                let kind = match fault.kind {
                    FaultKind::Denied => ProblemKind::Denied,
                    _ => ProblemKind::Unprocessable,
                };
                let problem = Self::new(kind, fault.kind.code(), error.to_string());
                if fault.log.is_empty() {
                    problem
                } else {
                    problem.hint(format!("the component's own log ends with: {}", fault.log.trim_end()))
                }
            }
            CallError::Host { .. } => {
                tracing::error!(error = %chain(&error), "the runtime failed");
                Self::internal(chain(&error))
            }
        }
    }
}

impl From<AdapterError> for Problem {
    fn from(error: AdapterError) -> Self {
        match error {
            AdapterError::Broken(error) => error.into(),
            AdapterError::Failed(failure) => {
                let mut problem = Self::new(ProblemKind::Unprocessable, &failure.code, failure.message);
                problem.details = failure.details.and_then(|details| serde_json::from_str(&details).ok());
                problem
            }
        }
    }
}

/// A name that somebody made up, as long as it has to be to be known again.
fn shown(name: &str) -> String {
    let mut shown: String = name.chars().take(NAME_LIMIT).collect();
    if shown.len() < name.len() {
        shown.push('…');
    }
    shown
}

/// An error and its causes in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let next = cause.to_string();
        if !text.ends_with(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_was_made_up_is_not_told_back_whole() {
        let short = Problem::not_found("execution", "exe_1");
        assert_eq!(short.message, "there is no execution exe_1");
        let long = Problem::not_found("execution", "é".repeat(100_000));
        assert_eq!(long.message, format!("there is no execution {}…", "é".repeat(NAME_LIMIT)));
    }
}
