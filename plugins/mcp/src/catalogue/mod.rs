//! What a server offers, as tools.

mod auth;
mod extras;
pub(crate) mod index;
mod list;
mod mirror;
mod names;
mod report;
mod schema;
mod tool;

pub(crate) use list::list;
