//! What every answer gets on its way out: a tag, and gzip where it is taken.

use std::io::Write as _;

use axum::body::{Body, to_bytes};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use sha2::{Digest as _, Sha256};

/// Smaller bodies are not worth the 20 bytes that gzip adds.
const COMPRESS_FROM_BYTES: usize = 128;

/// Tags answers to reads, answers 304 to a tag that still holds, compresses.
pub(crate) async fn finish(method: &Method, headers: &HeaderMap, response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    let Ok(mut bytes) = to_bytes(body, usize::MAX).await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    // The router declared the length of what may now get another.
    parts.headers.remove(header::CONTENT_LENGTH);
    if parts.status == StatusCode::OK && method == Method::GET {
        let tag = parts.headers.entry(header::ETAG).or_insert_with(|| entity_tag(&bytes));
        if still_holds(headers, tag) {
            parts.status = StatusCode::NOT_MODIFIED;
            parts.headers.remove(header::CONTENT_TYPE);
            parts.headers.remove(header::CONTENT_ENCODING);
            return Response::from_parts(parts, Body::empty());
        }
    }
    let encoded = parts.headers.contains_key(header::CONTENT_ENCODING);
    if !encoded && bytes.len() >= COMPRESS_FROM_BYTES && takes_gzip(headers) {
        bytes = gzip(&bytes).into();
        let gzip = HeaderValue::from_static("gzip");
        parts.headers.insert(header::CONTENT_ENCODING, gzip);
    }
    let vary = HeaderValue::from_static("Accept, Authorization, Accept-Encoding");
    parts.headers.insert(header::VARY, vary);
    Response::from_parts(parts, Body::from(bytes))
}

/// A weak tag of the content.
pub(crate) fn entity_tag(bytes: &[u8]) -> HeaderValue {
    let digest = hex(&Sha256::digest(bytes)[..16]);
    HeaderValue::try_from(format!("W/\"{digest}\"")).expect("hexadecimal digits are a header value")
}

/// Lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn takes_gzip(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::ACCEPT_ENCODING)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|coding| {
            let mut parts = coding.split(';').map(str::trim);
            let name = parts.next().unwrap_or_default();
            let refused = parts.any(|weight| matches!(weight, "q=0" | "q=0.0"));
            name.eq_ignore_ascii_case("gzip") && !refused
        })
}

fn still_holds(headers: &HeaderMap, tag: &HeaderValue) -> bool {
    let Some(known) = headers.get(header::IF_NONE_MATCH) else {
        return false;
    };
    let (Ok(known), Ok(tag)) = (known.to_str(), tag.to_str()) else {
        return false;
    };
    let bare = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    known == "*" || known.split(',').any(|one| bare(one) == bare(tag))
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("writing to memory does not fail")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_taken_unless_refused() {
        let takes = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(value));
            takes_gzip(&headers)
        };
        assert!(takes("br, gzip;q=0.5"));
        assert!(!takes("gzip;q=0, br"));
        assert!(!takes("identity"));
    }
}
