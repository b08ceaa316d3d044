//! The lines of a process, and who hears them: every handle that was attached
//! when a line ended, each at its own pace and within a bound.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::egress::Secret;

/// The longest line, and what may wait for one handle.
pub(super) const LINE_BYTES: usize = 64 * 1024 * 1024;
const WAITING_BYTES: usize = LINE_BYTES;

/// What a line costs beside its text, so that empty ones are bounded too.
const LINE_COST_BYTES: usize = 64;

/// A shorter value is not looked for: it would be found where it is not meant.
const SHORTEST_SECRET: usize = 8;

/// Cuts a stream of bytes into lines.
#[derive(Default)]
pub(super) struct Cutter {
    line: Vec<u8>,
    /// The bytes of a line that is too long, and dropped.
    dropped: usize,
}

/// What a chunk of the stream gave.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Cut {
    Line(String),
    /// A line of so many bytes was dropped.
    Dropped(usize),
}

impl Cutter {
    pub(super) fn push(&mut self, mut chunk: &[u8], mut tell: impl FnMut(Cut)) {
        while let Some(end) = chunk.iter().position(|byte| *byte == b'\n') {
            self.extend(&chunk[..end]);
            tell(self.finish());
            chunk = &chunk[end + 1..];
        }
        self.extend(chunk);
    }

    /// What stood after the last line break, where anything did.
    pub(super) fn rest(&mut self) -> Option<Cut> {
        (!self.line.is_empty() || self.dropped > 0).then(|| self.finish())
    }

    fn extend(&mut self, bytes: &[u8]) {
        if self.dropped > 0 || self.line.len() + bytes.len() > LINE_BYTES {
            self.dropped += self.line.len() + bytes.len();
            self.line = Vec::new();
        } else {
            self.line.extend_from_slice(bytes);
        }
    }

    fn finish(&mut self) -> Cut {
        let (mut line, dropped) = (std::mem::take(&mut self.line), std::mem::take(&mut self.dropped));
        if dropped > 0 {
            return Cut::Dropped(dropped);
        }
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        Cut::Line(
            String::from_utf8(line)
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
        )
    }
}

/// Values that a process was given, and that are taken out of what it writes:
/// as they are, and as JSON has them.
pub(super) struct Hidden(Vec<String>);

impl Hidden {
    pub(super) fn new<'a>(secrets: impl Iterator<Item = &'a Secret>) -> Self {
        let mut hidden = Vec::new();
        for secret in secrets.map(Secret::expose).filter(|secret| secret.len() >= SHORTEST_SECRET) {
            let quoted = serde_json::Value::from(secret).to_string();
            hidden.push(secret.to_owned());
            hidden.push(quoted[1..quoted.len() - 1].to_owned());
        }
        hidden.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        hidden.dedup();
        Self(hidden)
    }

    pub(super) fn take_out(&self, mut text: String) -> String {
        for secret in &self.0 {
            if text.contains(secret) {
                text = text.replace(secret, "[redacted]");
            }
        }
        text
    }
}

/// What waits for one handle.
#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<Waiting>,
    arrived: Notify,
}

#[derive(Default)]
struct Waiting {
    lines: VecDeque<Arc<str>>,
    bytes: usize,
    lost: bool,
    over: bool,
}

/// What a handle finds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    Line(Arc<str>),
    /// More waited than may.
    Lost,
    /// No line comes any more.
    Over,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, line: &Arc<str>) {
        let mut waiting = self.lock();
        let bytes = line.len() + LINE_COST_BYTES;
        if !waiting.lines.is_empty() && waiting.bytes + bytes > WAITING_BYTES {
            *waiting = Waiting { lost: true, ..Waiting::default() };
        }
        waiting.lines.push_back(line.clone());
        waiting.bytes += bytes;
        drop(waiting);
        self.arrived.notify_one();
    }

    fn take(&self) -> Option<Next> {
        let mut waiting = self.lock();
        if std::mem::take(&mut waiting.lost) {
            return Some(Next::Lost);
        }
        if let Some(line) = waiting.lines.pop_front() {
            waiting.bytes -= line.len() + LINE_COST_BYTES;
            return Some(Next::Line(line));
        }
        waiting.over.then_some(Next::Over)
    }

    /// The next line, once there is one. Nothing is lost where this is
    /// dropped.
    pub(super) async fn next(&self) -> Next {
        loop {
            let arrived = self.arrived.notified();
            if let Some(next) = self.take() {
                return next;
            }
            arrived.await;
        }
    }
}

/// The handles of a process.
#[derive(Default)]
pub(super) struct Listeners(Mutex<Listening>);

#[derive(Default)]
struct Listening {
    queues: Vec<Arc<Queue>>,
    closed: bool,
}

