//! Answers: JSON that nobody keeps.

use axum::body::Body;
use axum::http::StatusCode;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue,
    X_CONTENT_TYPE_OPTIONS,
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
    let size = body.len() as u64;
    file(Some(media_type), None, size, Body::from(body))
}

/// The same of bytes that come as they are read, under their name.
pub(super) fn file(media_type: Option<&str>, name: Option<&str>, size: u64, body: Body) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    let media_type = media_type.filter(|said| !is_active(said));
    let media_type = media_type.and_then(|said| HeaderValue::from_str(said).ok());
    headers.insert(CONTENT_TYPE, media_type.unwrap_or(HeaderValue::from_static("application/octet-stream")));
    headers.insert(CONTENT_LENGTH, HeaderValue::from(size));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(CONTENT_DISPOSITION, attachment(name));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Should a browser show it nevertheless, it is nobody's and does nothing.
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; sandbox"));
    response
}

/// Whether a browser would run it as a page or a program of this origin.
fn is_active(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    ["html", "xml", "svg", "script", "css", "multipart", "message"].iter().any(|word| essence.contains(word))
}

/// Saved under its name, which is told twice (RFC 6266): in ASCII, and whole.
fn attachment(name: Option<&str>) -> HeaderValue {
    let plain = || HeaderValue::from_static("attachment");
    let Some(name) = name else { return plain() };
    let ascii = |character: char| match character {
        '"' | '\\' | '/' | '%' => '_',
        character if character == ' ' || character.is_ascii_graphic() => character,
        _ => '_',
    };
    let simple: String = name.chars().map(ascii).collect();
    let mut whole = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            whole.push(char::from(byte));
        } else {
            whole.push_str(&format!("%{byte:02X}"));
        }
    }
    let value = format!("attachment; filename=\"{simple}\"; filename*=UTF-8''{whole}");
    HeaderValue::from_str(&value).unwrap_or_else(|_| plain())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_ends_no_header_and_leads_nowhere() {
        let check = |name: &str, expect: &str| assert_eq!(attachment(Some(name)), expect);
        check("a b.txt", "attachment; filename=\"a b.txt\"; filename*=UTF-8''a%20b.txt");
        check(
            "\"; x=\r\ny/../é%",
            "attachment; filename=\"_; x=__y_..___\"; filename*=UTF-8''%22%3B%20x%3D%0D%0Ay%2F..%2F%C3%A9%25",
        );
        assert_eq!(attachment(None), "attachment");
    }

    #[test]
    fn what_a_browser_would_run_is_bytes() {
        for active in
            ["text/html", "IMAGE/SVG+XML; a=b", "application/xhtml+xml", "text/javascript", "text/xml"]
        {
            let response = file(Some(active), None, 0, Body::empty());
            assert_eq!(response.headers()[CONTENT_TYPE], "application/octet-stream", "{active}");
        }
        for kept in ["text/plain; charset=utf-8", "application/json", "image/png", "application/pdf"] {
            assert_eq!(file(Some(kept), None, 0, Body::empty()).headers()[CONTENT_TYPE], kept);
        }
    }
}
