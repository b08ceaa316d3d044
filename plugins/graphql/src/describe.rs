//! What the adapter is and what it can be set to.

use serde_json::json;

use crate::seam::Info;

/// The adapter's description.
pub fn describe() -> Info {
    let schema = json!({
        "type": "object",
        "properties": {
            "endpoint": {"type": "string", "description": "the endpoint that was found; found by itself"},
            "base_url": {"type": "string", "description": "the GraphQL endpoint, where the source is made from a schema in a file, or another than the one that was found"},
            "auth_header": {"type": "string", "description": "a header that carries a key, such as X-Shopify-Access-Token, for APIs that take no bearer token"},
            "page_size": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "what `first` is where a list demands it and a call does not say; 30 by default"},
            "partial": {
                "type": "string",
                "enum": ["fail", "answer"],
                "description": "what becomes of an answer of which parts failed: a failure with data and errors in its details, or the data as the answer",
            },
        },
    });
    Info {
        kind: "graphql".to_owned(),
        title: "GraphQL".to_owned(),
        config_schema: schema.to_string(),
        meta: Some(json!({"takes": ["endpoint", "sdl", "introspection"]}).to_string()),
    }
}
