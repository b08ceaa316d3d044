//! What leaves for the network, by origin.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use super::bounded::Bounded;
use super::histogram::SLOW_SECONDS;
use super::labels::{Denial, Origin, Request};
use super::{Histogram, Histograms, histograms, one_of};

/// Origins that have series of their own.
const ORIGINS: usize = 256;

const METHODS: [&str; 2] = ["read", "write"];
const STATUSES: [&str; 6] = ["1xx", "2xx", "3xx", "4xx", "5xx", "none"];
const DENIALS: [&str; 6] = [
    "denied-origin",
    "denied-address",
    "denied-method",
    "denied-header",
    "too-many-requests",
    "invalid-request",
];

/// Metrics of all requests.
pub struct Egress {
    origins: Bounded<OriginMetrics>,
    requests: Family<Request, Counter>,
    duration: Histograms<Origin>,
    sent: Family<Origin, Counter>,
    received: Family<Origin, Counter>,
    denials: Family<Denial, Counter>,
}

/// Requests to one origin.
pub struct OriginMetrics {
    origin: Arc<str>,
    family: Family<Request, Counter>,
    requests: [[OnceLock<Counter>; STATUSES.len()]; METHODS.len()],
    duration: Histogram,
    sent: Counter,
    received: Counter,
}

impl Egress {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let requests = Family::default();
        registry.register(
            "egress_requests",
            "Requests that left, by origin, whether the method reads, and the class of the answer's status",
            requests.clone(),
        );
        let duration = histograms(&SLOW_SECONDS);
        registry.register(
            "egress_request_seconds",
            "Time from a request's first byte to the head of its answer",
            duration.clone(),
        );
        let sent = Family::default();
        registry.register("egress_sent_bytes", "Bytes of request bodies", sent.clone());
        let received = Family::default();
        registry.register("egress_received_bytes", "Bytes of answer bodies, unpacked", received.clone());
        let denials = Family::default();
        registry.register("egress_denials", "Requests that were refused before they left", denials.clone());
        Self { origins: Bounded::new(ORIGINS), requests, duration, sent, received, denials }
    }

    /// The metrics of an origin.
    pub fn origin(&self, origin: &str) -> Arc<OriginMetrics> {
        self.origins.get(origin, |origin| {
            let origin: Arc<str> = origin.into();
            let label = Origin { origin: origin.clone() };
            OriginMetrics {
                family: self.requests.clone(),
                requests: Default::default(),
                duration: self.duration.get_or_create_owned(&label),
                sent: self.sent.get_or_create_owned(&label),
                received: self.received.get_or_create_owned(&label),
                origin,
            }
        })
    }

    /// A request was refused, with this code.
    pub fn denied(&self, code: &str) {
        self.denials.get_or_create(&Denial { kind: one_of(code, &DENIALS) }).inc();
    }
}

impl OriginMetrics {
    /// A request was answered, or brought no answer.
    pub fn answered(&self, method: &str, status: Option<u16>, took: Duration) {
        let method = usize::from(!matches!(method, "GET" | "HEAD" | "OPTIONS"));
        let status = match status {
            Some(status @ 100..=599) => usize::from(status / 100) - 1,
            _ => STATUSES.len() - 1,
        };
        let make = || {
            let label =
                Request { origin: self.origin.clone(), method: METHODS[method], status: STATUSES[status] };
            self.family.get_or_create_owned(&label)
        };
        self.requests[method][status].get_or_init(make).inc();
        self.duration.observe(took);
    }

    /// Bytes of a request's body.
    pub fn sent(&self, bytes: usize) {
        self.sent.inc_by(bytes as u64);
    }

    /// Bytes of an answer's body.
    pub fn received(&self, bytes: usize) {
        self.received.inc_by(bytes as u64);
    }
}
