//! `/_emulator/…`: the switches of the emulator over HTTP, for the binary.

use axum::response::{IntoResponse, Response};
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::answers;
use super::app::App;
use super::faults::Fault;
use super::refusals::Refusal;

/// A body of `POST` and `DELETE /_emulator/tokens`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenRequest {
    token: String,
    #[serde(default = "octocat")]
    login: String,
}

fn octocat() -> String {
    "octocat".to_owned()
}

/// Answers a request to `/_emulator/{path}`, which no ledger and no fault sees.
pub(crate) fn answer(app: &App, method: &Method, path: &str, body: &[u8]) -> Response {
    match (method.as_str(), path) {
        ("GET", "ledger") => {
            let entries: Vec<Value> = app.ledger.entries().iter().map(|one| one.to_json()).collect();
            answers::json(StatusCode::OK, json!({ "count": app.ledger.count(), "entries": entries }))
        }
        ("DELETE", "ledger") => {
            app.ledger.clear();
            done()
        }
        ("GET", "faults") => answers::json(StatusCode::OK, json!(app.faults.waiting())),
        ("POST", "faults") => with_body(body, |fault: Fault| app.faults.add(fault)),
        ("DELETE", "faults") => {
            app.faults.clear();
            done()
        }
        ("POST", "tokens") => with_body(body, |request: TokenRequest| {
            app.tokens.allow(&request.token, &request.login);
        }),
        ("DELETE", "tokens") => with_body(body, |request: TokenRequest| {
            app.tokens.revoke(&request.token);
        }),
        _ => Refusal::not_found().into_response(),
    }
}

fn with_body<'de, T: Deserialize<'de>>(body: &'de [u8], act: impl FnOnce(T)) -> Response {
    match serde_json::from_slice(body) {
        Ok(request) => {
            act(request);
            done()
        }
        Err(error) => {
            let message = format!("The body is not what this switch takes: {error}");
            Refusal::new(StatusCode::BAD_REQUEST, message).into_response()
        }
    }
}

fn done() -> Response {
    StatusCode::NO_CONTENT.into_response()
}
