//! `x-mcp-header`: arguments that stand in HTTP headers too (revision
//! 2026-07-28, tools, "x-mcp-header"). A schema that marks one against the
//! rules costs its tool.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::text::line;
use crate::wire::binding::Mirror;

const MARK: &str = "x-mcp-header";
const MAX_MIRRORS: usize = 64;
const MAX_HEADER_BYTES: usize = 100;
/// Keywords whose values are no schemas.
const DATA: [&str; 5] = ["const", "default", "enum", "example", "examples"];
/// Keywords whose members are schemas by names of the server's choice.
const NAMED: [&str; 5] = ["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"];

/// The marked arguments of a schema.
///
/// # Errors
/// In words, which rule is broken.
pub(crate) fn mirrors(schema: &str) -> Result<Vec<Mirror>, String> {
    if !schema.contains(MARK) {
        return Ok(Vec::new());
    }
    let Ok(schema) = serde_json::from_str::<Value>(schema) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    let mut names = BTreeSet::new();
    if let Value::Object(root) = &schema {
        walk(root, &mut Vec::new(), true, &mut found, &mut names)?;
    }
    if found.len() > MAX_MIRRORS {
        return Err(format!("{MARK} marks {} arguments, more than {MAX_MIRRORS}", found.len()));
    }
    Ok(found)
}

fn walk(
    schema: &Map<String, Value>,
    path: &mut Vec<String>,
    reachable: bool,
    found: &mut Vec<Mirror>,
    names: &mut BTreeSet<String>,
) -> Result<(), String> {
    if let Some(mark) = schema.get(MARK) {
        if !reachable || path.is_empty() {
            return Err(format!("{MARK} stands where no argument is sure to be"));
        }
        let mirror = mirror(schema, mark, path)?;
        if !names.insert(mirror.header.to_ascii_lowercase()) {
            return Err(format!("{MARK} gives {:?} to two arguments", mirror.header));
        }
        found.push(mirror);
    }
    for (keyword, value) in schema {
        if DATA.contains(&keyword.as_str()) {
            continue;
        }
        match value {
            Value::Object(named) if NAMED.contains(&keyword.as_str()) => {
                for (name, value) in named {
                    let Value::Object(value) = value else { continue };
                    path.push(name.clone());
                    walk(value, path, reachable && keyword == "properties", found, names)?;
                    path.pop();
                }
            }
            Value::Object(value) => walk(value, path, false, found, names)?,
            Value::Array(values) => {
                for value in values.iter().filter_map(Value::as_object) {
                    walk(value, path, false, found, names)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn mirror(schema: &Map<String, Value>, mark: &Value, path: &[String]) -> Result<Mirror, String> {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    let header = mark
        .as_str()
        .filter(|name| !name.is_empty() && name.len() <= MAX_HEADER_BYTES && name.chars().all(is_token));
    let Some(header) = header else {
        return Err(format!(
            "{MARK} is {}, which is no part of a header's name",
            line(&mark.to_string(), 60)
        ));
    };
    match schema.get("type").and_then(Value::as_str) {
        Some("string" | "integer" | "boolean") => {
            Ok(Mirror { header: header.to_owned(), path: path.to_vec() })
        }
        _ => Err(format!(
            "{MARK} marks {:?}, which is no string, integer or boolean",
            line(&path.join("."), 60)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn marks_are_found_where_they_may_stand() {
        let schema = json!({"type": "object", "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "where": {"type": "object", "properties": {"row": {"type": "integer", "x-mcp-header": "Row"}}},
            "x-mcp-header": {"type": "string"},
            "other": {"type": "object", "default": {"x-mcp-header": "no schema"}},
        }});
        let found = mirrors(&schema.to_string()).unwrap();
        let found: Vec<_> = found.iter().map(|each| (each.header.as_str(), each.path.join("/"))).collect();
        assert_eq!(found, [("Region", "region".to_owned()), ("Row", "where/row".to_owned())]);
    }

    #[test]
    fn marks_against_the_rules_are_refused() {
        let check = |properties: Value| {
            let schema = json!({"type": "object", "properties": properties}).to_string();
            assert!(mirrors(&schema).is_err(), "{schema}");
        };
        check(json!({"a": {"type": "string", "x-mcp-header": ""}}));
        check(json!({"a": {"type": "string", "x-mcp-header": "A B"}}));
        check(json!({"a": {"type": "string", "x-mcp-header": "A\r\nHost: x"}}));
        check(json!({"a": {"type": "string", "x-mcp-header": 7}}));
        check(json!({"a": {"type": "number", "x-mcp-header": "A"}}));
        check(json!({"a": {"x-mcp-header": "A"}}));
        check(
            json!({"a": {"type": "string", "x-mcp-header": "A"}, "b": {"type": "string", "x-mcp-header": "a"}}),
        );
        check(json!({"a": {"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}}));
        check(json!({"a": {"oneOf": [{"type": "string", "x-mcp-header": "A"}]}}));
        assert!(mirrors(r#"{"type":"object","x-mcp-header":"A"}"#).is_err());
    }
}
