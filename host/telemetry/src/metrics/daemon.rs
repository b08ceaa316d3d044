//! What the daemon does for all of it: disk, HTTP, and telemetry itself.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::histogram::{FAST_SECONDS, SLOW_SECONDS};
use super::labels::{Answer, Outcome, Reason, Route};
use super::{Histogram, Histograms, histograms};

/// What is written to disk.
pub struct Store {
    commit: Histogram,
    sync: Histogram,
    changes: Counter,
    /// Changes that wait for the writers. Set when the page is read.
    pub pending: Gauge,
    /// Changes that nobody waited for and that could not be kept. Set when
    /// the page is read.
    pub failed: Gauge,
}

impl Store {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let durations: Histograms<Outcome> = histograms(&SLOW_SECONDS);
        registry.register(
            "store_commit_seconds",
            "Time of a commit of one or more changes: written behind, or synced to disk",
            durations.clone(),
        );
        let changes = Counter::default();
        registry.register("store_changes", "Changes that were committed", changes.clone());
        let (pending, failed) = (Gauge::default(), Gauge::default());
        registry.register("store_pending_changes", "Changes that wait to be written", pending.clone());
        registry.register(
            "store_failed_changes",
            "Changes that nobody waited for and that could not be kept, since the daemon started",
            failed.clone(),
        );
        Self {
            commit: durations.get_or_create_owned(&Outcome { outcome: "written" }),
            sync: durations.get_or_create_owned(&Outcome { outcome: "synced" }),
            changes,
            pending,
            failed,
        }
    }

    /// Changes were committed together.
    pub fn committed(&self, synced: bool, changes: usize, took: Duration) {
        let durations = if synced { &self.sync } else { &self.commit };
        durations.observe(took);
        self.changes.inc_by(changes as u64);
    }
}

/// The HTTP API.
pub struct Http {
    requests: Family<Answer, Counter>,
    duration: Histograms<Route>,
}

/// One route's metrics.
#[derive(Clone)]
pub struct RouteMetrics {
    route: &'static str,
    method: &'static str,
    requests: Family<Answer, Counter>,
    ok: Counter,
    duration: Histogram,
}

impl Http {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let requests = Family::default();
        registry.register(
            "http_requests",
            "Requests to the daemon; the route `none` is what the door refused or no route has",
            requests.clone(),
        );
        let duration = histograms(&SLOW_SECONDS);
        registry.register(
            "http_request_seconds",
            "Time from a request's head to its answer's, human time of a waiting client included",
            duration.clone(),
        );
        Self { requests, duration }
    }

    /// The metrics of a route, by its template.
    pub fn route(&self, route: &'static str, method: &'static str) -> RouteMetrics {
        RouteMetrics {
            route,
            method,
            requests: self.requests.clone(),
            ok: self.requests.get_or_create_owned(&Answer { route, method, status: 200 }),
            duration: self.duration.get_or_create_owned(&Route { route, method }),
        }
    }

    /// A request was refused at the door, or there is no such route.
    pub fn refused(&self, status: u16) {
        self.requests.get_or_create(&Answer { route: "none", method: "", status }).inc();
    }
}

impl RouteMetrics {
    /// A request was answered.
    pub fn answered(&self, status: u16, took: Duration) {
        if status == 200 {
            self.ok.inc();
        } else {
            let label = Answer { route: self.route, method: self.method, status };
            self.requests.get_or_create(&label).inc();
        }
        self.duration.observe(took);
    }
}

/// Telemetry of telemetry.
pub struct Telemetry {
    spans_exported: Counter,
    spans_queue_full: Counter,
    spans_refused: Counter,
    lines: Counter,
    lines_queue_full: Counter,
    lines_not_written: Counter,
    lines_of_components: Counter,
    trace: Histogram,
}

impl Telemetry {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let spans_exported = Counter::default();
        registry.register("spans_exported", "Spans that the collector took", spans_exported.clone());
        let spans: Family<Reason, Counter> = Family::default();
        registry.register(
            "spans_dropped",
            "Spans that did not reach the collector: too many waited, or it did not take them",
            spans.clone(),
        );
        let lines_written = Counter::default();
        registry.register("log_lines", "Lines of the daemon's log file", lines_written.clone());
        let lines: Family<Reason, Counter> = Family::default();
        registry.register(
            "log_lines_dropped",
            "Lines that are not in the log file: too many waited, the disk refused them, or a component wrote too fast",
            lines.clone(),
        );
        let trace = Histogram::new(&FAST_SECONDS);
        registry.register("trace_record_seconds", "Time to write an execution's spans down", trace.clone());
        let reason = |reason| Reason { reason };
        Self {
            spans_exported,
            spans_queue_full: spans.get_or_create_owned(&reason("queue-full")),
            spans_refused: spans.get_or_create_owned(&reason("collector")),
            lines: lines_written,
            lines_queue_full: lines.get_or_create_owned(&reason("queue-full")),
            lines_not_written: lines.get_or_create_owned(&reason("disk")),
            lines_of_components: lines.get_or_create_owned(&reason("component-rate")),
            trace,
        }
    }

    pub(crate) fn spans_exported(&self, count: usize) {
        self.spans_exported.inc_by(count as u64);
    }

    pub(crate) fn spans_queue_full(&self, count: usize) {
        self.spans_queue_full.inc_by(count as u64);
    }

    pub(crate) fn spans_refused(&self, count: usize) {
        self.spans_refused.inc_by(count as u64);
    }

    pub(crate) fn line_written(&self) {
        self.lines.inc();
    }

    pub(crate) fn line_dropped(&self) {
        self.lines_queue_full.inc();
    }

    pub(crate) fn line_not_written(&self) {
        self.lines_not_written.inc();
    }

    /// Lines of a component's own output that were not logged.
    pub fn component_lines_dropped(&self, count: u64) {
        self.lines_of_components.inc_by(count);
    }

    pub(crate) fn trace_recorded(&self, took: Duration) {
        self.trace.observe(took);
    }
}
