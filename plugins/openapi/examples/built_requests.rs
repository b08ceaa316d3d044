//! Writes the requests that tools make of generated arguments, one JSON object
//! a line, for another program to judge (`tests/openapi/validate.py`).
//!
//! ```text
//! cargo run -p executor-openapi --example built_requests -- SHARE FILE…
//! ```
//!
//! `SHARE`: how many tools of a document are taken, evenly spread. What the
//! adapter's own schema does not take for valid arguments is left out, and
//! counted on the standard error.

#![expect(clippy::unwrap_used, reason = "a tool for tests says what is wrong by failing")]

#[path = "../tests/openapi/generate.rs"]
mod generate;
#[path = "../tests/openapi/pattern.rs"]
mod pattern;
#[expect(dead_code, reason = "of the tests' means a part is used")]
#[path = "../tests/openapi/support.rs"]
mod support;

use std::io::Write as _;

use executor_common::seam::Chunk;
use generate::Generator;
use serde_json::{Map, Value, json};
use support::{Catalog, try_index};

/// A base URL that the judge knows the document's server by.
const BASE: &str = "https://api.example.com/base";

fn main() {
    let mut arguments = std::env::args().skip(1);
    let share: usize = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(50);
    let (mut written, mut unfit) = (0, 0);
    let mut out = std::io::BufWriter::new(std::io::stdout());
    for path in arguments {
        let bytes = std::fs::read(&path).unwrap();
        let settings = json!({"base_url": BASE});
        let catalog = try_index(&bytes, Some("https://files.example/document"), &settings).unwrap();
        let step = catalog.tools.len().div_ceil(share).max(1);
        for tool in catalog.tools.iter().step_by(step) {
            for full in [false, true] {
                match line(&catalog, &tool.name, full, &settings) {
                    Some(mut line) => {
                        line["document"] = json!(path);
                        writeln!(out, "{line}").unwrap();
                        written += 1;
                    }
                    None => unfit += 1,
                }
            }
        }
    }
    eprintln!("{written} requests, {unfit} tools without generated arguments that fit");
}

fn line(catalog: &Catalog, name: &str, full: bool, settings: &Value) -> Option<Value> {
    let tool = catalog.tool(name);
    let input: Value = serde_json::from_str(&tool.input_schema).unwrap();
    let arguments = Generator { definitions: &catalog.definitions, full }.arguments(&input);
    if !fits(catalog, &input, &arguments) {
        return None;
    }
    let sent = catalog
        .request_with(name, arguments.clone(), settings.clone())
        .unwrap_or_else(|failure| panic!("{name}: {}", failure.message));
    let headers: Vec<(String, String)> = sent
        .headers
        .iter()
        .map(|(name, value)| (name.clone(), String::from_utf8_lossy(value).into_owned()))
        .collect();
    let body: Vec<u8> = sent
        .body
        .iter()
        .flat_map(|chunk| match chunk {
            Chunk::Bytes(bytes) => bytes.clone(),
            Chunk::File(_) => b"bytes of a file".to_vec(),
        })
        .collect();
    let request = catalog.meta(name)["request"].clone();
    Some(json!({
        "tool": name, "operation": request, "method": sent.method, "url": sent.url, "headers": headers,
        "body": if sent.body.is_empty() { Value::Null } else { json!(String::from_utf8_lossy(&body)) },
        "arguments": arguments,
    }))
}

/// Whether the tool's schema takes the arguments.
fn fits(catalog: &Catalog, input: &Value, arguments: &Value) -> bool {
    let mut schema = input.clone();
    let mut definitions = Map::new();
    gather(catalog, input, &mut definitions);
    schema["$defs"] = Value::Object(definitions);
    let validator = jsonschema::options().with_draft(jsonschema::Draft::Draft202012).build(&schema);
    validator.is_ok_and(|validator| validator.is_valid(arguments))
}

fn gather(catalog: &Catalog, value: &Value, found: &mut Map<String, Value>) {
    match value {
        Value::Object(map) => {
            let name = map.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix("#/$defs/"));
            if let Some(name) = name.filter(|name| !found.contains_key(*name)) {
                let definition = catalog.definition(name);
                found.insert(name.to_owned(), definition.clone());
                gather(catalog, &definition, found);
            }
            map.values().for_each(|member| gather(catalog, member, found));
        }
        Value::Array(list) => list.iter().for_each(|member| gather(catalog, member, found)),
        _ => {}
    }
}
