//! A tool call's failure, as programs catch it.

use executor_runtime::{AdapterError, Settled};
use serde::Serialize;
use serde_json::{Value, json};

use crate::problem::Problem;

/// What `ToolError` in a program carries.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ToolError {
    pub(crate) code: String,
    pub(crate) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<u16>,
    pub(crate) retryable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retry_after_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) details: Option<Value>,
    pub(crate) tool: String,
}

impl ToolError {
    pub(crate) fn new(tool: &str, code: &str, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
            status: None,
            retryable: false,
            retry_after_ms: None,
            details: None,
            tool: tool.into(),
        }
    }

    /// A problem of the control plane; its hint goes along, since a program's
    /// author has no other place to see it.
    pub(crate) fn of_problem(tool: &str, problem: Problem) -> Self {
        let message = match &problem.hint {
            Some(hint) => format!("{}; {hint}", problem.message),
            None => problem.message,
        };
        Self { details: problem.details, ..Self::new(tool, &problem.code, message) }
    }

    pub(crate) fn of_adapter(tool: &str, error: AdapterError) -> Self {
        match error {
            AdapterError::Broken(error) => Self::of_problem(tool, error.into()),
            AdapterError::Failed(failure) => Self {
                status: failure.status,
                retryable: failure.retryable,
                retry_after_ms: failure.retry_after_ms,
                details: failure.details.and_then(|details| serde_json::from_str(&details).ok()),
                ..Self::new(tool, &failure.code, failure.message)
            },
        }
    }

    pub(crate) fn unknown(tool: &str) -> Self {
        Self::new(
            tool,
            "outcome-unknown",
            "the daemon ended while this call was under way; whether it took effect is unknown, and it is not sent again",
        )
    }
}

/// A call that went well.
pub(crate) struct ToolAnswer {
    /// JSON.
    pub(crate) data: String,
    /// Status and headers, JSON.
    pub(crate) http: Option<String>,
}

/// How the gate ends where no answer comes.
pub(crate) enum GateEnd {
    Failed(Box<ToolError>),
    /// A person is asked first.
    Waiting,
}

impl From<ToolError> for GateEnd {
    fn from(error: ToolError) -> Self {
        Self::Failed(Box::new(error))
    }
}

/// What a program gets: the data or an error, or with `raw` a value that
/// holds either.
pub(crate) fn settled(result: Result<ToolAnswer, GateEnd>, raw: bool) -> Settled {
    match result {
        Ok(answer) if raw => {
            let http = answer.http.as_deref().unwrap_or("null");
            Settled::Ok(format!(r#"{{"ok":true,"data":{},"http":{http}}}"#, answer.data))
        }
        Ok(answer) => Settled::Ok(answer.data),
        Err(GateEnd::Failed(error)) if raw => Settled::Ok(json!({"ok": false, "error": error}).to_string()),
        Err(GateEnd::Failed(error)) => Settled::Failed(json!(error).to_string()),
        Err(GateEnd::Waiting) => Settled::Waiting,
    }
}

/// An outcome as the journal keeps it.
pub(crate) fn encode(settled: &Settled) -> Option<String> {
    match settled {
        Settled::Ok(json) => Some(format!("ok:{json}")),
        Settled::Failed(json) => Some(format!("failed:{json}")),
        Settled::Waiting => None,
    }
}

/// What [`encode`] wrote.
pub(crate) fn decode(outcome: &str) -> Option<Settled> {
    let (kind, json) = outcome.split_once(':')?;
    match kind {
        "ok" => Some(Settled::Ok(json.to_owned())),
        "failed" => Some(Settled::Failed(json.to_owned())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_never_throws_for_an_expected_failure() {
        let error = || Err(GateEnd::from(ToolError::new("a.b", "denied", "no")));
        let Settled::Ok(value) = settled(error(), true) else { panic!("raw gives a value") };
        let value: Value = serde_json::from_str(&value).expect("JSON");
        assert_eq!((&value["ok"], &value["error"]["code"]), (&json!(false), &json!("denied")));
        assert!(matches!(settled(error(), false), Settled::Failed(_)));

        let answer = Ok(ToolAnswer { data: "[1]".into(), http: Some(r#"{"status":200}"#.into()) });
        assert_eq!(
            settled(answer, true),
            Settled::Ok(r#"{"ok":true,"data":[1],"http":{"status":200}}"#.into())
        );
    }

    #[test]
    fn outcomes_come_back_as_they_were() {
        for settled in [Settled::Ok("{\"a\":\":\"}".into()), Settled::Failed("{}".into())] {
            assert_eq!(encode(&settled).as_deref().and_then(decode), Some(settled));
        }
        assert_eq!(encode(&Settled::Waiting), None);
    }
}
