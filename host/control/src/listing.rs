//! Tools in full, page by page: for clients that list them all instead of
//! searching.
//!
//! A schema that is given away stands alone: the definitions that it reaches
//! go along, as far as there is room for them.

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Map, Value};

use crate::caller::Caller;
use crate::catalogue::Tool;
use crate::policies::{Action, Subject};
use crate::problem::Problem;
use crate::workspace::Workspace;

/// Bytes after which no definition more goes along with a schema; those that
/// are left out become schemas that take anything.
const DEFINITION_BYTES: usize = 128 * 1024;
/// Definitions that go along with one schema.
const DEFINITIONS: usize = 256;
/// Where the names of definitions begin in a reference.
const REFERENCE: &str = "#/$defs/";

/// A tool in full.
#[derive(Debug, Clone)]
pub struct ToolDetail {
    /// Its path.
    pub path: String,
    /// A line for lists, as its API has it.
    pub title: Option<String>,
    /// What it does, in a line.
    pub summary: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub input_schema: Value,
    /// The JSON Schema of its result, as its API documents it.
    pub output_schema: Option<Value>,
    /// Whether it only reads.
    pub read_only: bool,
    /// Whether it takes something away.
    pub destructive: bool,
    /// Whether twice is as good as once.
    pub idempotent: bool,
}

/// A page of tools in full, by path.
#[derive(Debug, Clone)]
pub struct ToolDetailPage {
    /// The tools.
    pub items: Vec<ToolDetail>,
    /// Whether there are more after the last of them.
    pub has_more: bool,
}

impl Workspace {
    /// The tools after `after`, by path, that policies do not block: of all
    /// sources, or of those that are named. The page ends after `limit` tools,
    /// or once their schemas have `limit_bytes`, but has one at least.
    ///
    /// # Errors
    /// When they can't be read, or a source is none.
    pub fn tool_details(
        &self,
        caller: &Caller,
        sources: &[String],
        after: Option<&str>,
        limit: usize,
        limit_bytes: usize,
    ) -> Result<ToolDetailPage, Problem> {
        let paths = self.listed_paths(caller, sources)?;
        let from = after.map_or(0, |after| paths.partition_point(|path| path.as_ref() <= after));
        let (mut items, mut bytes) = (Vec::new(), 0);
        for path in &paths[from..] {
            if items.len() >= limit || bytes >= limit_bytes {
                return Ok(ToolDetailPage { items, has_more: true });
            }
            // Its source may have been removed since the paths were read.
            let Ok(tool) = self.tool(path) else { continue };
            let detail = self.tool_detail(&tool);
            bytes += [Some(&detail.input_schema), detail.output_schema.as_ref()]
                .into_iter()
                .flatten()
                .map(|schema| schema.to_string().len())
                .sum::<usize>();
            items.push(detail);
        }
        Ok(ToolDetailPage { items, has_more: false })
    }

    /// The first path, in their order, for which `wanted` is true: of all
    /// sources, or of those that are named, without what policies block.
    ///
    /// # Errors
    /// When they can't be read, or a source is none.
    pub fn find_path(
        &self,
        caller: &Caller,
        sources: &[String],
        mut wanted: impl FnMut(&str) -> bool,
    ) -> Result<Option<String>, Problem> {
        let paths = self.listed_paths(caller, sources)?;
        Ok(paths.into_iter().find(|path| wanted(path)).map(String::from))
    }

    fn listed_paths(&self, caller: &Caller, sources: &[String]) -> Result<Vec<Box<str>>, Problem> {
        for source in sources {
            self.known_source(source)?;
        }
        let (searchable, rules) = (self.searchable()?, self.rules());
        let listed = searchable.entries.iter().filter(|entry| {
            let source = entry.path.split('.').next().unwrap_or_default();
            let (path, read_only) = (&entry.path, entry.read_only);
            let subject = Subject { path, digest: None, connection: None, read_only, unreviewed: None };
            (sources.is_empty() || sources.iter().any(|wanted| wanted == source))
                && caller.has_tool(&entry.path)
                && rules.decide(subject).action != Action::Block
        });
        let mut paths: Vec<Box<str>> = listed.map(|entry| entry.path.clone()).collect();
        paths.sort_unstable();
        Ok(paths)
    }

