//! The headers of a response: found by name, and those a caller can use.

use serde_json::{Map, Value, json};

use crate::date;
use crate::text::line;

/// No upstream is waited for longer than a week.
const MAX_RETRY_AFTER_S: i64 = 7 * 86_400;
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
pub struct Headers {
    list: Vec<(String, String)>,
}

impl Headers {
    /// As the host gave them.
    #[inline]
    pub fn new(raw: Vec<(String, Vec<u8>)>) -> Self {
        let list = raw
            .into_iter()
            .map(|(name, value)| (name.to_ascii_lowercase(), String::from_utf8_lossy(&value).into_owned()))
            .collect();
        Self { list }
    }

    /// The first value of a header.
    #[inline]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.list.iter().find(|(held, _)| held == name).map(|(_, value)| value.trim())
    }

    /// All values of a header that may stand several times.
    #[inline]
    pub fn all(&self, name: &str) -> String {
        let values = self.list.iter().filter(|(held, _)| held == name).map(|(_, value)| value.trim());
        values.collect::<Vec<_>>().join(", ")
    }

    /// `Content-Type`, with its parameters; empty where there is none.
    #[inline]
    pub fn content_type(&self) -> &str {
        self.get("content-type").unwrap_or_default()
    }

    /// The length of the body as sent, where nothing was unpacked on the way.
    #[inline]
    pub fn content_length(&self) -> Option<u64> {
        if self.get("content-encoding").is_some() {
            return None;
        }
        self.get("content-length")?.parse().ok()
    }

    /// GitHub and others answer 403 where they mean 429.
    #[inline]
    pub fn is_out_of_quota(&self) -> bool {
        self.get("retry-after").is_some()
            || ["x-ratelimit-remaining", "ratelimit-remaining", "x-rate-limit-remaining"]
                .iter()
                .any(|name| self.get(name) == Some("0"))
    }

    /// How long the upstream asked to be left alone.
    #[inline]
    pub fn retry_after_ms(&self) -> Option<u64> {
        let now = || self.get("date").and_then(date::epoch_seconds);
        let seconds = match self.get("retry-after") {
            Some(text) => match text.parse::<f64>() {
                #[expect(clippy::cast_possible_truncation, reason = "clamped to a week first")]
                Ok(seconds) if seconds.is_finite() => {
                    seconds.ceil().clamp(0.0, MAX_RETRY_AFTER_S as f64) as i64
                }
                _ => date::epoch_seconds(text)? - now()?,
            },
            None if self.is_out_of_quota() => {
                self.get("x-ratelimit-reset")?.parse::<i64>().ok()?.checked_sub(now()?)?
            }
            None => return None,
        };
        u64::try_from(seconds.clamp(0, MAX_RETRY_AFTER_S)).ok().map(|seconds| seconds * 1000)
    }

    /// `{"status", "headers"}` with the headers a caller can use, bounded.
    #[inline]
    pub fn metadata(&self, status: u16) -> Map<String, Value> {
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

#[inline]
fn is_useful(name: &str) -> bool {
    USEFUL.contains(&name) || USEFUL_STARTS.iter().any(|start| name.starts_with(start))
}
