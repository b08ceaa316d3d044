//! One operation as a tool.

use serde_json::{Map, Value, json};

use super::model::Model;
use super::operations::Operation;
use super::{answer, arguments, servers};
use crate::address;
use crate::schema::Definitions;
use crate::seam::{Annotations, Tool};
use crate::text::{line, plain};
use crate::wire::base;
use crate::wire::binding::Binding;

const MAX_DESCRIPTION_CHARS: usize = 4000;
const MAX_SUMMARY_CHARS: usize = 300;
const MAX_TAGS: usize = 20;
/// What a host can be asked to keep for one tool.
const MAX_SCHEMA_BYTES: usize = 512 << 10;

/// Makes the tool. What could not be kept of the operation is told in `faults`.
///
/// # Errors
/// In words, why the operation can't be a tool.
pub(crate) fn build<'d>(
    model: &Model<'d>,
    definitions: &mut Definitions<'d>,
    operation: &Operation<'d>,
    name: &str,
    faults: &mut Vec<String>,
) -> Result<Tool, String> {
    let mut binding = Binding::new(operation.wire_method());
    if model.settings.base_url.is_none() {
        let own = servers::of_operation(operation, model.url, faults);
        binding.servers = if own.is_empty() { model.servers.clone() } else { own };
    }
    let answer = answer::read(operation, model, definitions);
    binding.next = answer.next && binding.method == "GET";
    let input_schema = arguments::plan(model, definitions, operation, &mut binding, faults)?;
    faults.extend(answer.faults);
    let required = model.security.required(operation);
    faults.extend(required.faults);
    binding.accept = answer.accept;
    binding.json = answer.json;
    binding.scopes = required.scopes;
    let bound = binding.to_bytes();
    let size = input_schema.len().max(answer.schema.as_ref().map_or(0, String::len)).max(bound.len());
    if size > MAX_SCHEMA_BYTES {
        return Err(format!("its schema or its binding has {size} bytes, more than {MAX_SCHEMA_BYTES}"));
    }
    Ok(Tool {
        name: name.to_owned(),
        description: description(operation),
        input_schema,
        output_schema: answer.schema,
        annotations: annotations(operation),
        auth: required.alternatives,
        meta: Some(meta(model, operation, &binding, required.scopes_by_method)),
        binding: bound,
    })
}

fn description(operation: &Operation<'_>) -> String {
    let summary = operation.text("summary").unwrap_or_default().trim();
    let description = operation.text("description").unwrap_or_default().trim();
    let both = if description.is_empty() || summary.is_empty() || description.starts_with(summary) {
        if description.is_empty() { summary.to_owned() } else { description.to_owned() }
    } else {
        format!("{summary}\n\n{description}")
    };
    if both.is_empty() {
        return operation.request();
    }
    plain(&both, MAX_DESCRIPTION_CHARS).into_owned()
}

/// What the method promises (RFC 9110, section 9.2). `TRACE` is safe by the
/// letter, but echoes what was sent, so a person is asked. `QUERY` is safe too,
/// but no method that a host lets a reading tool send.
fn annotations(operation: &Operation<'_>) -> Annotations {
    let read_only = matches!(operation.method, "get" | "head" | "options");
    Annotations {
        title: operation.text("summary").map(|text| line(text, MAX_SUMMARY_CHARS)),
        read_only,
        destructive: operation.method == "delete",
        idempotent: read_only || matches!(operation.method, "put" | "delete" | "query"),
        deprecated: operation.value.get("deprecated") == Some(&Value::Bool(true)),
        requires_approval: !read_only,
        meta: None,
    }
}

fn meta(
    model: &Model<'_>,
    operation: &Operation<'_>,
    binding: &Binding,
    scopes_by_method: Map<String, Value>,
) -> String {
    let mut meta = Map::new();
    if let Some(summary) = operation.text("summary") {
        meta.insert("summary".to_owned(), json!(line(summary, MAX_SUMMARY_CHARS)));
    }
    meta.insert("request".to_owned(), json!(operation.request()));
    if let Some(origin) =
        base::default(&binding.servers, model.settings).ok().and_then(|base| address::origin(&base))
    {
        meta.insert("origin".to_owned(), json!(origin));
    }
    let tags = operation.value.get("tags").and_then(Value::as_array);
    let tags: Vec<String> = tags
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .take(MAX_TAGS)
        .map(|tag| line(tag, 100))
        .collect();
    if !tags.is_empty() {
        meta.insert("tags".to_owned(), json!(tags));
    }
    if let Some(docs) = operation
        .value
        .pointer("/externalDocs/url")
        .and_then(Value::as_str)
        .filter(|url| url.starts_with("http"))
    {
        meta.insert("docs".to_owned(), json!(line(docs, 500)));
    }
    if !binding.scopes.is_empty() {
        meta.insert("scopes".to_owned(), json!(binding.scopes));
        meta.insert("scopes_by_method".to_owned(), Value::Object(scopes_by_method));
    }
    Value::Object(meta).to_string()
}
