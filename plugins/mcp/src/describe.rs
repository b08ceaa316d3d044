//! What the adapter is.

use serde_json::json;

use crate::seam::Info;

/// What the adapter is, and what a source of its kind is made from.
pub fn describe() -> Info {
    let config_schema = json!({
        "type": "object",
        "properties": {
            "transport": {"enum": ["http", "stdio"], "default": "http"},
            "url": {"type": "string", "format": "uri", "description": "The MCP endpoint"},
            "sse": {"type": "boolean", "description": "It speaks the HTTP+SSE of 2024-11-05"},
            "base_url": {"type": "string", "format": "uri", "description": "Where to send to, instead of url"},
            "era": {"enum": ["modern", "legacy"], "description": "Whether it greets by initialize (legacy)"},
        },
    });
    Info { kind: "mcp".to_owned(), title: "MCP server".to_owned(), config_schema: config_schema.to_string() }
}
