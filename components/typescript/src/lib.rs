//! The TypeScript compiler of the sandbox, as a component of the world
//! `executor:compiler/typescript`: oxc behind one function, importing nothing.
//!
//! [`compile`] is the whole of it; the component is that function, and the
//! tests call it natively.

#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test says what it needs by failing"))]

pub mod bindings;
mod compile;
#[cfg(target_arch = "wasm32")]
mod component;
mod diagnostics;
mod emit;
mod imports;
pub mod limits;
mod loose;
mod markdown;
mod modules;
mod nesting;
mod paths;
mod positions;
mod suggest;
#[cfg(test)]
mod tests;

pub use compile::compile;
