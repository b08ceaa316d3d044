//! Prompts and resources, reachable as tools. They read by what the protocol
//! says of them, not by a hint of the server's: it is this adapter that sends
//! `prompts/get` and `resources/read` for them and nothing else.

use serde_json::{Map, Value, json};

use super::tool::Listing;
use crate::config::Endpoint;
use crate::seam::{Annotations, Tool};
use crate::text::{line, plain};
use crate::wire::binding::{Binding, What};

const MAX_ARGUMENTS: usize = 200;

/// A prompt as a tool.
pub(crate) fn prompt(listing: &Listing<'_>, name: String, endpoint: &Endpoint, auth: &[Vec<String>]) -> Tool {
    let arguments: Vec<Value> = listing
        .json("arguments")
        .and_then(|arguments| serde_json::from_str(arguments).ok())
        .unwrap_or_default();
    let mut properties = Map::new();
    let mut required = Vec::new();
    for argument in arguments.iter().take(MAX_ARGUMENTS) {
        let Some(name) = argument["name"].as_str() else { continue };
        let mut schema = json!({"type": "string"});
        if let Some(description) = argument["description"].as_str() {
            schema["description"] = json!(plain(description, 1_000));
        }
        if argument["required"] == true {
            required.push(json!(name));
        }
        properties.insert(name.to_owned(), schema);
    }
    let input = json!({
        "type": "object", "properties": properties, "required": required, "additionalProperties": false,
    });
    let output = json!({
        "type": "object",
        "properties": {
            "description": {"type": "string"},
            "messages": {"type": "array", "items": {"type": "object", "properties": {
                "role": {"type": "string"}, "content": {},
            }}},
        },
        "required": ["messages"],
    });
    let what = What::Prompt { name: listing.name.clone() };
    Tool {
        annotations: Annotations {
            title: listing.title(),
            meta: listing.rest(&["name", "description", "arguments"]),
            ..reading()
        },
        meta: Some(meta(&format!("prompts/get {}", line(&listing.name, 200)))),
        ..tool(name, &listing.description(), &input, &output, what, endpoint, auth)
    }
}

/// The tools by which resources are found and read.
pub(crate) fn resources(endpoint: &Endpoint, auth: &[Vec<String>]) -> Vec<Tool> {
    let cursor = json!({
        "type": "object",
        "properties": {"cursor": {"type": "string", "description": "nextCursor of the page before"}},
        "additionalProperties": false,
    });
    let listed = |member: &str, uri: &str| {
        json!({
            "type": "object",
            "properties": {
                member: {"type": "array", "items": {"type": "object", "properties": {
                    uri: {"type": "string"}, "name": {"type": "string"}, "title": {"type": "string"},
                    "description": {"type": "string"}, "mimeType": {"type": "string"},
                }}},
                "nextCursor": {"type": "string"},
            },
            "required": [member],
        })
    };
    let uri = json!({
        "type": "object",
        "properties": {"uri": {"type": "string", "description": "As resources.list or a tool's answer gives it"}},
        "required": ["uri"],
        "additionalProperties": false,
    });
    let contents = json!({
        "type": "object",
        "properties": {"contents": {"type": "array", "items": {"type": "object", "properties": {
            "uri": {"type": "string"}, "mimeType": {"type": "string"}, "text": {"type": "string"},
            "blob": {"description": "base64, or {\"$file\"} where it is large"},
        }}}},
        "required": ["contents"],
    });
    let make =
        |name: &str, description: &str, input: &Value, output: &Value, what: What, request: &str| Tool {
            meta: Some(meta(request)),
            ..tool(name.to_owned(), description, input, output, what, endpoint, auth)
        };
    vec![
        make(
            "resources.list",
            "Lists the resources of this MCP server: files, records and pages that it can show.",
            &cursor,
            &listed("resources", "uri"),
            What::Resources,
            "resources/list",
        ),
        make(
            "resources.templates",
            "Lists the URI templates by which resources of this MCP server are named.",
            &cursor,
            &listed("resourceTemplates", "uriTemplate"),
            What::Templates,
            "resources/templates/list",
        ),
        make(
            "resources.read",
            "Reads one resource of this MCP server by its URI.",
            &uri,
            &contents,
            What::Read,
            "resources/read",
        ),
    ]
}

fn tool(
    name: String,
    description: &str,
    input: &Value,
    output: &Value,
    what: What,
    endpoint: &Endpoint,
    auth: &[Vec<String>],
) -> Tool {
    let binding = Binding { endpoint: endpoint.clone(), what, repeatable: true, mirrors: Vec::new() };
    Tool {
        name,
        description: description.to_owned(),
        input_schema: input.to_string(),
        output_schema: Some(output.to_string()),
        annotations: reading(),
        auth: auth.to_vec(),
        binding: binding.to_bytes(),
        meta: None,
    }
}

fn meta(request: &str) -> String {
    json!({"request": request, "by_protocol": true}).to_string()
}

fn reading() -> Annotations {
    Annotations { read_only: true, idempotent: true, ..Annotations::default() }
}
