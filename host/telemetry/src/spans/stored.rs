//! Spans as a store keeps them: one line of JSON for an execution.
//!
//! `{"spans":[[name,parent,start,duration,error,{fields}],…],"cut":n}`, with
//! times in microseconds; what is absent at the end of a span is left out.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::SPANS;
use super::record::{Field, Record};

/// The spans of an execution, as they were kept.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stored {
    /// In the order in which they began.
    pub spans: Vec<StoredSpan>,
    /// How many more there were.
    pub cut: u64,
}

/// One span.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredSpan {
    /// What was done.
    pub name: String,
    /// The number of the span that it is a part of, from 1; 0 for none.
    pub parent: u64,
    /// When it began, in microseconds after the execution did.
    pub start_us: u64,
    /// How long it took.
    pub duration_us: Option<u64>,
    /// The code of what it failed with.
    pub error: Option<String>,
    /// More.
    pub fields: Map<String, Value>,
}

impl Stored {
    /// Reads what was kept. Nothing where it is no such text.
    pub fn decode(text: &str) -> Option<Self> {
        let kept: Value = serde_json::from_str(text).ok()?;
        let spans = kept["spans"].as_array()?.iter().map(|span| {
            Some(StoredSpan {
                name: span[0].as_str()?.to_owned(),
                parent: span[1].as_u64()?,
                start_us: span[2].as_u64()?,
                duration_us: span[3].as_u64(),
                error: span[4].as_str().map(str::to_owned),
                fields: span[5].as_object().cloned().unwrap_or_default(),
            })
        });
        Some(Self { spans: spans.collect::<Option<Vec<_>>>()?, cut: kept["cut"].as_u64()? })
    }
}

pub(super) fn encode(records: &[Record], cut: u64, earlier: Option<&str>) -> String {
    let before = earlier.and_then(Stored::decode).unwrap_or_default();
    let mut text = String::with_capacity(64 + records.len() * 96);
    text.push_str("{\"spans\":[");
    for span in &before.spans {
        separate(&mut text);
        let fields = (!span.fields.is_empty()).then(|| Value::Object(span.fields.clone()).to_string());
        let head = (span.name.as_str(), span.parent, span.start_us, span.duration_us);
        write_span(&mut text, head, span.error.as_deref(), fields.as_deref());
    }
    let shift = before.spans.len() as u64;
    let room = SPANS.saturating_sub(before.spans.len());
    for record in records.iter().take(room) {
        separate(&mut text);
        let parent = u64::from(record.parent);
        let parent = if parent == 0 { 0 } else { parent + shift };
        let fields = (!record.fields.is_empty()).then(|| fields(&record.fields));
        let head = (record.name, parent, record.start_us, record.duration_us);
        write_span(&mut text, head, record.error.as_deref(), fields.as_deref());
    }
    let cut = cut + before.cut + records.len().saturating_sub(room) as u64;
    let _ = write!(text, "],\"cut\":{cut}}}");
    text
}

fn separate(text: &mut String) {
    if text.ends_with(']') {
        text.push(',');
    }
}

fn write_span(
    text: &mut String,
    (name, parent, start_us, duration_us): (&str, u64, u64, Option<u64>),
    error: Option<&str>,
    fields: Option<&str>,
) {
    text.push('[');
    write_text(text, name);
    let _ = write!(text, ",{parent},{start_us}");
    match duration_us {
        Some(duration_us) => {
            let _ = write!(text, ",{duration_us}");
        }
        None => text.push_str(",null"),
    }
    match error {
        Some(error) => {
            text.push(',');
            write_text(text, error);
        }
        None if fields.is_some() => text.push_str(",null"),
        None => {}
    }
    if let Some(fields) = fields {
        text.push(',');
        text.push_str(fields);
    }
    text.push(']');
}

fn fields(fields: &[(&'static str, Field)]) -> String {
    let mut text = String::with_capacity(fields.len() * 40);
    text.push('{');
    for (index, (key, value)) in fields.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        write_text(&mut text, key);
        text.push(':');
        match value {
            Field::Text(value) => write_text(&mut text, value),
            Field::Number(number) => {
                let _ = write!(text, "{number}");
            }
        }
    }
    text.push('}');
    text
}

/// Most texts are names, which need no escape.
fn write_text(text: &mut String, value: &str) {
    if value.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\' && byte != 0x7f) {
        text.push('"');
        text.push_str(value);
        text.push('"');
    } else {
        text.push_str(&Value::from(value).to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &'static str, fields: Vec<(&'static str, Field)>) -> Record {
        Record { name, parent: 0, start_us: 1, duration_us: Some(2), error: None, fields }
    }

    #[test]
    fn is_compact_and_comes_back() {
        let text = encode(&[record("a", Vec::new()), record("b", vec![("c", 3_u64.into())])], 7, None);
        assert_eq!(text, r#"{"spans":[["a",0,1,2],["b",0,1,2,null,{"c":3}]],"cut":7}"#);
        let stored = Stored::decode(&text).unwrap();
        assert_eq!((stored.spans[1].fields["c"].as_u64(), stored.cut), (Some(3), 7));
        let again = encode(&[], 0, Some(&text));
        assert_eq!(again, text, "what was kept is kept as it was");
    }

    #[test]
    fn texts_of_others_are_escaped() {
        let odd = "\"],[\"forged\",0,1,2],\u{1b}\\";
        let text = encode(&[record("a", vec![("tool", odd.into())])], 0, None);
        let stored = Stored::decode(&text).unwrap();
        assert_eq!(stored.spans.len(), 1, "{text}");
        assert_eq!(stored.spans[0].fields["tool"], odd);
    }

    #[test]
    fn what_is_damaged_is_nothing() {
        for text in ["", "{}", "[]", r#"{"spans":[[1]],"cut":0}"#, r#"{"spans":[["a",0]],"cut":0}"#] {
            assert_eq!(Stored::decode(text), None, "{text}");
        }
        assert_eq!(
            encode(&[record("a", Vec::new())], 0, Some("damaged")),
            r#"{"spans":[["a",0,1,2]],"cut":0}"#
        );
    }

    #[test]
    fn an_execution_that_goes_on_stays_within_the_bound() {
        let many: Vec<Record> = (0..SPANS).map(|_| record("a", Vec::new())).collect();
        let earlier = encode(&many[..600], 1, None);
        let stored = Stored::decode(&encode(&many, 2, Some(&earlier))).unwrap();
        assert_eq!((stored.spans.len(), stored.cut), (SPANS, 603));
    }
}
