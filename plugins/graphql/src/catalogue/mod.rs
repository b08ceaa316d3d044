//! From a schema to tools.

mod arguments;
mod auth;
mod definitions;
pub(crate) mod index;
mod names;
mod scalars;
mod selection;
mod shape;
mod tool;

use executor_common::report;
