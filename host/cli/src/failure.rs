//! Why a command did not do what it was asked, and its exit code.

use std::fmt::Write as _;
use std::io;

use serde_json::Value;

use crate::text;

/// The exit codes, which scripts and agents branch on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Ok,
    /// The tool, the program or the request failed.
    Failed,
    /// The command line or the configuration is wrong.
    Usage,
    /// A person has to answer first.
    Waiting,
    /// A policy, or a person, said no.
    Denied,
    /// There is no daemon to talk to.
    NoDaemon,
    /// Executor itself broke.
    Bug,
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Waiting => 3,
            Self::Denied => 4,
            Self::NoDaemon => 5,
            Self::Bug => 70,
        }
    }

    /// What a settled execution with this error code means to the caller.
    pub(crate) fn of_code(code: &str) -> Self {
        match code {
            "denied" | "denied-by-policy" | "policy-denied" | "blocked" | "declined" => Self::Denied,
            "internal" => Self::Bug,
            // What may not be reached, and what the host alone may send.
            _ if code.starts_with("denied-") => Self::Denied,
            _ => Self::Failed,
        }
    }

    /// What an error answer of the daemon means.
    fn of_answer(status: u16, code: &str) -> Self {
        match status {
            403 => Self::Denied,
            400 | 405 | 413 | 415 => Self::Usage,
            500 => Self::Bug,
            _ => Self::of_code(code),
        }
    }
}

/// A failure as it is told: what, and what to do.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) message: String,
    pub(crate) hints: Vec<String>,
    /// The daemon's own error answer, for `--json`.
    pub(crate) answer: Option<Box<Value>>,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), hints: Vec::new(), answer: None }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(Exit::Failed, message)
    }

    pub(crate) fn no_daemon(message: impl Into<String>) -> Self {
        Self::new(Exit::NoDaemon, message)
    }

    /// The daemon answered with what its API does not have: versions that
    /// don't fit, or a bug.
    pub(crate) fn bug(message: impl Into<String>) -> Self {
        Self::new(Exit::Bug, message)
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The stable code of the daemon's error answer.
    pub(crate) fn code(&self) -> Option<&str> {
        self.answer.as_ref().and_then(|answer| answer["error"]["code"].as_str())
    }

    /// Whoever read the output has left: nothing more to say, and no fault.
    pub(crate) fn reader_gone() -> Self {
        Self::new(Exit::Ok, "")
    }

    /// Writing to stdout went wrong.
    pub(crate) fn writing(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::reader_gone();
        }
        Self::failed(format!("the output could not be written: {error}"))
    }

    /// `{"error":{"code","message","hint","details"}}` of the daemon.
    pub(crate) fn from_answer(status: u16, answer: Value) -> Self {
        let error = &answer["error"];
        let code = error["code"].as_str().unwrap_or("").to_owned();
        let message = match error["message"].as_str() {
            Some(message) if !message.is_empty() => text::clean(message).into_owned(),
            _ => format!("the daemon answered with status {status} and no message"),
        };
        let mut failure = Self::new(Exit::of_answer(status, &code), message);
        failure.hints.extend(hints_of(error));
        failure.answer = Some(Box::new(answer));
        failure
    }
}

/// What to do about an error, in words: its hint, its suggestions, its page.
/// Some pages say no more than the message does.
pub(crate) fn hints_of(error: &Value) -> Vec<String> {
    let details = &error["details"];
    let said = |field: &str| error[field].as_str().is_some_and(|text| text.contains("did you mean"));
    let proposed = said("hint") || said("message");
    // A tool's error stands whole in the details of the execution's.
    let near =
        suggestions(&details["suggestions"]).or_else(|| suggestions(&details["details"]["suggestions"]));
    let mut hints = Vec::new();
    if let Some(near) = near.filter(|_| !proposed) {
        hints.push(format!("did you mean {near}?"));
    }
    if let Some(hint) = error["hint"].as_str().filter(|hint| !hint.is_empty()) {
        hints.push(text::clean(hint).into_owned());
    }
    if hints.is_empty() && !proposed {
        hints.extend(page_hint(telling_code(error)));
    }
    hints
}

/// The code that says why: a program that a tool's error ended has that
/// error's.
pub(crate) fn telling_code(error: &Value) -> &str {
    match error["code"].as_str() {
        Some("tool") => error["details"]["code"].as_str().unwrap_or("tool"),
        code => code.unwrap_or(""),
    }
}

fn page_hint(code: &str) -> Option<String> {
    let says_more = !matches!(code, "not-found" | "error" | "conflict");
    (says_more && crate::pages::page(code).is_some()).then(|| format!("`executor explain {code}` says more"))
}

fn suggestions(value: &Value) -> Option<String> {
    let mut text = String::new();
    for suggestion in value.as_array()?.iter().take(5) {
        let name = suggestion.as_str().or_else(|| suggestion["path"].as_str())?;
        let comma = if text.is_empty() { "" } else { ", " };
        let _ = write!(text, "{comma}`{}`", text::line(name, 200));
    }
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(status: u16, code: &str, expect: Exit) {
        let answer = json!({ "error": { "code": code, "message": "no" } });
        assert_eq!(Failure::from_answer(status, answer).exit, expect, "{status} {code}");
    }

    #[test]
    fn an_answer_becomes_an_exit_code() {
        check(400, "invalid-request", Exit::Usage);
        check(403, "denied", Exit::Denied);
        check(422, "denied-address", Exit::Denied);
        check(404, "tool-not-found", Exit::Failed);
        check(409, "name-taken", Exit::Failed);
        check(413, "too-large", Exit::Usage);
        check(422, "document-invalid", Exit::Failed);
        check(500, "internal", Exit::Bug);
        check(503, "not-ready", Exit::Failed);
    }

    #[test]
    fn suggestions_and_hints_are_told_once_and_clean() {
        let error = json!({
            "code": "tool-not-found", "message": "x", "hint": "did you mean `a.b`",
            "details": { "suggestions": ["a.b\u{1b}[31m", { "path": "a.c" }] }
        });
        assert_eq!(hints_of(&error), ["did you mean `a.b`"]);
        let error =
            json!({ "code": "x", "details": { "suggestions": ["a.b\u{1b}[31m", { "path": "a.c" }] } });
        assert_eq!(hints_of(&error), ["did you mean `a.b`, `a.c`?"]);
        let error = json!({ "code": "x", "hint": "do \u{1b}]0;title\u{7}this" });
        assert_eq!(hints_of(&error), ["do this"]);
        let error = json!({ "code": "tool", "message": "x", "details": { "code": "timeout" } });
        assert_eq!(hints_of(&error), ["`executor explain timeout` says more"]);
        assert!(hints_of(&json!({ "code": "tool-not-found", "message": "did you mean a?" })).is_empty());
        assert!(hints_of(&json!({ "code": "not-found", "message": "x" })).is_empty());
    }

    #[test]
    fn a_nonsense_answer_is_still_an_error() {
        let failure = Failure::from_answer(502, json!([1]));
        assert!(failure.message.contains("502"), "{}", failure.message);
        assert_eq!(failure.exit, Exit::Failed);
    }
}
