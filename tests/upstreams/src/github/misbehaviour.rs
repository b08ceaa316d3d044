//! The answers that faults give.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use flate2::{Compress, Compression, Crc, FlushCompress};
use futures::stream::{self, StreamExt as _};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde_json::{Map, Value, json};
use tokio::time::sleep;

use super::answers;
use super::faults::FaultKind;
use super::rates::{self, Rate};
use super::refusals::Refusal;
use crate::wire::ResetSwitch;

const MIB: usize = 1024 * 1024;
const BAD_GATEWAY_PAGE: &str = "<!DOCTYPE html>\n<html>\n<head><title>502 Bad Gateway</title></head>\n\
    <body><center><h1>502 Bad Gateway</h1></center><hr><center>emulator</center></body>\n</html>\n";

/// The answer of a fault that comes in the operation's stead; none for those
/// that let the operation run.
pub(crate) fn instead(
    kind: &FaultKind,
    request: &HeaderMap,
    rate: Rate,
    reset: &ResetSwitch,
) -> Option<Response> {
    Some(match kind {
        FaultKind::TooManyRequests { retry_after_seconds } => too_many_requests(*retry_after_seconds),
        FaultKind::RateLimitExceeded { reset_after_seconds } => {
            let mut response = rates::exceeded(None).into_response();
            rate.used_up(Duration::from_secs(*reset_after_seconds)).stamp(response.headers_mut());
            response
        }
        FaultKind::BadCredentials => Refusal::bad_credentials().into_response(),
        FaultKind::Forbidden => {
            Refusal::forbidden("Resource not accessible by personal access token").into_response()
        }
        FaultKind::ServerError => {
            Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "Server Error").into_response()
        }
        FaultKind::BadGatewayPage => answers::body_of(StatusCode::BAD_GATEWAY, "text/html", BAD_GATEWAY_PAGE),
        FaultKind::Answer { status, headers, body } => any(*status, headers, body),
        FaultKind::Redirect { status, location } => {
            let headers = BTreeMap::from([("location".to_owned(), location.clone())]);
            any(*status, &headers, "")
        }
        FaultKind::EchoAuthorization => echo(request),
        FaultKind::InvalidJson => with_json(Body::from(r#"{"login": "octocat", "id": "#)),
        FaultKind::EndlessBody => endless(),
        FaultKind::StalledBody => stalled(),
        FaultKind::GzipBomb { bytes } => gzip_bomb(*bytes),
        FaultKind::Reset => {
            reset.throw();
            StatusCode::OK.into_response()
        }
        FaultKind::SlowHeaders { .. }
        | FaultKind::SlowBody { .. }
        | FaultKind::TruncatedBody
        | FaultKind::ResetMidBody => return None,
    })
}

/// Spoils how the answer of an operation arrives.
pub(crate) async fn spoil(kind: &FaultKind, response: Response, reset: &ResetSwitch) -> Response {
    match kind {
        FaultKind::SlowHeaders { delay_ms } => {
            sleep(Duration::from_millis(*delay_ms)).await;
            response
        }
        FaultKind::SlowBody { delay_ms, pieces } => {
            let delay = Duration::from_millis(*delay_ms);
            slow_body(response, delay, *pieces as usize).await
        }
        FaultKind::TruncatedBody => half_body(response, None).await,
        FaultKind::ResetMidBody => half_body(response, Some(reset.clone())).await,
        _ => response,
    }
}

fn too_many_requests(retry_after_seconds: u64) -> Response {
    let message = "You have exceeded a secondary rate limit. Please wait before you try again.";
    let mut response = Refusal::new(StatusCode::TOO_MANY_REQUESTS, message).into_response();
    response.headers_mut().insert(header::RETRY_AFTER, retry_after_seconds.into());
    response
}

fn any(status: u16, headers: &BTreeMap<String, String>, body: &str) -> Response {
    let mut response = Response::new(Body::from(body.to_owned()));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::IM_A_TEAPOT);
    for (name, value) in headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().append(name, value);
        }
    }
    response
}

fn echo(request: &HeaderMap) -> Response {
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers: Map<String, Value> =
        request.iter().map(|(name, value)| (name.to_string(), json!(text(value)))).collect();
    let authorization = request.get(header::AUTHORIZATION);
    let mut response = answers::json(
        StatusCode::OK,
        json!({ "authorization": authorization.map(text), "headers": headers }),
    );
    if let Some(value) = authorization {
        response.headers_mut().insert("x-echo-authorization", value.clone());
    }
    response
}

fn endless() -> Response {
    let piece = Bytes::from(vec![b' '; 64 * 1024]);
    with_json(Body::from_stream(stream::repeat(piece).map(Ok::<_, Infallible>)))
}

