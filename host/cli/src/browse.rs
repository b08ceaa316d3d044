//! The catalogue as a tree: what stands below a path.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::api::{Api, query};
use crate::context::Context;
use crate::failure::Failure;
use crate::style::Style;
use crate::table::Table;
use crate::text;
use crate::view::{field, flag};

/// Tools that are asked for at once.
const PAGE: usize = 500;
/// More tools than any catalogue has.
const TOOLS_LIMIT: usize = 1_000_000;

/// The source that a path begins with.
pub(crate) fn source_of(path: &str) -> Option<&str> {
    path.split('.').next().filter(|source| !source.is_empty())
}

/// The tools at or below a path, in the order of their paths.
pub(crate) fn tools_below(
    context: &Context,
    prefix: &str,
    source: Option<&str>,
) -> Result<Vec<Value>, Failure> {
    let api = Api::new(context);
    let mut tools = Vec::new();
    let mut offset = 0;
    while offset < TOOLS_LIMIT {
        let values = [
            ("source", source.map(str::to_owned)),
            ("limit", Some(PAGE.to_string())),
            ("offset", Some(offset.to_string())),
        ];
        let mut page = api.get(&(context.path(&["tools"]) + &query(&values)))?.value;
        let more = flag(&page, "has_more");
        let Value::Array(items) = page["items"].take() else {
            break;
        };
        offset += items.len();
        let empty = items.is_empty();
        tools.extend(items.into_iter().filter(|tool| is_below(tool, prefix)));
        if !more || empty {
            break;
        }
    }
    tools.sort_by(|one, other| one["path"].as_str().cmp(&other["path"].as_str()));
    Ok(tools)
}

fn is_below(tool: &Value, prefix: &str) -> bool {
    let path = tool["path"].as_str().unwrap_or("");
    match path.strip_prefix(prefix) {
        Some(rest) => prefix.is_empty() || rest.is_empty() || rest.starts_with('.'),
        None => false,
    }
}

/// What a person sees at a path: its groups and tools.
pub(crate) fn render(tools: &[Value], prefix: &str, style: Style) -> String {
    let mut branches: BTreeMap<String, Branch> = BTreeMap::new();
    for tool in tools {
        let path = field(tool, "path");
        let rest = path.strip_prefix(prefix).unwrap_or(&path).trim_start_matches('.');
        let (segment, deeper) = match rest.split_once('.') {
            Some((segment, _)) => (segment, true),
            None => (rest, false),
        };
        let branch = branches.entry(segment.to_owned()).or_default();
        branch.count += 1;
        if !deeper {
            branch.summary = field(tool, "summary");
        }
    }
    let shown = if prefix.is_empty() { String::new() } else { format!("{} ", prefix.replace('.', " ")) };
    let mut table = Table::new(&["NEXT", "WHAT"]);
    for (segment, branch) in &branches {
        let what = match (branch.count, branch.summary.is_empty()) {
            (1, false) => branch.summary.clone(),
            (count, _) => text::counted(count, "tool"),
        };
        table.row([segment, &what]);
    }
    format!("Usage: executor call {shown}NEXT… [--flag VALUE]… ['{{JSON}}']\n\n{}", table.render(style))
}

#[derive(Debug, Default)]
struct Branch {
    count: u64,
    summary: String,
}

/// What helps where a path leads to nothing: the nearest parent that has
/// something, and what it has.
pub(crate) fn nearest_parent<'p>(paths: &[Value], path: &'p str) -> &'p str {
    let mut parent = path;
    while let Some(dot) = parent.rfind('.') {
        parent = &parent[..dot];
        if paths.iter().any(|tool| is_below(tool, parent)) {
            return parent;
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tools() -> Vec<Value> {
        ["github.issues.create", "github.issues.get", "github.zen", "githubber.x"]
            .iter()
            .map(|path| json!({ "path": path, "summary": format!("Does {path}") }))
            .collect()
    }

    #[test]
    fn a_level_is_shown_at_a_time() {
        let below: Vec<Value> = tools().into_iter().filter(|tool| is_below(tool, "github")).collect();
        insta::assert_snapshot!(render(&below, "github", Style::default()), @r"
        Usage: executor call github NEXT… [--flag VALUE]… ['{JSON}']

        NEXT    WHAT
        issues  2 tools
        zen     Does github.zen
        ");
        assert!(render(&tools(), "", Style::default()).contains("githubber  1 tool"));
    }

    #[test]
    fn the_nearest_parent_has_something() {
        assert_eq!(nearest_parent(&tools(), "github.issues.crate"), "github.issues");
        assert_eq!(nearest_parent(&tools(), "gitlab.x.y"), "");
        assert_eq!(source_of("github.issues"), Some("github"));
        assert_eq!(source_of(""), None);
    }
}