    fn tool_detail(&self, tool: &Tool) -> ToolDetail {
        let definition = |name: &str| self.definition(&tool.source, name);
        let output = tool.row.output_schema.as_deref().and_then(|schema| serde_json::from_str(schema).ok());
        ToolDetail {
            path: tool.path.clone(),
            title: tool.row.title.clone(),
            summary: tool.row.summary.clone(),
            description: tool.row.description.clone(),
            input_schema: whole(tool.input_schema.clone(), &definition),
            output_schema: output.map(|schema| whole(schema, &definition)),
            read_only: tool.row.read_only,
            destructive: tool.row.destructive,
            idempotent: tool.row.idempotent,
        }
    }
}

/// A schema with all that it reaches.
pub(crate) fn whole(mut schema: Value, definition: &dyn Fn(&str) -> Option<Value>) -> Value {
    let mut names = VecDeque::new();
    references(&schema, &mut names);
    let (mut held, mut bytes) = (BTreeMap::new(), 0);
    while let Some(name) = names.pop_front() {
        if held.contains_key(&name) {
            continue;
        }
        // Whatever is left out, a reference to it must lead somewhere.
        let room = bytes < DEFINITION_BYTES && held.len() < DEFINITIONS;
        let body = if room { definition(&unescaped(&name)) } else { None }.unwrap_or(Value::Bool(true));
        references(&body, &mut names);
        bytes += body.to_string().len();
        held.insert(name, body);
    }
    if let (Value::Object(members), false) = (&mut schema, held.is_empty()) {
        let held: Map<String, Value> =
            held.into_iter().map(|(name, body)| (unescaped(&name), body)).collect();
        members.insert("$defs".to_owned(), Value::Object(held));
    }
    schema
}

/// The names of the definitions that a schema refers to, as they stand there.
fn references(schema: &Value, names: &mut VecDeque<String>) {
    match schema {
        Value::Array(items) => items.iter().for_each(|item| references(item, names)),
        Value::Object(members) => {
            for (key, value) in members {
                match value.as_str().and_then(|text| text.strip_prefix(REFERENCE)) {
                    Some(name) if key == "$ref" => names.push_back(name.to_owned()),
                    _ => references(value, names),
                }
            }
        }
        _ => {}
    }
}

/// A name out of a JSON pointer (RFC 6901).
fn unescaped(name: &str) -> String {
    name.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_schema_takes_along_what_it_reaches() {
        let definition = |name: &str| match name {
            "user" => Some(json!({ "properties": { "boss": { "$ref": "#/$defs/user" },
                "team": { "$ref": "#/$defs/a~1team" } } })),
            "a/team" => Some(json!({ "type": "string" })),
            _ => None,
        };
        let schema = json!({ "type": "object", "properties": {
            "user": { "$ref": "#/$defs/user" }, "gone": { "$ref": "#/$defs/gone" } } });
        let whole = whole(schema, &definition);
        let names: Vec<&String> = whole["$defs"].as_object().expect("an object").keys().collect();
        assert_eq!(names, ["a/team", "gone", "user"]);
        assert_eq!(whole["$defs"]["gone"], json!(true));
        let alone = json!({ "type": "object", "properties": { "$ref": { "type": "string" } } });
        assert_eq!(super::whole(alone.clone(), &definition), alone);
    }

    #[test]
    fn a_hostile_web_of_definitions_ends() {
        let definition = |name: &str| {
            let number: u64 = name.parse().expect("a number");
            let next = |by: u64| json!({ "$ref": format!("#/$defs/{}", number * 2 + by) });
            Some(json!({ "allOf": [next(1), next(2)], "description": "x".repeat(1000) }))
        };
        let whole = whole(json!({ "type": "object", "allOf": [{ "$ref": "#/$defs/1" }] }), &definition);
        assert!(whole.to_string().len() < 2 * DEFINITION_BYTES, "{}", whole.to_string().len());
        let mut names = VecDeque::new();
        references(&whole, &mut names);
        assert!(
            names.iter().all(|name| whole["$defs"].get(name).is_some()),
            "every reference leads somewhere"
        );
    }
}
