//! From a document to tools: what `index` does.

pub(crate) mod answer;
pub(crate) mod arguments;
pub(crate) mod body;
mod form;
pub(crate) mod index;
pub(crate) mod model;
pub(crate) mod names;
mod object;
pub(crate) mod operations;
pub(crate) mod parameters;
pub(crate) mod security;
pub(crate) mod servers;
mod swagger;
mod template;
pub(crate) mod tool;

use executor_common::report;
