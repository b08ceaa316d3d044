//! The three ways to a server: streamable HTTP, the HTTP+SSE of 2024-11-05,
//! and the lines of a process.

mod ear;
mod events;
mod headers;
mod lines;
pub(crate) mod listener;
mod old;
pub(crate) mod stray;
mod streamable;
mod wait;

pub(crate) use ear::{Ear, elicitation, elicited};
pub(crate) use events::Events;
pub(crate) use headers::{Challenge, Headers, encoded};
pub(crate) use lines::{Lines, Noise};
pub(crate) use old::Old;
pub(crate) use streamable::{Streamable, body};
pub(crate) use wait::{STEP_MS, Wait};

use crate::rpc::RpcError;
use crate::seam::Failure;

/// The answer to one request.
#[derive(Debug)]
pub(crate) struct Answered {
    /// Of HTTP.
    pub(crate) status: Option<u16>,
    /// The `Mcp-Session-Id` that came with it.
    pub(crate) session: Option<String>,
    /// JSON, or the server's error.
    pub(crate) outcome: Result<String, RpcError>,
}

/// An HTTP answer that is no JSON-RPC.
#[derive(Debug, Clone)]
pub(crate) struct Refused {
    pub(crate) status: u16,
    /// What `WWW-Authenticate` says.
    pub(crate) challenge: Option<Challenge>,
    pub(crate) retry_after_ms: Option<u64>,
    /// The beginning of its body, where it is text.
    pub(crate) start: String,
}

/// Why a request has no answer.
#[derive(Debug)]
pub(crate) enum Lost {
    /// The host refused it, or nobody was reached: it was not sent.
    Unsent(Failure),
    /// HTTP said no.
    Refused(Refused),
    /// The server knows the session no more, and did nothing.
    SessionGone,
    /// It was sent, and the way back broke.
    Broken(Failure),
    /// It was sent, and nothing was heard for too long.
    Silent,
    /// It was sent, and what came back is something else.
    Garbage { status: Option<u16>, why: String, start: String },
}

/// Codes of the host for requests that never left.
const UNSENT: [&str; 9] = [
    "blob",
    "captured",
    "connect-failed",
    "denied",
    "denied-address",
    "denied-header",
    "denied-method",
    "denied-origin",
    "invalid-request",
];

impl Lost {
    /// What a failure of the host means for the request that met it.
    pub(crate) fn of_sending(failure: Failure) -> Self {
        match failure.code.as_str() {
            code if UNSENT.contains(&code) || code == "too-many-requests" => Self::Unsent(failure),
            "timeout" => Self::Silent,
            _ => Self::Broken(failure),
        }
    }
}
