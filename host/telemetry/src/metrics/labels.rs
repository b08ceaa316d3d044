//! The labels of series: words of our own, and names that were bounded.

use std::sync::Arc;

use prometheus_client::encoding::EncodeLabelSet;

/// A component by its name in the installation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Component {
    pub(super) component: Arc<str>,
}

/// How a guest's store ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct GuestEnd {
    pub(super) component: Arc<str>,
    pub(super) end: &'static str,
}

/// Which places were waited for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Pool {
    pub(super) pool: &'static str,
}

/// Where native code came from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Load {
    pub(super) from: &'static str,
}

/// Where requests went to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Origin {
    pub(super) origin: Arc<str>,
}

/// Requests to one origin, and what came of them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Request {
    pub(super) origin: Arc<str>,
    pub(super) method: &'static str,
    pub(super) status: &'static str,
}

/// What was refused.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Denial {
    pub(super) kind: &'static str,
}

/// Executions of one kind and way in, and how they ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Execution {
    pub(super) kind: &'static str,
    pub(super) surface: &'static str,
    pub(super) status: &'static str,
}

/// What an execution is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Kind {
    pub(super) kind: &'static str,
}

/// Calls of one source's tools, and what came of them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ToolCall {
    pub(super) source: Arc<str>,
    pub(super) outcome: &'static str,
}

/// One of several words.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Outcome {
    pub(super) outcome: &'static str,
}

/// Why something was dropped.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Reason {
    pub(super) reason: &'static str,
}

/// One route of the HTTP API.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Route {
    pub(super) route: &'static str,
    pub(super) method: &'static str,
}

/// Answers of one route.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Answer {
    pub(super) route: &'static str,
    pub(super) method: &'static str,
    pub(super) status: u16,
}
