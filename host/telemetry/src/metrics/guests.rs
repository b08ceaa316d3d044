//! Guests: their instances, what they use, how they end.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::bounded::Bounded;
use super::histogram::{FAST_SECONDS, MEMORY_BYTES, SLOW_SECONDS};
use super::labels::{Component, GuestEnd, Load, Pool as PoolLabel};
use super::{Histogram, Histograms, histograms};
use crate::logs::Rate;

/// Components that have series of their own.
const COMPONENTS: usize = 64;

/// How a store can end: well, as one of the runtime's faults, or by the host.
const ENDS: [&str; 8] =
    ["ok", "out-of-fuel", "out-of-memory", "timeout", "trap", "denied", "cancelled", "host"];

/// Metrics of all guests.
pub struct Guests {
    components: Bounded<GuestMetrics>,
    live: Family<Component, Gauge>,
    instantiate: Histograms<Component>,
    call: Histograms<Component>,
    ends: Family<GuestEnd, Counter>,
    fuel: Family<Component, Counter>,
    memory: Histograms<Component>,
    high_water: Family<Component, Gauge>,
    compile: Histograms<Component>,
    loads_cached: Counter,
    loads_compiled: Counter,
    pools: [PoolMetrics; 4],
}

/// One component's metrics. What runs it holds this.
pub struct GuestMetrics {
    live: Gauge,
    instantiate: Histogram,
    call: Histogram,
    ends: [Counter; ENDS.len()],
    fuel: Counter,
    memory: Histogram,
    high_water: Gauge,
    compile: Histogram,
    output: Rate,
}

/// Places that a workspace's guests share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pool {
    /// Programs that run.
    Sandbox,
    /// Tool calls, and the compiler.
    Adapter,
    /// Indexing.
    Heavy,
    /// Adapters that listen.
    Watch,
}

/// Waiting for one kind of place.
pub struct PoolMetrics {
    waits: Counter,
    waiting: Gauge,
    wait: Histogram,
}

impl Guests {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let live = Family::default();
        registry.register("guest_instances", "Guests that are alive now, by component", live.clone());
        let instantiate = histograms(&FAST_SECONDS);
        registry.register(
            "guest_instantiate_seconds",
            "Time to make an instance of a compiled component",
            instantiate.clone(),
        );
        let call = histograms(&SLOW_SECONDS);
        registry.register(
            "guest_call_seconds",
            "Time of a call into a guest, with its instantiation and with what it waited for",
            call.clone(),
        );
        let ends = Family::default();
        registry.register(
            "guest_ends",
            "Calls into guests by how they ended; cancelled counts also what waits for a person",
            ends.clone(),
        );
        let fuel = Family::default();
        registry.register("guest_fuel", "Fuel that guests burnt: about 1.5e9 a second of CPU", fuel.clone());
        let memory = histograms(&MEMORY_BYTES);
        registry.register(
            "guest_memory_bytes",
            "The largest linear memory of a guest, one observation a call",
            memory.clone(),
        );
        let high_water = Family::default();
        registry.register(
            "guest_memory_high_water_bytes",
            "The largest linear memory that any guest of a component had since the daemon started",
            high_water.clone(),
        );
        let compile = histograms(&SLOW_SECONDS);
        registry.register(
            "component_compile_seconds",
            "Time to compile a component to native code, with its snapshot",
            compile.clone(),
        );
        let loads: Family<Load, Counter> = Family::default();
        registry.register(
            "component_loads",
            "Components made ready, by where their code came from",
            loads.clone(),
        );
        Self {
            components: Bounded::new(COMPONENTS),
            live,
            instantiate,
            call,
            ends,
            fuel,
            memory,
            high_water,
            compile,
            loads_cached: loads.get_or_create_owned(&Load { from: "cache" }),
            loads_compiled: loads.get_or_create_owned(&Load { from: "compiler" }),
            pools: pools(registry),
        }
    }

    /// The metrics of a component, by its name in the installation.
    pub fn component(&self, name: &str) -> Arc<GuestMetrics> {
        self.components.get(name, |name| {
            let component: Arc<str> = name.into();
            let label = Component { component: component.clone() };
            let end = |end| self.ends.get_or_create_owned(&GuestEnd { component: component.clone(), end });
            GuestMetrics {
                live: self.live.get_or_create_owned(&label),
                instantiate: self.instantiate.get_or_create_owned(&label),
                call: self.call.get_or_create_owned(&label),
                ends: ENDS.map(end),
                fuel: self.fuel.get_or_create_owned(&label),
                memory: self.memory.get_or_create_owned(&label),
                high_water: self.high_water.get_or_create_owned(&label),
                compile: self.compile.get_or_create_owned(&label),
                output: Rate::default(),
            }
        })
    }

    /// A component's code came from the cache.
    pub fn loaded(&self) {
        self.loads_cached.inc();
    }

    /// A component was compiled.
    pub fn compiled(&self, component: &str, took: Duration) {
        self.loads_compiled.inc();
        self.component(component).compile.observe(took);
    }

    /// Waiting for places of one kind.
    pub fn pool(&self, pool: Pool) -> &PoolMetrics {
        &self.pools[pool as usize]
    }
}

