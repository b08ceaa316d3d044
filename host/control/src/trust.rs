//! Whose word it is that a tool only reads.
//!
//! Where it is the API's own, as the hints of an MCP server are, nothing like a
//! method holds a call to it: it counts where the person said that the source
//! is trusted. Where the adapter tells it from the protocol, as the method of a
//! request or the type of an operation, it counts for every source.

use executor_store::Staged;
use serde_json::Value;

/// Takes back what untrusted hints promise. `meta` is what the index said of
/// the source: `hints` in it says that promises are the server's.
pub(crate) fn settle_hints(staged: &mut Staged, meta: Option<&str>, trusted: bool) {
    let meta: Value = meta.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    if !trusted && meta["hints"] == true {
        take_back(staged);
    }
}

/// Nothing of the source promises anything.
pub(crate) fn take_back(staged: &mut Staged) {
    for tool in &mut staged.tools {
        tool.read_only = false;
        tool.idempotent = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_store::{Digest, ToolRow};

    fn check(meta: Option<&str>, trusted: bool, reads: bool) {
        let tool = ToolRow {
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
            meta: None,
            digest: Digest::of(b"t"),
        };
        let mut staged = Staged { tools: vec![tool], ..Staged::default() };
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
}
