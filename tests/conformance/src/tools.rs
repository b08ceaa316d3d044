//! What the tools do.

use std::time::Duration;

use rmcp::model::{
    CallToolResult, ClientCapabilities, CreateMessageRequest, ElicitRequestParams, ErrorData, JsonObject,
    LoggingMessageNotificationParam, ProgressNotificationParam, ServerRequest,
};
use rmcp::service::{RequestContext, ServiceError};
use rmcp::{RoleServer, model::ClientResult};
use serde_json::{Value, json};

use crate::listing::{PNG, WAV, typed};

/// Between the steps of tools that take their time.
const STEP: Duration = Duration::from_millis(50);

type Context<'c> = &'c RequestContext<RoleServer>;

/// Calls a tool.
pub(crate) async fn call(
    name: &str,
    arguments: &JsonObject,
    context: Context<'_>,
) -> Result<CallToolResult, ErrorData> {
    let text = |key: &str| arguments.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let content = match name {
        "test_image_content" => json!([{ "type": "image", "data": PNG, "mimeType": "image/png" }]),
        "test_audio_content" => json!([{ "type": "audio", "data": WAV, "mimeType": "audio/wav" }]),
        "test_embedded_resource" => {
            json!([{ "type": "resource", "resource": { "uri": "test://embedded-resource",
            "mimeType": "text/plain", "text": "This is an embedded resource content." } }])
        }
        "test_multiple_content_types" => json!([
            { "type": "text", "text": "Multiple content types test:" },
            { "type": "image", "data": PNG, "mimeType": "image/png" },
            { "type": "resource", "resource": { "uri": "test://mixed-content-resource",
                "mimeType": "application/json", "text": json!({ "test": "data", "value": 123 }).to_string() } },
        ]),
        "test_error_handling" => {
            let content = [words("This tool intentionally returns an error for testing")];
            return typed(json!({ "resultType": "complete", "content": content, "isError": true }));
        }
        "test_tool_with_logging" => log(context).await?,
        "test_tool_with_progress" => progress(context).await?,
        "test_sampling" => sample(&text("prompt"), context).await?,
        "test_elicitation" => {
            let schema = json!({ "type": "object", "properties": {
                "username": { "type": "string", "description": "User's response" },
                "email": { "type": "string", "description": "User's email address" },
            }, "required": ["username", "email"] });
            elicit(&text("message"), schema, context).await?
        }
        "test_elicitation_sep1034_defaults" => elicit("Check the values", defaults(), context).await?,
        "test_elicitation_sep1330_enums" => elicit("Choose", enums(), context).await?,
        "test_missing_capability" => needs_sampling(context)?,
        "test_simple_text" => json!([words("This is a simple text response for testing.")]),
        "test_streaming_elicitation"
        | "test_logging_tool"
        | "test_custom_headers"
        | "json_schema_2020_12_tool" => {
            json!([words("done")])
        }
        other => return Err(ErrorData::invalid_params(format!("there is no tool {other}"), None)),
    };
    typed(json!({ "resultType": "complete", "content": content }))
}

fn words(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn failed(error: ServiceError) -> ErrorData {
    ErrorData::internal_error(format!("the client did not do it: {error}"), None)
}

async fn log(context: Context<'_>) -> Result<Value, ErrorData> {
    for line in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        let message: LoggingMessageNotificationParam = typed(json!({ "level": "info", "data": line }))?;
        context.peer.notify_logging_message(message).await.map_err(failed)?;
        tokio::time::sleep(STEP).await;
    }
    Ok(json!([words("three messages were logged")]))
}

async fn progress(context: Context<'_>) -> Result<Value, ErrorData> {
    let token = context.meta.get_progress_token();
    for step in [0.0, 50.0, 100.0] {
        if let Some(token) = &token {
            let told = ProgressNotificationParam::new(token.clone(), step).with_total(100.0);
            context.peer.notify_progress(told).await.map_err(failed)?;
        }
        tokio::time::sleep(STEP).await;
    }
    Ok(json!([words("progress was told three times")]))
}

async fn sample(prompt: &str, context: Context<'_>) -> Result<Value, ErrorData> {
    let params = typed(json!({ "maxTokens": 100,
        "messages": [{ "role": "user", "content": words(prompt) }] }))?;
    let request = ServerRequest::CreateMessageRequest(CreateMessageRequest::new(params));
    match context.peer.send_request(request).await.map_err(failed)? {
        ClientResult::CreateMessageResult(result) => {
            let said = json!(result)["content"]["text"].as_str().unwrap_or_default().to_owned();
            Ok(json!([words(&format!("LLM response: {said}"))]))
        }
        _ => Err(ErrorData::internal_error("the client answered something else", None)),
    }
}

async fn elicit(message: &str, schema: Value, context: Context<'_>) -> Result<Value, ErrorData> {
    let params: ElicitRequestParams =
        typed(json!({ "mode": "form", "message": message, "requestedSchema": schema }))?;
    let result = json!(context.peer.create_elicitation(params).await.map_err(failed)?);
    let (action, content) = (&result["action"], &result["content"]);
    Ok(json!([words(&format!(
        "Elicitation completed: action={}, content={content}",
        action.as_str().unwrap_or_default()
    ))]))
}

fn defaults() -> Value {
    json!({ "type": "object", "properties": {
        "name": { "type": "string", "default": "John Doe" },
        "age": { "type": "integer", "default": 30 },
        "score": { "type": "number", "default": 95.5 },
        "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
        "verified": { "type": "boolean", "default": true },
    } })
}

fn enums() -> Value {
    let titled = |ordinal: &[&str], word: &str| -> Vec<Value> {
        let choice = |(number, name): (usize, &&str)| json!({ "const": format!("value{}", number + 1), "title": format!("{name} {word}") });
        ordinal.iter().enumerate().map(choice).collect()
    };
    let three = ["First", "Second", "Third"];
    json!({ "type": "object", "properties": {
        "untitledSingle": { "type": "string", "enum": ["option1", "option2", "option3"] },
        "titledSingle": { "type": "string", "oneOf": titled(&three, "Option") },
        "legacyEnum": { "type": "string", "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"] },
        "untitledMulti": { "type": "array", "items": { "type": "string", "enum": ["option1", "option2", "option3"] } },
        "titledMulti": { "type": "array", "items": { "anyOf": titled(&three, "Choice") } },
    } })
}

fn needs_sampling(context: Context<'_>) -> Result<Value, ErrorData> {
    let declared = context.client_capabilities().is_some_and(|capabilities| capabilities.sampling.is_some());
    if declared {
        return Ok(json!([words("the client can sample")]));
    }
    let needed = ClientCapabilities::builder().enable_sampling().build();
    Err(ErrorData::missing_required_client_capability(needed))
}
