//! What every guest's store holds, and how a call of a guest is bounded.

use std::sync::Arc;
use std::time::{Duration, Instant};

use executor_telemetry::metrics::{GuestMetrics, metrics};
use executor_telemetry::spans::names;
use executor_telemetry::{Place, Span};
use tokio::sync::OwnedSemaphorePermit;
use wasmtime::component::ResourceTable;
use wasmtime::{Engine, ResourceLimiter, Store};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::fault::{CallError, Fault, FaultKind, classify};
use crate::limits::{FUEL_YIELD_INTERVAL, Limits};
use crate::stopwatch::Stopwatch;
use crate::wasi::{self, GuestLog};

/// The data of a store: inert WASI, bounds, and what the seam needs.
pub(crate) struct Guest<S> {
    pub(crate) seam: S,
    pub(crate) table: ResourceTable,
    pub(crate) log: GuestLog,
    life: Life,
    /// Made when the guest first asks: most never do.
    wasi: Option<WasiCtx>,
    bounds: Bounds,
}

impl<S: Send + 'static> WasiView for Guest<S> {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let log = &self.log;
        let ctx = self.wasi.get_or_insert_with(|| wasi::inert(log));
        WasiCtxView { ctx, table: &mut self.table }
    }
}

/// What a call cost.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    /// Fuel burnt.
    pub fuel: u64,
    /// The largest size that the linear memories had, in bytes.
    pub memory_bytes: u64,
    /// Wall time without that of people, in microseconds.
    pub wall_us: u64,
}

/// A component as it is measured: by its name in this installation.
pub(crate) struct Meter {
    name: String,
    metrics: Arc<GuestMetrics>,
}

impl Meter {
    pub(crate) fn new(name: &str) -> Arc<Self> {
        Arc::new(Self { name: name.to_owned(), metrics: metrics().guests.component(name) })
    }
}

/// Counts a store while it is there. What its guest wrote to standard output
/// and error goes to the daemon's log when it is gone.
struct Life {
    meter: Arc<Meter>,
    log: GuestLog,
}

impl Life {
    fn begin(meter: &Arc<Meter>, log: &GuestLog) -> Self {
        meter.metrics.began();
        Self { meter: meter.clone(), log: log.clone() }
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        let Meter { name, metrics } = self.meter.as_ref();
        metrics.gone();
        if !self.log.is_empty() {
            let written = self.log.tail();
            let lines = written.lines().filter(|line| !line.trim().is_empty());
            let (told, rest): (Vec<&str>, Vec<&str>) =
                lines.partition(|_| metrics.output().allows(Instant::now()));
            for line in told {
                tracing::info!(target: "executor::component", component = name, "{line}");
            }
            executor_telemetry::metrics().telemetry.component_lines_dropped(rest.len() as u64);
        }
    }
}

/// Counts the end of a call; one that is dropped was cancelled.
struct Ending(Option<Arc<Meter>>);

impl Ending {
    fn ended(mut self, result: &Result<(), &CallError>, usage: &Usage) {
        if let Some(meter) = self.0.take() {
            let end = match result {
                Ok(()) => "ok",
                Err(CallError::Guest(fault)) => fault.kind.code(),
                Err(CallError::Host { .. }) => "host",
            };
            meter.metrics.ended(end, usage.fuel, usage.memory_bytes);
            meter.metrics.took(Duration::from_micros(usage.wall_us));
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        if let Some(meter) = &self.0 {
            meter.metrics.ended(FaultKind::Cancelled.code(), 0, 0);
        }
    }
}

/// An instance that is being made.
pub(crate) struct Instantiating {
    meter: Arc<Meter>,
    _span: Span,
    begun: Instant,
}

impl Instantiating {
    pub(crate) fn begin(meter: &Arc<Meter>, trace: &Place) -> Self {
        let span = trace.span(names::INSTANTIATE);
        span.set("executor.component", meter.name.as_str());
        Self { meter: meter.clone(), _span: span, begun: Instant::now() }
    }

    /// It is there.
    pub(crate) fn done(self) {
        self.meter.metrics.instantiated(self.begun.elapsed());
    }
}

/// A store for one call, with its bounds set.
pub(crate) fn store<S: Send + 'static>(
    engine: &Engine,
    limits: &Limits,
    meter: &Arc<Meter>,
    seam: S,
) -> Store<Guest<S>> {
    let log = GuestLog::new(limits.log_bytes);
    let mut table = ResourceTable::new();
    table.set_max_capacity(limits.handles);
    let life = Life::begin(meter, &log);
    let guest = Guest { seam, table, wasi: None, log, life, bounds: Bounds::new(limits) };
    let mut store = Store::new(engine, guest);
    store.limiter(|guest| &mut guest.bounds);
    store.set_fuel(limits.fuel).expect("the profile counts fuel");
    store
        .fuel_async_yield_interval(Some(FUEL_YIELD_INTERVAL))
        .expect("the profile counts fuel and the interval is not zero");
    store.set_hostcall_fuel(limits.hostcall_bytes);
    store.set_max_component_handles(limits.handles);
    store
}

