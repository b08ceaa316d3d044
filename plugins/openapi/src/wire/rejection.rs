//! From an unsuccessful response to a failure with a stable code.

use serde_json::{Value, json};

use super::binding::Binding;
use super::content::{self, Content};
use super::headers::Headers;
use super::read;
use crate::seam::{Failure, HttpResponse};
use crate::text::{line, plain};

const MAX_DETAILS_BYTES: usize = 64 << 10;
const MAX_TEXT_CHARS: usize = 2000;
const MAX_MESSAGE_CHARS: usize = 500;

/// The failure that a response outside of 2xx is.
pub(crate) fn read<R: HttpResponse>(binding: &Binding, mut response: R) -> Failure {
    let status = response.status();
    let headers = Headers::new(response.headers());
    let body = match content::kind(headers.content_type()) {
        Content::Binary if !headers.content_type().is_empty() => Vec::new(),
        _ if binding.method == "HEAD" => Vec::new(),
        _ => read::start(&mut response, MAX_DETAILS_BYTES + 1),
    };
    let body = Details::read(&body);
    let retry_after_ms = headers.retry_after_ms();
    let code = code(status, &headers);
    let message = message(status, code, &body, &headers, binding);
    let details = if code == "upstream-redirected" {
        headers.get("location").map(|to| json!({"location": line(to, 2000)}).to_string())
    } else {
        body.json()
    };
    Failure {
        code: code.to_owned(),
        message,
        status: Some(status),
        retryable: is_retryable(status, code, binding.is_idempotent()),
        retry_after_ms,
        details,
    }
}

fn code(status: u16, headers: &Headers) -> &'static str {
    match status {
        403 if headers.is_out_of_quota() => "upstream-rate-limited",
        401 | 403 => "upstream-rejected",
        404 | 410 => "upstream-not-found",
        409 | 412 => "upstream-conflict",
        400 | 422 => "upstream-invalid",
        429 => "upstream-rate-limited",
        300..=399 => "upstream-redirected",
        500..=599 => "upstream-failed",
        _ => "upstream-error",
    }
}

/// What was refused before it was worked on may be sent again; what failed
/// while it was worked on only where twice is the same as once.
fn is_retryable(status: u16, code: &str, idempotent: bool) -> bool {
    match status {
        _ if code == "upstream-rate-limited" => true,
        425 | 503 => true,
        408 | 500 | 502 | 504 => idempotent,
        _ => false,
    }
}

enum Details {
    None,
    Json { value: Value, text: String },
    Text(String),
}

impl Details {
    fn read(bytes: &[u8]) -> Self {
        let whole = bytes.len() <= MAX_DETAILS_BYTES;
        if whole && let Ok(value) = serde_json::from_slice::<Value>(bytes) {
            let text = value.to_string();
            return Self::Json { value, text };
        }
        let text = String::from_utf8_lossy(bytes);
        let text = plain(&text, MAX_TEXT_CHARS);
        if text.is_empty() { Self::None } else { Self::Text(text.into_owned()) }
    }

    fn json(self) -> Option<String> {
        match self {
            Self::None => None,
            Self::Json { text, .. } => Some(text),
            Self::Text(text) => Some(json!(text).to_string()),
        }
    }

    /// What the API says in words, where APIs are used to say it.
    fn words(&self) -> Option<String> {
        let text = match self {
            Self::None => return None,
            Self::Text(text) if text.trim_start().starts_with('<') => return None,
            Self::Text(text) => text.clone(),
            Self::Json { value, .. } => words_in(value, 0)?,
        };
        Some(line(&text, MAX_MESSAGE_CHARS)).filter(|text| !text.is_empty())
    }
}

fn words_in(value: &Value, depth: u8) -> Option<String> {
    if depth > 3 {
        return None;
    }
    match value {
        Value::String(text) => Some(text.clone()).filter(|text| !text.trim().is_empty()),
        Value::Array(list) => words_in(list.first()?, depth + 1),
        Value::Object(map) => {
            let own = [
                "message",
                "error_description",
                "detail",
                "title",
                "error",
                "errors",
                "errorMessages",
                "description",
                "reason",
                "msg",
                "fault",
            ];
            own.iter().find_map(|key| words_in(map.get(*key)?, depth + 1))
        }
        _ => None,
    }
}

fn message(status: u16, code: &str, body: &Details, headers: &Headers, binding: &Binding) -> String {
    let mut message = format!("the API answered {status}");
    if code == "upstream-redirected" {
        let to = headers.get("location").map(|to| format!(" to {}", line(to, 300))).unwrap_or_default();
        return format!("{message}, a redirect{to}, which is not followed");
    }
    if let Some(words) = body.words() {
        message.push_str(": ");
        message.push_str(&words);
    }
    if code == "upstream-rejected" && !binding.scopes.is_empty() {
        message.push_str(&format!(" (this operation declares the scopes {})", binding.scopes.join(", ")));
    }
    message
}
