//! How a guest call can end badly: the guest broke, or the host did.
//!
//! What a guest *says* (a typed failure of its interface) is data and never
//! stands here.

use std::fmt;

use wasmtime::Trap;

/// Why a guest was ended. The names are the same in CLI, HTTP, MCP and
/// metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// It burnt its CPU budget.
    OutOfFuel,
    /// It asked for more memory than it may have.
    OutOfMemory,
    /// It took longer than it may.
    Timeout,
    /// It broke: an unreachable instruction, an exhausted stack, a bad
    /// pointer, an exit.
    Trap,
    /// It asked for what it was not granted.
    Denied,
    /// Its caller ended it.
    Cancelled,
}

impl FaultKind {
    /// The stable code.
    pub fn code(self) -> &'static str {
        match self {
            Self::OutOfFuel => "out-of-fuel",
            Self::OutOfMemory => "out-of-memory",
            Self::Timeout => "timeout",
            Self::Trap => "trap",
            Self::Denied => "denied",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// The guest broke.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{component}: {message}")]
pub struct Fault {
    /// What kind of end.
    pub kind: FaultKind,
    /// The component that broke, by name.
    pub component: String,
    /// What happened, in words for a person.
    pub message: String,
    /// The last lines that the guest wrote to its own log, bounded.
    pub log: String,
}

/// Why a call of a guest gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The guest broke.
    #[error(transparent)]
    Guest(#[from] Fault),
    /// The host broke: our own bug, or a machine out of resources.
    #[error("the runtime could not run {component}")]
    Host {
        /// The component that was to run.
        component: String,
        /// What went wrong.
        source: wasmtime::Error,
    },
}

/// A host function ends its guest with this where no answer makes sense.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Ended {
    pub(crate) kind: FaultKind,
    pub(crate) message: String,
}

impl Ended {
    pub(crate) fn error(kind: FaultKind, message: impl Into<String>) -> wasmtime::Error {
        wasmtime::Error::new(Self { kind, message: message.into() })
    }
}

/// Reads out of wasmtime's error why the guest stopped.
///
/// `memory_denied` tells an allocation failure, which most guests turn into
/// an abort, from other aborts.
pub(crate) fn classify(error: &wasmtime::Error, memory_denied: bool) -> (FaultKind, String) {
    if let Some(ended) = error.downcast_ref::<Ended>() {
        return (ended.kind, ended.message.clone());
    }
    if let Some(exit) = error.downcast_ref::<wasmtime_wasi::I32Exit>() {
        return (FaultKind::Trap, format!("it exited with status {}", exit.0));
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => (FaultKind::OutOfFuel, "it used up its CPU budget".into()),
        _ if memory_denied => (FaultKind::OutOfMemory, "it needs more memory than it may have".into()),
        Some(Trap::StackOverflow) => {
            (FaultKind::Trap, "it recursed too deeply and exhausted its stack".into())
        }
        Some(trap) => (FaultKind::Trap, format!("it trapped: {trap}")),
        None => (FaultKind::Trap, format!("it broke a rule of its interface: {}", first_line(error))),
    }
}

fn first_line(error: &wasmtime::Error) -> String {
    let text = format!("{error:#}");
    text.lines().next().unwrap_or_default().chars().take(300).collect()
}
