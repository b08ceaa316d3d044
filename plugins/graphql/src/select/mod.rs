//! A caller's own selection: checked against the schema before it is sent.

mod check;
mod table;
mod value;

pub(crate) use check::check;
pub(crate) use table::{Table, write};
