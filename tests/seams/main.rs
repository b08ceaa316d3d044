//! One suite a seam, run against the components that come with the daemon and
//! against what a stranger would write.
#![expect(clippy::unwrap_used, reason = "a test ends where something it needs is not there")]

mod adapter;
mod compiler;
mod fixture;
mod graphql;
mod hostile;
mod imports;
mod mcp;
mod sandbox;
mod stdio;
