//! From a binding and arguments to a request, and back.

pub(crate) mod answer;
pub(crate) mod binding;
mod date;
pub(crate) mod errors;
mod files;
mod headers;
pub(crate) mod invoke;
mod operation;
pub(crate) mod send;
