//! The HTTP API and the MCP endpoint of one daemon: on loopback, and on a Unix
//! socket in the home.
//!
//! A request passes the door (who may talk to us at all), then one handler,
//! which decodes, makes one call of the control plane, and encodes. Nothing
//! is decided here but who is asking.

#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test says what it needs by failing"))]

mod access;
mod connection;
mod holder;
mod http;
mod listen;
mod mcp;
mod options;
mod pages;
mod server;
mod tls;

pub use holder::{PortHolder, port_holder};
pub use listen::ServeError;
pub use mcp::serve_alone;
pub use options::{DEFAULT_PORT, Port, PortError, Sealing, ServeOptions};
pub use server::{Server, serve};
