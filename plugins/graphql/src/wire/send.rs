//! Sends an operation, and reads what comes back as it is.

use serde_json::Value;

use super::headers::Headers;
use crate::seam::{Chunk, Failure, Http, HttpRequest, HttpResponse};

/// JSON as GraphQL over HTTP names it, and as most servers do.
const ACCEPT: &[u8] = b"application/graphql-response+json, application/json;q=0.9, */*;q=0.1";
/// What calls itself `executor` to an API; GitHub refuses requests that name
/// nobody.
const USER_AGENT: &[u8] = b"executor";
const CHUNK_BYTES: u32 = 256 << 10;
const IDLE_TIMEOUT_MS: u32 = 60_000;

/// What came back.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Headers,
    pub(crate) body: Body,
}

/// The body, as far as it was read.
pub(crate) enum Body {
    Whole(Vec<u8>),
    /// It has more bytes than were to be read.
    TooLarge,
}

impl Reply {
    /// The bytes; none where they were too many.
    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.body {
            Body::Whole(bytes) => bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes),
            Body::TooLarge => &[],
        }
    }

    /// Whether the body is a page for people.
    pub(crate) fn is_page(&self) -> bool {
        let start =
            String::from_utf8_lossy(&self.bytes()[..self.bytes().len().min(2048)]).to_ascii_lowercase();
        start.trim_start().starts_with('<') && start.contains("html")
    }

    /// What the body seems to be where it is no GraphQL answer.
    pub(crate) fn looks(&self) -> String {
        if matches!(self.body, Body::TooLarge) {
            return "a body that is too large".to_owned();
        }
        let start =
            String::from_utf8_lossy(&self.bytes()[..self.bytes().len().min(2048)]).to_ascii_lowercase();
        if start.trim().is_empty() {
            "an empty body".to_owned()
        } else if self.is_page() {
            "an HTML page (a login, or no API at that URL?)".to_owned()
        } else if serde_json::from_slice::<serde::de::IgnoredAny>(self.bytes()).is_ok() {
            "JSON that is no GraphQL answer".to_owned()
        } else if self.headers.content_type().contains("json") {
            "JSON that breaks off".to_owned()
        } else {
            format!("text that is no JSON ({})", crate::text::line(&start, 60))
        }
    }
}

/// The request of an operation in JSON.
pub(crate) fn json_request(endpoint: &str, body: &Value) -> HttpRequest {
    let chunks = vec![Chunk::Bytes(body.to_string().into_bytes())];
    request("POST", endpoint.to_owned(), Some("application/json"), chunks)
}

/// A request with the headers that all have.
pub(crate) fn request(
    method: &str,
    url: String,
    content_type: Option<&str>,
    body: Vec<Chunk>,
) -> HttpRequest {
    let mut headers =
        vec![("accept".to_owned(), ACCEPT.to_vec()), ("user-agent".to_owned(), USER_AGENT.to_vec())];
    headers.extend(content_type.map(|kind| ("content-type".to_owned(), kind.as_bytes().to_vec())));
    HttpRequest { method: method.to_owned(), url, headers, body }
}

/// Sends a request and reads at most `max_bytes` of the answer's body.
///
/// # Errors
/// The host's failures; `upstream-timeout` where a body stalls.
pub(crate) fn send<H: Http>(http: &mut H, request: HttpRequest, max_bytes: usize) -> Result<Reply, Failure> {
    let mut response = http.send(request)?;
    let status = response.status();
    let headers = Headers::new(response.headers());
    let body = read(&mut response, max_bytes, status)?;
    Ok(Reply { status, headers, body })
}

fn read<R: HttpResponse>(response: &mut R, max_bytes: usize, status: u16) -> Result<Body, Failure> {
    let mut bytes = Vec::new();
    loop {
        let chunk = response.read(CHUNK_BYTES, IDLE_TIMEOUT_MS)?.ok_or_else(|| Failure {
            status: Some(status),
            ..Failure::new(
                "upstream-timeout",
                format!("the body stalled for {} s after {} bytes", IDLE_TIMEOUT_MS / 1000, bytes.len()),
            )
        })?;
        if chunk.is_empty() {
            return Ok(Body::Whole(bytes));
        }
        if bytes.len() + chunk.len() > max_bytes {
            return Ok(Body::TooLarge);
        }
        bytes.extend_from_slice(&chunk);
    }
}
