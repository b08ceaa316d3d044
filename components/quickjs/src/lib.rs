//! The JavaScript engine of the sandbox, as a component of the world
//! `executor:sandbox/sandbox`: QuickJS with a small prelude, whose only import
//! is the bridge.
//!
//! [`engine::Engine`] is the whole of it, over a [`bridge::Bridge`]; the
//! component is that engine over the imported bridge, and the tests run it
//! natively over one of their own.

#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test says what it needs by failing"))]

pub mod bindings;
pub mod bridge;
#[cfg(target_arch = "wasm32")]
mod component;
mod drive;
pub mod engine;
mod failure;
mod host;
mod inspect;
mod internals;
mod json;
mod kind;
pub mod limits;
mod modules;
mod source_map;
mod stack;
mod state;
#[cfg(test)]
mod tests;
mod urls;
