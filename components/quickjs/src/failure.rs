//! What went wrong, as the host and the author read it.

use rquickjs::convert::Coerced;
use rquickjs::{Ctx, Function, Object, Value};
use serde_json::{Map, json};

use crate::bindings::Failure;
use crate::inspect;
use crate::internals;
use crate::json::{self, JsonError};
use crate::limits::{CAUSES, MESSAGE_BYTES};
use crate::stack::{self, Place};
use crate::state::State;

/// Why a program stopped before its end.
pub(crate) enum Stop<'js> {
    /// It threw this.
    Thrown(Value<'js>),
    Failed(Failure),
}

impl<'js> Stop<'js> {
    pub(crate) fn into_failure(self, ctx: &Ctx<'js>, state: &State) -> Failure {
        match self {
            Self::Thrown(value) => thrown(ctx, state, &value),
            Self::Failed(failure) => failure,
        }
    }

    pub(crate) fn of_json(ctx: &Ctx<'js>, error: JsonError) -> Self {
        match error {
            JsonError::Engine(error) => caught(ctx, error),
            JsonError::Refused { code, message } => Self::Failed(plain(code, message)),
        }
    }
}

/// What an engine error stands for: mostly an exception that is pending.
pub(crate) fn caught<'js>(ctx: &Ctx<'js>, error: rquickjs::Error) -> Stop<'js> {
    match error {
        rquickjs::Error::Exception => Stop::Thrown(ctx.catch()),
        rquickjs::Error::InvalidString(_) => Stop::Failed(plain(
            "syntax",
            "the code or a name in it holds a NUL character: write it as \\0 in a string",
        )),
        rquickjs::Error::Allocation => Stop::Failed(plain("out-of-memory", "out of memory")),
        other => Stop::Failed(plain("engine", other.to_string())),
    }
}

/// A failure that has no place in the author's text.
pub(crate) fn plain(code: &str, message: impl Into<String>) -> Failure {
    Failure { code: code.to_owned(), message: message.into(), stack: None, details: None }
}

/// The failure that an uncaught value is.
fn thrown<'js>(ctx: &Ctx<'js>, state: &State, value: &Value<'js>) -> Failure {
    let Some(object) = value.as_object().filter(|_| value.is_error()) else {
        return not_an_error(ctx, state, value);
    };
    let message = headline(ctx, object);
    let (code, trace) = (code_of(ctx, object), trace_of(ctx, state, object));
    let mut stack = message.clone();
    push_trace(&mut stack, &trace.text);
    push_causes(ctx, state, object, &mut stack);
    let mut details = own_fields(ctx, value);
    if let Some(Place { path, line, column }) = trace.place {
        details.insert("path".into(), json!(path));
        details.insert("line".into(), json!(line));
        details.insert("column".into(), json!(column));
    }
    Failure {
        code: code.to_owned(),
        message: cut(message),
        stack: Some(cut(stack)),
        details: (!details.is_empty()).then(|| serde_json::Value::Object(details).to_string()),
    }
}

fn not_an_error<'js>(ctx: &Ctx<'js>, state: &State, value: &Value<'js>) -> Failure {
    let shown = inspect::value(ctx, state, value);
    let said = value.as_object().and_then(|object| string_field(ctx, object, "message"));
    let message = match said {
        Some(said) => format!("{said} (thrown: {shown})"),
        None if value.is_string() => format!("{shown} (a string was thrown)"),
        None => format!("{shown} was thrown"),
    };
    Failure {
        stack: Some("throw an Error to learn the line: throw new Error(\"…\")".to_owned()),
        ..plain("thrown", cut(message))
    }
}

/// `TypeError: x is not a function`; the class's name where the error has no
/// better one.
pub(crate) fn headline<'js>(ctx: &Ctx<'js>, error: &Object<'js>) -> String {
    let name = name_of(ctx, error);
    let message = string_field(ctx, error, "message").unwrap_or_default();
    if message.is_empty() { name } else { format!("{name}: {message}") }
}

