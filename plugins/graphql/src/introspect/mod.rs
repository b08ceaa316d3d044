//! Asks an endpoint for its schema, in as many ways as servers need.
//!
//! Old servers know fewer fields than a query of today asks for, limited ones
//! refuse deep or long queries, some refuse all. So the query is asked in
//! steps, each with less in it; what was refused last is told.

mod pieces;
mod query;

use serde_json::{Value, json};

use crate::document::is_answer;
use crate::schema::{Draft, find_introspection, read_introspection};
use crate::seam::{Failure, Http};
use crate::text::line;
use crate::wire::errors;
use crate::wire::send::{Reply, json_request, request, send};
use query::Level;

/// Answers to introspection; documents have the same bound.
const MAX_ANSWER_BYTES: usize = 96 << 20;
const MAX_PING_BYTES: usize = 64 << 10;

/// What a URL made of the smallest query there is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ping {
    /// It answered with the name of the root type.
    Answered,
    /// It answered as a GraphQL server does, and refused.
    Refused { message: String, wants_credential: bool },
    /// It answered as something else.
    Other { status: u16, is_page: bool, looks: String },
    /// The host let no request out.
    NotSent(Failure),
}

/// Asks `{__typename}`.
pub(crate) fn ping<H: Http>(endpoint: &str, http: &mut H) -> Ping {
    let query = "{__typename}";
    let reply = match post_or_get(endpoint, http, query, &json!({"query": query}), MAX_PING_BYTES) {
        Ok(reply) => reply,
        Err(failure) => return Ping::NotSent(failure),
    };
    let root: Value = serde_json::from_slice(reply.bytes()).unwrap_or_default();
    if root.pointer("/data/__typename").is_some_and(Value::is_string) {
        return Ping::Answered;
    }
    // Data that is not what was asked for is of an API of another kind.
    let found = errors::of(&root);
    if let Some(error) = found.first().filter(|_| is_answer(&root)) {
        let wants_credential = wants_credential(reply.status, &found);
        return Ping::Refused { message: error.message.clone(), wants_credential };
    }
    Ping::Other { status: reply.status, is_page: reply.is_page(), looks: reply.looks() }
}

/// The code of a schema that is shown to those with a credential alone. The
/// message is what was answered.
pub(crate) const SIGN_IN_NEEDED: &str = "sign-in-needed";

/// Why one way of asking gave no schema.
enum Refusal {
    /// Another way may.
    Perhaps(Failure),
    /// No way will.
    Final(Failure),
}

/// The schema of an endpoint, and what a person should know of how it was
/// had.
///
/// # Errors
/// `introspection-disabled`, `introspection-failed`, each with what to do
/// instead; [`SIGN_IN_NEEDED`]; the host's where a request did not arrive.
pub(crate) fn fetch<H: Http>(endpoint: &str, http: &mut H) -> Result<(Draft, Vec<String>), Failure> {
    let mut last = None;
    for level in [Level::Full, Level::Classic, Level::Shallow] {
        match ask(endpoint, http, &query::whole(level)) {
            Ok(root) => return read(&root, level),
            Err(Refusal::Final(failure)) => return Err(failure),
            Err(Refusal::Perhaps(failure)) => last = Some(failure),
        }
    }
    let refused_last = last.unwrap_or_else(|| failed("the endpoint gave no schema"));
    match pieces::fetch(endpoint, http) {
        Ok(draft) => {
            Ok((draft, vec!["the server limits queries: its schema was asked for type by type".to_owned()]))
        }
        Err(_) => Err(refused_last),
    }
}

fn read(root: &Value, level: Level) -> Result<(Draft, Vec<String>), Failure> {
    let schema = find_introspection(root).ok_or_else(|| failed("the endpoint gave no schema"))?;
    let draft = read_introspection(schema).map_err(|why| failed(&why))?;
    let notes = match level {
        Level::Full => Vec::new(),
        Level::Classic => vec!["the server knows no newer introspection than that of 2018: `@oneOf` and deprecated arguments are not known".to_owned()],
        Level::Shallow => vec!["the server limits the depth of queries: deeply nested list types are left out".to_owned()],
    };
    Ok((draft, notes))
}

