//! Requests into values, each bounded, each error saying what and where.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Form, FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use executor_control::{Caller, Once};
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::App;
use super::failure::Failure;

/// Bytes of a body, where nothing large is sent.
pub(super) const BODY_LIMIT_BYTES: usize = 2 * 1024 * 1024;
/// Bytes of a body that anybody may send.
const SMALL_BODY_LIMIT_BYTES: usize = 16 * 1024;
/// Bytes of a body that carries a component, and of one that carries a document
/// where the settings want no larger ones.
pub(super) const LARGE_BODY_LIMIT_BYTES: usize = 96 * 1024 * 1024;
/// What a request has beside the document in it.
const ENVELOPE_BYTES: usize = 1024 * 1024;
/// How long a body may take.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);

/// What a page's form is sent as.
const FORM: &str = "application/x-www-form-urlencoded";

/// By which a client says that two requests are one
/// (draft-ietf-httpapi-idempotency-key-header).
const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// Who asks: put there by the door.
pub(super) struct Who(pub(super) Arc<Caller>);

impl<S: Send + Sync> FromRequestParts<S> for Who {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        // Only a request that did not pass the door has none.
        parts.extensions.get::<Arc<Caller>>().cloned().map(Self).ok_or_else(Failure::unauthorized)
    }
}

/// Who asks, on a route that is for anybody.
pub(super) struct MaybeWho(pub(super) Option<Arc<Caller>>);

impl<S: Send + Sync> FromRequestParts<S> for MaybeWho {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self(parts.extensions.get::<Arc<Caller>>().cloned()))
    }
}

/// Through what and from where a request came: put there by the door.
#[derive(Debug, Clone)]
pub(crate) struct Via {
    /// What its client calls itself.
    pub(crate) client: String,
    /// The peer's address, as far as one can tell peers apart by it.
    pub(crate) peer: String,
}

impl<S: Send + Sync> FromRequestParts<S> for Via {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        parts.extensions.get::<Self>().cloned().ok_or_else(Failure::unauthorized)
    }
}

/// The parts of the path.
pub(super) struct Segments<T>(pub(super) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Segments<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let path = Path::<T>::from_request_parts(parts, state).await;
        path.map(|Path(segments)| Self(segments)).map_err(|rejection| {
            Failure::invalid_request(format!("the path can't be read: {}", rejection.body_text()))
        })
    }
}

/// The query, of which every name has to be known.
pub(super) struct Parameters<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Parameters<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        Query::try_from_uri(&parts.uri).map(|Query(query)| Self(query)).map_err(|rejection| {
            Failure::invalid_request(format!("the query can't be read: {}", rejection.body_text()))
        })
    }
}

/// A JSON body of at most `LIMIT` bytes.
pub(super) struct Json<T, const LIMIT: usize = BODY_LIMIT_BYTES>(pub(super) T);

/// A JSON body that may carry a document.
pub(super) struct LargeJson<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<Arc<App>> for LargeJson<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Failure> {
        let (parts, body) = request.into_parts();
        check_media_type(&parts.headers)?;
        let bytes = read(&parts.headers, body, document_limit(app)).await?;
        parse(&bytes).map(Self)
    }
}

/// Bytes of a body with the largest document that the settings take, in base64.
fn document_limit(app: &App) -> usize {
    let encoded = app.control.document_bytes().div_ceil(3).saturating_mul(4);
    LARGE_BODY_LIMIT_BYTES.max(encoded.saturating_add(ENVELOPE_BYTES))
}

impl<T: DeserializeOwned, S: Send + Sync, const LIMIT: usize> FromRequest<S> for Json<T, LIMIT> {
    type Rejection = Failure;

    async fn from_request(request: Request, _: &S) -> Result<Self, Failure> {
        let (parts, body) = request.into_parts();
        check_media_type(&parts.headers)?;
        let bytes = read(&parts.headers, body, LIMIT).await?;
        parse(&bytes).map(Self)
    }
}

/// What somebody who need not be known sends: JSON from a program, or a form
/// from a page of ours.
pub(super) struct Small<T> {
    pub(super) value: T,
    /// Whether a page is waited for.
    pub(super) form: bool,
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Small<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, _: &S) -> Result<Self, Failure> {
        let (parts, body) = request.into_parts();
        if media_type(&parts.headers) != Some(FORM.to_owned()) {
            check_media_type(&parts.headers)?;
            let bytes = read(&parts.headers, body, SMALL_BODY_LIMIT_BYTES).await?;
            return Ok(Self { value: parse(&bytes)?, form: false });
        }
        // Only a browser sends forms, and it says of which page.
        if !parts.headers.contains_key(ORIGIN) {
            return Err(Failure::origin_denied());
        }
        let bytes = read(&parts.headers, body, SMALL_BODY_LIMIT_BYTES).await?;
        let request =
            Request::builder().method(Method::POST).header(CONTENT_TYPE, FORM).body(Body::from(bytes));
        let request = request.map_err(|error| Failure::invalid_request(error.to_string()))?;
        let form = Form::<T>::from_request(request, &()).await;
        form.map(|Form(value)| Self { value, form: true }).map_err(|rejection| {
            Failure::invalid_request(format!("the form can't be read: {}", rejection.body_text()))
        })
    }
}

