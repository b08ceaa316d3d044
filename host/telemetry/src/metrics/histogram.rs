//! A histogram without a lock: whoever observes adds to three atomics.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::metrics::{MetricType, TypedMetric};

const MICROSECOND: u64 = 1_000;
const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
const MIB: u64 = 1024 * 1024;

/// What a histogram counts in, and where its buckets end.
#[derive(Debug)]
pub(super) struct Scale {
    /// Upper ends, in the unit that is observed.
    ends: &'static [u64],
    /// How many of the observed unit are one of the unit that is shown.
    per_unit: f64,
}

/// From a microsecond, for what happens within an execution.
pub(super) const FAST_SECONDS: Scale = Scale {
    ends: &[
        MICROSECOND,
        5 * MICROSECOND,
        10 * MICROSECOND,
        25 * MICROSECOND,
        50 * MICROSECOND,
        100 * MICROSECOND,
        250 * MICROSECOND,
        MILLISECOND,
        10 * MILLISECOND,
        100 * MILLISECOND,
        SECOND,
    ],
    per_unit: 1e9,
};

/// From 100 microseconds to minutes, for what waits for others.
pub(super) const SLOW_SECONDS: Scale = Scale {
    ends: &[
        100 * MICROSECOND,
        250 * MICROSECOND,
        500 * MICROSECOND,
        MILLISECOND,
        2_500 * MICROSECOND,
        5 * MILLISECOND,
        10 * MILLISECOND,
        25 * MILLISECOND,
        50 * MILLISECOND,
        100 * MILLISECOND,
        250 * MILLISECOND,
        500 * MILLISECOND,
        SECOND,
        5 * SECOND,
        30 * SECOND,
        120 * SECOND,
    ],
    per_unit: 1e9,
};

/// Linear memory of a guest.
pub(super) const MEMORY_BYTES: Scale = Scale {
    ends: &[MIB, 2 * MIB, 4 * MIB, 8 * MIB, 16 * MIB, 32 * MIB, 64 * MIB, 128 * MIB, 256 * MIB, 1024 * MIB],
    per_unit: 1.0,
};

/// A distribution. Clones are the same one.
#[derive(Debug, Clone)]
pub struct Histogram(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    scale: &'static Scale,
    /// One more than there are ends: what is larger than all of them.
    buckets: Box<[AtomicU64]>,
    sum: AtomicU64,
}

impl Histogram {
    pub(super) fn new(scale: &'static Scale) -> Self {
        let buckets = (0..=scale.ends.len()).map(|_| AtomicU64::new(0)).collect();
        Self(Arc::new(Inner { scale, buckets, sum: AtomicU64::new(0) }))
    }

    /// Counts a duration.
    pub fn observe(&self, duration: Duration) {
        self.count(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Counts a number of bytes.
    pub fn observe_bytes(&self, bytes: u64) {
        self.count(bytes);
    }

    fn count(&self, value: u64) {
        let bucket = self.0.scale.ends.partition_point(|end| *end < value);
        self.0.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        self.0.sum.fetch_add(value, Ordering::Relaxed);
    }
}

impl TypedMetric for Histogram {
    const TYPE: MetricType = MetricType::Histogram;
}

impl EncodeMetric for Histogram {
    fn encode(&self, mut encoder: MetricEncoder) -> Result<(), std::fmt::Error> {
        let per_unit = self.0.scale.per_unit;
        let ends = self.0.scale.ends.iter().map(|end| *end as f64 / per_unit).chain([f64::INFINITY]);
        let counts = self.0.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed));
        let buckets: Vec<(f64, u64)> = ends.zip(counts).collect();
        // The count is that of the buckets, so that a reading in between two
        // additions is one that adds up.
        let count = buckets.iter().map(|(_, count)| count).sum();
        let sum = self.0.sum.load(Ordering::Relaxed) as f64 / per_unit;
        let exemplars: Option<&HashMap<usize, Exemplar<NoLabelSet, f64>>> = None;
        encoder.encode_histogram(sum, count, &buckets, exemplars)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}
