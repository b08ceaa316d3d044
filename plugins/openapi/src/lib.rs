//! The OpenAPI source adapter: a component of the world
//! `executor:adapter/source-adapter`.
//!
//! `index` turns a document into tools, each with a binding; `invoke` makes a
//! request of a binding and arguments without looking at a document again.
//! Everything is plain Rust behind the traits of [`executor_common::seam`]; `guest.rs` alone
//! knows the component model.

#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test says what is wrong by failing"))]

mod address;
mod catalogue;
mod describe;
mod detect;
mod document;
#[cfg(target_arch = "wasm32")]
mod guest;
mod schema;
mod settings;
mod suggest;
mod wire;

use executor_common::{seam, text};

/// The five functions of the interface `source`, over plain Rust.
pub mod source {
    pub use crate::catalogue::index::index;
    pub use crate::describe::describe;
    pub use crate::detect::detect;
    pub use crate::wire::invoke::invoke;
    pub use crate::wire::validate::validate;
}