/// One query, by POST; by GET where POST is not taken.
fn post_or_get<H: Http>(
    endpoint: &str,
    http: &mut H,
    query: &str,
    body: &Value,
    max_bytes: usize,
) -> Result<Reply, Failure> {
    let reply = send(http, json_request(endpoint, body), max_bytes)?;
    if reply.status != 405 {
        return Ok(reply);
    }
    let mark = if endpoint.contains('?') { '&' } else { '?' };
    let url = format!("{endpoint}{mark}query={}", encoded(query));
    send(http, request("GET", url, None, Vec::new()), max_bytes)
}

fn ask<H: Http>(endpoint: &str, http: &mut H, query: &str) -> Result<Value, Refusal> {
    let body = json!({"query": query, "operationName": "IntrospectionQuery"});
    let reply = post_or_get(endpoint, http, query, &body, MAX_ANSWER_BYTES)
        .map_err(|failure| Refusal::Final(not_sent(failure)))?;
    let root: Value = serde_json::from_slice(reply.bytes()).unwrap_or_default();
    if find_introspection(&root).is_some() || root.pointer("/data/t0").is_some() {
        return Ok(root);
    }
    Err(refusal(&reply, &root))
}

fn refusal(reply: &Reply, root: &Value) -> Refusal {
    let status = Some(reply.status);
    let found = errors::of(root);
    let said = found.first().map(|error| error.message.clone());
    // A page that forbids is of what stands before an API, and takes none of
    // the API's credentials.
    let is_barred = reply.status == 403 && reply.is_page();
    if wants_credential(reply.status, &found) && !is_barred {
        let said = said.or_else(|| errors::words(root)).map(|words| format!(": {words}")).unwrap_or_default();
        return Refusal::Final(Failure {
            status,
            ..Failure::new(SIGN_IN_NEEDED, format!("{}{said}", reply.status))
        });
    }
    if let Some(error) = found.iter().find(|error| is_about_introspection(error)) {
        return Refusal::Final(Failure { status, ..disabled(&line(&error.message, 200)) });
    }
    // async-graphql answers null for what it does not show.
    if found.is_empty() && is_answer(root) {
        return Refusal::Final(Failure {
            status,
            ..disabled("it answered without one, and without an error")
        });
    }
    if let Some(said) = said {
        let failure = failed(&format!("the server refused to tell its schema: {}", line(&said, 300)));
        return Refusal::Perhaps(Failure { status, ..failure });
    }
    let failure = failed(&format!("the endpoint answered {} with {}", reply.status, reply.looks()));
    let failure = Failure { status, ..failure };
    match reply.status {
        400 | 413 | 414 | 422 | 500..=599 => Refusal::Perhaps(failure),
        _ => Refusal::Final(failure),
    }
}

fn wants_credential(status: u16, found: &[errors::Error]) -> bool {
    status == 401 || status == 403 || found.iter().any(|error| error.class() == errors::Class::Rejected)
}

/// Apollo, Hasura, HotChocolate, Yoga and others name it; graphql-ruby and
/// async-graphql say that there is no such field. A server that lacks a field
/// *of* the schema names the type `__Schema`, and knows an older query.
fn is_about_introspection(error: &errors::Error) -> bool {
    // Some quote the query, whose name has the word in it.
    let message = error.message.replace("IntrospectionQuery", "").to_ascii_lowercase();
    let lacks_schema =
        ["'__schema'", "\"__schema\"", "`__schema`"].iter().any(|field| error.message.contains(field));
    error.code.as_deref().is_some_and(|code| code.contains("INTROSPECTION"))
        || (message.contains("introspection") && !message.contains("depth") && !message.contains("complex"))
        || lacks_schema
}

fn disabled(why: &str) -> Failure {
    Failure::new(
        "introspection-disabled",
        format!(
            "the server does not tell its schema ({why}): get the schema (SDL, or introspection JSON) from its makers and add that file, with base_url as the endpoint"
        ),
    )
}

fn failed(why: &str) -> Failure {
    Failure::new("introspection-failed", why)
}

/// The host's failure, with what to do where it lets nothing out.
fn not_sent(failure: Failure) -> Failure {
    match failure.code.as_str() {
        "denied-origin" | "denied-method" | "denied-address" => failed(&format!(
            "the endpoint can't be asked for its schema ({}): add the schema as a file (SDL, or introspection JSON), with base_url as the endpoint",
            line(&failure.message, 300)
        )),
        _ => failure,
    }
}

fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
