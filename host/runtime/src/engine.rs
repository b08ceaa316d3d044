//! The one engine profile, used by everything that compiles or loads.
//!
//! Two engines share it and so their compiled code: the pooled one, where
//! calls are short and memories small, and the roomy one, which allocates on
//! demand, for indexing and wherever address space is too short for a pool.

use wasmtime::{Config, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig};

use crate::limits::{FIBER_STACK_BYTES, LIVE_GUESTS, POOLED_MEMORY_BYTES, WASM_STACK_BYTES};

/// Bytes of a slot's memory that are reset by writing over them instead of
/// giving them back to the kernel; a QuickJS heap after a small script fits.
const KEEP_RESIDENT_BYTES: usize = 2 * 1024 * 1024;

/// Slots that stay warm. Each may hold `KEEP_RESIDENT_BYTES`.
const WARM_SLOTS: u32 = 24;

/// The engines of one daemon.
#[derive(Clone)]
pub struct Engines {
    pooled: Engine,
    roomy: Engine,
}

impl Engines {
    /// Makes both. Falls back to allocation on demand for every call where
    /// the address space for the pool can't be had.
    ///
    /// # Errors
    /// When this machine can't run the profile at all.
    pub fn new() -> wasmtime::Result<Self> {
        let roomy = Engine::new(&profile())?;
        let pooled = Engine::new(&pooled_profile()).unwrap_or_else(|error| {
            tracing::warn!(%error, "no address space for the instance pool, allocating on demand");
            roomy.clone()
        });
        Ok(Self { pooled, roomy })
    }

    /// For short calls with small memories.
    pub(crate) fn pooled(&self) -> &Engine {
        &self.pooled
    }

    /// For indexing, compiling and snapshots, whose memories may be large.
    pub(crate) fn roomy(&self) -> &Engine {
        &self.roomy
    }
}

/// What both engines have in common; all of what compiled code depends on.
fn profile() -> Config {
    let mut config = Config::new();
    config
        .consume_fuel(true)
        .cranelift_nan_canonicalization(true)
        .cranelift_opt_level(OptLevel::Speed)
        .max_wasm_stack(WASM_STACK_BYTES)
        .async_stack_size(FIBER_STACK_BYTES)
        .wasm_component_model(true)
        .concurrency_support(false)
        .memory_init_cow(true);
    config
}

fn pooled_profile() -> Config {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(LIVE_GUESTS)
        .total_core_instances(LIVE_GUESTS * 4)
        .total_memories(LIVE_GUESTS)
        .total_tables(LIVE_GUESTS * 2)
        .total_stacks(LIVE_GUESTS)
        .max_core_instances_per_component(50)
        .max_memories_per_component(4)
        .max_tables_per_component(16)
        .max_component_instance_size(4 * 1024 * 1024)
        .max_core_instance_size(4 * 1024 * 1024)
        .table_elements(50_000)
        .max_memory_size(POOLED_MEMORY_BYTES)
        .linear_memory_keep_resident(KEEP_RESIDENT_BYTES)
        .table_keep_resident(64 * 1024)
        .async_stack_keep_resident(64 * 1024)
        .max_unused_warm_slots(WARM_SLOTS);
    let mut config = profile();
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    config
}

/// The header of a component without anything in it.
#[cfg(test)]
pub(crate) const EMPTY_COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";
