//! Server-sent events (the HTML standard, "Server-sent events") as values.

use serde_json::{Map, Value, json};

use super::charset;

/// What came of a stream.
pub(super) struct Events {
    /// A JSON array of `{"data", "event"?, "id"?}`.
    pub(super) data: String,
    /// Whether there were more than are kept.
    pub(super) cut: bool,
}

#[derive(Default)]
struct Event {
    data: Vec<String>,
    event: Option<String>,
}

/// The events in bytes, the first `max` of them. `data` that is JSON is read
/// as such.
pub(super) fn read(bytes: &[u8], max: usize) -> Events {
    let text = charset::decode(bytes, "").unwrap_or_else(|| String::from_utf8_lossy(bytes));
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut list: Vec<Value> = Vec::new();
    let mut id: Option<String> = None;
    let mut held = Event::default();
    // What follows the last line end is no whole line, and yet servers that
    // close early mean it.
    for line in text.split('\n').chain([""]) {
        if line.is_empty() {
            if list.len() == max {
                return Events { data: Value::Array(list).to_string(), cut: true };
            }
            list.extend(finished(std::mem::take(&mut held), id.as_deref()));
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => held.data.push(value.to_owned()),
            "event" => held.event = Some(value.to_owned()),
            "id" if !value.contains('\0') => id = Some(value.to_owned()),
            _ => {}
        }
    }
    Events { data: Value::Array(list).to_string(), cut: false }
}

fn finished(event: Event, id: Option<&str>) -> Option<Value> {
    if event.data.is_empty() {
        return None;
    }
    let text = event.data.join("\n");
    let looks_like_json = text.starts_with(['{', '[']);
    let data = Some(&text).filter(|_| looks_like_json).and_then(|text| serde_json::from_str(text).ok());
    let mut value = Map::new();
    value.extend(event.event.map(|name| ("event".to_owned(), json!(name))));
    value.extend(id.map(|id| ("id".to_owned(), json!(id))));
    value.insert("data".to_owned(), data.unwrap_or(Value::String(text)));
    Some(Value::Object(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(stream: &str, expected: Value) {
        let events = read(stream.as_bytes(), 3);
        assert_eq!(serde_json::from_str::<Value>(&events.data).unwrap(), expected, "{stream:?}");
    }

    #[test]
    fn events_are_read_as_the_standard_says() {
        check("data: YHOO\ndata: +2\ndata: 10\n\n", json!([{"data": "YHOO\n+2\n10"}]));
        check(
            ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
            json!([{"id": "1", "data": "first event"}, {"id": "", "data": "second event"}, {"id": "", "data": " third event"}]),
        );
        check("data\n\ndata\ndata\n\n", json!([{"data": ""}, {"data": "\n"}]));
        check(
            "event: add\r\ndata: {\"a\": 1}\r\rdata: [DONE]",
            json!([{"event": "add", "data": {"a": 1}}, {"data": "[DONE]"}]),
        );
        check("retry: 10\nevent: none\n\n", json!([]));
        assert!(read(b"data: 1\n\ndata: 2\n\ndata: 3\n\ndata: 4\n\n", 3).cut);
    }
}
