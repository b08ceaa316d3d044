//! The GraphQL source adapter: a component of the world
//! `executor:adapter/source-adapter`.
//!
//! `index` makes a tool of each query and mutation of a schema, with a default
//! selection; `invoke` makes an operation of a binding and arguments. A
//! selection of the caller's own is checked against a table of the schema that
//! all tools share. Everything is plain Rust behind the traits of [`executor_common::seam`];
//! `guest.rs` alone knows the component model.

#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test says what is wrong by failing"))]

mod address;
mod catalogue;
mod closest;
mod describe;
mod detect;
mod document;
#[cfg(target_arch = "wasm32")]
mod guest;
mod introspect;
mod schema;
mod select;
mod settings;
mod suggest;
mod wire;

use executor_common::{seam, text};

/// The five functions of the interface `source`, over plain Rust.
pub mod source {
    pub use crate::catalogue::index::index;
    pub use crate::describe::describe;
    pub use crate::detect::detect;
    pub use crate::wire::invoke::{invoke, validate};
}
