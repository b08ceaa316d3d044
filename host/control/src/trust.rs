//! Whose word it is that a tool only reads.
//!
//! Where it is the API's own, as the hints of an MCP server are, nothing like a
//! method holds a call to it: it counts where the person said that the source
//! is trusted. Where the adapter tells it from the protocol, as the method of a
//! request, the type of an operation, or that a prompt is got and no tool called,
//! it counts for every source.

use executor_store::{Staged, ToolRow};
use serde_json::Value;

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
    for tool in staged.tools.iter_mut().filter(|tool| !is_by_protocol(tool)) {
        tool.read_only = false;
        tool.idempotent = false;
    }
}

/// Whether the adapter says that the protocol promises it: the request that is
/// sent is one that reads, whoever answers it.
fn is_by_protocol(tool: &ToolRow) -> bool {
    let meta = tool.meta.as_deref().and_then(|text| serde_json::from_str::<Value>(text).ok());
    meta.is_some_and(|meta| meta["by_protocol"] == true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_store::Digest;

    fn tool(meta: Option<&str>) -> ToolRow {
        ToolRow {
            name: "t".into(),
            description: String::new(),
            title: None,
            summary: String::new(),
            request: None,
            input_schema: "{}".into(),
            output_schema: None,
            read_only: true,
            destructive: false,
            idempotent: true,
            deprecated: false,
            requires_approval: false,
            auth: Vec::new(),
            binding: Vec::new(),
            annotations_meta: None,
            meta: meta.map(str::to_owned),
            digest: Digest::of(b"t"),
        }
    }

    fn check(meta: Option<&str>, trusted: bool, reads: bool) {
        let mut staged = Staged { tools: vec![tool(None)], ..Staged::default() };
        settle_hints(&mut staged, meta, trusted);
        assert_eq!((staged.tools[0].read_only, staged.tools[0].idempotent), (reads, reads), "{meta:?}");
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
