//! Spans: what an execution did when, and for how long.
//!
//! A [`Root`] is one execution's list of spans; a [`Place`] says where in it
//! the next span belongs and is handed down to whoever does a part; a
//! [`Span`] is under way until it is dropped. Opening and closing one are two
//! readings of the clock and two short locks of the execution's own list, so
//! that every execution can be recorded, with a collector or without.
//!
//! Nothing that a user, a guest or an upstream said is put into a span but
//! the names of tools, sources, components and hosts.

mod record;
mod stored;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};

pub use record::{Field, Record};
pub use stored::{Stored, StoredSpan};

use crate::otlp;
use crate::remote::RemoteParent;

/// Spans of one execution. What comes later is counted alone.
pub const SPANS: usize = 1_000;

/// Characters of a field's text.
const TEXT_CHARS: usize = 200;

/// The parts of an execution, by name. Those of components are the path of
/// the WIT function that is called.
pub mod names {
    /// The whole.
    pub const EXECUTION: &str = "execution";
    /// Waiting for a place in the workspace's share.
    pub const POOL_WAIT: &str = "pool.wait";
    /// Making an instance of a component.
    pub const INSTANTIATE: &str = "instantiate";
    /// Compiling a program.
    pub const COMPILE: &str = "executor:compiler/compiler.compile";
    /// Running a program.
    pub const RUN: &str = "executor:sandbox/engine.run";
    /// One call that a program made.
    pub const TOOL_CALL: &str = "tool.call";
    /// Finding the tool, checking the arguments, binding, asking the policies.
    pub const POLICY: &str = "policy";
    /// Asking a person, with the preview of the request.
    pub const APPROVAL: &str = "approval";
    /// Syncing that a write is about to leave.
    pub const INTENT: &str = "intent";
    /// A call of an adapter that belongs to no execution.
    pub const ADAPTER_CALL: &str = "adapter.call";
    /// Asking an adapter what it is.
    pub const DESCRIBE: &str = "executor:adapter/source.describe";
    /// Asking an adapter what a document is.
    pub const DETECT: &str = "executor:adapter/source.detect";
    /// Making tools of a document.
    pub const INDEX: &str = "executor:adapter/source.index";
    /// Calling a tool.
    pub const INVOKE: &str = "executor:adapter/source.invoke";
    /// One request, until the head of its answer.
    pub const SEND: &str = "executor:adapter/http.send";
}

/// All spans of one execution.
struct Spans {
    begun: Instant,
    begun_at: SystemTime,
    /// What lies before `begun`, where this goes on with an execution.
    offset_us: u64,
    remote: Option<RemoteParent>,
    list: Mutex<List>,
}

#[derive(Default)]
struct List {
    records: Vec<Record>,
    cut: u64,
}

impl Spans {
    fn now_us(&self) -> u64 {
        self.offset_us + micros(self.begun.elapsed())
    }

    fn list(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the new span, from 1; none where there are too many.
    fn open(&self, name: &'static str, parent: u32) -> Option<u32> {
        let start_us = self.now_us();
        let mut list = self.list();
        if list.records.len() >= SPANS {
            list.cut += 1;
            return None;
        }
        list.records.push(Record {
            name,
            parent,
            start_us,
            duration_us: None,
            error: None,
            fields: Vec::new(),
        });
        u32::try_from(list.records.len()).ok()
    }

    fn change(&self, number: u32, change: impl FnOnce(&mut Record)) {
        if let Some(record) = self.list().records.get_mut(number as usize - 1) {
            change(record);
        }
    }

    fn close(&self, number: u32) {
        let now_us = self.now_us();
        self.change(number, |record| {
            record.duration_us.get_or_insert(now_us.saturating_sub(record.start_us));
        });
    }
}

/// Where the next span belongs. The default is nowhere: such spans cost and
/// leave nothing.
#[derive(Clone, Default)]
pub struct Place(Option<(Arc<Spans>, u32)>);

impl Place {
    /// Opens a span here.
    pub fn span(&self, name: &'static str) -> Span {
        let opened = self.0.as_ref().and_then(|(spans, parent)| {
            let number = spans.open(name, *parent)?;
            Some((spans.clone(), number))
        });
        // What has no place of its own any more belongs where it would have.
        Span { opened: opened.is_some(), place: Self(opened.or_else(|| self.0.clone())) }
    }

    /// Whether spans here lead nowhere.
    pub fn is_nowhere(&self) -> bool {
        self.0.is_none()
    }
}

impl std::fmt::Debug for Place {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Place").field(&self.0.as_ref().map(|(_, parent)| parent)).finish()
    }
}

/// A part that is under way. Dropping it ends it.
#[derive(Debug)]
pub struct Span {
    place: Place,
    opened: bool,
}

impl Span {
    /// The place within this span.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Adds a field. Text is cut to 200 characters.
    pub fn set(&self, key: &'static str, value: impl Into<Field>) {
        let value = value.into().cut(TEXT_CHARS);
        self.change(|record| record.fields.push((key, value)));
    }

