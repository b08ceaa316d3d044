//! From a request's bytes to an answer's.

use async_graphql::http::{MultipartOptions, receive_body};
use futures::executor::block_on;
use futures::io::Cursor;
use serde_json::json;

use super::faults::Faults;
use super::schema::{Shop, State, build};
use super::{Config, TOKEN};
use crate::plain::{Answer, Request};

const MAX_FILE_BYTES: usize = 8 << 20;
const MAX_FILES: usize = 10;

/// What all connections share.
pub(super) struct Shared {
    pub(super) faults: Faults,
    pub(super) state: State,
    schema: Shop,
    config: Config,
}

impl Shared {
    pub(super) fn new(config: Config) -> Self {
        let state = State::default();
        let schema = build(&state, config.introspection_off, config.depth);
        Self { faults: Faults::default(), state, schema, config }
    }
}

/// Answers one request. No resolver waits for anything, so blocking on them
/// holds up nobody.
pub(super) fn answer(shared: &Shared, request: &Request<'_>) -> Answer {
    match (request.method, request.path) {
        ("POST", "/graphql") => operation(shared, request),
        ("GET", "/graphql") if shared.config.on_get.is_some() => {
            Answer::text(shared.config.on_get.unwrap_or(405), "POST alone")
        }
        ("GET", "/graphql") => {
            Answer::json(400, &json!({ "errors": [{ "message": "Must provide query string." }] }))
        }
        (_, "/graphql") => Answer::text(405, "POST alone"),
        ("GET", "/schema.graphql") => Answer::text(200, &shared.schema.sdl()),
        ("GET", "/") => Answer::new(200, &[("content-type", "text/html")], "<html>a shop</html>"),
        _ => Answer::text(404, "no such route"),
    }
}

fn operation(shared: &Shared, request: &Request<'_>) -> Answer {
    let expected = format!("Bearer {TOKEN}");
    if shared.config.require_token && request.header("authorization") != Some(expected.as_bytes()) {
        return Answer::json(401, &json!({ "message": "Bad credentials" }));
    }
    if let Some(fault) = shared.faults.take() {
        return fault.answer();
    }
    let kind = request.header("content-type").and_then(|kind| std::str::from_utf8(kind).ok());
    let is_form = kind.is_some_and(|kind| kind.starts_with("multipart/"));
    if is_form && request.header("apollo-require-preflight").is_none() {
        return Answer::json(
            400,
            &json!({ "errors": [{ "message": "blocked as a potential cross-site request forgery" }] }),
        );
    }
    let options = MultipartOptions::default().max_file_size(MAX_FILE_BYTES).max_num_files(MAX_FILES);
    let body = Cursor::new(request.body.to_vec());
    match block_on(receive_body(kind, body, options)) {
        Ok(operation) => {
            let answer = block_on(shared.schema.execute(operation));
            let status = if answer.is_ok() { 200 } else { 400 };
            let text = serde_json::to_string(&answer).expect("an answer has only string keys");
            Answer::new(status, &[("content-type", "application/graphql-response+json")], text)
        }
        Err(error) => Answer::json(400, &json!({ "errors": [{ "message": error.to_string() }] })),
    }
}
