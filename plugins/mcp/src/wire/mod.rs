//! Binding and arguments to a request, a result to an answer.

mod answer;
pub(crate) mod binding;
pub(crate) mod invoke;
mod pause;
