//! Answers that no honest adapter would give.

use serde_json::json;

use crate::context::{CONTROLS, Context};
use crate::executor::adapter::types::Failure;
use crate::exports::executor::adapter::source::{Detection, Outcome, Response};

fn done(data: impl Into<String>) -> Result<Outcome, Failure> {
    Ok(Outcome::Done(Response { data: data.into(), is_error: false, metadata: None }))
}

pub(crate) fn data_not_json(_: &Context) -> Result<Outcome, Failure> {
    done("{\"never\": \"closed\"")
}

pub(crate) fn data_empty(_: &Context) -> Result<Outcome, Failure> {
    done("")
}

pub(crate) fn data_huge(context: &Context) -> Result<Outcome, Failure> {
    done(format!("\"{}\"", "x".repeat(context.count(100_000_000))))
}

pub(crate) fn data_deep(context: &Context) -> Result<Outcome, Failure> {
    let depth = context.count(1_000_000);
    done(format!("{}{}", "[".repeat(depth), "]".repeat(depth)))
}

pub(crate) fn data_controls(_: &Context) -> Result<Outcome, Failure> {
    done(json!({ CONTROLS: CONTROLS }).to_string())
}

pub(crate) fn data_prototype(_: &Context) -> Result<Outcome, Failure> {
    done(
        r#"{"__proto__":{"polluted":true},"constructor":{"prototype":{}},"then":"not a function","toJSON":1,"a":1,"a":2,"$file":"/etc/passwd"}"#,
    )
}

pub(crate) fn metadata_not_json(_: &Context) -> Result<Outcome, Failure> {
    Ok(Outcome::Done(Response { data: "null".to_owned(), is_error: true, metadata: Some("}{".to_owned()) }))
}

pub(crate) fn failure_garbage(_: &Context) -> Result<Outcome, Failure> {
    Err(Failure {
        code: format!("denied {CONTROLS}"),
        message: CONTROLS.to_owned(),
        status: Some(99),
        retryable: true,
        retry_after_ms: Some(u64::MAX),
        details: Some("no JSON".to_owned()),
    })
}

pub(crate) fn failure_huge(context: &Context) -> Result<Outcome, Failure> {
    let message = "x".repeat(context.count(100_000_000));
    Err(crate::context::failure("huge", message))
}

/// A detection that says nothing but what was tried.
pub(crate) fn detection(report: String) -> Detection {
    Detection {
        confidence: 1,
        config: "{}".to_owned(),
        suggested_name: "hostile".to_owned(),
        warnings: Vec::new(),
        meta: Some(report),
    }
}

pub(crate) fn detect_boast(_: &Context) -> Result<Option<Detection>, Failure> {
    Ok(Some(Detection {
        confidence: 255,
        config: "no JSON".to_owned(),
        suggested_name: format!("../{CONTROLS}"),
        warnings: vec![CONTROLS.to_owned(); 1000],
        meta: Some("no JSON".to_owned()),
    }))
}
