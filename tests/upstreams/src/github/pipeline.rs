//! The way of a request: recorded, spoiled by a fault or authenticated,
//! counted, routed, finished.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Request, StatusCode};
use hyper::body::Incoming;
use tower_service::Service as _;

use super::app::App;
use super::call::{Call, Query};
use super::refusals::Refusal;
use super::{control, encoding, misbehaviour};
use crate::ledger::Entry;
use crate::wire::ResetSwitch;

/// The largest body that is taken; GitHub's own limit for a file is 100 MB.
const LIMIT_BODY_BYTES: usize = 128 * 1024 * 1024;

/// What a request came over.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    /// Counted from 1.
    pub(crate) number: u64,
    pub(crate) reset: ResetSwitch,
}

pub(crate) async fn answer(
    app: Arc<App>,
    router: Router,
    connection: Connection,
    request: Request<Incoming>,
) -> Result<Response, Infallible> {
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(Body::new(body), LIMIT_BODY_BYTES).await else {
        return Ok(too_large());
    };
    if let Some(path) = parts.uri.path().strip_prefix("/_emulator/") {
        return Ok(control::answer(&app, &parts.method, path, &body));
    }
    let number = record(&app, &connection, &parts, &body);
    let headers = parts.headers.clone();
    let method = parts.method.clone();
    let fault = app.faults.take(method.as_str(), parts.uri.path());
    let mut response = match &fault {
        Some(kind) => {
            let rate = app.rates.count(None, parts.uri.path());
            match misbehaviour::instead(kind, &headers, rate, &connection.reset) {
                Some(response) => response,
                None => {
                    let response = operate(app, router, parts, body).await;
                    let response = encoding::finish(&method, &headers, response).await;
                    misbehaviour::spoil(kind, response, &connection.reset).await
                }
            }
        }
        None => {
            let response = operate(app, router, parts, body).await;
            encoding::finish(&method, &headers, response).await
        }
    };
    stamp(response.headers_mut(), number);
    Ok(response)
}

/// Runs the operation that the request names.
async fn operate(app: Arc<App>, mut router: Router, parts: Parts, body: Bytes) -> Response {
    let path = parts.uri.path();
    // The description is public, as it is where GitHub publishes it.
    let caller = match path {
        "/openapi.json" => Ok(None),
        _ => app.tokens.caller(&parts.headers),
    };
    let caller = match caller {
        Ok(caller) => caller,
        Err(refusal) => return refusal.into_response(),
    };
    let rate = app.rates.count(caller.as_deref(), path);
    let mut response = match rate.check(caller.as_deref()) {
        Ok(()) => {
            let call = Call {
                method: parts.method.clone(),
                path: path.to_owned(),
                query: Query::parse(parts.uri.query().unwrap_or_default()),
                headers: parts.headers.clone(),
                app,
                caller,
                body,
            };
            let mut request = Request::from_parts(parts, Body::empty());
            request.extensions_mut().insert(call);
            let Ok(response) = router.call(request).await;
            response
        }
        Err(refusal) => refusal.into_response(),
    };
    rate.stamp(response.headers_mut());
    response
}

fn record(app: &App, connection: &Connection, parts: &Parts, body: &Bytes) -> u64 {
    let bytes = |value: &HeaderValue| Bytes::copy_from_slice(value.as_bytes());
    app.ledger.record(Entry {
        sequence: 0,
        connection: connection.number,
        at_ms: 0,
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: parts.headers.iter().map(|(name, value)| (name.to_string(), bytes(value))).collect(),
        body: body.clone(),
    })
}

/// What GitHub adds to each answer. The request's id is its number in the
/// ledger, so that it is the same in each run of a test.
fn stamp(headers: &mut HeaderMap, number: u64) {
    headers.insert("x-github-request-id", number.into());
    headers.insert("x-github-media-type", HeaderValue::from_static("github.v3; format=json"));
    headers.insert("x-github-api-version-selected", HeaderValue::from_static("2022-11-28"));
}

fn too_large() -> Response {
    Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "The body is larger than 128 MiB, or broke off")
        .into_response()
}
