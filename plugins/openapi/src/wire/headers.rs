//! The headers of a response: found by name, and those a caller can use.

use serde_json::{Map, Value, json};

use crate::text::line;

const MAX_HEADERS: usize = 32;
const MAX_VALUE_CHARS: usize = 1000;
/// A `link` header holds several URLs.
const MAX_LINK_CHARS: usize = 4000;

const USEFUL: [&str; 21] = [
    "link",
    "retry-after",
    "location",
    "etag",
    "last-modified",
    "content-type",
    "content-range",
    "content-language",
    "content-disposition",
    "x-request-id",
    "request-id",
    "x-correlation-id",
    "x-github-request-id",
    "x-amzn-requestid",
    "x-oauth-scopes",
    "x-accepted-oauth-scopes",
    "x-accepted-github-permissions",
    "deprecation",
    "sunset",
    "warning",
    "date",
];
const USEFUL_STARTS: [&str; 8] = [
    "ratelimit",
    "x-ratelimit",
    "x-rate-limit",
    "x-total",
    "x-page",
    "x-per-page",
    "x-next-page",
    "x-prev-page",
];

/// A response's headers, by lower-case name.
#[derive(Debug, Default)]
pub(crate) struct Headers {
    list: Vec<(String, String)>,
}

impl Headers {
    pub(crate) fn new(raw: Vec<(String, Vec<u8>)>) -> Self {
        let list = raw
            .into_iter()
            .map(|(name, value)| (name.to_ascii_lowercase(), String::from_utf8_lossy(&value).into_owned()))
            .collect();
        Self { list }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.list.iter().find(|(held, _)| held == name).map(|(_, value)| value.trim())
    }

    /// All values of a header that may stand several times.
    pub(super) fn all(&self, name: &str) -> String {
        let values = self.list.iter().filter(|(held, _)| held == name).map(|(_, value)| value.trim());
        values.collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn content_type(&self) -> &str {
        self.get("content-type").unwrap_or_default()
    }

    /// The length of the body as sent, where nothing was unpacked on the way.
    pub(crate) fn content_length(&self) -> Option<u64> {
        if self.get("content-encoding").is_some() {
            return None;
        }
        self.get("content-length")?.parse().ok()
    }

    /// `{"status", "headers"}` with the headers a caller can use, bounded.
    pub(crate) fn metadata(&self, status: u16) -> Map<String, Value> {
        let mut kept: Map<String, Value> = Map::new();
        for (name, value) in &self.list {
            if !is_useful(name) || (kept.len() == MAX_HEADERS && !kept.contains_key(name)) {
                continue;
            }
            let max = if name == "link" { MAX_LINK_CHARS } else { MAX_VALUE_CHARS };
            let value = match kept.get(name).and_then(Value::as_str) {
                Some(before) => format!("{before}, {value}"),
                None => value.clone(),
            };
            kept.insert(name.clone(), json!(line(&value, max)));
        }
        let mut metadata = Map::new();
        metadata.insert("status".to_owned(), json!(status));
        metadata.insert("headers".to_owned(), Value::Object(kept));
        metadata
    }
}

fn is_useful(name: &str) -> bool {
    USEFUL.contains(&name) || USEFUL_STARTS.iter().any(|start| name.starts_with(start))
}
