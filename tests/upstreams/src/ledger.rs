//! What arrived at an upstream, in order.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use base64::Engine as _;
use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};

use crate::pattern::{method_matches, path_matches};

/// Past this many entries the oldest are forgotten.
pub const LIMIT_ENTRIES: usize = 100_000;
/// Past this many bytes of bodies the oldest entries are forgotten.
pub const LIMIT_BODY_BYTES: usize = 256 * 1024 * 1024;

/// One request as it arrived.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Counts from 1 over the life of the upstream; `clear` does not reset it.
    pub sequence: u64,
    /// Which connection it came over, counted from 1.
    pub connection: u64,
    /// Milliseconds since the upstream started, by a monotonic clock.
    pub at_ms: u64,
    /// In upper case, as sent.
    pub method: String,
    /// As sent: percent-encoded, without the query.
    pub path: String,
    /// What followed the `?`, as sent; empty where there was none.
    pub query: String,
    /// Names in lower case, values as sent, in order, repeated ones repeated.
    pub headers: Vec<(String, Bytes)>,
    /// The whole body, transfer encoding undone.
    pub body: Bytes,
}

impl Entry {
    /// The first header of that name as text, where it is UTF-8.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(have, _)| have.eq_ignore_ascii_case(name))
            .and_then(|(_, value)| std::str::from_utf8(value).ok())
    }

    /// The first query parameter of that name, decoded.
    pub fn parameter(&self, name: &str) -> Option<String> {
        url::form_urlencoded::parse(self.query.as_bytes())
            .find(|(have, _)| have == name)
            .map(|(_, value)| value.into_owned())
    }

    /// The first member of that name of a form-encoded body, decoded.
    pub fn form(&self, name: &str) -> Option<String> {
        url::form_urlencoded::parse(&self.body)
            .find(|(have, _)| have == name)
            .map(|(_, value)| value.into_owned())
    }

    /// The body as JSON, where it is JSON.
    pub fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    /// The entry as JSON: bytes that are not UTF-8 stand as
    /// `{"base64": "…"}`.
    pub fn to_json(&self) -> Value {
        let headers: Vec<Value> =
            self.headers.iter().map(|(name, value)| json!([name, text_or_base64(value)])).collect();
        json!({
            "sequence": self.sequence,
            "connection": self.connection,
            "at_ms": self.at_ms,
            "method": self.method,
            "path": self.path,
            "query": self.query,
            "headers": headers,
            "body": text_or_base64(&self.body),
        })
    }
}

/// How much a [`Ledger`] keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Keep {
    /// Every request, within the limits of this module.
    #[default]
    Entries,
    /// Their number alone: for benchmarks.
    Count,
}

/// The requests that reached an upstream. Clones share one ledger.
#[derive(Clone, Debug)]
pub struct Ledger {
    shared: Arc<Mutex<Shared>>,
    started: Instant,
    keep: Keep,
}

#[derive(Debug, Default)]
struct Shared {
    entries: VecDeque<Entry>,
    body_bytes: usize,
    last_sequence: u64,
    count: u64,
}

impl Ledger {
    pub(crate) fn new(keep: Keep) -> Self {
        Self { shared: Arc::default(), started: Instant::now(), keep }
    }

    /// Everything that is kept, oldest first.
    pub fn entries(&self) -> Vec<Entry> {
        self.lock().entries.iter().cloned().collect()
    }

    /// Those of a method and a path, oldest first. The method may be `*`; in
    /// the path `*` stands for one segment and a last `**` for the rest.
    pub fn matching(&self, method: &str, path: &str) -> Vec<Entry> {
        let fits = |entry: &&Entry| method_matches(method, &entry.method) && path_matches(path, &entry.path);
        self.lock().entries.iter().filter(fits).cloned().collect()
    }

    /// How many requests arrived since the start or the last [`Self::clear`],
    /// forgotten ones included.
    pub fn count(&self) -> u64 {
        self.lock().count
    }

    /// Forgets what arrived so far.
    pub fn clear(&self) {
        let mut shared = self.lock();
        shared.entries.clear();
        shared.body_bytes = 0;
        shared.count = 0;
    }

    /// True where no entry has to be built, only [`Self::tick`] called.
    pub(crate) fn only_counts(&self) -> bool {
        self.keep == Keep::Count
    }

    pub(crate) fn tick(&self) {
        let mut shared = self.lock();
        shared.last_sequence += 1;
        shared.count += 1;
    }

    /// Records `entry`, filling in its sequence number, which it answers, and
    /// its time.
    pub(crate) fn record(&self, mut entry: Entry) -> u64 {
        let mut shared = self.lock();
        shared.last_sequence += 1;
        shared.count += 1;
        let sequence = shared.last_sequence;
        entry.sequence = sequence;
        entry.at_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        shared.body_bytes += entry.body.len();
        shared.entries.push_back(entry);
        while shared.entries.len() > LIMIT_ENTRIES || shared.body_bytes > LIMIT_BODY_BYTES {
            let Some(oldest) = shared.entries.pop_front() else {
                break;
            };
            shared.body_bytes -= oldest.body.len();
        }
        sequence
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn text_or_base64(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => json!(text),
        Err(_) => json!({ "base64": base64::engine::general_purpose::STANDARD.encode(bytes) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(method: &str, path: &str, body: Bytes) -> Entry {
        Entry {
            sequence: 0,
            connection: 1,
            at_ms: 0,
            method: method.to_owned(),
            path: path.to_owned(),
            query: "a=1%202".to_owned(),
            headers: vec![("accept".to_owned(), Bytes::from_static(b"*/*"))],
            body,
        }
    }

    #[test]
    fn entries_are_numbered_and_found() {
        let ledger = Ledger::new(Keep::Entries);
        ledger.record(entry("GET", "/user", Bytes::new()));
        ledger.record(entry("POST", "/user/repos", Bytes::from_static(b"{}")));
        assert_eq!(ledger.count(), 2);
        let found = ledger.matching("*", "/user/*");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].sequence, 2);
        assert_eq!(found[0].parameter("a").as_deref(), Some("1 2"));
        assert_eq!(found[0].header("Accept"), Some("*/*"));
        ledger.clear();
        ledger.record(entry("GET", "/user", Bytes::new()));
        assert_eq!(ledger.entries()[0].sequence, 3);
        assert_eq!(ledger.count(), 1);
    }

    #[test]
    fn the_oldest_are_forgotten_past_the_limit() {
        let ledger = Ledger::new(Keep::Entries);
        let half = Bytes::from(vec![0; LIMIT_BODY_BYTES / 2]);
        for _ in 0..3 {
            ledger.record(entry("PUT", "/big", half.clone()));
        }
        assert_eq!(ledger.entries().len(), 2);
        assert_eq!(ledger.entries()[0].sequence, 2);
        assert_eq!(ledger.count(), 3);
    }

    #[test]
    fn bytes_that_are_no_text_stand_as_base64() {
        let value = entry("PUT", "/", Bytes::from_static(&[0xff])).to_json();
        assert_eq!(value["body"], json!({ "base64": "/w==" }));
    }
}