fn stalled() -> Response {
    let begin = Bytes::from_static(b"{\"items\": [");
    let pieces = stream::iter([Ok::<_, Infallible>(begin)]).chain(stream::pending());
    with_json(Body::from_stream(pieces))
}

async fn slow_body(response: Response, delay: Duration, pieces: usize) -> Response {
    let (mut parts, bytes) = split(response).await;
    parts.headers.insert(header::CONTENT_LENGTH, bytes.len().into());
    let size = bytes.len().div_ceil(pieces.max(1)).max(1);
    let count = bytes.len().div_ceil(size);
    let slow = stream::iter(0..count).then(move |number| {
        let piece = bytes.slice(number * size..bytes.len().min((number + 1) * size));
        async move {
            if number > 0 {
                sleep(delay).await;
            }
            Ok::<_, Infallible>(piece)
        }
    });
    Response::from_parts(parts, Body::from_stream(slow))
}

/// Sends half of what it declares. Without a switch the connection then ends
/// in order, with one it is reset.
async fn half_body(response: Response, reset: Option<ResetSwitch>) -> Response {
    let (mut parts, bytes) = split(response).await;
    // Something has to be missing of an empty body too.
    parts.headers.insert(header::CONTENT_LENGTH, bytes.len().max(64).into());
    let rest = bytes.slice(bytes.len() / 2..);
    let end = stream::once(async move {
        // Lets the first half leave before the connection breaks.
        sleep(Duration::from_millis(5)).await;
        let reset = reset?;
        reset.throw();
        Some(Ok::<_, Infallible>(rest))
    })
    .filter_map(|piece| async { piece });
    let begin = Ok(bytes.slice(..bytes.len() / 2));
    let half = stream::iter([begin]).chain(end);
    Response::from_parts(parts, Body::from_stream(half))
}

async fn split(response: Response) -> (http::response::Parts, Bytes) {
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
    (parts, bytes)
}

/// JSON that expands to spaces and an object, so that it is right as JSON.
fn gzip_bomb(bytes: u64) -> Response {
    let spaces = vec![b' '; MIB];
    let block = deflated_block(&spaces);
    let mut block_sum = Crc::new();
    block_sum.update(&spaces);
    let count = bytes.div_ceil(MIB as u64);
    let mut sum = Crc::new();
    for _ in 0..count {
        sum.combine(&block_sum);
    }
    sum.update(b"{}");
    // The last block is stored: final bit, length, its complement, the bytes.
    let mut end = b"\x01\x02\x00\xfd\xff{}".to_vec();
    end.extend(sum.sum().to_le_bytes());
    end.extend(sum.amount().to_le_bytes());
    let header = Bytes::from_static(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff");
    let blocks = usize::try_from(count).unwrap_or(usize::MAX);
    let pieces = stream::iter([header])
        .chain(stream::repeat(block).take(blocks))
        .chain(stream::iter([Bytes::from(end)]))
        .map(Ok::<_, Infallible>);
    let mut response = with_json(Body::from_stream(pieces));
    let gzip = HeaderValue::from_static("gzip");
    response.headers_mut().insert(header::CONTENT_ENCODING, gzip);
    response
}

/// `plain` as deflate blocks that refer to nothing before them and end on a
/// whole byte, so that copies of them may follow one another (RFC 1951).
fn deflated_block(plain: &[u8]) -> Bytes {
    let mut compressed = Vec::with_capacity(plain.len() + 1024);
    Compress::new(Compression::best(), false)
        .compress_vec(plain, &mut compressed, FlushCompress::Full)
        .expect("a fresh stream takes input");
    compressed.into()
}

fn with_json(body: Body) -> Response {
    answers::body_of(StatusCode::OK, "application/json; charset=utf-8", body)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[tokio::test]
    async fn a_bomb_is_a_gzip_stream_of_json() {
        let (_, bytes) = split(gzip_bomb(3 * MIB as u64 - 5)).await;
        assert!(bytes.len() < 16 * 1024, "{} bytes", bytes.len());
        let mut expanded = String::new();
        let read = flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut expanded);
        assert_eq!(read.ok(), Some(3 * MIB + 2));
        assert_eq!(serde_json::from_str::<Value>(&expanded).ok(), Some(json!({})));
    }

    #[tokio::test]
    async fn a_slow_body_arrives_whole() {
        let response = answers::json(StatusCode::OK, json!("0123456789"));
        let (parts, bytes) = split(slow_body(response, Duration::from_millis(1), 5).await).await;
        assert_eq!(&bytes[..], b"\"0123456789\"");
        assert_eq!(parts.headers[header::CONTENT_LENGTH], "12");
    }
}
