//! Every metric there is, and the page that Prometheus reads.
//!
//! Names follow Prometheus' conventions: the unit last, `_total` for what
//! only grows. What others choose (origins, sources, components) is bounded;
//! past the bound it is counted as `other`.

mod bounded;
mod control;
mod daemon;
mod egress;
mod guests;
mod histogram;
mod labels;
mod text;

use std::sync::LazyLock;

use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::registry::Registry;

pub use control::{ApprovalEvent, Control};
pub use daemon::{Http, RouteMetrics, Store, Telemetry};
pub use egress::{Egress, OriginMetrics};
pub use guests::{GuestMetrics, Guests, Pool, PoolMetrics};
pub use histogram::Histogram;
use histogram::Scale;

/// All metrics of this process.
pub struct Metrics {
    /// Guests, their components and the places that they run in.
    pub guests: Guests,
    /// What leaves for the network.
    pub egress: Egress,
    /// Executions, tool calls, approvals.
    pub control: Control,
    /// What is written to disk.
    pub store: Store,
    /// The HTTP API.
    pub http: Http,
    /// Spans and log lines that were lost.
    pub telemetry: Telemetry,
    registry: Registry,
}

/// The metrics of this process: one registry, since a scraper sees a process.
pub fn metrics() -> &'static Metrics {
    static METRICS: LazyLock<Metrics> = LazyLock::new(Metrics::new);
    &METRICS
}

impl Metrics {
    fn new() -> Self {
        let mut registry = Registry::with_prefix("executor");
        Self {
            guests: Guests::new(&mut registry),
            egress: Egress::new(&mut registry),
            control: Control::new(&mut registry),
            store: Store::new(&mut registry),
            http: Http::new(&mut registry),
            telemetry: Telemetry::new(&mut registry),
            registry,
        }
    }

    /// The page in the text format 0.0.4: `text/plain; version=0.0.4`.
    pub fn encode(&self) -> String {
        text::plain(&self.registry)
    }

    /// The page as OpenMetrics: `application/openmetrics-text; version=1.0.0`.
    pub fn encode_open_metrics(&self) -> String {
        text::open_metrics(&self.registry)
    }
}

/// Makes the histograms of a family.
#[derive(Debug, Clone)]
struct Scaled(&'static Scale);

impl MetricConstructor<Histogram> for Scaled {
    fn new_metric(&self) -> Histogram {
        Histogram::new(self.0)
    }
}

type Histograms<L> = Family<L, Histogram, Scaled>;

fn histograms<L: Clone + std::hash::Hash + Eq>(scale: &'static Scale) -> Histograms<L> {
    Family::new_with_constructor(Scaled(scale))
}

/// The word of a list that a text is, so that no text of others is a label.
fn one_of(text: &str, words: &[&'static str]) -> &'static str {
    words.iter().find(|word| **word == text).copied().unwrap_or(bounded::OTHER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// The value of one series, by the text before it.
    fn value(page: &str, series: &str) -> Option<f64> {
        page.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok())
    }

    #[test]
    fn every_family_is_described_under_the_name_of_its_samples() {
        let metrics = Metrics::new();
        metrics.guests.component("a").ended("trap", 5, 6);
        metrics.store.committed(true, 3, Duration::from_micros(80));
        let page = metrics.encode();
        assert!(page.contains("# TYPE executor_guest_ends_total counter\n"), "{page}");
        assert!(!page.contains("# EOF"));
        assert_eq!(value(&page, r#"executor_guest_ends_total{component="a",end="trap"}"#), Some(1.0));
        for line in page.lines().filter(|line| !line.starts_with('#')) {
            let name = line.split(['{', ' ']).next().unwrap();
            let family = ["_bucket", "_sum", "_count"].iter().find_map(|suffix| name.strip_suffix(suffix));
            let described = |name: &str| page.contains(&format!("# HELP {name} "));
            assert!(described(name) || family.is_some_and(described), "{name} has no help");
            assert!(name.starts_with("executor_"), "{name}");
        }
        for line in page.lines().filter(|line| line.starts_with("# TYPE")) {
            let words: Vec<&str> = line.split(' ').collect();
            assert_eq!(words[3] == "counter", words[2].ends_with("_total"), "{line}");
        }
        assert!(metrics.encode_open_metrics().ends_with("# EOF\n"));
    }

    #[test]
    fn a_histogram_adds_up() {
        let metrics = Metrics::new();
        let component = metrics.guests.component("a");
        for microseconds in [1, 4, 4_000, 5_000_000] {
            component.instantiated(Duration::from_micros(microseconds));
        }
        let page = metrics.encode();
        let bucket = |end: &str| {
            value(&page, &format!(r#"executor_guest_instantiate_seconds_bucket{{le="{end}",component="a"}}"#))
        };
        assert_eq!(bucket("0.000001"), Some(1.0), "{page}");
        assert_eq!(bucket("0.01"), Some(3.0), "{page}");
        assert_eq!(bucket("+Inf"), Some(4.0));
        let sum = value(&page, r#"executor_guest_instantiate_seconds_sum{component="a"}"#).unwrap();
        assert!((sum - 5.004_005).abs() < 1e-9, "{sum}");
    }

    #[test]
    fn names_of_others_are_escaped_and_bounded() {
        let metrics = Metrics::new();
        for number in 0..400 {
            metrics.egress.origin(&format!("https://{number}.test")).answered(
                "GET",
                Some(200),
                Duration::ZERO,
            );
            metrics.control.tool_called(&format!("source-{number}"), "an-outcome-of-theirs", Duration::ZERO);
        }
        metrics.guests.component("evil\"\n} 1\nforged 1").ended("ok", 0, 0);
        let page = metrics.encode();
        let of_origins =
            page.lines().filter(|line| line.starts_with("executor_egress_requests_total")).count();
        assert_eq!(of_origins, 257, "256 and `other`");
        let other = r#"executor_egress_requests_total{origin="other",method="read",status="2xx"}"#;
        assert_eq!(value(&page, other), Some(144.0));
        assert!(!page.contains("an-outcome-of-theirs"));
        assert!(!page.lines().any(|line| line.starts_with("forged")), "{page}");
    }
}