/// Runs one call of a guest to its end or to its wall limit, which is not
/// used up while its clock stands still.
///
/// The store is dropped by the caller after a fault: an instance that trapped
/// is never entered again.
pub(crate) async fn call<S: Send + 'static, T>(
    component: &str,
    limits: &Limits,
    clock: Option<&Stopwatch>,
    store: &mut Store<Guest<S>>,
    run: impl AsyncFnOnce(&mut Store<Guest<S>>) -> wasmtime::Result<T>,
) -> (Result<T, CallError>, Usage) {
    let clock = clock.cloned().unwrap_or_default();
    let before = clock.elapsed();
    let ending = Ending(Some(store.data().life.meter.clone()));
    let result = tokio::select! {
        biased;
        result = run(store) => Some(result),
        () = clock.ran(limits.wall) => None,
    };
    let usage = Usage {
        fuel: limits.fuel - store.get_fuel().unwrap_or(0).min(limits.fuel),
        memory_bytes: store.data().bounds.memory_peak as u64,
        wall_us: u64::try_from(clock.elapsed().saturating_sub(before).as_micros()).unwrap_or(u64::MAX),
    };
    let result = match result {
        Some(Ok(value)) => Ok(value),
        Some(Err(error)) => Err(ended(component, store.data(), error)),
        None => Err(CallError::Guest(Fault {
            kind: FaultKind::Timeout,
            component: component.to_owned(),
            message: format!("it took longer than {} s", limits.wall.as_secs_f32()),
            log: store.data().log.tail(),
        })),
    };
    ending.ended(&result.as_ref().map(|_| ()), &usage);
    (result, usage)
}

/// Lets go of a store whose call has ended. What the guest held open ends at
/// once; its memory is wiped, and its place given to another, right after
/// what runs now: that takes longer than a short call, and whoever waits for
/// the answer need not wait for it.
pub(crate) fn retire<S: Send + 'static>(mut store: Store<Guest<S>>, place: OwnedSemaphorePermit) {
    store.data_mut().table = ResourceTable::new();
    tokio::spawn(async move { drop((store, place)) });
}

fn ended<S>(component: &str, guest: &Guest<S>, error: wasmtime::Error) -> CallError {
    if error.is::<wasmtime::PoolConcurrencyLimitError>() {
        return CallError::Host { component: component.to_owned(), source: error };
    }
    let (kind, message) = classify(&error, guest.bounds.memory_denied);
    CallError::Guest(Fault { kind, component: component.to_owned(), message, log: guest.log.tail() })
}

impl<S> Guest<S> {
    /// Whether the guest was refused memory at some time.
    pub(crate) fn memory_denied(&self) -> bool {
        self.bounds.memory_denied
    }
}

/// Memory and tables of one store.
struct Bounds {
    memory_bytes: usize,
    table_elements: usize,
    memory_used: usize,
    memory_peak: usize,
    memory_denied: bool,
}

impl Bounds {
    fn new(limits: &Limits) -> Self {
        Self {
            memory_bytes: limits.memory_bytes,
            table_elements: limits.table_elements,
            memory_used: 0,
            memory_peak: 0,
            memory_denied: false,
        }
    }
}

impl ResourceLimiter for Bounds {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let used = self.memory_used.saturating_add(desired.saturating_sub(current));
        if used > self.memory_bytes {
            self.memory_denied = true;
            return Ok(false);
        }
        self.memory_used = used;
        self.memory_peak = self.memory_peak.max(used);
        Ok(true)
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(desired <= self.table_elements)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engines;

    /// The value of a series of the page.
    fn value(series: &str) -> f64 {
        let page = metrics().encode();
        let found = page.lines().find_map(|line| line.strip_prefix(series)?.trim().parse().ok());
        found.expect("the series is there")
    }

    #[test]
    fn a_store_is_counted_while_it_is_there_and_what_it_says_is_bounded() {
        let engines = Engines::new().expect("this machine runs the profile");
        let meter = Meter::new("guest-test");
        let live = || value("executor_guest_instances{component=\"guest-test\"}");
        let unsaid = || value("executor_log_lines_dropped_total{reason=\"component-rate\"}");
        let store = store(engines.roomy(), &Limits::sandbox(), &meter, ());
        assert!((live() - 1.0).abs() < 0.1);
        store.data().log.append("x\n".repeat(500).as_bytes());
        let before = unsaid();
        drop(store);
        assert!(live().abs() < 0.1);
        assert!(unsaid() - before >= 399.0, "100 lines at once are logged");
    }

    #[tokio::test]
    async fn a_call_is_counted_by_its_end() {
        let engines = Engines::new().expect("this machine runs the profile");
        let meter = Meter::new("guest-ends");
        let ends = |end: &str| {
            value(&format!("executor_guest_ends_total{{component=\"guest-ends\",end=\"{end}\"}}"))
        };
        let limits = Limits { wall: Duration::from_millis(20), ..Limits::sandbox() };
        let mut guest = store(engines.roomy(), &limits, &meter, ());
        call("a", &limits, None, &mut guest, async |_| Ok(())).await.0.expect("it goes well");
        let trap = call("a", &limits, None, &mut guest, async |_| {
            Err::<(), _>(wasmtime::Error::new(wasmtime::Trap::UnreachableCodeReached))
        });
        trap.await.0.expect_err("it traps");
        let slow = call("a", &limits, None, &mut guest, async |_| {
            std::future::pending::<()>().await;
            Ok(())
        });
        slow.await.0.expect_err("it is slow");
        let mut dropped = Box::pin(call("a", &limits, None, &mut guest, async |_| {
            std::future::pending::<()>().await;
            Ok(())
        }));
        assert!(futures::FutureExt::now_or_never(dropped.as_mut()).is_none());
        drop(dropped);
        for end in ["ok", "trap", "timeout", "cancelled"] {
            assert!((ends(end) - 1.0).abs() < 0.1, "{end}");
        }
    }
}
