//! Executor as an MCP server in the configuration of other programs: which
//! programs there are, where their files lie, and how one entry is put into a
//! file and taken out again with all else in it left as it is.

mod backup;
pub(crate) mod change;
pub(crate) mod clients;
pub(crate) mod detection;
mod diff;
pub(crate) mod document;
pub(crate) mod edit;
pub(crate) mod entry;
pub(crate) mod handshake;
mod json;
pub(crate) mod record;
mod splice;
pub(crate) mod token;
mod toml;

#[cfg(test)]
mod fake_daemon;
#[cfg(test)]
mod tests;
