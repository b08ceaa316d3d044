//! From a binding and arguments to a request, and back.

pub(crate) mod answer;
pub(crate) mod binding;
pub(crate) mod errors;
mod files;
pub(crate) mod invoke;
mod operation;
pub(crate) mod send;

use executor_common::headers;
