//! An event as one line of JSON. Whatever a terminal would obey is escaped,
//! so that the file can be shown as it is.

use std::fmt::{self, Write as _};

use serde_json::{Map, Value};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tracing::Event;
use tracing::field::{Field, Visit};

/// Bytes of one text.
const TEXT_BYTES: usize = 4 * 1024;
/// Bytes of all texts of a line.
const LINE_BYTES: usize = 8 * 1024;
/// Fields of a line.
const FIELDS: usize = 32;

pub(super) fn of_event(at: OffsetDateTime, event: &Event<'_>) -> String {
    let mut found = Found { message: String::new(), fields: Map::new(), room: LINE_BYTES };
    event.record(&mut found);
    let metadata = event.metadata();
    line(at, metadata.level().as_str(), metadata.target(), found.message, found.fields)
}

pub(super) fn of_loss(at: OffsetDateTime, lines: u64) -> String {
    let fields = Map::from_iter([("dropped".to_owned(), Value::from(lines))]);
    let message = "lines were logged faster than they could be written, and are lost";
    line(at, "WARN", module_path!(), message.to_owned(), fields)
}

fn line(
    at: OffsetDateTime,
    level: &str,
    target: &str,
    message: String,
    fields: Map<String, Value>,
) -> String {
    let at = at.format(&Rfc3339).unwrap_or_default();
    let mut object = Map::new();
    object.insert("at".into(), at.into());
    object.insert("level".into(), level.into());
    object.insert("target".into(), target.into());
    object.insert("message".into(), message.into());
    if !fields.is_empty() {
        object.insert("fields".into(), Value::Object(fields));
    }
    let mut line = escaped(Value::Object(object).to_string());
    line.push('\n');
    line
}

/// JSON escapes what is below a space by itself; the rest stands only within
/// texts.
fn escaped(json: String) -> String {
    let hazard = |character: char| matches!(character, '\u{7f}'..='\u{9f}' | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if !json.chars().any(hazard) {
        return json;
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for character in json.chars() {
        if hazard(character) {
            let _ = write!(escaped, "\\u{:04x}", u32::from(character));
        } else {
            escaped.push(character);
        }
    }
    escaped
}

/// What an event says, as far as there is room.
struct Found {
    message: String,
    fields: Map<String, Value>,
    room: usize,
}

impl Found {
    fn text(&mut self, field: &Field, mut text: String) {
        text.truncate(boundary(&text, self.room));
        self.room -= text.len();
        if field.name() == "message" {
            self.message = text;
        } else {
            self.value(field, text.into());
        }
    }

    fn value(&mut self, field: &Field, value: Value) {
        if self.fields.len() < FIELDS {
            self.fields.insert(field.name().to_owned(), value);
        }
    }
}

/// The length of as much of a text as fits, in whole characters.
fn boundary(text: &str, limit: usize) -> usize {
    (0..=limit.min(text.len())).rev().find(|index| text.is_char_boundary(*index)).unwrap_or(0)
}

impl Visit for Found {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.value(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.value(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.value(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.value(field, value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let mut short = Short(String::new());
        // It ends with an error where it is longer than is kept.
        let _ = short.write_str(value);
        self.text(field, short.0);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let mut short = Short(String::new());
        // It ends with an error where it is longer than is kept.
        let _ = write!(short, "{value:?}");
        self.text(field, short.0);
    }
}

/// Takes no more than is kept, however much is written.
struct Short(String);

impl fmt::Write for Short {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let kept = boundary(text, TEXT_BYTES - self.0.len());
        self.0.push_str(&text[..kept]);
        if kept < text.len() { Err(fmt::Error) } else { Ok(()) }
    }
}
