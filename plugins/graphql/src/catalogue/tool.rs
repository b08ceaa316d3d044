//! One root field as a tool.

use serde_json::{Map, Value, json};

use super::arguments;
use super::definitions::Definitions;
use super::selection::{self, is_connection};
use super::shape;
use crate::schema::Field;
use crate::seam::{Annotations, Tool};
use crate::text::{line, plain};
use crate::wire::binding::{Argument, Binding, Operation, Selected};

const MAX_DESCRIPTION_CHARS: usize = 4000;
const MAX_SUMMARY_CHARS: usize = 300;
/// What a host can be asked to keep for one tool.
const MAX_SCHEMA_BYTES: usize = 512 << 10;
/// Arguments of one field.
const MAX_ARGUMENTS: usize = 500;
/// How mutations that take something away are called.
const DESTRUCTIVE: [&str; 9] =
    ["delete", "remove", "destroy", "purge", "archive", "clear", "revoke", "drop", "cancel"];

/// What all tools of a source share.
pub(crate) struct Common<'c> {
    pub(crate) endpoint: Option<&'c str>,
    pub(crate) table: Option<&'c str>,
    pub(crate) auth: &'c [Vec<String>],
    pub(crate) page_size: u32,
}

/// Makes the tool.
///
/// # Errors
/// In words, why the field can't be a tool.
pub(crate) fn build(
    common: &Common<'_>,
    definitions: &mut Definitions<'_>,
    operation: Operation,
    field: &Field,
    name: &str,
) -> Result<Tool, String> {
    if field.arguments.len() > MAX_ARGUMENTS {
        return Err(format!("it has {} arguments, more than {MAX_ARGUMENTS}", field.arguments.len()));
    }
    let schema = definitions.schema;
    let selected = selection::default(schema, &field.ty);
    let select = selected.as_ref().map(|_| select_name(field));
    let pages = takes_pages(definitions, field);
    let offered = select.as_deref().filter(|_| common.table.is_some());
    let input = arguments::schema(definitions, field, offered, pages.then_some(common.page_size));
    let output = shape::output(definitions, &field.ty, selected.as_ref());
    let mut binding = Binding::new(operation, &field.name);
    let argument = |one: &crate::schema::Input| Argument {
        name: one.name.clone(),
        ty: one.ty.to_string(),
        has_default: one.default.is_some(),
    };
    binding.arguments = field.arguments.iter().map(argument).collect();
    binding.uploads = field.arguments.iter().any(|one| definitions.takes_files(&one.ty.name));
    binding.pages = pages;
    binding.endpoint = common.endpoint.map(str::to_owned);
    binding.selection = select.zip(selected).map(|(argument, selection)| Selected {
        argument,
        ty: field.ty.name.clone(),
        default: selection.text(),
        table: common.table.map(str::to_owned),
    });
    let (input, output, binding) = (input.to_string(), output.to_string(), binding.to_bytes());
    let size = input.len().max(output.len()).max(binding.len());
    if size > MAX_SCHEMA_BYTES {
        return Err(format!("its schema or its binding has {size} bytes, more than {MAX_SCHEMA_BYTES}"));
    }
    Ok(Tool {
        name: name.to_owned(),
        description: description(operation, field),
        input_schema: input,
        output_schema: Some(output),
        annotations: annotations(operation, field),
        auth: common.auth.to_vec(),
        binding,
        meta: Some(meta(common, operation, field)),
    })
}

/// `select`, unless the field has an argument of that name.
fn select_name(field: &Field) -> String {
    let mut name = "select".to_owned();
    if field.arguments.iter().any(|argument| argument.name == name) {
        name = "select_fields".to_owned();
    }
    while field.arguments.iter().any(|argument| argument.name == name) {
        name.push('_');
    }
    name
}

/// A list of pages that may refuse to answer without a length: GitHub's and
/// Shopify's do, and no schema says so.
fn takes_pages(definitions: &Definitions<'_>, field: &Field) -> bool {
    let first = field.arguments.iter().find(|argument| argument.name == "first");
    let free = first.is_some_and(|first| {
        first.ty.name == "Int" && !first.ty.is_list() && !first.ty.is_required() && first.default.is_none()
    });
    free && definitions.schema.get(&field.ty.name).is_some_and(is_connection)
}

fn description(operation: Operation, field: &Field) -> String {
    let told = plain(&field.description, MAX_DESCRIPTION_CHARS);
    let own = format!("GraphQL {} of {}", operation.word(), field.ty);
    let told = if told.is_empty() { own } else { format!("{told}\n\n{own}") };
    match &field.deprecated {
        Some(reason) => format!("Deprecated: {}\n\n{told}", line(reason, 500)),
        None => told,
    }
}

fn annotations(operation: Operation, field: &Field) -> Annotations {
    let read_only = operation == Operation::Query;
    let lower = field.name.to_ascii_lowercase();
    let destructive = DESTRUCTIVE.iter().any(|verb| lower.starts_with(verb) || lower.ends_with(verb));
    Annotations {
        title: None,
        read_only,
        destructive: !read_only && destructive,
        idempotent: read_only,
        deprecated: field.deprecated.is_some(),
        requires_approval: !read_only,
        meta: None,
    }
}

fn meta(common: &Common<'_>, operation: Operation, field: &Field) -> String {
    let mut meta = Map::new();
    let told = line(&field.description, 4000);
    let end = told.find(". ").map_or(told.len(), |end| end + 1);
    let mut summary = line(&told[..end], MAX_SUMMARY_CHARS);
    if summary.is_empty() {
        summary = format!("{} {}", operation.word(), field.name);
    }
    if field.deprecated.is_some() {
        summary = line(&format!("Deprecated: {summary}"), MAX_SUMMARY_CHARS);
    }
    meta.insert("summary".to_owned(), json!(summary));
    meta.insert("request".to_owned(), json!(format!("{} {}", operation.word(), signature(field))));
    if let Some(origin) = common.endpoint.and_then(crate::address::origin) {
        meta.insert("origin".to_owned(), json!(origin));
    }
    let mut tags = vec![operation.word()];
    tags.extend(field.deprecated.as_ref().map(|_| "deprecated"));
    meta.insert("tags".to_owned(), json!(tags));
    meta.insert("returns".to_owned(), json!(field.ty.to_string()));
    Value::Object(meta).to_string()
}

/// `issue(number)`.
fn signature(field: &Field) -> String {
    let names: Vec<&str> = field.arguments.iter().map(|argument| argument.name.as_str()).collect();
    let shown = if names.is_empty() { String::new() } else { format!("({})", names.join(", ")) };
    line(&format!("{}{shown}", field.name), 450)
}
