//! Who asks, and through what.

/// The surface that a request came through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surface {
    /// The command line.
    Cli,
    /// The HTTP API.
    Http,
    /// MCP.
    Mcp,
}

impl Caller {
    /// The daemon itself, where nobody asked.
    pub(crate) fn daemon() -> Self {
        Self { account: "local".into(), client: "daemon".into(), surface: Surface::Cli, may_approve: false }
    }
}

impl Surface {
    /// Its name in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cli => "cli",
            Self::Http => "http",
            Self::Mcp => "mcp",
        }
    }
}

/// Who asks.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The account.
    pub account: String,
    /// The client: `cli`, `http`, the name of a token.
    pub client: String,
    /// The surface.
    pub surface: Surface,
    /// Whether it may accept approvals.
    pub may_approve: bool,
}
