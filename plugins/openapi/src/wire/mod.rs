//! From a binding and arguments to a request, and from a response to an
//! answer: what `validate` and `invoke` do. No document is read here.

pub(crate) mod answer;
pub(crate) mod arguments;
pub(crate) mod base;
pub(crate) mod binding;
pub(crate) mod body;
mod charset;
pub(crate) mod content;
pub(crate) mod encode;
mod events;
pub(crate) mod invoke;
mod multipart;
pub(crate) mod next;
pub(crate) mod read;
pub(crate) mod rejection;
pub(crate) mod request;
pub(crate) mod style;
pub(crate) mod validate;

use executor_common::headers;
