//! From what came back to data, errors, or both.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::binding::{Binding, Operation};
use super::errors::{self, Error};
use super::send::{Body, Reply};
use crate::seam::{Answer, Failure, FileWriter, Http};
use crate::settings::{Partial, Settings};
use crate::text::line;

/// What any JSON reader takes; deeper answers would fail later, less clearly.
const MAX_DEPTH: u32 = 120;
/// The host keeps 256 KiB of details.
const MAX_DETAILS_BYTES: usize = 200 << 10;
const MAX_ERRORS_BYTES: usize = 48 << 10;
const MAX_EXTENSIONS_BYTES: usize = 16 << 10;
const MAX_MESSAGE_CHARS: usize = 500;

/// What was asked for.
pub(crate) struct Asked<'a> {
    pub(crate) binding: &'a Binding,
    pub(crate) settings: &'a Settings,
    /// Whether the caller chose what is selected.
    pub(crate) chosen: bool,
}

/// A GraphQL answer, its data unread.
#[derive(Deserialize)]
struct Envelope {
    #[serde(default)]
    data: Option<Box<RawValue>>,
    #[serde(default)]
    errors: Value,
    #[serde(default)]
    extensions: Value,
}

/// Reads an answer. A body that is GraphQL's counts whatever the status.
///
/// # Errors
/// `upstream-partial` where parts of the data failed; another `upstream-*`
/// where all did, or no GraphQL server answered.
pub(crate) fn read<H: Http>(asked: &Asked<'_>, http: &mut H, reply: &Reply) -> Result<Answer, Failure> {
    if matches!(reply.body, Body::TooLarge) {
        let why = "the answer has more than 16 MiB: select less of it, or ask for smaller pages";
        return Err(Failure { status: Some(reply.status), ..Failure::new("upstream-too-large", why) });
    }
    let bytes = reply.bytes();
    if depth(bytes) > MAX_DEPTH {
        let why = format!("the answer is nested deeper than {MAX_DEPTH} levels");
        return Err(Failure { status: Some(reply.status), ..Failure::new("upstream-malformed", why) });
    }
    let envelope: Option<Envelope> = serde_json::from_slice(bytes).ok();
    let Some(envelope) = envelope else {
        return Err(no_graphql(asked, reply));
    };
    let found = errors::of(&json!({"errors": envelope.errors}));
    let value = envelope.data.as_ref().and_then(|data| field(data, &asked.binding.field));
    match (value, found.is_empty()) {
        (Some(value), true) => {
            Ok(Answer { data: value.get().to_owned(), metadata: Some(metadata(reply, &envelope, false)) })
        }
        (Some(value), false) if value.get() != "null" => {
            partial(asked, http, reply, &envelope, &found, &value)
        }
        (_, false) => Err(refused(asked, reply, &envelope, &found)),
        (None, true) => Err(no_graphql(asked, reply)),
    }
}

/// The value of the one field that was asked for.
fn field(data: &RawValue, name: &str) -> Option<Box<RawValue>> {
    let mut fields: HashMap<String, Box<RawValue>> = serde_json::from_str(data.get()).ok()?;
    fields.remove(name)
}

fn metadata(reply: &Reply, envelope: &Envelope, with_errors: bool) -> String {
    let mut metadata = reply.headers.metadata(reply.status);
    if envelope.extensions.is_object() && envelope.extensions.to_string().len() <= MAX_EXTENSIONS_BYTES {
        metadata.insert("extensions".to_owned(), envelope.extensions.clone());
    }
    if with_errors {
        metadata.insert("errors".to_owned(), bounded(&envelope.errors));
    }
    Value::Object(metadata).to_string()
}

