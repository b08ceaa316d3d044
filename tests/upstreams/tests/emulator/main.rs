//! The upstreams, as their users see them: over a socket.

mod client;
mod control;
mod faults;
mod graphql;
mod oauth;
mod operations;
mod plain;
mod program;
mod protocol;
