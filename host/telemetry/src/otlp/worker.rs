//! The thread that sends spans.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use opentelemetry::trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::trace::{
    IdGenerator as _, RandomIdGenerator, SpanData, SpanEvents, SpanExporter as _, SpanLinks,
};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::{Config, Finished, Message};
use crate::metrics::metrics;
use crate::spans::{Field, Record, names};

/// Spans of one request.
const BATCH_SPANS: usize = 512;

pub(super) struct Worker {
    exporter: SpanExporter,
    receiver: mpsc::Receiver<Message>,
    waiting: Arc<AtomicUsize>,
    delay: Duration,
    scope: InstrumentationScope,
    ids: RandomIdGenerator,
    batch: Vec<SpanData>,
    /// Whether the collector took what it was sent last.
    reached: Option<bool>,
}

impl Worker {
    pub(super) fn new(
        mut exporter: SpanExporter,
        config: &Config,
        receiver: mpsc::Receiver<Message>,
        waiting: Arc<AtomicUsize>,
    ) -> Self {
        exporter.set_resource(&config.resource());
        Self {
            exporter,
            receiver,
            waiting,
            delay: config.delay,
            scope: InstrumentationScope::builder("executor").with_version(env!("CARGO_PKG_VERSION")).build(),
            ids: RandomIdGenerator::default(),
            batch: Vec::new(),
            reached: None,
        }
    }

    /// Sends until nobody is left who could tell it anything.
    pub(super) fn run(mut self) {
        match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime.block_on(self.work()),
            Err(error) => tracing::error!(%error, "spans can't be sent"),
        }
    }

    async fn work(&mut self) {
        let mut due = None;
        loop {
            let received = match due {
                None => Ok(self.receiver.recv().await),
                Some(due) => tokio::time::timeout_at(due, self.receiver.recv()).await,
            };
            match received {
                Ok(Some(Message::Spans { trace, finished })) => {
                    self.take(trace, finished);
                    while self.batch.len() >= BATCH_SPANS {
                        self.send(BATCH_SPANS).await;
                    }
                }
                Ok(Some(Message::End(done))) => {
                    self.send(self.batch.len()).await;
                    // Whoever went away does not want to know.
                    let _ = done.send(());
                }
                Ok(None) => return self.send(self.batch.len()).await,
                Err(_) => self.send(self.batch.len()).await,
            }
            due = match (self.batch.is_empty(), due) {
                (true, _) => None,
                (false, Some(due)) => Some(due),
                (false, None) => Some(Instant::now() + self.delay),
            };
        }
    }

    /// Turns an execution's records into spans.
    fn take(&mut self, trace: TraceId, finished: Finished) {
        let ids: Vec<SpanId> = finished.records.iter().map(|_| self.ids.new_span_id()).collect();
        let remote = finished.remote.map(|remote| SpanId::from_bytes(remote.span));
        let at = |us: u64| finished.begun_at + Duration::from_micros(us.saturating_sub(finished.first_us));
        for (record, id) in finished.records.iter().zip(&ids) {
            let local = (record.parent as usize).checked_sub(1).and_then(|index| ids.get(index));
            let parent = local.copied().or(remote).unwrap_or(SpanId::INVALID);
            let end = at(record.start_us + record.duration_us.unwrap_or(0));
            let mut span = self.span(trace, *id, record, (at(record.start_us), end));
            span.parent_span_id = parent;
            span.parent_span_is_remote = local.is_none() && remote.is_some();
            self.batch.push(span);
        }
    }

    fn span(
        &self,
        trace: TraceId,
        id: SpanId,
        record: &Record,
        (start_time, end_time): (SystemTime, SystemTime),
    ) -> SpanData {
        let client = record.name == names::SEND;
        let mut attributes: Vec<KeyValue> = record.fields.iter().map(attribute).collect();
        let mut status = Status::Unset;
        if let Some(error) = &record.error {
            attributes.push(KeyValue::new("error.type", error.clone()));
            status = Status::error(error.clone());
        }
        SpanData {
            span_context: SpanContext::new(trace, id, TraceFlags::SAMPLED, false, TraceState::default()),
            parent_span_id: SpanId::INVALID,
            parent_span_is_remote: false,
            span_kind: if client { SpanKind::Client } else { SpanKind::Internal },
            name: record.name.into(),
            start_time,
            end_time,
            attributes,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status,
            instrumentation_scope: self.scope.clone(),
        }
    }

    /// Sends the oldest `count` spans. What the collector doesn't take is
    /// gone; the log says so once, until it takes some again.
    async fn send(&mut self, count: usize) {
        if count == 0 {
            return;
        }
        let batch: Vec<SpanData> = self.batch.drain(..count).collect();
        let outcome = self.exporter.export(batch).await;
        self.waiting.fetch_sub(count, Ordering::Relaxed);
        match outcome {
            Ok(()) => metrics().telemetry.spans_exported(count),
            Err(_) => metrics().telemetry.spans_refused(count),
        }
        match (&outcome, self.reached) {
            (Ok(()), Some(false)) => tracing::info!("the collector takes spans again"),
            (Err(error), None | Some(true)) => {
                tracing::warn!(%error, "the collector does not take spans; they are dropped until it does");
            }
            _ => {}
        }
        self.reached = Some(outcome.is_ok());
    }
}

fn attribute((key, value): &(&'static str, Field)) -> KeyValue {
    match value {
        Field::Text(text) => KeyValue::new(*key, text.clone().into_owned()),
        Field::Number(number) => KeyValue::new(*key, *number),
    }
}
