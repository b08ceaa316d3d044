//! The answers that say no, in GitHub's error shape.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::{Map, Value, json};

use super::answers;

const DOCUMENTATION: &str = "https://docs.github.com/rest";

/// An answer of 300 and above.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    message: String,
    errors: Vec<Value>,
    location: Option<String>,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), errors: Vec::new(), location: None }
    }

    pub(crate) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "Not Found")
    }

    pub(crate) fn authentication_required() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Requires authentication")
    }

    pub(crate) fn bad_credentials() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Bad credentials")
    }

    pub(crate) fn forbidden(message: &str) -> Self {
        Self::new(StatusCode::FORBIDDEN, message)
    }

    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, message)
    }

    /// 422; each error is `{resource, field, code}`.
    pub(crate) fn invalid(errors: Vec<Value>) -> Self {
        Self { errors, ..Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Validation Failed") }
    }

    /// 422 for one field of one resource.
    pub(crate) fn invalid_field(resource: &str, field: &str, code: &str) -> Self {
        Self::invalid(vec![field_error(resource, field, code)])
    }

    /// 301 to a read and 307 to anything else, as GitHub does.
    pub(crate) fn moved(method: &http::Method, location: String) -> Self {
        let status =
            if method.is_safe() { StatusCode::MOVED_PERMANENTLY } else { StatusCode::TEMPORARY_REDIRECT };
        Self { location: Some(location), ..Self::new(status, status.canonical_reason().unwrap_or_default()) }
    }
}

/// One entry of `errors[]`.
pub(crate) fn field_error(resource: &str, field: &str, code: &str) -> Value {
    json!({ "resource": resource, "field": field, "code": code })
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut body = Map::new();
        body.insert("message".to_owned(), json!(self.message));
        if !self.errors.is_empty() {
            body.insert("errors".to_owned(), Value::Array(self.errors));
        }
        if let Some(location) = &self.location {
            body.insert("url".to_owned(), json!(location));
        }
        body.insert("documentation_url".to_owned(), json!(DOCUMENTATION));
        body.insert("status".to_owned(), json!(self.status.as_str()));
        let mut response = answers::json(self.status, Value::Object(body));
        if let Some(location) = self.location.and_then(|to| HeaderValue::try_from(to).ok()) {
            response.headers_mut().insert(header::LOCATION, location);
        }
        response
    }
}
