//! Fields of answers, as text that can be shown.

use serde_json::Value;

use crate::text;

/// A field as one clean line: a string as it is, nothing for what is absent.
pub(crate) fn field(value: &Value, name: &str) -> String {
    scalar(&value[name])
}

/// A value as one clean line.
pub(crate) fn scalar(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text::line(text, 2_000),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        other => text::compact_json(other),
    }
}

/// A field that is text for people, with its line breaks.
pub(crate) fn prose(value: &Value, name: &str) -> String {
    value[name].as_str().map(|prose| text::clean(prose).trim_end().to_owned()).unwrap_or_default()
}

pub(crate) fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or(0)
}

pub(crate) fn flag(value: &Value, name: &str) -> bool {
    value[name].as_bool().unwrap_or(false)
}

/// The elements of a field that is a list.
pub(crate) fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

/// The strings of a field that is a list, joined.
pub(crate) fn joined(value: &Value, name: &str) -> String {
    let texts: Vec<String> = list(value, name).iter().map(scalar).collect();
    texts.join(", ")
}

/// `2030-01-02 03:04:05` of an RFC 3339 time, or what is there instead.
pub(crate) fn time(value: &Value, name: &str) -> String {
    let text = field(value, name);
    match (text.get(..10), text.get(11..19)) {
        (Some(date), Some(time)) if text.as_bytes()[10] == b'T' => format!("{date} {time}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_are_clean_and_absent_ones_empty() {
        let value = json!({
            "name": "a\u{1b}[1m\nb", "on": true, "n": 3, "list": ["x", 2], "at": "2030-01-02T03:04:05.678Z", "odd": "é"
        });
        assert_eq!(field(&value, "name"), "a b");
        assert_eq!(field(&value, "missing"), "");
        assert_eq!(field(&value, "on"), "yes");
        assert_eq!(joined(&value, "list"), "x, 2");
        assert_eq!(time(&value, "at"), "2030-01-02 03:04:05");
        assert_eq!(time(&value, "odd"), "é");
        assert_eq!(number(&value, "n"), 3);
    }
}
