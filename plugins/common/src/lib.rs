//! What source adapters have in common: the records and interfaces of
//! `executor:adapter` in plain Rust, the component around them, and what every
//! adapter does to texts, headers and dates of strangers.
//!
//! It depends on `wit/` alone. An adapter of the world `source-adapter`
//! implements [`adapter::Adapter`] and is made a component by
//! `executor_common::component!(Name)`.

pub mod adapter;
pub mod date;
#[cfg(target_arch = "wasm32")]
pub mod guest;
pub mod headers;
pub mod report;
pub mod seam;
pub mod text;
