//! `tools/list`: our own tools, and where the endpoint offers them the
//! catalogue's.

use std::sync::Arc;

use executor_control::{Problem, ProblemKind, SourceView, ToolDetail};
use rmcp::model::{ErrorData, JsonObject, ListToolsResult, Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::names::name_of;
use super::who::Asking;
use super::{description, execute, resume, search, text};

/// Tools of the catalogue on one page, and bytes of their schemas.
const PAGE: usize = 100;
const PAGE_BYTES: usize = 512 * 1024;
/// Characters of a tool's description.
const DESCRIPTION_LIMIT: usize = 2_000;

/// One page of tools: our own are on the first.
pub(super) fn page(asking: &Asking, cursor: Option<&str>) -> Result<ListToolsResult, ErrorData> {
    let place = asking.place(None).map_err(refusal)?;
    let after = cursor.map(path_of_cursor).transpose()?;
    let mut tools = match after {
        None => own(&place.workspace.sources().map_err(refusal)?),
        Some(_) => Vec::new(),
    };
    let mut next = None;
    if let Some(sources) = &asking.target.direct {
        let details =
            place.workspace.tool_details(&place.caller, sources, after.as_deref(), PAGE, PAGE_BYTES);
        let details = details.map_err(refusal)?;
        next = details.items.last().filter(|_| details.has_more).map(|last| hex::encode(&last.path));
        tools.extend(details.items.into_iter().map(of_catalogue));
    }
    let mut result = ListToolsResult::with_all_items(tools);
    result.next_cursor = next;
    Ok(result)
}

/// A list has no text in which a model could read what is wrong.
fn refusal(problem: Problem) -> ErrorData {
    let words = match problem.hint {
        Some(hint) => format!("{}; {hint}", problem.message),
        None => problem.message,
    };
    match problem.kind {
        ProblemKind::Internal => ErrorData::internal_error(words, None),
        _ => ErrorData::invalid_params(words, None),
    }
}

fn path_of_cursor(cursor: &str) -> Result<String, ErrorData> {
    let bytes = hex::decode(cursor).ok();
    bytes
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or_else(|| ErrorData::invalid_params("the cursor is not one that this list gave", None))
}

fn own(sources: &[SourceView]) -> Vec<Tool> {
    let workspace = json!({ "type": "string", "description": "Another workspace than the endpoint's" });
    let execute = tool(
        execute::NAME,
        "Run TypeScript",
        description::execute(sources),
        json!({ "type": "object", "properties": {
            "code": { "type": "string", "description": "Statements with `return`, or a function" },
            "input": { "description": "What the program gets as `input`: any JSON" },
            "workspace": workspace,
        }, "required": ["code"], "additionalProperties": false }),
        Some(execution_schema()),
    );
    let resume = tool(
        resume::NAME,
        "Continue an execution",
        "Go on with an execution that waits for a person, from any session, or learn what became of it. \
         `decline` lets the program go on without the call, `cancel` ends it, `answer` fills in a form that an \
         upstream asked for. An approval is accepted by a person alone: in their client, or with \
         `executor resume ID --accept`. Answering twice gives the recorded outcome."
            .to_owned(),
        json!({ "type": "object", "properties": {
            "executionId": { "type": "string" },
            "action": { "type": "string", "enum": ["accept", "decline", "cancel", "answer"] },
            "content": { "description": "What a form asks for, by its schema" },
            "interaction": { "type": "string", "description": "Which question; the oldest by default" },
            "workspace": workspace,
        }, "required": ["executionId", "action"], "additionalProperties": false }),
        Some(execution_schema()),
    );
    vec![
        execute.annotate(hints(false, true, false)),
        resume.annotate(hints(false, true, true)),
        search_tool(&workspace),
        describe_tool(&workspace),
    ]
}

fn search_tool(workspace: &Value) -> Tool {
    tool(
        search::SEARCH,
        "Search tools",
        "Find tools of the catalogue by what they do. Without `query` it lists them by path. \
         They are called from programs that `execute` runs."
            .to_owned(),
        json!({ "type": "object", "properties": {
            "query": { "type": "string", "description": "Words: `create an issue`" },
            "source": { "type": "string", "description": "One source alone" },
            "limit": { "type": "integer", "minimum": 1, "maximum": 500, "default": 12 },
            "offset": { "type": "integer", "minimum": 0, "default": 0 },
            "workspace": workspace,
        }, "additionalProperties": false }),
        Some(json!({ "type": "object", "properties": {
            "items": { "type": "array", "items": { "type": "object" } },
            "total": { "type": "integer" },
            "hasMore": { "type": "boolean" },
            "nextOffset": { "type": ["integer", "null"] },
        }, "required": ["items", "total", "hasMore"] })),
    )
    .annotate(hints(true, false, true))
}

fn describe_tool(workspace: &Value) -> Tool {
    tool(
        search::DESCRIBE,
        "Describe a tool",
        "How a tool is called: its TypeScript signature and types.".to_owned(),
        json!({ "type": "object", "properties": {
            "path": { "type": "string", "description": "As search gives it: `github.issues.create`" },
            "type": { "type": "string", "description": "One named type, in full" },
            "depth": { "type": "integer", "minimum": 0, "maximum": 6, "default": 2 },
            "workspace": workspace,
        }, "required": ["path"], "additionalProperties": false }),
        Some(json!({ "type": "object", "properties": {
            "path": { "type": "string" },
            "signature": { "type": "string" },
            "types": { "type": "string" },
            "omitted": { "type": "array", "items": { "type": "string" } },
            "readOnly": { "type": "boolean" },
            "requiresApproval": { "type": "boolean" },
        }, "required": ["path", "signature"] })),
    )
    .annotate(hints(true, false, true))
}

fn execution_schema() -> Value {
    json!({ "type": "object", "properties": {
        "status": { "type": "string",
            "enum": ["completed", "failed", "cancelled", "waiting_for_interaction", "running", "pending"] },
        "executionId": { "type": "string" },
        "result": { "description": "What the program returned" },
        "logs": { "type": "array", "items": { "type": "object" } },
        "emitted": { "type": "array" },
        "error": { "type": "object" },
        "interactions": { "type": "array", "items": { "type": "object" } },
        "truncated": { "type": "boolean", "description": "Something was too large and is left out" },
    }, "required": ["status"] })
}

/// A tool of the catalogue as one of MCP. The schema of its data is what its
/// API documents, which APIs do not always keep: it says what to expect and
/// refuses nothing, since clients refuse what does not fit.
fn of_catalogue(detail: ToolDetail) -> Tool {
    let output = detail.output_schema.map(|mut schema| {
        let definitions = schema.as_object_mut().and_then(|members| members.remove("$defs"));
        let mut whole = json!({ "type": "object", "properties": { "data": {
            "description": "As the API documents it", "anyOf": [schema, {}] } } });
        if let Some(definitions) = definitions {
            whole["$defs"] = definitions;
        }
        whole
    });
    let words = if detail.description.is_empty() { &detail.summary } else { &detail.description };
    let title = detail.title.as_deref().unwrap_or(&detail.path);
    let words = text::clip(text::clean(words), DESCRIPTION_LIMIT);
    let made = tool(&name_of(&detail.path), &text::line(title, 120), words, detail.input_schema, output);
    made.annotate(hints(detail.read_only, detail.destructive, detail.idempotent).open_world(true))
}

fn hints(read_only: bool, destructive: bool, idempotent: bool) -> ToolAnnotations {
    ToolAnnotations::new().read_only(read_only).destructive(destructive).idempotent(idempotent)
}

fn tool(name: &str, title: &str, description: String, input: Value, output: Option<Value>) -> Tool {
    let made = Tool::new(name.to_owned(), description, Arc::new(object(input))).with_title(title);
    match output {
        Some(output) => made.with_raw_output_schema(Arc::new(object(output))),
        None => made,
    }
}

/// Clients take objects alone.
fn object(schema: Value) -> JsonObject {
    let Value::Object(mut members) = schema else {
        return JsonObject::from_iter([("type".to_owned(), json!("object"))]);
    };
    members.entry("type").or_insert_with(|| json!("object"));
    members
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_tools_are_sound() {
        let tools = own(&[]);
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
        assert_eq!(names, ["execute", "resume", "search_tools", "describe_tool"]);
        for tool in &tools {
            assert_eq!(tool.input_schema["type"], "object");
            assert_eq!(tool.input_schema["additionalProperties"], false);
            assert!(tool.output_schema.is_some() && tool.annotations.is_some(), "{}", tool.name);
        }
    }

    #[test]
    fn a_schema_says_what_to_expect_and_refuses_nothing() {
        let detail = ToolDetail {
            path: "pets.list".into(),
            title: None,
            summary: "List\u{1b}[31m pets".into(),
            description: String::new(),
            input_schema: json!({ "properties": {} }),
            output_schema: Some(json!({ "type": "array", "items": { "$ref": "#/$defs/pet" },
                "$defs": { "pet": { "type": "object" } } })),
            read_only: true,
            destructive: false,
            idempotent: true,
        };
        let tool = of_catalogue(detail);
        assert_eq!((tool.name.as_ref(), tool.description.as_deref()), ("pets__list", Some("List pets")));
        assert_eq!(tool.input_schema["type"], "object");
        let output = Value::Object((*tool.output_schema.unwrap()).clone());
        assert_eq!(output["$defs"]["pet"]["type"], "object", "references still lead somewhere");
        assert_eq!(output["properties"]["data"]["anyOf"][1], json!({}));
        let hints = tool.annotations.unwrap();
        assert_eq!(
            (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint),
            (Some(true), Some(false), Some(true))
        );
    }

    #[test]
    fn a_cursor_is_one_that_was_given() {
        assert_eq!(path_of_cursor(&hex::encode("a.b")).unwrap(), "a.b");
        for cursor in ["", "zz", "ff"] {
            assert_eq!(path_of_cursor(cursor).is_err(), !cursor.is_empty(), "{cursor}");
        }
    }
}