/// Data and errors both: neither is lost.
fn partial<H: Http>(
    asked: &Asked<'_>,
    http: &mut H,
    reply: &Reply,
    envelope: &Envelope,
    found: &[Error],
    value: &RawValue,
) -> Result<Answer, Failure> {
    if asked.settings.partial == Partial::Answer {
        return Ok(Answer { data: value.get().to_owned(), metadata: Some(metadata(reply, envelope, true)) });
    }
    let errors = bounded(&envelope.errors).to_string();
    let data = if value.get().len() + errors.len() <= MAX_DETAILS_BYTES {
        value.get().to_owned()
    } else {
        let mut file = http.create_file(Some("answer.json"), Some("application/json"))?;
        file.append(value.get().as_bytes())?;
        json!({"$file": file.finish().reference}).to_string()
    };
    let done = match asked.binding.operation {
        Operation::Query => "parts of the answer failed",
        Operation::Mutation => "the mutation was carried out, and parts of its answer failed",
    };
    Err(Failure {
        status: Some(reply.status),
        details: Some(format!("{{\"data\":{data},\"errors\":{errors}}}")),
        ..Failure::new("upstream-partial", format!("{done}: {} (the rest is in details.data)", said(found)))
    })
}

fn refused(asked: &Asked<'_>, reply: &Reply, envelope: &Envelope, found: &[Error]) -> Failure {
    let code = errors::code(reply.status, &reply.headers, found);
    let mut message = said(found);
    let narrower = code == "upstream-rejected" && !asked.chosen && reply.status == 200;
    if narrower && let Some(selected) = &asked.binding.selection {
        message.push_str(&format!(" (`{}` with fewer fields may be allowed)", selected.argument));
    }
    failure(asked, reply, code, message, Some(json!({"errors": bounded(&envelope.errors)}).to_string()))
}

/// What came is no GraphQL answer: a proxy, a login page, another API.
fn no_graphql(asked: &Asked<'_>, reply: &Reply) -> Failure {
    let status = reply.status;
    if (200..300).contains(&status) {
        let message =
            format!("the endpoint answered {status} with {} instead of a GraphQL answer", reply.looks());
        return Failure { status: Some(status), ..Failure::new("upstream-malformed", message) };
    }
    let code = errors::code(status, &reply.headers, &[]);
    let root: Value = serde_json::from_slice(reply.bytes()).unwrap_or_default();
    let location = reply.headers.get("location").map(|to| line(to, 300));
    let told = match (errors::words(&root), location) {
        (Some(words), _) => format!("the endpoint answered {status}: {words}"),
        (None, Some(to)) if (300..400).contains(&status) => {
            format!("the endpoint answered {status}, a redirect to {to}, which is not followed")
        }
        _ => format!("the endpoint answered {status} with {}", reply.looks()),
    };
    failure(asked, reply, code, told, (!root.is_null()).then(|| bounded(&root).to_string()))
}

fn failure(
    asked: &Asked<'_>,
    reply: &Reply,
    code: &str,
    message: String,
    details: Option<String>,
) -> Failure {
    let safe = asked.binding.operation == Operation::Query;
    let retryable = match reply.status {
        _ if code == "upstream-rate-limited" => true,
        425 | 503 => true,
        408 | 500 | 502 | 504 => safe,
        _ => safe && code == "upstream-failed",
    };
    Failure {
        code: code.to_owned(),
        message,
        status: Some(reply.status),
        retryable,
        retry_after_ms: reply.headers.retry_after_ms(),
        details,
    }
}

/// The first error, and how many more there are.
fn said(found: &[Error]) -> String {
    let first = found.first().map_or("an error without words", |error| error.message.as_str());
    let first = line(first, MAX_MESSAGE_CHARS);
    match found.len() {
        0 | 1 => first,
        more => format!("{first} (and {} more)", more - 1),
    }
}

/// Errors as they came, as far as there is room.
fn bounded(errors: &Value) -> Value {
    if errors.to_string().len() <= MAX_ERRORS_BYTES {
        return errors.clone();
    }
    let list = errors.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut left = MAX_ERRORS_BYTES;
    let short = |error: &Value| {
        let mut kept = Map::new();
        for key in ["message", "path", "locations"] {
            let fits = |value: &&Value| value.to_string().len() <= 4096;
            kept.extend(error.get(key).filter(fits).map(|value| (key.to_owned(), value.clone())));
        }
        Value::Object(kept)
    };
    let kept = list.iter().map(short).take_while(|error| {
        left = left.saturating_sub(error.to_string().len());
        left > 0
    });
    Value::Array(kept.collect())
}

fn depth(bytes: &[u8]) -> u32 {
    let (mut depth, mut deepest, mut quoted, mut escaped) = (0_u32, 0, false, false);
    for byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}
