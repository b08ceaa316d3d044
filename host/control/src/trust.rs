//! Whose word it is that a tool only reads.
//!
//! Where it is the API's own, as the hints of an MCP server are, nothing like a
//! method holds a call to it: it counts where the person said that the source
//! is trusted. Where the adapter tells it from the protocol, as the method of a
//! request, the type of an operation, or that a prompt is got and no tool called,
//! it counts for every source.

use executor_store::{Staged, ToolRow};
use serde_json::{Value, json};

/// What a tool's `meta` says where it promised that it may be called twice,
/// and that was taken back. Its binding, which is the adapter's, says so still.
const TAKEN_BACK: &str = "taken_back";

/// Takes back what untrusted hints promise. `meta` is what the index said of
/// the source: `hints` in it says that promises are the server's.
pub(crate) fn settle_hints(staged: &mut Staged, meta: Option<&str>, trusted: bool) {
    let meta: Value = meta.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    if !trusted && meta["hints"] == true {
        take_back(staged);
    }
}

/// Nothing of the source promises anything, but what its protocol does.
pub(crate) fn take_back(staged: &mut Staged) {
    for tool in &mut staged.tools {
        let mut meta = meta_of(tool);
        // The request that is sent is one that reads, whoever answers it.
        if meta["by_protocol"] == true {
            continue;
        }
        if tool.read_only || tool.idempotent {
            meta[TAKEN_BACK] = json!(true);
            tool.meta = Some(meta.to_string());
        }
        tool.read_only = false;
        tool.idempotent = false;
    }
}

/// Whether a tool's adapter may take it for one that can be called twice, where
/// its word does not count.
pub(crate) fn was_taken_back(tool: &ToolRow) -> bool {
    meta_of(tool)[TAKEN_BACK] == true
}

fn meta_of(tool: &ToolRow) -> Value {
    let meta: Option<Value> = tool.meta.as_deref().and_then(|meta| serde_json::from_str(meta).ok());
    meta.filter(Value::is_object).unwrap_or_else(|| json!({}))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refresh::tests::tool_row;

    fn tool(meta: Option<&str>) -> ToolRow {
        ToolRow { meta: meta.map(str::to_owned), ..tool_row("t") }
    }

    fn check(meta: Option<&str>, trusted: bool, reads: bool) {
        let tool = tool(Some(r#"{"request":"tools/call t"}"#));
        let mut staged = Staged { tools: vec![tool], ..Staged::default() };
        settle_hints(&mut staged, meta, trusted);
        let tool = &staged.tools[0];
        assert_eq!((tool.read_only, tool.idempotent), (reads, reads), "{meta:?}");
        assert_eq!(was_taken_back(tool), !reads, "{meta:?}");
        assert_eq!(meta_of(tool)["request"], "tools/call t", "what else is told of it stays");
    }

    #[test]
    fn hints_count_where_the_source_is_trusted() {
        check(Some(r#"{"hints":true}"#), false, false);
        check(Some(r#"{"hints":true}"#), true, true);
        check(Some(r#"{"hints":false}"#), false, true);
        check(Some("{"), false, true);
        check(None, false, true);
    }

    #[test]
    fn what_the_protocol_says_counts_for_every_source() {
        let by_protocol = [Some(r#"{"by_protocol":true,"request":"prompts/get a"}"#)];
        let by_word = [None, Some("{}"), Some("{"), Some(r#"{"by_protocol":"true"}"#), Some("[true]")];
        let mut staged = Staged::default();
        staged.tools.extend(by_protocol.iter().chain(&by_word).map(|meta| tool(*meta)));
        settle_hints(&mut staged, Some(r#"{"hints":true}"#), false);
        let reads: Vec<bool> = staged.tools.iter().map(|tool| tool.read_only && tool.idempotent).collect();
        assert_eq!(reads, [true, false, false, false, false, false]);
    }
}
