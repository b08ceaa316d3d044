//! Which part answers a request.

use serde_json::json;

use super::app::{App, Turn};
use super::{api, authorize, devices, discovery, document, refusals::Refusal, register, revoke, token};
use crate::plain::{Answer, Request};

/// Answers a request, or misbehaves where that was asked for.
pub(crate) fn answer(app: &App, request: &Request<'_>) -> Answer {
    match app.faults.take(request.method, request.path) {
        None => routed(app, request),
        Some(kind) if kind.is_instead() => kind.spoil(Answer::silence(), &app.release),
        Some(kind) => kind.spoil(routed(app, request), &app.release),
    }
}

fn routed(app: &App, request: &Request<'_>) -> Answer {
    let turn = &mut Turn {
        origin: &app.origin,
        now_ms: app.clock.now_ms(),
        script: &mut app.script(),
        state: &mut app.state(),
        request,
    };
    match request.path {
        "/authorize" => authorize::answer(turn),
        "/token" => token::answer(turn),
        "/device_authorization" => devices::begin(turn),
        "/device" => devices::page(turn),
        "/revoke" if turn.script.revocation => revoke::answer(turn),
        "/register" => register::answer(turn),
        "/jwks" => Answer::json(200, &json!({ "keys": [] })),
        "/openapi.json" => Answer::json(200, &document::openapi(turn)),
        "/swagger.json" => Answer::json(200, &document::swagger(turn)),
        _ => match discovery::answer(turn) {
            Some(found) => found,
            None => api::answer(turn).unwrap_or_else(|| Refusal::not_found().answer()),
        },
    }
}
