//! The MCP source adapter: a component of the world `executor:mcp/mcp`, which
//! is `executor:adapter/watching-source-adapter` with clocks.
//!
//! `index` lists what a server offers and makes tools of it, each with a
//! binding; `invoke` calls one; `watch` hears that there is something else to
//! list. Every call is an instance of its own, so what a server and its client
//! have agreed on lies in the host's `session`. Everything is plain Rust
//! behind the traits of [`seam`]; `guest.rs` alone knows the component model.

#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test says what is wrong by failing"))]

mod address;
mod catalogue;
mod client;
mod config;
mod describe;
mod detect;
#[cfg(target_arch = "wasm32")]
mod guest;
mod protected;
mod rpc;
pub mod seam;
mod suggest;
mod transport;
mod watch;
mod wire;

use executor_common::text;

/// The functions of the interfaces `source` and `watch`, over plain Rust.
pub mod source {
    pub use crate::catalogue::index::index;
    pub use crate::describe::describe;
    pub use crate::detect::detect;
    pub use crate::watch::run;
    pub use crate::wire::invoke::{invoke, validate};
}
