//! The answers that say no, as RFC 6749 section 5.2 has them.

use serde_json::json;

use crate::plain::Answer;

/// An error answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    status: u16,
    pub(crate) error: &'static str,
    pub(crate) description: String,
    header: Option<(&'static str, &'static str)>,
}

impl Refusal {
    pub(crate) fn new(error: &'static str, description: impl Into<String>) -> Self {
        Self { status: 400, error, description: description.into(), header: None }
    }

    pub(crate) fn invalid_request(description: impl Into<String>) -> Self {
        Self::new("invalid_request", description)
    }

    pub(crate) fn invalid_grant(description: impl Into<String>) -> Self {
        Self::new("invalid_grant", description)
    }

    /// 401, with a challenge where the client tried by HTTP.
    pub(crate) fn invalid_client(description: impl Into<String>, by_header: bool) -> Self {
        let header = by_header.then_some(("www-authenticate", "Basic realm=\"emulator\""));
        Self { status: 401, header, ..Self::new("invalid_client", description) }
    }

    pub(crate) fn method_not_allowed(allowed: &'static str) -> Self {
        let header = Some(("allow", allowed));
        Self { status: 405, header, ..Self::invalid_request(format!("only {allowed} is answered here")) }
    }

    pub(crate) fn not_found() -> Self {
        Self { status: 404, ..Self::new("not_found", "there is nothing here") }
    }

    pub(crate) fn unauthorized(description: &str) -> Self {
        let header = Some(("www-authenticate", "Bearer realm=\"emulator\""));
        Self { status: 401, header, ..Self::new("invalid_token", description) }
    }

    pub(crate) fn answer(&self) -> Answer {
        let mut headers = vec![("content-type", "application/json"), ("cache-control", "no-store")];
        headers.extend(self.header);
        let body = json!({ "error": self.error, "error_description": self.description });
        Answer::new(self.status, &headers, body.to_string())
    }
}
