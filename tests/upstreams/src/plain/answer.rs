//! Answers as steps: bytes to send, pauses, ends.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::StatusCode;
use serde_json::Value;
use tokio::sync::watch;

const FILLING_BYTES: usize = 256 * 1024;

/// What is sent for a request. Cheap to clone, so make one and keep it.
#[derive(Clone, Debug)]
pub struct Answer {
    pub(crate) steps: Arc<[Step]>,
    /// What of the first [`Step::Send`] is the head, which alone answers HEAD.
    pub(crate) head_bytes: usize,
    /// Whether another request may follow on the connection.
    pub(crate) keep_alive: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Step {
    Send(Bytes),
    /// So many bytes of spaces; [`u64::MAX`] for as long as they are taken.
    Fill(u64),
    Wait(Duration),
    /// Nothing until what is watched changes.
    Hold(watch::Receiver<u64>),
    /// Nothing more, on a connection that stays open until the client ends it.
    Hang,
    /// RST
    Reset,
}

impl Answer {
    /// A status, headers as they are given plus Content-Length, and a body.
    pub fn new(status: u16, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let mut whole = head(status, headers, &format!("content-length: {}\r\n", body.len()));
        let head_bytes = whole.len();
        whole.extend_from_slice(body);
        Self::of(vec![Step::Send(whole.freeze())], head_bytes, true)
    }

    pub fn json(status: u16, body: &Value) -> Self {
        Self::new(status, &[("content-type", "application/json")], body.to_string())
    }

    pub fn text(status: u16, body: &str) -> Self {
        Self::new(status, &[("content-type", "text/plain; charset=utf-8")], body)
    }

    /// A redirect without a body.
    pub fn redirect(status: u16, location: &str) -> Self {
        Self::new(status, &[("location", location)], "")
    }

    /// These bytes, whatever they are, and the end of the connection.
    pub fn raw(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let head_bytes = bytes.len();
        Self::of(vec![Step::Send(bytes)], head_bytes, false)
    }

    /// 200 with so many headers `x-flood-N` and a body `{}`.
    pub fn headers_flood(count: usize) -> Self {
        let flood: String = (0..count).map(|number| format!("x-flood-{number}: {number}\r\n")).collect();
        let mut whole = head(200, &[("content-type", "application/json")], &flood);
        // Takes back the empty line that ends the head.
        whole.truncate(whole.len() - 2);
        whole.extend_from_slice(b"content-length: 2\r\n\r\n");
        let head_bytes = whole.len();
        whole.extend_from_slice(b"{}");
        Self::of(vec![Step::Send(whole.freeze())], head_bytes, true)
    }

    /// 200 with a body of so many bytes of spaces, declared by Content-Length
    /// and sent as fast as they are taken.
    pub fn filled(bytes: u64) -> Self {
        let head = head(200, &[OCTETS], &format!("content-length: {bytes}\r\n"));
        let head_bytes = head.len();
        Self::of(vec![Step::Send(head.freeze()), Step::Fill(bytes)], head_bytes, true)
    }

    /// 200 with a body that goes on for as long as it is taken, ended by
    /// nothing but the connection.
    pub fn endless() -> Self {
        let head = head(200, &[OCTETS], "connection: close\r\n");
        let head_bytes = head.len();
        let steps = vec![Step::Send(head.freeze()), Step::Fill(u64::MAX)];
        Self::of(steps, head_bytes, false)
    }

    /// Nothing at all, on a connection that stays open.
    pub fn silence() -> Self {
        Self::of(vec![Step::Hang], 0, false)
    }

    /// 200 with these headers and the beginning of a body, on a connection that
    /// stays open.
    pub fn staying_open(headers: &[(&str, &str)], beginning: &str) -> Self {
        let mut whole = head(200, headers, "connection: close\r\n");
        let head_bytes = whole.len();
        whole.extend_from_slice(beginning.as_bytes());
        Self::of(vec![Step::Send(whole.freeze()), Step::Hang], head_bytes, false)
    }

    /// A connection that is reset before anything is sent.
    pub fn reset() -> Self {
        Self::of(vec![Step::Reset], 0, false)
    }

    /// This answer, begun only after `delay`.
    pub fn after(self, delay: Duration) -> Self {
        self.begun_by(Step::Wait(delay))
    }

    /// This answer, begun only once what is watched has changed.
    pub(crate) fn held(self, watched: watch::Receiver<u64>) -> Self {
        self.begun_by(Step::Hold(watched))
    }

