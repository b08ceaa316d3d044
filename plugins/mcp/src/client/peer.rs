//! What is known of a server, and what a server is told of its client.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::config::Era;
use crate::text::line;

/// The revision without handshakes.
pub(crate) const MODERN: &str = "2026-07-28";
/// Those with one, the newest first.
pub(crate) const LEGACY: [&str; 5] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"];
/// The first with an `MCP-Protocol-Version` header.
const WITH_HEADER: &str = "2025-06-18";

/// A server, as it presented itself. This is what the session keeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Peer {
    pub(crate) era: Era,
    pub(crate) version: String,
    /// The `Mcp-Session-Id`, where it gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<String>,
    /// Whether it speaks the HTTP+SSE of 2024-11-05.
    #[serde(default)]
    pub(crate) sse: bool,
    /// None where it was not asked.
    pub(crate) offers: Option<Offers>,
    #[serde(default)]
    pub(crate) name: Option<String>,
    #[serde(default)]
    pub(crate) title: Option<String>,
    /// Of the server's software.
    #[serde(default)]
    pub(crate) release: Option<String>,
}

/// Its capabilities, as far as they matter here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Offers {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
    pub(crate) tools_changed: bool,
    pub(crate) prompts_changed: bool,
    pub(crate) resources_changed: bool,
}

impl Offers {
    fn read(capabilities: &Value) -> Self {
        let has = |name: &str| capabilities.get(name).is_some_and(|value| !value.is_null());
        let tells = |name: &str| capabilities[name]["listChanged"] == true;
        Self {
            tools: has("tools"),
            prompts: has("prompts"),
            resources: has("resources"),
            tools_changed: tells("tools"),
            prompts_changed: tells("prompts"),
            resources_changed: tells("resources"),
        }
    }

    /// Whether it tells of changes by itself.
    pub(crate) fn tells(self) -> bool {
        self.tools_changed || self.prompts_changed || self.resources_changed
    }
}

impl Peer {
    /// A server of which nothing is known but that it greets nobody.
    pub(crate) fn modern() -> Self {
        Self {
            era: Era::Modern,
            version: MODERN.to_owned(),
            session: None,
            sse: false,
            offers: None,
            name: None,
            title: None,
            release: None,
        }
    }

    /// Of a `DiscoverResult` or an `InitializeResult`.
    pub(crate) fn read(era: Era, version: &str, result: &Value) -> Self {
        let info = match result.get("serverInfo") {
            Some(info) => info,
            None => &result["_meta"]["io.modelcontextprotocol/serverInfo"],
        };
        let text =
            |name: &str| info[name].as_str().map(|text| line(text, 200)).filter(|text| !text.is_empty());
        Self {
            era,
            version: version.to_owned(),
            session: None,
            sse: false,
            offers: result.get("capabilities").filter(|value| value.is_object()).map(Offers::read),
            name: text("name"),
            title: text("title"),
            release: text("version"),
        }
    }

    /// The HTTP headers that go with every request to it.
    pub(crate) fn headers(&self) -> Vec<(String, String)> {
        let mut headers = Vec::new();
        if self.era == Era::Modern || self.version.as_str() >= WITH_HEADER {
            headers.push(("mcp-protocol-version".to_owned(), self.version.clone()));
        }
        headers.extend(self.session.iter().map(|id| ("mcp-session-id".to_owned(), id.clone())));
        headers
    }
}

/// What the client is.
pub(crate) fn client_info() -> Value {
    json!({"name": "executor", "version": env!("CARGO_PKG_VERSION")})
}

/// What the client can do for a server. It asks people; it has no folders to
/// show and no model to lend.
pub(crate) fn capabilities() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}})
}

/// The `_meta` of every request of revision 2026-07-28, JSON.
pub(crate) fn meta(progress_token: Option<u64>) -> String {
    let mut meta = Map::new();
    meta.insert("io.modelcontextprotocol/protocolVersion".to_owned(), json!(MODERN));
    meta.insert("io.modelcontextprotocol/clientInfo".to_owned(), client_info());
    meta.insert("io.modelcontextprotocol/clientCapabilities".to_owned(), capabilities());
    if let Some(token) = progress_token {
        meta.insert("progressToken".to_owned(), json!(token));
    }
    Value::Object(meta).to_string()
}
