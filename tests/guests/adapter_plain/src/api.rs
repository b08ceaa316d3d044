//! Requests to the API, through the host.

use serde_json::Value;

use crate::executor::adapter::http::{self, Chunk, Request, Response};
use crate::executor::adapter::types::Failure;
use crate::failure;

const READ_BYTES: u32 = 64 * 1024;
/// A larger body would better go into a blob, which this adapter leaves out.
const LIMIT_BODY_BYTES: usize = 4 * 1024 * 1024;
const READ_TIMEOUT_MS: u32 = 30_000;

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// JSON where it is JSON, else text.
    pub(crate) body: Value,
}

/// The base URL in a source's settings, without a slash at the end.
///
/// # Errors
/// `settings-invalid` where there is none.
pub(crate) fn base_url(settings: &str) -> Result<String, Failure> {
    let settings: Value = serde_json::from_str(settings).unwrap_or_default();
    match settings["base_url"].as_str() {
        Some(url) if !url.is_empty() => Ok(url.trim_end_matches('/').to_owned()),
        _ => Err(failure("settings-invalid", "base_url: the URL of the API is needed")),
    }
}

/// Sends a request to `arguments.path`, with `arguments.body` as JSON where
/// there is one, and reads the answer.
///
/// # Errors
/// What the host refuses or can't reach, as it says it; `timeout` and
/// `response-too-large` of the body.
pub(crate) fn send(method: &str, settings: &str, arguments: &Value) -> Result<Answer, Failure> {
    let path = arguments["path"].as_str().unwrap_or_default();
    let mut headers = vec![("accept".to_owned(), b"application/json, */*;q=0.1".to_vec())];
    let mut body = Vec::new();
    if let Some(content) = arguments.get("body") {
        headers.push(("content-type".to_owned(), b"application/json".to_vec()));
        body.push(Chunk::Bytes(content.to_string().into_bytes()));
    }
    let response = http::send(Request {
        method: method.to_owned(),
        url: format!("{}{path}", base_url(settings)?),
        headers,
        body,
        // The methods of the tool that runs.
        auth: None,
    })?;
    Ok(Answer { status: response.status(), body: json_or_text(&read(&response)?) })
}

fn read(response: &Response) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    loop {
        let Some(bytes) = response.read(READ_BYTES, READ_TIMEOUT_MS)? else {
            return Err(failure("timeout", "the body did not go on for 30 seconds"));
        };
        if bytes.is_empty() {
            return Ok(body);
        }
        body.extend(bytes);
        if body.len() > LIMIT_BODY_BYTES {
            return Err(failure("response-too-large", "the body is larger than 4 MiB"));
        }
    }
}

fn json_or_text(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_else(|_| Value::String(String::from_utf8_lossy(body).into_owned()))
}