/// A JSON body that creates something, once under an `Idempotency-Key`.
pub(super) struct Creation<T, const LIMIT: usize = BODY_LIMIT_BYTES>(pub(super) T, pub(super) Option<Once>);

/// A creation from a body that may carry a document or a component.
pub(super) type LargeCreation<T> = Creation<T, LARGE_BODY_LIMIT_BYTES>;

impl<T: DeserializeOwned + Send, const LIMIT: usize> FromRequest<Arc<App>> for Creation<T, LIMIT> {
    type Rejection = Failure;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Failure> {
        let (mut parts, body) = request.into_parts();
        check_media_type(&parts.headers)?;
        let limit = if LIMIT == LARGE_BODY_LIMIT_BYTES { document_limit(app) } else { LIMIT };
        let bytes = read(&parts.headers, body, limit).await?;
        let value = parse(&bytes)?;
        let mut keys = parts.headers.get_all(IDEMPOTENCY_KEY).iter();
        let key = match (keys.next(), keys.next()) {
            (None, _) => return Ok(Self(value, None)),
            (Some(key), None) => String::from_utf8_lossy(key.as_bytes()).into_owned(),
            (Some(_), Some(_)) => {
                return Err(Failure::invalid_request("a request has one Idempotency-Key".to_owned()));
            }
        };
        let place = format!("{} {}", parts.method, parts.uri.path());
        let Who(caller) = Who::from_request_parts(&mut parts, app).await?;
        let once = Once::new(&caller, &key, &[place.as_bytes(), &bytes], app.control.now_ms())?;
        Ok(Self(value, Some(once)))
    }
}

/// A JSON body that may carry a document, or none, which says nothing.
pub(super) struct Optional<T>(pub(super) T);

impl<T: DeserializeOwned + Default> FromRequest<Arc<App>> for Optional<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Failure> {
        let (parts, body) = request.into_parts();
        let bytes = read(&parts.headers, body, document_limit(app)).await?;
        if bytes.trim_ascii().is_empty() {
            return Ok(Self(T::default()));
        }
        check_media_type(&parts.headers)?;
        parse(&bytes).map(Self)
    }
}

/// No body, or an empty object.
pub(super) struct Nothing;

impl<S: Send + Sync> FromRequest<S> for Nothing {
    type Rejection = Failure;

    async fn from_request(request: Request, _: &S) -> Result<Self, Failure> {
        let (parts, body) = request.into_parts();
        let bytes = read(&parts.headers, body, 1024).await?;
        match bytes.trim_ascii() {
            b"" | b"{}" => Ok(Self),
            _ => Err(Failure::invalid_request("this path takes no body: send none, or {}".to_owned())),
        }
    }
}

fn check_media_type(headers: &HeaderMap) -> Result<(), Failure> {
    let Some(media_type) = media_type(headers) else {
        return Ok(());
    };
    let json = media_type == "application/json" || media_type.len() > 5 && media_type.ends_with("+json");
    if json { Ok(()) } else { Err(Failure::wrong_media_type()) }
}

/// Without its parameters, in lower case.
fn media_type(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(CONTENT_TYPE)?.to_str().unwrap_or("");
    Some(value.split(';').next().unwrap_or("").trim().to_ascii_lowercase())
}

/// A body of at most `limit` bytes, within its time.
pub(crate) async fn read(headers: &HeaderMap, body: Body, limit: usize) -> Result<Bytes, Failure> {
    let said = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if said.is_some_and(|length| length > limit as u64) {
        return Err(Failure::too_large(limit));
    }
    tokio::time::timeout(BODY_TIMEOUT, collect(body, limit))
        .await
        .unwrap_or_else(|_| Err(Failure::too_slow(BODY_TIMEOUT.as_secs())))
}

/// Most bodies come in one piece, which is not copied.
async fn collect(mut body: Body, limit: usize) -> Result<Bytes, Failure> {
    let mut first = Bytes::new();
    let mut all = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(piece) = frame.map_err(|_| Failure::body_lost())?.into_data() else {
            continue;
        };
        if first.len() + all.len() + piece.len() > limit {
            return Err(Failure::too_large(limit));
        }
        if first.is_empty() && all.is_empty() {
            first = piece;
            continue;
        }
        if all.is_empty() {
            all.extend_from_slice(&std::mem::take(&mut first));
        }
        all.extend_from_slice(&piece);
    }
    Ok(if all.is_empty() { first } else { all.into() })
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Failure> {
    if bytes.trim_ascii().is_empty() {
        return Err(Failure::invalid_json(
            "the request has no body, and JSON is needed".to_owned(),
            json!({}),
        ));
    }
    serde_json::from_slice(bytes).map_err(|error| explain::<T>(bytes, &error))
}