    /// Marks it as failed, by a code. What does not look like one is `failed`:
    /// adapters choose theirs.
    pub fn fail(&self, code: &str) {
        let plain =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_';
        let known = !code.is_empty() && code.len() <= 64 && code.bytes().all(plain);
        let code = if known { code } else { "failed" };
        self.change(|record| record.error = Some(code.to_owned()));
    }

    fn change(&self, change: impl FnOnce(&mut Record)) {
        if let (true, Some((spans, number))) = (self.opened, &self.place.0) {
            spans.change(*number, change);
        }
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        if let (true, Some((spans, number))) = (self.opened, &self.place.0) {
            spans.close(*number);
        }
    }
}

/// The first span of a list, which holds all others.
pub struct Root {
    name: &'static str,
    spans: Arc<Spans>,
    span: Span,
}

impl Root {
    /// Begins a list. `offset_us` lies between the beginning of what it
    /// belongs to and now; `remote` is the span of the client that asked.
    pub fn begin(name: &'static str, remote: Option<RemoteParent>, offset_us: u64) -> Self {
        let spans = Arc::new(Spans {
            begun: Instant::now(),
            begun_at: SystemTime::now(),
            offset_us,
            remote,
            list: Mutex::new(List { records: Vec::with_capacity(8), cut: 0 }),
        });
        let place = Place(Some((spans.clone(), 0)));
        Self { name, spans, span: place.span(name) }
    }

    /// The place within it.
    pub fn place(&self) -> &Place {
        self.span.place()
    }

    /// Itself, to add fields to.
    pub fn span(&self) -> &Span {
        &self.span
    }

    /// Ends the list: a collector gets it, where one was named, and the text
    /// that a store keeps is given, after that of an `earlier` run.
    pub fn finish(&self, earlier: Option<&str>) -> String {
        let begun = Instant::now();
        self.spans.close(1);
        otlp::submit(self.spans.remote, self.name, || self.finished());
        let stored = {
            let list = self.spans.list();
            stored::encode(&list.records, list.cut, earlier)
        };
        crate::metrics().telemetry.trace_recorded(begun.elapsed());
        stored
    }

    /// Ends a list that no store keeps.
    pub fn export(&self) {
        self.spans.close(1);
        otlp::submit(self.spans.remote, self.name, || self.finished());
    }

    fn finished(&self) -> otlp::Finished {
        let records = self.spans.list().records.clone();
        let first_us = self.spans.offset_us;
        otlp::Finished { records, begun_at: self.spans.begun_at, first_us, remote: self.spans.remote }
    }
}

fn micros(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(root: &Root) -> Stored {
        Stored::decode(&root.finish(None)).unwrap()
    }

    #[test]
    fn spans_know_their_place_and_end_when_they_are_dropped() {
        let root = Root::begin(names::EXECUTION, None, 0);
        {
            let run = root.place().span(names::RUN);
            let call = run.place().span(names::TOOL_CALL);
            call.set("executor.source", "github");
            call.fail("denied");
        }
        let open = root.place().span(names::INSTANTIATE);
        let spans = stored(&root).spans;
        drop(open);
        let shown: Vec<_> = spans.iter().map(|span| (span.name.as_str(), span.parent)).collect();
        assert_eq!(
            shown,
            [("execution", 0), ("executor:sandbox/engine.run", 1), ("tool.call", 2), ("instantiate", 1)]
        );
        assert_eq!(spans[2].error.as_deref(), Some("denied"));
        assert_eq!(spans[2].fields["executor.source"], "github");
        assert!(spans[3].duration_us.is_none(), "it is still under way");
        assert!(spans[..3].iter().all(|span| span.duration_us.is_some()));
        assert!(spans.windows(2).all(|pair| pair[0].start_us <= pair[1].start_us));
    }

    #[test]
    fn there_are_a_thousand_and_the_rest_is_counted() {
        let root = Root::begin(names::EXECUTION, None, 0);
        for _ in 0..SPANS {
            let call = root.place().span(names::TOOL_CALL);
            let inner = call.place().span(names::POLICY);
            inner.fail("x");
            inner.set("a", "b");
        }
        let stored = stored(&root);
        assert_eq!((stored.spans.len(), stored.cut), (SPANS, 1 + SPANS as u64));
        assert!(stored.spans.iter().filter(|span| span.name == "tool.call").all(|span| span.error.is_none()));
    }

    #[test]
    fn nowhere_leaves_nothing() {
        let span = Place::default().span(names::RUN);
        span.set("a", "b");
        span.fail("x");
        assert!(span.place().is_nowhere());
    }

    #[test]
    fn a_list_goes_on_where_an_earlier_one_ended() {
        let first = Root::begin(names::EXECUTION, None, 0);
        drop(first.place().span(names::RUN));
        let earlier = first.finish(None);
        let second = Root::begin(names::EXECUTION, None, 5_000_000);
        drop(second.place().span(names::RUN));
        let all = Stored::decode(&second.finish(Some(&earlier))).unwrap();
        let shown: Vec<_> = all.spans.iter().map(|span| (span.name.as_str(), span.parent)).collect();
        let run = names::RUN;
        assert_eq!(shown, [("execution", 0), (run, 1), ("execution", 0), (run, 3)]);
        assert!(all.spans[2].start_us >= 5_000_000 && all.spans[1].start_us < 5_000_000);
    }
}
