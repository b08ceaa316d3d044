//! What is listed: tools, resources, prompts.

use rmcp::ErrorData;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// One red pixel.
pub(crate) const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// The head of a sound of no length.
pub(crate) const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

/// A fixture as the library has it.
pub(crate) fn typed<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value)
        .map_err(|error| ErrorData::internal_error(format!("a fixture is wrong: {error}"), None))
}

/// All tools.
pub(crate) fn tools() -> Value {
    const BARE: [&str; 21] = [
        "test_simple_text",
        "test_image_content",
        "test_audio_content",
        "test_embedded_resource",
        "test_multiple_content_types",
        "test_tool_with_logging",
        "test_error_handling",
        "test_tool_with_progress",
        "test_elicitation_sep1034_defaults",
        "test_elicitation_sep1330_enums",
        "test_missing_capability",
        "test_streaming_elicitation",
        "test_logging_tool",
        "test_input_required_result_elicitation",
        "test_input_required_result_sampling",
        "test_input_required_result_list_roots",
        "test_input_required_result_request_state",
        "test_input_required_result_multiple_inputs",
        "test_input_required_result_multi_round",
        "test_input_required_result_tampered_state",
        "test_input_required_result_capabilities",
    ];
    let mut tools: Vec<Value> = BARE.iter().map(|name| tool(name, json!({ "type": "object" }))).collect();
    let text = |name: &str| json!({ "type": "object", "properties": { name: { "type": "string" } }, "required": [name] });
    tools.push(tool("test_sampling", text("prompt")));
    tools.push(tool("test_elicitation", text("message")));
    tools.push(tool("test_custom_headers", custom_headers()));
    tools.push(tool("json_schema_2020_12_tool", keywords()));
    Value::Array(tools)
}

fn tool(name: &str, schema: Value) -> Value {
    json!({ "name": name, "description": format!("The fixture {name}"), "inputSchema": schema })
}

/// Arguments that clients of the newest revision repeat in headers.
fn custom_headers() -> Value {
    json!({ "type": "object", "properties": {
        "region": { "type": "string", "x-mcp-header": "Region" },
        "query": { "type": "string" },
    } })
}

/// Keywords of JSON Schema 2020-12 that a list must keep.
fn keywords() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": { "address": { "$anchor": "addressDef", "type": "object",
            "properties": { "street": { "type": "string" }, "city": { "type": "string" } } } },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    })
}

/// All resources but those of the template.
pub(crate) fn resources() -> Value {
    let resource = |uri: &str, media_type: &str| json!({ "uri": uri, "name": uri, "description": format!("The fixture {uri}"), "mimeType": media_type });
    json!([
        resource("test://static-text", "text/plain"),
        resource("test://static-binary", "image/png"),
        resource("test://watched-resource", "text/plain"),
    ])
}

/// The resource templates.
pub(crate) fn templates() -> Value {
    json!([{ "uriTemplate": "test://template/{id}/data", "name": "template",
        "description": "The fixture of a template", "mimeType": "application/json" }])
}

/// The content of a resource, or none where there is no such.
pub(crate) fn contents(uri: &str) -> Option<Value> {
    let content = match uri {
        "test://static-text" => {
            json!({ "uri": uri, "mimeType": "text/plain", "text": "This is the content of the static text resource." })
        }
        "test://watched-resource" => json!({ "uri": uri, "mimeType": "text/plain", "text": "watched" }),
        "test://static-binary" => json!({ "uri": uri, "mimeType": "image/png", "blob": PNG }),
        _ => {
            let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
            let data = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            json!({ "uri": uri, "mimeType": "application/json", "text": data.to_string() })
        }
    };
    Some(json!({ "resultType": "complete", "contents": [content] }))
}

/// All prompts.
pub(crate) fn prompts() -> Value {
    let prompt = |name: &str, arguments: &[&str]| {
        let arguments: Vec<Value> = arguments
            .iter()
            .map(|name| json!({ "name": name, "description": format!("The argument {name}"), "required": true }))
            .collect();
        json!({ "name": name, "description": format!("The fixture {name}"), "arguments": arguments })
    };
    json!([
        prompt("test_simple_prompt", &[]),
        prompt("test_prompt_with_arguments", &["arg1", "arg2"]),
        prompt("test_prompt_with_embedded_resource", &["resourceUri"]),
        prompt("test_prompt_with_image", &[]),
        prompt("test_input_required_result_prompt", &[]),
    ])
}

/// A prompt's messages, or none where there is no such.
pub(crate) fn messages(name: &str, argument: impl Fn(&str) -> String) -> Option<Value> {
    let text = |text: String| json!({ "role": "user", "content": { "type": "text", "text": text } });
    let messages = match name {
        "test_simple_prompt" => json!([text("This is a simple prompt for testing.".into())]),
        "test_prompt_with_arguments" => json!([text(format!(
            "Prompt with arguments: arg1='{}', arg2='{}'",
            argument("arg1"),
            argument("arg2")
        ))]),
        "test_prompt_with_embedded_resource" => json!([
            { "role": "user", "content": { "type": "resource", "resource": { "uri": argument("resourceUri"),
                "mimeType": "text/plain", "text": "Embedded resource content for testing." } } },
            text("Please process the embedded resource above.".into()),
        ]),
        "test_prompt_with_image" => json!([
            { "role": "user", "content": { "type": "image", "data": PNG, "mimeType": "image/png" } },
            text("Please analyze the image above.".into()),
        ]),
        _ => return None,
    };
    Some(json!({ "resultType": "complete", "messages": messages }))
}