/// Says where a body is wrong. It is read again with an eye on where the
/// reader stands, which no good request pays for.
fn explain<T: DeserializeOwned>(bytes: &[u8], error: &serde_json::Error) -> Failure {
    let mut details = json!({ "line": error.line(), "column": error.column() });
    if error.is_syntax() || error.is_eof() {
        return Failure::invalid_json(format!("the request's body is no valid JSON: {error}"), details);
    }
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let field = match serde_path_to_error::deserialize::<_, T>(&mut reader) {
        Err(again) => again.path().to_string(),
        Ok(_) => ".".to_owned(),
    };
    if field == "." {
        return Failure::invalid_field(format!("the request's body does not fit: {error}"), details);
    }
    details["field"] = field.as_str().into();
    Failure::invalid_field(format!("the request's body does not fit, at `{field}`: {error}"), details)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Body1 {
        #[expect(dead_code, reason = "it is there to be refused")]
        outer: Inner,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        #[expect(dead_code, reason = "it is there to be refused")]
        count: u8,
    }

    #[track_caller]
    fn refused(body: &str, expect: &str) {
        let line = String::from_utf8(parse::<Body1>(body.as_bytes()).unwrap_err().to_line()).unwrap();
        assert!(line.contains(expect), "{line}");
    }

    #[test]
    fn a_wrong_body_says_where() {
        refused("", "no body");
        refused("{\n  \"outer\": }", r#""line":2,"column":12"#);
        refused("{\"outer\":{\"count\":1}", "EOF");
        refused("{\"outer\":{\"count\":\"x\"}}", "at `outer.count`");
        refused("{\"outer\":{\"count\":999}}", "at `outer.count`");
        refused("{\"outer\":{\"count\":1,\"more\":2}}", "unknown field `more`");
        refused("{\"outer\":{\"count\":1},\"x\":1}", "unknown field `x`");
        refused("{}", "missing field `outer`");
        refused("[]", "does not fit");
        let deep = parse::<serde_json::Value>("[".repeat(100_000).as_bytes()).unwrap_err();
        assert!(String::from_utf8(deep.to_line()).unwrap().contains("recursion limit"));
    }

    fn request(length: Option<&str>, media_type: Option<&str>, body: Body) -> Request {
        let mut request = Request::new(body);
        let mut put = |name, value: Option<&str>| {
            if let Some(value) = value {
                request.headers_mut().insert(name, value.parse().unwrap());
            }
        };
        put(CONTENT_LENGTH, length);
        put(CONTENT_TYPE, media_type);
        request
    }

    async fn outcome<const LIMIT: usize>(request: Request) -> Result<serde_json::Value, String> {
        let json = Json::<serde_json::Value, LIMIT>::from_request(request, &()).await;
        json.map(|Json(value)| value).map_err(|failure| String::from_utf8(failure.to_line()).unwrap())
    }

    fn pieces(pieces: &'static [&'static str]) -> Body {
        let pieces = pieces.iter().map(|piece| Ok::<_, std::io::Error>(Bytes::from_static(piece.as_bytes())));
        Body::from_stream(futures::stream::iter(pieces))
    }

    #[tokio::test]
    async fn bodies_are_bounded_whatever_they_say() {
        let small = request(None, Some("application/json; charset=utf-8"), pieces(&["[1", ",2", "]"]));
        assert_eq!(outcome::<8>(small).await.unwrap(), serde_json::json!([1, 2]));
        let said = request(Some("9"), None, Body::empty());
        assert!(outcome::<8>(said).await.unwrap_err().contains("too-large"));
        let unsaid = request(None, None, pieces(&["[1", ",2,3,4", "]"]));
        assert!(outcome::<8>(unsaid).await.unwrap_err().contains("\"limit_bytes\":8"));
        let text = request(None, Some("text/plain"), pieces(&["[]"]));
        assert!(outcome::<8>(text).await.unwrap_err().contains("unsupported-media-type"));
        let json = request(None, Some("application/problem+json"), pieces(&["[]"]));
        assert!(outcome::<8>(json).await.is_ok());
    }

    #[tokio::test]
    async fn where_no_body_is_taken_none_is_ignored() {
        assert!(Nothing::from_request(Request::new(Body::empty()), &()).await.is_ok());
        assert!(Nothing::from_request(Request::new(Body::from(" {} ")), &()).await.is_ok());
        assert!(Nothing::from_request(Request::new(Body::from("{\"a\":1}")), &()).await.is_err());
    }
}
