//! Upstreams for tests, benchmarks and the demonstration: servers on loopback
//! that behave like the APIs executor calls, and misbehave when they are
//! asked to.
//!
//! - [`github`]: about seventy operations of GitHub's REST API over real state,
//!   with faults by request; also the binary `github-emulator`.
//! - [`oauth`]: an authorization server, a resource that it protects and an API
//!   with an operation for each way to authenticate.
//! - [`graphql`]: a small GraphQL API with uploads, limits and faults.
//! - [`secret_service`]: a session bus with a keyring on it, which can be locked,
//!   gone or silent.
//! - [`plain`]: a bare HTTP/1.1 server over a socket, for what an HTTP library
//!   would not send and for benchmarks.
//!
//! - the binary `stdio-emulator`, a local server that speaks lines on its
//!   standard streams; [`program`] finds it.
//!
//! Each server runs on a thread of its own, so that a test may block without
//! stopping its upstream, and ends when its handle is dropped. Each keeps a
//! [`ledger`] of what arrived, for tests to assert on what went over the wire.

pub mod github;
pub mod graphql;
pub mod ledger;
pub mod oauth;
mod pattern;
pub mod plain;
pub mod program;
pub mod secret_service;
mod serving;
mod wire;
