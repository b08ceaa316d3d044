//! Declared answers: what a call gives when it succeeds, and what to ask for.

use serde_json::Value;

use super::model::Model;
use super::operations::Operation;
use super::parameters::shape;
use super::swagger;
use crate::document::{Refs, Version};
use crate::schema::{Definitions, Notes, Side};
use crate::wire::binding::Shape;
use crate::wire::content::{self, Content};
use crate::wire::next;

const MAX_ACCEPTED: usize = 8;
/// Compositions inside of compositions are looked through this far.
const MAX_DEPTH: usize = 4;
const FILE: &str = r#"{"type":"object","properties":{"$file":{"type":"string"},"name":{"type":"string"},"mediaType":{"type":"string"},"size":{"type":"integer"}},"required":["$file"]}"#;

/// An answer as the catalogue needs it.
#[derive(Debug, Default)]
pub(crate) struct Planned {
    /// JSON Schema of the data.
    pub(crate) schema: Option<String>,
    /// The `accept` header.
    pub(crate) accept: String,
    /// Whether JSON is promised.
    pub(crate) json: bool,
    /// Whether it may come in pages.
    pub(crate) next: bool,
    pub(crate) faults: Vec<String>,
}

/// Reads the successful responses of an operation.
pub(crate) fn read<'d>(
    operation: &Operation<'d>,
    model: &Model<'d>,
    definitions: &mut Definitions<'d>,
) -> Planned {
    let refs = model.refs;
    let mut planned = Planned::default();
    let responses = successes(operation, refs, &mut planned.faults);
    let contents = contents(operation, model, &responses);
    planned.accept = accept(&contents);
    let is_json = |(name, _): &&(&str, &Value)| content::kind(name) == Content::Json;
    if let Some((_, media)) = contents.iter().find(is_json) {
        planned.json = true;
        let schema = media.get("schema");
        if model.version == Version::V20 && schema.is_some_and(is_file) {
            planned.json = false;
            planned.schema = Some(FILE.to_owned());
        } else if let Some(schema) = schema {
            planned.next = is_paged(schema, model, 0);
            let written = definitions.write(Side::Output, schema, Notes::default());
            planned.faults.extend(written.faults);
            planned.schema = Some(written.json);
        }
    } else {
        planned.schema = other_schema(&contents, responses.is_empty(), definitions, &mut planned.faults);
    }
    planned
}

/// The media types of the answers, each with what has its schema.
fn contents<'d>(
    operation: &Operation<'d>,
    model: &Model<'d>,
    responses: &[&'d Value],
) -> Vec<(&'d str, &'d Value)> {
    if model.version == Version::V20 {
        let mut produces = swagger::media_types(operation, model, "produces");
        if produces.is_empty() {
            produces.push("application/json");
        }
        let described = responses.iter().filter(|response| response.get("schema").is_some());
        return described.flat_map(|response| produces.iter().map(|name| (*name, *response))).collect();
    }
    let contents = responses.iter().filter_map(|response| response.get("content")?.as_object());
    let followed = |media: &'d Value| model.refs.follow(media).unwrap_or(&Value::Null);
    contents
        .flat_map(|content| content.iter().map(|(name, media)| (name.as_str(), followed(media))))
        .collect()
}

/// Whether an answer is a list, or has a member that may hold a link to more.
fn is_paged<'d>(schema: &'d Value, model: &Model<'d>, depth: usize) -> bool {
    let Ok(schema) = model.refs.follow(schema) else { return false };
    if depth == 0 && shape(schema, model.refs) == Shape::Array {
        return true;
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    let named = |(name, member): (&String, &'d Value)| {
        next::is_named(name)
            && model.refs.follow(member).is_ok_and(|member| {
                member.get("type").is_none_or(|kind| kind != "boolean" && kind != "integer")
            })
    };
    properties.into_iter().flatten().any(named)
        || (depth < MAX_DEPTH
            && schema
                .get("allOf")
                .and_then(Value::as_array)
                .is_some_and(|list| list.iter().any(|member| is_paged(member, model, depth + 1))))
}

/// Bytes under whatever media type, as OpenAPI 2 says it.
fn is_file(schema: &Value) -> bool {
    schema.get("type").is_some_and(|kind| kind == "file")
}

fn other_schema<'d>(
    contents: &[(&'d str, &'d Value)],
    unknown: bool,
    definitions: &mut Definitions<'d>,
    faults: &mut Vec<String>,
) -> Option<String> {
    let Some((name, media)) = contents.first() else {
        return (!unknown).then(|| r#"{"type":"null"}"#.to_owned());
    };
    Some(match content::kind(name) {
        Content::Lines | Content::Events => {
            let item = media.get("itemSchema").or_else(|| media.get("schema")).unwrap_or(&Value::Null);
            let item =
                if item.get("type").is_some_and(|kind| kind == "string") { &Value::Null } else { item };
            let written = definitions.write(Side::Output, item, Notes::default());
            faults.extend(written.faults);
            let item = written.json;
            if content::kind(name) == Content::Events {
                let texts = r#""event":{"type":"string"},"id":{"type":"string"}"#;
                format!(
                    r#"{{"type":"array","items":{{"type":"object","properties":{{"data":{item},{texts}}},"required":["data"]}}}}"#
                )
            } else {
                format!(r#"{{"type":"array","items":{item}}}"#)
            }
        }
        Content::Binary => FILE.to_owned(),
        Content::Json | Content::Text => r#"{"type":"string"}"#.to_owned(),
    })
}

/// The responses that count as success: the exact codes in their order, then
/// `2XX`, and `default` where there is nothing else.
fn successes<'d>(operation: &Operation<'d>, refs: Refs<'d>, faults: &mut Vec<String>) -> Vec<&'d Value> {
    let Some(responses) = operation.value.get("responses").and_then(Value::as_object) else {
        return Vec::new();
    };
    let mut ranked: Vec<(u16, &'d Value)> = responses
        .iter()
        .filter_map(|(status, response)| match status.as_str() {
            "2XX" | "2xx" => Some((300, response)),
            exact => exact.parse().ok().filter(|code| (200..300).contains(code)).map(|code| (code, response)),
        })
        .collect();
    if ranked.is_empty() {
        ranked.extend(responses.get("default").map(|response| (999, response)));
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    let mut list = Vec::new();
    for (_, response) in ranked {
        match refs.follow(response) {
            Ok(response) => list.push(response),
            Err(fault) => faults.push(format!("a response can't be read: {fault}")),
        }
    }
    list
}

/// JSON first, then what else is declared, then anything.
fn accept(contents: &[(&str, &Value)]) -> String {
    let mut accepted: Vec<String> = Vec::new();
    for wanted_json in [true, false] {
        for (name, _) in contents {
            let Some(name) = content::visible(name) else {
                continue;
            };
            let is_json = content::kind(&name) == Content::Json && !name.contains('*');
            let part = if wanted_json { name } else { format!("{name};q=0.5") };
            if is_json == wanted_json
                && !part.contains("*/*")
                && accepted.len() < MAX_ACCEPTED
                && !accepted.contains(&part)
            {
                accepted.push(part);
            }
        }
    }
    if accepted.is_empty() {
        return "application/json, */*;q=0.5".to_owned();
    }
    accepted.push("*/*;q=0.1".to_owned());
    accepted.join(", ")
}
