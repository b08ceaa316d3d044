//! Declared answers: what a call gives when it succeeds, and what to ask for.

use serde_json::Value;

use super::operations::Operation;
use crate::document::Refs;
use crate::schema::{Definitions, Notes, Side};
use crate::wire::content::{self, Content};

const MAX_ACCEPTED: usize = 8;
const FILE: &str = r#"{"type":"object","properties":{"$file":{"type":"string"},"mediaType":{"type":"string"},"size":{"type":"integer"}},"required":["$file"]}"#;

/// An answer as the catalogue needs it.
#[derive(Debug, Default)]
pub(crate) struct Planned {
    /// JSON Schema of the data.
    pub(crate) schema: Option<String>,
    /// The `accept` header.
    pub(crate) accept: String,
    /// Whether JSON is promised.
    pub(crate) json: bool,
    pub(crate) faults: Vec<String>,
}

/// Reads the successful responses of an operation.
pub(crate) fn read<'d>(
    operation: &Operation<'d>,
    refs: Refs<'d>,
    definitions: &mut Definitions<'d>,
) -> Planned {
    let mut planned = Planned::default();
    let responses = successes(operation, refs, &mut planned.faults);
    let contents: Vec<(&'d str, &'d Value)> = responses
        .iter()
        .filter_map(|response| response.get("content")?.as_object())
        .flat_map(|content| content.iter().map(|(name, media)| (name.as_str(), media)))
        .collect();
    planned.accept = accept(&contents);
    let is_json = |(name, _): &&(&str, &Value)| content::kind(name) == Content::Json;
    if let Some((_, media)) = contents.iter().find(is_json) {
        planned.json = true;
        if let Some(schema) = media.get("schema") {
            let written = definitions.write(Side::Output, schema, Notes::default());
            planned.faults.extend(written.faults);
            planned.schema = Some(written.json);
        }
    } else {
        planned.schema = other_schema(&contents, responses.is_empty(), definitions, &mut planned.faults);
    }
    planned
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
        Content::Lines => {
            let item = media.get("itemSchema").or_else(|| media.get("schema")).unwrap_or(&Value::Null);
            let written = definitions.write(Side::Output, item, Notes::default());
            faults.extend(written.faults);
            format!(r#"{{"type":"array","items":{}}}"#, written.json)
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
