//! Upstreams for tests, benchmarks and the demonstration: servers on loopback
//! that behave like the APIs executor calls, and misbehave when they are
//! asked to.
//!
//! - [`github`]: about seventy operations of GitHub's REST API over real state,
//!   with faults by request; also the binary `github-emulator`.
//! - [`plain`]: a bare HTTP/1.1 server over a socket, for what an HTTP library
//!   would not send and for benchmarks.
//!
//! - the binary `stdio-emulator`, a local server that speaks lines on its
//!   standard streams; [`program`] finds it.
//!
//! Each server runs on a thread of its own, so that a test may block without
//! stopping its upstream, and ends when its handle is dropped. Both keep a
//! [`ledger`] of what arrived, for tests to assert on what went over the wire.

pub mod github;
pub mod ledger;
mod pattern;
pub mod plain;
pub mod program;
mod serving;
mod wire;
