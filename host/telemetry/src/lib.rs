//! What can be seen of a daemon from outside: metrics, spans and logs.
//!
//! The lowest of the host's crates: it knows nothing of what is measured.
//! Metrics are handles that were looked up before; a span is an entry in the
//! list of the execution that it belongs to, which the store keeps and which
//! goes to a collector where one was named; a log line is put into a queue.
//! Nothing here waits for a disk or a network on behalf of a caller.

#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test says what it needs by failing"))]

pub mod logs;
pub mod metrics;
pub mod otlp;
mod remote;
pub mod spans;

pub use metrics::metrics;
pub use remote::{RemoteParent, remote_parent, with_remote_parent};
pub use spans::{Place, Root, Span};
