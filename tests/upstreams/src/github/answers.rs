//! The answers that say yes.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::Value;

use super::refusals::Refusal;

pub(crate) type Answer = Result<Response, Refusal>;

pub(crate) fn json(status: StatusCode, body: Value) -> Response {
    body_of(status, "application/json; charset=utf-8", body.to_string())
}

pub(crate) fn ok(body: Value) -> Answer {
    Ok(json(StatusCode::OK, body))
}

/// 201 with a Location where the body has a `url`.
pub(crate) fn created(body: Value) -> Answer {
    let location = body.get("url").and_then(Value::as_str).and_then(|url| HeaderValue::try_from(url).ok());
    let mut response = json(StatusCode::CREATED, body);
    if let Some(location) = location {
        response.headers_mut().insert(header::LOCATION, location);
    }
    Ok(response)
}

pub(crate) fn no_content() -> Answer {
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(crate) fn body_of(status: StatusCode, media_type: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}
