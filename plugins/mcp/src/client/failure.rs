//! What a caller hears of a request without an answer.

use serde_json::{Value, json};

use super::Failed;
use crate::rpc::RpcError;
use crate::seam::Failure;
use crate::text::line;
use crate::transport::{Lost, Noise, Refused};

/// The failure that a lost request is. `repeatable` says that to send it again
/// does no harm; where it is not, what was sent and not answered is unknown.
pub(crate) fn failure(failed: Failed, repeatable: bool, noise: Option<&Noise>) -> Failure {
    // A greeting changes nothing, whatever became of it.
    let repeatable = repeatable || !failed.asked;
    let mut failure = match failed.lost {
        Lost::Unsent(failure) => failure,
        Lost::Refused(refused) => of_status(&refused, repeatable),
        Lost::SessionGone => {
            Failure::passing("connection-lost", "the server ended the session, and the next one too")
        }
        Lost::Broken(failure) if failure.code == "upstream-too-large" => failure,
        Lost::Broken(failure) if repeatable && failure.code == "outcome-unknown" => {
            Failure::passing("connection-lost", "the connection was lost before the answer came")
        }
        Lost::Broken(failure) if repeatable => Failure { retryable: true, ..failure },
        Lost::Broken(failure) => unknown(&failure.message, failure.details),
        Lost::Silent if repeatable => {
            Failure::passing("upstream-timeout", "the server did not answer in time")
        }
        Lost::Silent => unknown("the server did not answer in time", None),
        Lost::Garbage { status, why, start } => Failure {
            status,
            details: (!start.is_empty()).then(|| json!({"start": start}).to_string()),
            ..Failure::new("upstream-malformed", format!("this is no answer of an MCP server: {why}"))
        },
    };
    if let Some(noise) = noise.filter(|noise| noise.count > 0 && !failure.is_captured()) {
        add_noise(&mut failure, noise);
    }
    failure
}

fn unknown(why: &str, details: Option<String>) -> Failure {
    let message = format!("{why}; whether the call took effect is unknown");
    Failure { details, ..Failure::new("outcome-unknown", message) }
}

fn add_noise(failure: &mut Failure, noise: &Noise) {
    let held = failure.details.take().and_then(|details| serde_json::from_str::<Value>(&details).ok());
    let mut details = match held {
        Some(Value::Object(details)) => details,
        Some(other) => serde_json::Map::from_iter([("details".to_owned(), other)]),
        None => serde_json::Map::new(),
    };
    details.insert("output".to_owned(), json!(noise.lines));
    details.insert("output_lines".to_owned(), json!(noise.count));
    failure.details = Some(Value::Object(details).to_string());
    if let Some(first) = noise.lines.first() {
        let first = line(first, 120);
        failure.message = format!("{}; it wrote to its output: {first}", failure.message);
    }
}

fn of_status(refused: &Refused, repeatable: bool) -> Failure {
    let status = refused.status;
    let code = match status {
        401 | 403 => "upstream-rejected",
        404 | 410 => "upstream-not-found",
        429 => "upstream-rate-limited",
        300..=399 => "upstream-redirected",
        500..=599 => "upstream-failed",
        _ => "upstream-error",
    };
    let scope = refused.challenge.as_ref().and_then(|challenge| challenge.scope.as_deref());
    let wants =
        scope.map(|scope| format!("; it asks for the scope {}", line(scope, 200))).unwrap_or_default();
    let message = match status {
        401 => format!("the server asks for a sign-in (401){wants}"),
        403 => format!("the server refuses this connection (403){wants}"),
        _ => format!("the server answered {status}"),
    };
    let refused_first = matches!(status, 429 | 503);
    Failure {
        code: code.to_owned(),
        message,
        status: Some(status),
        retryable: refused_first || (repeatable && matches!(status, 408 | 500..=599)),
        retry_after_ms: refused.retry_after_ms,
        details: (!refused.start.is_empty()).then(|| json!({"start": refused.start}).to_string()),
    }
}

/// The failure that an error of the server is.
pub(crate) fn rpc_failure(error: &RpcError, status: Option<u16>) -> Failure {
    let code = match error.code {
        -32_602 | -32_600 | -32_700 => "upstream-invalid",
        -32_601 | -32_002 => "upstream-not-found",
        -32_603 => "upstream-failed",
        _ => "upstream-error",
    };
    let message = match error.code {
        // The headers that mirror arguments follow from the schema of the last index.
        -32_020 => format!("{}: the tool has changed, refresh the source", error.message),
        -32_021 => format!("{}: the server wants what this client does not offer", error.message),
        _ if error.message.is_empty() => format!("the server answered with error {}", error.code),
        _ => error.message.clone(),
    };
    let data: Value =
        error.data.as_deref().and_then(|data| serde_json::from_str(data).ok()).unwrap_or_default();
    let mut details = json!({"code": error.code, "message": error.message});
    if !data.is_null() {
        details["data"] = data;
    }
    Failure { status, details: Some(details.to_string()), ..Failure::new(code, message) }
}
