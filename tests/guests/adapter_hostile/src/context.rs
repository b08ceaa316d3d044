//! What a behaviour knows, and how it reports.

use serde_json::{Value, json};

use crate::executor::adapter::types::Failure;
use crate::exports::executor::adapter::source::{Call, Resumption};
use crate::{Behaviour, named};

/// The export that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Detect,
    Index,
    Validate,
    Invoke,
}

pub(crate) struct Context {
    pub(crate) stage: Stage,
    pub(crate) arguments: Value,
    settings: Value,
    /// How often the call was resumed, by its own state.
    pub(crate) resumed: Option<Vec<u8>>,
}

impl Context {
    pub(crate) fn new(stage: Stage, arguments: Value, settings: Value) -> Self {
        Self { stage, arguments, settings, resumed: None }
    }

    pub(crate) fn of_call(stage: Stage, call: &Call) -> Self {
        let state = |resumption: &Resumption| resumption.state.clone();
        Self {
            resumed: call.resume.as_ref().map(state),
            ..Self::new(stage, parsed(&call.arguments), parsed(&call.settings))
        }
    }

    /// The behaviour that the arguments name under `key`.
    pub(crate) fn asked(&self, key: &str) -> Result<Option<&'static Behaviour>, Failure> {
        self.arguments[key].as_str().map(named).transpose()
    }

    /// How many, where the arguments do not say otherwise.
    pub(crate) fn count(&self, default: usize) -> usize {
        let asked = self.arguments["count"].as_u64();
        asked.and_then(|count| usize::try_from(count).ok()).unwrap_or(default)
    }

    /// A port of this machine to try.
    pub(crate) fn port(&self) -> u16 {
        let asked = self.arguments["port"].as_u64();
        asked.and_then(|port| u16::try_from(port).ok()).unwrap_or(80)
    }

    /// Where requests go.
    pub(crate) fn url(&self) -> String {
        let asked = self.arguments["url"].as_str();
        let url = asked.or(self.settings["base_url"].as_str());
        url.unwrap_or("http://granted.example/").to_owned()
    }
}

/// JSON, or null for what is none.
pub(crate) fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// One thing that was tried: what came of it, or why not.
pub(crate) fn attempt<Got: Into<Value>>(what: impl Into<String>, got: Result<Got, String>) -> Value {
    let what = what.into();
    match got {
        Ok(got) => json!({ "what": what, "got": got.into(), "denied": null }),
        Err(denied) => json!({ "what": what, "got": null, "denied": denied }),
    }
}

/// A failure of the host as the reason of a denial.
pub(crate) fn reason(failure: &Failure) -> String {
    format!("{}: {}", failure.code, failure.message)
}

pub(crate) fn failure(code: &str, message: impl Into<String>) -> Failure {
    Failure {
        code: code.to_owned(),
        message: message.into(),
        status: None,
        retryable: false,
        retry_after_ms: None,
        details: None,
    }
}

/// What terminals, browsers and readers would act on.
pub(crate) const CONTROLS: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\r\nfake: line\u{0}\u{8}\u{202e}drowssap\u{2066}\u{200b}<script>alert(1)</script>[click](javascript:alert(1))";
