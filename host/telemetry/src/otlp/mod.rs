//! Spans on their way to a collector: OTLP over HTTP, in protobuf.
//!
//! An execution that ended is put into a bounded queue, whole; a thread of
//! its own turns it into spans and sends them in batches. A collector that
//! is slow or gone costs the spans that don't fit, which are counted, and
//! nothing else.

mod config;
mod connect;
mod worker;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use opentelemetry::Context;
use opentelemetry::trace::{
    SpanContext, SpanId, SpanKind, TraceContextExt as _, TraceFlags, TraceId, TraceState,
};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::trace::{
    IdGenerator as _, RandomIdGenerator, Sampler, SamplingDecision, ShouldSample as _,
};
use tokio::sync::{mpsc, oneshot};

pub use config::{Config, ConfigError, Sampling, Variables};

use crate::metrics::metrics;
use crate::remote::RemoteParent;
use crate::spans::Record;
use worker::Worker;

/// Spans that may wait for the collector.
const QUEUE_SPANS: usize = 16 * 1024;
/// Executions that may wait.
const QUEUE_LISTS: usize = 4 * 1024;

static EXPORTER: OnceLock<Exporter> = OnceLock::new();

/// An execution that ended.
pub(crate) struct Finished {
    pub(crate) records: Vec<Record>,
    pub(crate) begun_at: SystemTime,
    /// Where `begun_at` is on the records' line of time.
    pub(crate) first_us: u64,
    pub(crate) remote: Option<RemoteParent>,
}

/// What the thread is told.
enum Message {
    /// Send this.
    Spans { trace: TraceId, finished: Finished },
    /// Send everything, and say when that is done.
    End(oneshot::Sender<()>),
}

/// The caller's side of the thread.
struct Exporter {
    sender: mpsc::Sender<Message>,
    waiting: Arc<AtomicUsize>,
    sampler: Sampler,
    ids: RandomIdGenerator,
}

/// Why spans can't be exported.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The exporter refused its configuration.
    #[error("the OTLP exporter can't be made: {0}")]
    Exporter(String),
    /// The system gave no thread.
    #[error("the thread that sends spans can't be started: {0}")]
    Thread(#[source] std::io::Error),
    /// The certificate authorities can't be read.
    #[error("the collector's certificate can't be checked: {0}")]
    Trust(String),
    /// A process has one.
    #[error("spans are exported already")]
    Twice,
}

/// Begins to export the spans of this process.
///
/// # Errors
/// When the exporter can't be made of this configuration.
pub fn start(config: &Config) -> Result<(), StartError> {
    if EXPORTER.get().is_some() {
        return Err(StartError::Twice);
    }
    let connector = connect::Connector::new(config).map_err(StartError::Trust)?;
    let client = opentelemetry_http::hyper::HyperClient::new(connector, config.timeout, None);
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(client)
        .with_endpoint(&config.endpoint)
        .with_protocol(Protocol::HttpBinary)
        .with_timeout(config.timeout)
        .with_headers(config.headers.iter().cloned().collect())
        .build()
        .map_err(|error| StartError::Exporter(error.to_string()))?;
    let (sender, receiver) = mpsc::channel(QUEUE_LISTS);
    let waiting = Arc::new(AtomicUsize::new(0));
    let worker = Worker::new(exporter, config, receiver, waiting.clone());
    std::thread::Builder::new()
        .name("span-export".into())
        .spawn(move || worker.run())
        .map_err(StartError::Thread)?;
    let sampler = config.sampling.sampler();
    let exporter = Exporter { sender, waiting, sampler, ids: RandomIdGenerator::default() };
    EXPORTER.set(exporter).map_err(|_| StartError::Twice)
}

/// Sends what waits. What can't be sent within `patience` is lost.
pub async fn finish(patience: Duration) {
    let Some(exporter) = EXPORTER.get() else { return };
    let (sender, sent) = oneshot::channel();
    let sending = async {
        if exporter.sender.send(Message::End(sender)).await.is_ok() {
            // An error means that the thread is gone, and so is what it had.
            let _ = sent.await;
        }
    };
    if tokio::time::timeout(patience, sending).await.is_err() {
        tracing::warn!("the last spans did not reach the collector in time");
    }
}

/// Queues an execution's spans where there is a collector, and where the
/// sampler wants them: `finished` is not asked otherwise.
pub(crate) fn submit(remote: Option<RemoteParent>, name: &str, finished: impl FnOnce() -> Finished) {
    let Some(exporter) = EXPORTER.get() else { return };
    let Some(trace) = exporter.sampled(remote, name) else { return };
    let finished = finished();
    let count = finished.records.len();
    let before = exporter.waiting.fetch_add(count, Ordering::Relaxed);
    let full = before + count > QUEUE_SPANS;
    if full || exporter.sender.try_send(Message::Spans { trace, finished }).is_err() {
        exporter.waiting.fetch_sub(count, Ordering::Relaxed);
        metrics().telemetry.spans_queue_full(count);
    }
}

impl Exporter {
    /// The trace that the execution is a part of; none where it is not
    /// sampled.
    fn sampled(&self, remote: Option<RemoteParent>, name: &str) -> Option<TraceId> {
        let trace =
            remote.map_or_else(|| self.ids.new_trace_id(), |remote| TraceId::from_bytes(remote.trace));
        let parent = remote.map(|remote| Context::new().with_remote_span_context(span_context(remote)));
        let decision =
            self.sampler.should_sample(parent.as_ref(), trace, name, &SpanKind::Internal, &[], &[]).decision;
        (decision == SamplingDecision::RecordAndSample).then_some(trace)
    }
}

fn span_context(remote: RemoteParent) -> SpanContext {
    let flags = if remote.sampled { TraceFlags::SAMPLED } else { TraceFlags::default() };
    let (trace, span) = (TraceId::from_bytes(remote.trace), SpanId::from_bytes(remote.span));
    SpanContext::new(trace, span, flags, true, TraceState::default())
}
