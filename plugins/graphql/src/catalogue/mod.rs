//! From a schema to tools.

mod arguments;
mod auth;
mod definitions;
pub(crate) mod index;
mod names;
mod report;
mod scalars;
mod selection;
mod shape;
mod tool;
