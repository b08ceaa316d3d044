//! What every guest's store holds, and how a call of a guest is bounded.

use std::time::Instant;

use tokio::sync::OwnedSemaphorePermit;
use wasmtime::component::ResourceTable;
use wasmtime::{Engine, ResourceLimiter, Store};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::fault::{CallError, Fault, FaultKind, classify};
use crate::limits::{FUEL_YIELD_INTERVAL, Limits};
use crate::wasi::{self, GuestLog};

/// The data of a store: inert WASI, bounds, and what the seam needs.
pub(crate) struct Guest<S> {
    pub(crate) seam: S,
    pub(crate) table: ResourceTable,
    pub(crate) log: GuestLog,
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
    /// Wall time, in microseconds.
    pub wall_us: u64,
}

/// A store for one call, with its bounds set.
pub(crate) fn store<S: Send + 'static>(engine: &Engine, limits: &Limits, seam: S) -> Store<Guest<S>> {
    let log = GuestLog::new(limits.log_bytes);
    let mut table = ResourceTable::new();
    table.set_max_capacity(limits.handles);
    let guest = Guest { seam, table, wasi: None, log, bounds: Bounds::new(limits) };
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

/// Runs one call of a guest to its end or to its wall limit.
///
/// The store is dropped by the caller after a fault: an instance that trapped
/// is never entered again.
pub(crate) async fn call<S: Send + 'static, T>(
    component: &str,
    limits: &Limits,
    store: &mut Store<Guest<S>>,
    run: impl AsyncFnOnce(&mut Store<Guest<S>>) -> wasmtime::Result<T>,
) -> (Result<T, CallError>, Usage) {
    let begun = Instant::now();
    let result = tokio::time::timeout(limits.wall, run(store)).await;
    let usage = Usage {
        fuel: limits.fuel - store.get_fuel().unwrap_or(0).min(limits.fuel),
        memory_bytes: store.data().bounds.memory_peak as u64,
        wall_us: u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX),
    };
    let result = match result {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(ended(component, store.data(), error)),
        Err(_) => Err(CallError::Guest(Fault {
            kind: FaultKind::Timeout,
            component: component.to_owned(),
            message: format!("it took longer than {} s", limits.wall.as_secs_f32()),
            log: store.data().log.tail(),
        })),
    };
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
