//! From bytes to a tree, whatever the bytes are.

mod external;
mod identify;
mod read;
mod refs;
mod skim;

pub(crate) use external::gather;
pub(crate) use identify::{Kind, Version, identify};
pub(crate) use read::{Format, Parsed, read};
pub(crate) use refs::{Fault, Refs, canonical};
