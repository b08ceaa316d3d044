//! Answers: JSON that nobody keeps.

use axum::body::Body;
use axum::http::StatusCode;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::Response;
use serde::Serialize;

use super::failure::Failure;

/// What every handler gives.
pub(super) type Answer = Result<Response, Failure>;

/// A list under `items`.
#[derive(Serialize)]
pub(super) struct Items<T> {
    pub(super) items: Vec<T>,
}

/// 200 with a view.
pub(super) fn ok(view: &impl Serialize) -> Answer {
    json(StatusCode::OK, view)
}

/// 201 with what was made.
pub(super) fn created(view: &impl Serialize) -> Answer {
    json(StatusCode::CREATED, view)
}

/// 200 with a list.
pub(super) fn items<T: Serialize>(items: Vec<T>) -> Answer {
    ok(&Items { items })
}

/// 204.
pub(super) fn nothing() -> Answer {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    Ok(response)
}

pub(super) fn json(status: StatusCode, view: &impl Serialize) -> Answer {
    // A view is made of texts, numbers and JSON: there is always an encoding.
    let body = serde_json::to_vec(view).map_err(|error| Failure::broken(&error.to_string()))?;
    Ok(bytes(status, body))
}

/// An answer of these JSON bytes.
pub(super) fn bytes(status: StatusCode, body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Bytes that somebody else made. Nothing renders them: they are saved as a
/// file, whatever they say that they are.
pub(super) fn download(media_type: &str, body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    let headers = response.headers_mut();
    let media_type = HeaderValue::from_str(media_type)
        .unwrap_or_else(|_| HeaderValue::from_static("application/octet-stream"));
    headers.insert(CONTENT_TYPE, media_type);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
