//! The tools `search_tools` and `describe_tool`.

use std::fmt::Write as _;

use executor_control::{DescribeOptions, ToolDescription, ToolPage, ToolQuery};
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock, JsonObject};
use serde::Deserialize;
use serde_json::{Value, json};

use super::call::{Call, Refusal, parse};
use super::text;

pub(super) const SEARCH: &str = "search_tools";
pub(super) const DESCRIBE: &str = "describe_tool";

/// Characters of a tool's line in a list.
const SUMMARY_LIMIT: usize = 160;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchArguments {
    query: Option<String>,
    source: Option<String>,
    limit: Option<usize>,
    offset: Option<usize>,
    workspace: Option<String>,
}

pub(super) async fn search(call: &Call<'_>, arguments: JsonObject) -> Result<CallToolResponse, Refusal> {
    let SearchArguments { query, source, limit, offset, workspace } = parse(SEARCH, arguments)?;
    let place = call.asking.place(workspace.as_deref())?;
    let query = ToolQuery { query, source, limit, offset, cursor: None };
    let page = place.workspace.search_tools(&place.caller, query).await?;
    let items: Vec<Value> = page
        .items
        .iter()
        .map(|item| {
            json!({
                "path": item.path, "summary": text::line(&item.summary, SUMMARY_LIMIT), "source": item.source,
                "score": item.score, "readOnly": item.read_only,
                "requiresApproval": item.requires_approval, "deprecated": item.deprecated,
            })
        })
        .collect();
    let next = page.has_more.then(|| page.offset + page.items.len());
    let structured =
        json!({ "items": items, "total": page.total, "hasMore": page.has_more, "nextOffset": next });
    Ok(both(&found(&page), structured))
}

fn found(page: &ToolPage) -> String {
    if page.items.is_empty() {
        return "Nothing fits. Use other words, or leave `query` out and name a `source` to list its tools."
            .to_owned();
    }
    let mut list = String::new();
    for item in &page.items {
        let asks = if item.requires_approval { " (asks a person)" } else { "" };
        let old = if item.deprecated { " (deprecated)" } else { "" };
        let _ = writeln!(list, "{}{asks}{old}: {}", item.path, text::line(&item.summary, SUMMARY_LIMIT));
    }
    let last = page.offset + page.items.len();
    let _ = write!(list, "{}–{last} of {}.", page.offset + 1, page.total);
    if page.has_more {
        let _ = write!(list, " More: offset {last}.");
    }
    list
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DescribeArguments {
    path: String,
    #[serde(rename = "type")]
    type_name: Option<String>,
    depth: Option<u32>,
    workspace: Option<String>,
}

pub(super) async fn describe(call: &Call<'_>, arguments: JsonObject) -> Result<CallToolResponse, Refusal> {
    let DescribeArguments { path, type_name, depth, workspace } = parse(DESCRIBE, arguments)?;
    let place = call.asking.place(workspace.as_deref())?;
    // A model copies the call as it stands in a program.
    let path = path.strip_prefix("tools.").unwrap_or(&path);
    let options = DescribeOptions { type_name, depth, ..DescribeOptions::default() };
    let described = place.workspace.describe_tool(&place.caller, path, options).await?;
    let structured = json!({
        "path": described.path, "summary": text::line(&described.summary, SUMMARY_LIMIT),
        "source": described.source, "signature": text::clean(&described.signature),
        "types": text::clean(&described.types), "omitted": described.omitted,
        "readOnly": described.read_only, "requiresApproval": described.requires_approval,
        "connections": described.connections,
    });
    Ok(both(&signature(&described), structured))
}

fn signature(described: &ToolDescription) -> String {
    let mut whole = described.signature.clone();
    if !described.types.is_empty() {
        let _ = write!(whole, "\n\n{}", described.types);
    }
    if !described.omitted.is_empty() {
        let _ = write!(whole, "\n\n// left out: {} (ask with `type`)", described.omitted.join(", "));
    }
    if described.requires_approval {
        whole.push_str("\n\n// a person is asked before each call");
    }
    if described.connections.len() > 1 {
        let _ = write!(
            whole,
            "\n\n// connections: {} (as the second argument: {{ connection: \"NAME\" }})",
            described.connections.join(", ")
        );
    }
    whole
}

fn both(words: &str, structured: Value) -> CallToolResponse {
    let words = text::bounded(text::clean(words), "Ask for less: a smaller `limit` or `depth`.");
    let mut result = CallToolResult::success(vec![ContentBlock::text(words)]);
    result.structured_content = Some(structured);
    result.into()
}