fn name_of<'js>(ctx: &Ctx<'js>, error: &Object<'js>) -> String {
    let name = string_field(ctx, error, "name").filter(|name| !name.is_empty());
    if let Some(name) = name.filter(|name| name != "Error") {
        return name;
    }
    let class = error.get::<_, Function<'js>>("constructor").ok();
    ctx.catch();
    class
        .and_then(|class| string_field(ctx, &class, "name"))
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "Error".to_owned())
}

fn string_field<'js>(ctx: &Ctx<'js>, object: &Object<'js>, key: &str) -> Option<String> {
    let found = object.get::<_, Value<'js>>(key).and_then(|value| {
        if value.is_string() {
            return internals::text_of(ctx, &value).map(Some);
        }
        if value.is_undefined() || value.is_null() || value.is_object() || value.is_symbol() {
            return Ok(None);
        }
        value.get::<Coerced<String>>().map(|text| Some(text.0))
    });
    found.unwrap_or_else(|_| {
        ctx.catch();
        None
    })
}

fn code_of<'js>(ctx: &Ctx<'js>, error: &Object<'js>) -> &'static str {
    match string_field(ctx, error, "name").as_deref() {
        Some("ToolError") => "tool",
        Some("AbortError" | "TimeoutError") => "aborted",
        Some("SyntaxError") => "syntax",
        Some("TypeError") => "type",
        Some("RangeError") => "range",
        Some("ReferenceError") => "reference",
        Some("InternalError") if says_out_of_memory(ctx, error) => "out-of-memory",
        _ => "error",
    }
}

fn says_out_of_memory<'js>(ctx: &Ctx<'js>, error: &Object<'js>) -> bool {
    string_field(ctx, error, "message").is_some_and(|message| message == "out of memory")
}

fn trace_of<'js>(ctx: &Ctx<'js>, state: &State, error: &Object<'js>) -> stack::Trace {
    let raw = string_field(ctx, error, "stack").unwrap_or_default();
    stack::trace(&raw, state)
}

fn push_trace(stack: &mut String, trace: &str) {
    if !trace.is_empty() {
        stack.push('\n');
        stack.push_str(trace);
    }
}

fn push_causes<'js>(ctx: &Ctx<'js>, state: &State, error: &Object<'js>, stack: &mut String) {
    if let Ok(Some(errors)) = error.get::<_, Option<rquickjs::Array<'js>>>("errors") {
        for item in errors.iter::<Value<'js>>().take(CAUSES).flatten() {
            push_cause(ctx, state, &item, "One of them", stack);
        }
    }
    ctx.catch();
    let mut current = error.clone();
    for _ in 0..CAUSES {
        let cause = current.get::<_, Value<'js>>("cause").ok();
        ctx.catch();
        let Some(cause) = cause.filter(|cause| !cause.is_undefined()) else {
            return;
        };
        push_cause(ctx, state, &cause, "Caused by", stack);
        let Some(next) = cause.into_object() else {
            return;
        };
        current = next;
    }
}

fn push_cause<'js>(ctx: &Ctx<'js>, state: &State, cause: &Value<'js>, label: &str, stack: &mut String) {
    match cause.as_object().filter(|_| cause.is_error()) {
        Some(error) => {
            stack.push_str(&format!("\n{label}: {}", headline(ctx, error)));
            push_trace(stack, &trace_of(ctx, state, error).text);
        }
        None => stack.push_str(&format!("\n{label}: {}", inspect::value(ctx, state, cause))),
    }
}

/// The enumerable fields of an error, as far as they are JSON.
fn own_fields<'js>(ctx: &Ctx<'js>, error: &Value<'js>) -> Map<String, serde_json::Value> {
    let text = match json::write(ctx, error, "the error", MESSAGE_BYTES) {
        Ok(text) => text,
        Err(JsonError::Engine(_)) => {
            ctx.catch();
            return Map::new();
        }
        Err(JsonError::Refused { .. }) => return Map::new(),
    };
    let Ok(serde_json::Value::Object(mut fields)) = serde_json::from_str(&text) else {
        return Map::new();
    };
    for said in ["name", "message", "cause"] {
        fields.remove(said);
    }
    fields
}

fn cut(mut text: String) -> String {
    if text.len() > MESSAGE_BYTES {
        text.truncate(text.floor_char_boundary(MESSAGE_BYTES));
        text.push_str("… (cut)");
    }
    text
}
