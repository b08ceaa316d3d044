//! Errors as HTTP has them: `{"error":{"code","message","hint","details"}}`.

use std::borrow::Cow;

use axum::http::header::{ALLOW, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use executor_control::{Problem, ProblemKind};
use serde::Serialize;
use serde_json::{Value, json};

use super::encode;

/// A request that is not answered as was asked.
#[derive(Debug)]
pub(crate) struct Failure {
    status: StatusCode,
    body: Box<Body>,
    header: Option<(HeaderName, HeaderValue)>,
}

/// An error's JSON.
#[derive(Debug, Serialize)]
struct Body {
    code: Cow<'static, str>,
    message: Cow<'static, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<Cow<'static, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Value>,
}

#[derive(Serialize)]
struct Envelope<'b> {
    error: &'b Body,
}

impl Failure {
    fn new(status: StatusCode, code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        let body = Body { code: code.into(), message: message.into(), hint: None, details: None };
        Self { status, body: Box::new(body), header: None }
    }

    fn hint(mut self, hint: &'static str) -> Self {
        self.body.hint = Some(hint.into());
        self
    }

    fn details(mut self, details: Value) -> Self {
        self.body.details = Some(details);
        self
    }

    pub(crate) fn unauthorized() -> Self {
        let mut failure =
            Self::new(StatusCode::UNAUTHORIZED, "unauthorized", "the request carries no valid token")
                .hint("send `Authorization: Bearer TOKEN`; the owner's is in the file `token` of the home");
        failure.header = Some((WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"executor\"")));
        failure
    }

    pub(crate) fn host_denied(message: &'static str) -> Self {
        Self::new(StatusCode::FORBIDDEN, "host-denied", message)
            .hint("use the address that the daemon listens on, or start it with --allow-host NAME")
    }

    pub(crate) fn origin_denied() -> Self {
        Self::new(StatusCode::FORBIDDEN, "origin-denied", "the request was made by another site")
            .hint("a site of yours is allowed by --allow-host NAME")
    }

    pub(crate) fn no_route() -> Self {
        Self::new(StatusCode::NOT_FOUND, "no-route", "there is no such path in this API")
    }

    /// `Allow` is added by the router, which knows the path's methods.
    pub(crate) fn wrong_method() -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", "the path does not take this method")
            .hint("the Allow header names those that it takes")
    }

    pub(crate) fn too_large(limit_bytes: usize) -> Self {
        let message = format!("the request's body is larger than {limit_bytes} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", message)
            .details(json!({ "limit_bytes": limit_bytes }))
    }

    pub(crate) fn file_too_large(limit_bytes: u64) -> Self {
        let message = format!("the file is larger than {limit_bytes} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", message)
            .hint("split it; larger ones are not held")
            .details(json!({ "limit_bytes": limit_bytes }))
    }

    pub(crate) fn too_slow(seconds: u64) -> Self {
        let message = format!("the request's body did not arrive within {seconds} s");
        Self::new(StatusCode::REQUEST_TIMEOUT, "request-timeout", message)
    }

    pub(crate) fn body_lost() -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid-request", "the request's body ended early")
    }

    pub(crate) fn wrong_media_type() -> Self {
        Self::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported-media-type",
            "the request's body has to be JSON",
        )
        .hint("send `Content-Type: application/json`")
    }

    pub(crate) fn wrapped_file() -> Self {
        Self::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported-media-type",
            "the file stands in a form, of which the bytes would be kept too",
        )
        .hint("send its bytes alone: `curl --data-binary @FILE -H 'Content-Type: image/png' …`")
    }

    pub(crate) fn invalid_json(message: String, details: Value) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid-json", message).details(details)
    }

    pub(crate) fn invalid_request(message: String) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid-request", message)
    }

    pub(crate) fn invalid_field(message: String, details: Value) -> Self {
        Self::invalid_request(message).details(details)
    }

    pub(crate) fn too_many_sessions(limit: usize) -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "too-many-sessions",
            format!("there are {limit} MCP sessions already"),
        )
        .hint("end clients that are not in use, or restart the daemon: `executor down`")
        .details(json!({ "limit": limit }))
    }

    pub(crate) fn broken(correlation: &str) -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "the daemon broke while it answered: this is our bug",
        )
        .hint("the daemon's log has the details, by the correlation number")
        .details(json!({ "correlation": correlation }))
    }

    /// The error as a line of an answer that has begun.
    pub(crate) fn to_line(&self) -> Vec<u8> {
        let mut line = self.json();
        line.push(b'\n');
        line
    }

    fn json(&self) -> Vec<u8> {
        serde_json::to_vec(&Envelope { error: &self.body }).expect("texts and JSON values can be written")
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        let status = match problem.kind {
            ProblemKind::Invalid => StatusCode::BAD_REQUEST,
            ProblemKind::Unauthenticated => StatusCode::UNAUTHORIZED,
            ProblemKind::Denied => StatusCode::FORBIDDEN,
            ProblemKind::NotFound => StatusCode::NOT_FOUND,
            ProblemKind::Conflict => StatusCode::CONFLICT,
            ProblemKind::Unprocessable => StatusCode::UNPROCESSABLE_ENTITY,
            ProblemKind::TooMany => StatusCode::TOO_MANY_REQUESTS,
            ProblemKind::Upstream => StatusCode::BAD_GATEWAY,
            ProblemKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            ProblemKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let wait = problem.details.as_ref().and_then(|details| details["retry_after_seconds"].as_u64());
        let header = wait.map(|seconds| (RETRY_AFTER, HeaderValue::from(seconds)));
        let body = Body {
            code: problem.code.into(),
            message: problem.message.into(),
            hint: problem.hint.map(Cow::Owned),
            details: problem.details,
        };
        Self { status, body: Box::new(body), header }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = encode::bytes(self.status, self.json());
        if let Some((name, value)) = self.header {
            response.headers_mut().insert(name, value);
        }
        if self.status == StatusCode::METHOD_NOT_ALLOWED {
            // The router replaces it with the path's own.
            response.headers_mut().remove(ALLOW);
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_object() {
        let json: Value = serde_json::from_slice(&Failure::too_large(10).json()).unwrap();
        assert_eq!(
            json,
            json!({ "error": { "code": "too-large", "message": "the request's body is larger than 10 bytes",
                "details": { "limit_bytes": 10 } } })
        );
        let problem = Problem::new(ProblemKind::Conflict, "source-exists", "no").hint("rename it");
        let failure = Failure::from(problem);
        assert_eq!(failure.status, StatusCode::CONFLICT);
        assert!(String::from_utf8(failure.to_line()).unwrap().ends_with("\"hint\":\"rename it\"}}\n"));
    }

    #[test]
    fn a_missing_token_says_how_to_show_one() {
        let response = Failure::unauthorized().into_response();
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
        assert!(response.headers().contains_key(WWW_AUTHENTICATE));
    }
}
