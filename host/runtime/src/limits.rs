//! Every bound that the host puts on a guest, with its reason.
//!
//! The defaults are the contract's; configuration may change those that it
//! names. Units are in the names.

use std::time::Duration;

const MIB: usize = 1024 * 1024;

/// Fuel that a guest burns in about one second on one core.
///
/// Measured with the loop of the bench on QuickJS; used to speak of fuel in
/// seconds, never to measure time.
pub const FUEL_PER_SECOND: u64 = 1_500_000_000;

/// Fuel between two yields to the scheduler: about a third of a millisecond,
/// so that a loop in one guest holds up nobody.
pub const FUEL_YIELD_INTERVAL: u64 = 500_000;

/// Wasm stack of a guest. QuickJS turns deep recursion into a RangeError
/// from 2 MiB on; deep `JSON.parse` and the TypeScript parser want eight.
pub const WASM_STACK_BYTES: usize = 8 * MIB;

/// Native stack of a guest's fiber: the wasm stack and room for host calls.
pub const FIBER_STACK_BYTES: usize = WASM_STACK_BYTES + MIB;

/// Largest linear memory of a pooled guest. A call's own limit is lower.
pub const POOLED_MEMORY_BYTES: usize = 256 * MIB;

/// Largest component that is taken, before anything of it is parsed.
pub const COMPONENT_BYTES: usize = 64 * MIB;

/// Guests alive at one time, over all workspaces: the size of the pool.
pub const LIVE_GUESTS: u32 = 512;

/// The bounds of one guest call.
#[derive(Debug, Clone)]
pub struct Limits {
    /// CPU budget, in fuel.
    pub fuel: u64,
    /// Largest size of all linear memories together.
    pub memory_bytes: usize,
    /// Wall time of the call.
    pub wall: Duration,
    /// Largest table, in elements.
    pub table_elements: usize,
    /// Component-model handles alive at one time, and host resources.
    pub handles: usize,
    /// Bytes that one host call may move out of the guest.
    pub hostcall_bytes: usize,
    /// Bytes of standard output and error, and of `log`, that are kept.
    pub log_bytes: usize,
    /// Bytes of the result.
    pub result_bytes: usize,
    /// Bytes of all blobs that an adapter's call makes.
    pub kept_bytes: usize,
    /// Bridge calls that run at one time; later ones wait their turn.
    pub outstanding_calls: usize,
    /// Bridge calls of one run; past it a call fails.
    pub total_calls: usize,
}

impl Limits {
    /// One run of TypeScript.
    pub fn sandbox() -> Self {
        Self {
            fuel: 60 * FUEL_PER_SECOND,
            memory_bytes: 64 * MIB,
            wall: Duration::from_secs(300),
            table_elements: 20_000,
            handles: 4_096,
            hostcall_bytes: 16 * MIB,
            log_bytes: MIB,
            result_bytes: 8 * MIB,
            kept_bytes: 1024 * MIB,
            outstanding_calls: 64,
            total_calls: 100_000,
        }
    }

    /// One tool call in an adapter. The HTTP limits (110 s to headers, 60 s
    /// idle) are the egress's own; this is what stands above them, and above
    /// the ten minutes that an upstream may take which tells how far it is.
    pub fn adapter_invoke() -> Self {
        Self {
            fuel: 20 * FUEL_PER_SECOND,
            memory_bytes: 128 * MIB,
            wall: Duration::from_secs(660),
            hostcall_bytes: 32 * MIB,
            ..Self::sandbox()
        }
    }

    /// Indexing a document: the 47 MB Microsoft Graph beta must fit.
    pub fn adapter_index() -> Self {
        Self {
            fuel: 120 * FUEL_PER_SECOND,
            memory_bytes: 1024 * MIB,
            wall: Duration::from_secs(300),
            hostcall_bytes: 64 * MIB,
            ..Self::sandbox()
        }
    }

    /// Indexing what a local program answers, of which many may wait at once.
    pub fn adapter_listing() -> Self {
        Self { memory_bytes: 256 * MIB, ..Self::adapter_index() }
    }

    /// `describe` and `detect`, which look and answer.
    pub fn adapter_detect() -> Self {
        Self { fuel: 20 * FUEL_PER_SECOND, wall: Duration::from_secs(30), ..Self::adapter_index() }
    }

    /// One watch, which waits for most of its time and is begun anew after it.
    pub fn adapter_watch() -> Self {
        Self {
            fuel: 60 * FUEL_PER_SECOND,
            memory_bytes: 64 * MIB,
            wall: Duration::from_secs(3600),
            ..Self::adapter_invoke()
        }
    }

    /// Compiling the modules of one program.
    pub fn compiler() -> Self {
        Self {
            fuel: 10 * FUEL_PER_SECOND,
            memory_bytes: 256 * MIB,
            wall: Duration::from_secs(30),
            ..Self::sandbox()
        }
    }
}
