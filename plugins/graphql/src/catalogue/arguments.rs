//! Arguments as JSON Schema.

use serde_json::{Map, Value, json};

use super::definitions::Definitions;
use super::scalars::{self, Side};
use crate::schema::{Field, Input, Kind, Ref, Schema, Wrap};
use crate::text::line;

const MAX_DESCRIPTION_CHARS: usize = 400;
/// What `select` says of the fields there are.
const MAX_FIELDS_CHARS: usize = 1_200;

/// The input schema of a root field. `select` is the name of the argument
/// that chooses what is answered, where there is something to choose.
pub(crate) fn schema(
    definitions: &mut Definitions<'_>,
    field: &Field,
    select: Option<&str>,
    page_size: Option<u32>,
) -> Value {
    let (mut properties, required) = properties(definitions, &field.arguments, false);
    if let (Some(size), Some(Value::Object(first))) = (page_size, properties.get_mut("first")) {
        first.insert("default".to_owned(), json!(size));
    }
    if let Some(name) = select {
        let told = json!({"type": "string", "description": about_select(definitions.schema, &field.ty)});
        properties.insert(name.to_owned(), told);
    }
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema["additionalProperties"] = json!(false);
    schema
}

/// Properties and the names of those that must be there. In a `@oneOf` object
/// none must, and none may be null.
pub(crate) fn properties(
    definitions: &mut Definitions<'_>,
    inputs: &[Input],
    one_of: bool,
) -> (Map<String, Value>, Vec<String>) {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for input in inputs {
        let mut wraps = input.ty.wraps.clone();
        if one_of && !input.ty.is_required() {
            wraps.insert(0, Wrap::NonNull);
        }
        let ty = Ref { wraps, ..input.ty.clone() };
        let value = value(definitions, &ty);
        properties.insert(input.name.clone(), described(value, input));
        if input.is_required() && !one_of {
            required.push(input.name.clone());
        }
    }
    (properties, required)
}

/// A value as GraphQL takes it: a list also as its only item (October 2021,
/// section 3.11), and what is not required also as null.
fn value(definitions: &mut Definitions<'_>, ty: &Ref) -> Value {
    fn wrapped(definitions: &mut Definitions<'_>, name: &str, wraps: &[Wrap], coerced: bool) -> Value {
        let (required, rest) = match wraps.split_first() {
            Some((Wrap::NonNull, rest)) => (true, rest),
            _ => (false, wraps),
        };
        let value = match rest.split_first() {
            Some((Wrap::List, rest)) => list(wrapped(definitions, name, rest, false), coerced),
            _ => named(definitions, name),
        };
        if required { value } else { scalars::or_null(value) }
    }
    wrapped(definitions, &ty.name, &ty.wraps, true)
}

/// A single item is taken where it can't be mistaken for a list.
fn list(item: Value, coerced: bool) -> Value {
    let is_any = item.get("type").is_none() && item.get("$ref").is_none() && item.get("anyOf").is_none();
    let is_list = item.get("type").is_some_and(|kind| kind.to_string().contains("\"array\""));
    let whole = json!({"type": "array", "items": item.clone()});
    if is_any {
        return json!({});
    }
    if !coerced || is_list || item.get("anyOf").is_some() && item["anyOf"].to_string().contains("\"array\"") {
        return whole;
    }
    json!({"anyOf": [whole, item]})
}

fn named(definitions: &mut Definitions<'_>, name: &str) -> Value {
    match definitions.schema.get(name) {
        Some(ty) if ty.kind == Kind::Scalar => scalars::schema(ty, Side::Input),
        Some(_) => definitions.reference(name),
        None => json!({}),
    }
}

fn described(mut value: Value, input: &Input) -> Value {
    let mut told = line(&input.description, MAX_DESCRIPTION_CHARS);
    if let Some(reason) = &input.deprecated {
        value["deprecated"] = json!(true);
        told = format!("Deprecated: {} {told}", line(reason, 200)).trim_end().to_owned();
    }
    if let Some(default) = &input.default {
        match serde_json::from_str::<Value>(default) {
            Ok(read) if !read.is_null() => value["default"] = read,
            Ok(_) => {}
            // An enum's value, or an object as GraphQL writes it.
            Err(_) if crate::schema::is_name(default) => value["default"] = json!(default),
            Err(_) => told = format!("{told} Default: {}", line(default, 200)).trim_start().to_owned(),
        }
    }
    if !told.is_empty() {
        value["description"] = json!(told);
    }
    value
}

/// What can be selected, so that nobody needs to see the schema for it.
fn about_select(schema: &Schema, ty: &Ref) -> String {
    let mut told = format!("GraphQL selection on {}, instead of the default", ty.name);
    let Some(found) = schema.get(&ty.name) else {
        return told;
    };
    let mut listed = String::new();
    let fields = found.fields.iter().filter(|field| field.deprecated.is_none());
    let members = found.members.iter().map(|member| format!("... on {member} {{ }}"));
    for part in fields.map(|field| about_field(schema, field)).chain(members) {
        if listed.chars().count() + part.chars().count() > MAX_FIELDS_CHARS {
            listed.push_str(", …");
            break;
        }
        listed.push_str(if listed.is_empty() { "" } else { ", " });
        listed.push_str(&part);
    }
    told.push_str(": ");
    told.push_str(&listed);
    told
}

fn about_field(schema: &Schema, field: &Field) -> String {
    let required: Vec<&str> =
        field.arguments.iter().filter(|one| one.is_required()).map(|one| one.name.as_str()).collect();
    let arguments = if required.is_empty() { String::new() } else { format!("({}:)", required.join(":, ")) };
    let below =
        if schema.kind(&field.ty).is_leaf() { String::new() } else { format!(" {{{}}}", field.ty.name) };
    format!("{}{arguments}{below}", field.name)
}
