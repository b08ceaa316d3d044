//! The API's own description, served as it was given.

use std::sync::OnceLock;

use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};

use super::answers::{self, Answer};
use super::call::Call;
use super::encoding;
use super::refusals::Refusal;

/// Compressed and hashed at its first use, since 13 MB take a while.
#[derive(Debug)]
pub(crate) struct Document {
    bytes: Bytes,
    compressed: OnceLock<Bytes>,
    tag: OnceLock<HeaderValue>,
}

impl Document {
    pub(crate) fn new(bytes: Bytes) -> Self {
        Self { bytes, compressed: OnceLock::new(), tag: OnceLock::new() }
    }

    fn answer(&self, headers: &HeaderMap) -> Response {
        let compress = encoding::takes_gzip(headers);
        let body = match compress {
            true => self.compressed.get_or_init(|| encoding::gzip(&self.bytes).into()).clone(),
            false => self.bytes.clone(),
        };
        let mut response = answers::body_of(StatusCode::OK, media_type(&self.bytes), body);
        let fields = response.headers_mut();
        if compress {
            fields.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        let tag = self.tag.get_or_init(|| encoding::entity_tag(&self.bytes));
        fields.insert(header::ETAG, tag.clone());
        response
    }
}

/// `GET /openapi.json`
pub(crate) async fn get(call: Call) -> Answer {
    match &call.app.document {
        Some(document) => Ok(document.answer(&call.headers)),
        None => Err(Refusal::not_found()),
    }
}

fn media_type(bytes: &[u8]) -> &'static str {
    match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{') => "application/json",
        _ => "application/yaml",
    }
}