impl Listeners {
    fn lock(&self) -> MutexGuard<'_, Listening> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more, unless there are `limit`.
    pub(super) fn add(&self, limit: usize) -> Option<Arc<Queue>> {
        let mut listening = self.lock();
        if listening.queues.len() >= limit {
            return None;
        }
        let queue = Arc::new(Queue::default());
        queue.lock().over = listening.closed;
        listening.queues.push(queue.clone());
        Some(queue)
    }

    pub(super) fn remove(&self, queue: &Arc<Queue>) {
        self.lock().queues.retain(|known| !Arc::ptr_eq(known, queue));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock().queues.is_empty()
    }

    pub(super) fn tell(&self, line: &Arc<str>) {
        for queue in &self.lock().queues {
            queue.push(line);
        }
    }

    /// No line comes any more, whoever still comes to listen.
    pub(super) fn close(&self) {
        let mut listening = self.lock();
        listening.closed = true;
        for queue in &listening.queues {
            queue.lock().over = true;
            queue.arrived.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;

    fn cuts(chunks: &[&[u8]]) -> Vec<Cut> {
        let (mut cutter, mut found) = (Cutter::default(), Vec::new());
        for chunk in chunks {
            cutter.push(chunk, |cut| found.push(cut));
        }
        found.extend(cutter.rest());
        found
    }

    #[test]
    fn lines_end_at_any_kind_of_break_wherever_chunks_are_cut() {
        let text = "\u{feff}{\"a\":1}\r\n\nplain\rstays\nlast".as_bytes();
        let expect = ["\u{feff}{\"a\":1}", "", "plain\rstays", "last"];
        let expect: Vec<Cut> = expect.map(|line| Cut::Line(line.into())).into();
        assert_eq!(cuts(&[text]), expect);
        for cut in 0..text.len() {
            assert_eq!(cuts(&[&text[..cut], &text[cut..]]), expect, "cut at {cut}");
        }
        assert_eq!(cuts(&[b"\xff\n"]), [Cut::Line("\u{fffd}".into())]);
        assert_eq!(cuts(&[]), []);
    }

    #[test]
    fn a_line_that_is_too_long_is_dropped_and_the_next_is_not() {
        let chunk = vec![b'x'; 1024 * 1024];
        let mut chunks: Vec<&[u8]> = vec![&chunk; 64];
        chunks.push(b"\n");
        assert!(matches!(&cuts(&chunks)[..], [Cut::Line(line)] if line.len() == LINE_BYTES));
        chunks.insert(0, b"y");
        chunks.push(b"next\n");
        assert_eq!(cuts(&chunks), [Cut::Dropped(LINE_BYTES + 1), Cut::Line("next".into())]);
    }

    #[test]
    fn a_secret_is_found_as_it_is_and_as_json_has_it() {
        let secrets = ["canary-\"1\"".to_owned(), "short".to_owned()].map(Secret::new);
        let hidden = Hidden::new(secrets.iter());
        assert_eq!(hidden.take_out("a canary-\"1\" short".into()), "a [redacted] short");
        assert_eq!(hidden.take_out(r#"{"k":"canary-\"1\""}"#.into()), r#"{"k":"[redacted]"}"#);
    }

    #[test]
    fn everybody_hears_every_line_and_the_slow_one_alone_loses_some() {
        let listeners = Listeners::default();
        let (quick, slow) = (listeners.add(2).expect("room"), listeners.add(2).expect("room"));
        assert!(listeners.add(2).is_none(), "there is a bound");
        let line: Arc<str> = "x".repeat(1024 * 1024).into();
        for _ in 0..64 {
            listeners.tell(&line);
            assert_eq!(quick.next().now_or_never(), Some(Next::Line(line.clone())));
        }
        assert_eq!(slow.next().now_or_never(), Some(Next::Lost));
        assert_eq!(slow.next().now_or_never(), Some(Next::Line(line.clone())), "the last is there");
        assert_eq!(slow.next().now_or_never(), None);
        listeners.tell(&"last".into());
        listeners.close();
        for queue in [&quick, &slow] {
            assert_eq!(queue.next().now_or_never(), Some(Next::Line("last".into())));
            assert_eq!(queue.next().now_or_never(), Some(Next::Over));
        }
        let late = listeners.add(3).expect("room");
        assert_eq!(late.next().now_or_never(), Some(Next::Over), "who comes late waits for nothing");
        listeners.remove(&late);
        listeners.remove(&quick);
        listeners.remove(&slow);
        assert!(listeners.is_empty());
    }

    #[test]
    fn the_longest_line_reaches_who_waits_for_it() {
        let listeners = Listeners::default();
        let queue = listeners.add(1).expect("room");
        let line: Arc<str> = "x".repeat(LINE_BYTES).into();
        listeners.tell(&line);
        assert_eq!(queue.next().now_or_never(), Some(Next::Line(line)));
    }
}