    fn begun_by(self, first: Step) -> Self {
        let mut steps = vec![first];
        steps.extend(self.steps.iter().cloned());
        Self::of(steps, self.head_bytes, self.keep_alive)
    }

    /// This answer in pieces of `piece_bytes`, head included, with `delay`
    /// before each but the first.
    pub fn dripping(self, piece_bytes: usize, delay: Duration) -> Self {
        let mut steps = Vec::new();
        for step in self.steps.iter() {
            match step {
                Step::Send(bytes) => {
                    for start in (0..bytes.len()).step_by(piece_bytes.max(1)) {
                        let end = bytes.len().min(start + piece_bytes.max(1));
                        steps.push(Step::Send(bytes.slice(start..end)));
                        steps.push(Step::Wait(delay));
                    }
                    steps.pop();
                }
                other => steps.push(other.clone()),
            }
        }
        Self::of(steps, 0, self.keep_alive)
    }

    /// The first `bytes` of this answer's body, then the end of the connection.
    pub fn cut_after(self, bytes: usize) -> Self {
        self.broken(bytes, None)
    }

    /// The first `bytes` of this answer's body, then a reset.
    pub fn reset_after(self, bytes: usize) -> Self {
        self.broken(bytes, Some(Step::Reset))
    }

    /// The head and half of the body, then the end of the connection.
    pub(crate) fn half(self) -> Self {
        let body_bytes = match self.steps.first() {
            Some(Step::Send(whole)) => whole.len() - self.head_bytes,
            _ => 0,
        };
        self.cut_after(body_bytes / 2)
    }

    fn broken(self, body_bytes: usize, end: Option<Step>) -> Self {
        let mut steps = Vec::new();
        if let Some(Step::Send(whole)) = self.steps.first() {
            let sent = whole.len().min(self.head_bytes + body_bytes);
            steps.push(Step::Send(whole.slice(..sent)));
            let filled = (self.head_bytes + body_bytes - sent) as u64;
            if filled > 0 && matches!(self.steps.get(1), Some(Step::Fill(_))) {
                steps.push(Step::Fill(filled));
            }
        }
        // The client should have read what was sent before a reset drops it.
        steps.extend(end.map(|end| [Step::Wait(Duration::from_millis(20)), end]).into_iter().flatten());
        Self::of(steps, self.head_bytes, false)
    }

    fn of(steps: Vec<Step>, head_bytes: usize, keep_alive: bool) -> Self {
        Self { steps: steps.into(), head_bytes, keep_alive }
    }
}

const OCTETS: (&str, &str) = ("content-type", "application/octet-stream");

/// What [`Step::Fill`] sends, over and over.
pub(crate) fn filling() -> &'static [u8] {
    static FILLING: [u8; FILLING_BYTES] = [b' '; FILLING_BYTES];
    &FILLING
}

fn head(status: u16, headers: &[(&str, &str)], more: &str) -> BytesMut {
    let reason = StatusCode::from_u16(status).ok().and_then(|known| known.canonical_reason());
    let mut text = format!("HTTP/1.1 {status} {}\r\n", reason.unwrap_or("Unknown"));
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str(more);
    text.push_str("\r\n");
    BytesMut::from(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(answer: &Answer) -> String {
        let mut all = String::new();
        for step in answer.steps.iter() {
            if let Step::Send(bytes) = step {
                all.push_str(&String::from_utf8_lossy(bytes));
            }
        }
        all
    }

    #[test]
    fn an_answer_is_one_write() {
        let answer = Answer::new(201, &[("a", "b")], "body");
        assert_eq!(answer.steps.len(), 1);
        assert_eq!(sent(&answer), "HTTP/1.1 201 Created\r\na: b\r\ncontent-length: 4\r\n\r\nbody");
        assert_eq!(answer.head_bytes, sent(&answer).len() - 4);
    }

    #[test]
    fn a_cut_counts_from_the_body() {
        let cut = Answer::text(200, "0123456789").cut_after(4);
        assert!(sent(&cut).ends_with("\r\n\r\n0123"));
        assert!(!cut.keep_alive);
        let filled = Answer::filled(100).reset_after(40);
        assert!(matches!(filled.steps[1], Step::Fill(40)));
        assert!(matches!(filled.steps[3], Step::Reset));
    }

    #[test]
    fn dripping_keeps_every_byte() {
        let whole = Answer::text(200, "0123456789");
        let drip = whole.clone().dripping(3, Duration::ZERO);
        assert_eq!(sent(&drip), sent(&whole));
        assert!(!matches!(drip.steps.last(), Some(Step::Wait(_))));
    }
}