fn pools(registry: &mut Registry) -> [PoolMetrics; 4] {
    let waits: Family<PoolLabel, Counter> = Family::default();
    registry.register("pool_waits", "Guests that had to wait for a place", waits.clone());
    let waiting: Family<PoolLabel, Gauge> = Family::default();
    registry.register("pool_waiting", "Guests that wait for a place now", waiting.clone());
    let wait: Histograms<PoolLabel> = histograms(&SLOW_SECONDS);
    registry.register("pool_wait_seconds", "How long those waited that had to", wait.clone());
    ["sandbox", "adapter", "heavy", "watch"].map(|pool| {
        let label = PoolLabel { pool };
        PoolMetrics {
            waits: waits.get_or_create_owned(&label),
            waiting: waiting.get_or_create_owned(&label),
            wait: wait.get_or_create_owned(&label),
        }
    })
}

impl GuestMetrics {
    /// A store was made.
    pub fn began(&self) {
        self.live.inc();
    }

    /// A store is gone.
    pub fn gone(&self) {
        self.live.dec();
    }

    /// An instance was made.
    pub fn instantiated(&self, took: Duration) {
        self.instantiate.observe(took);
    }

    /// A call ended: `ok`, the code of a fault, or `host`.
    pub fn ended(&self, end: &str, fuel: u64, memory_bytes: u64) {
        let index = ENDS.iter().position(|known| *known == end).unwrap_or(ENDS.len() - 1);
        self.ends[index].inc();
        self.fuel.inc_by(fuel);
        self.memory.observe_bytes(memory_bytes);
        let memory_bytes = i64::try_from(memory_bytes).unwrap_or(i64::MAX);
        self.high_water.inner().fetch_max(memory_bytes, Ordering::Relaxed);
    }

    /// How much of its own output a component may put into the daemon's log.
    pub fn output(&self) -> &Rate {
        &self.output
    }

    /// How long a call took.
    pub fn took(&self, duration: Duration) {
        self.call.observe(duration);
    }
}

impl PoolMetrics {
    /// Somebody begins to wait; the end of that is counted when this is
    /// dropped, whether they got a place or went away.
    pub fn wait(&self) -> Waiting<'_> {
        self.waits.inc();
        self.waiting.inc();
        Waiting { pool: self, begun: Instant::now() }
    }
}

/// Somebody who waits for a place.
pub struct Waiting<'a> {
    pool: &'a PoolMetrics,
    begun: Instant,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.pool.waiting.dec();
        self.pool.wait.observe(self.begun.elapsed());
    }
}
