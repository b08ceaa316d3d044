//! Bodies that are made of fields: multipart, and how each field of a form is
//! written.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::object::Object;
use super::parameters::{query_style, shape};
use crate::document::Refs;
use crate::schema::{Definitions, Notes, Side};
use crate::wire::binding::{Encoding, Field, Shape, Style};
use crate::wire::content;

/// Compositions inside of compositions are followed this far.
const MAX_DEPTH: usize = 16;
const MAX_FIELDS: usize = 1000;

/// What is known of the fields of a form.
#[derive(Default)]
struct Flat<'d> {
    properties: Vec<(&'d str, &'d Value)>,
    required: HashSet<&'d str>,
    description: Option<&'d str>,
}

/// The argument's schema of a multipart body, in which a file may stand
/// wherever bytes are asked for, and how its parts are written.
pub(super) fn multipart<'d>(
    media: &'d Value,
    description: Option<&'d str>,
    refs: Refs<'d>,
    definitions: &mut Definitions<'d>,
    faults: &mut Vec<String>,
) -> (String, Vec<Field>) {
    let mut flat = Flat::default();
    flatten(media.get("schema").unwrap_or(&Value::Null), refs, true, 0, &mut flat);
    let mut schema = Object::default();
    let mut fields = Vec::new();
    for (name, property) in flat.properties.iter().take(MAX_FIELDS) {
        let encoding = media.get("encoding").and_then(|all| all.get(*name)).unwrap_or(&Value::Null);
        let field = field(name, property, encoding, refs);
        let required = flat.required.contains(name);
        schema.add(name, &field_schema(property, field.file, refs, definitions, faults), required);
        if !field.is_plain() {
            fields.push(field);
        }
    }
    number(&mut fields);
    (schema.open(description.or(flat.description)), fields)
}

/// How the fields of an url-encoded form are written, where `encoding` says.
/// Others repeat their arrays and write their objects as JSON.
pub(super) fn urlencoded<'d>(media: &'d Value, refs: Refs<'d>) -> Vec<Field> {
    let Some(declared) = media.get("encoding").and_then(Value::as_object) else {
        return Vec::new();
    };
    let mut flat = Flat::default();
    flatten(media.get("schema").unwrap_or(&Value::Null), refs, true, 0, &mut flat);
    let property = |name: &str| flat.properties.iter().find(|(held, _)| *held == name).map(|(_, each)| *each);
    let read = |(name, encoding): (&'d String, &'d Value)| Field {
        file: false,
        media_type: None,
        ..field(name, property(name).unwrap_or(&Value::Null), encoding, refs)
    };
    let mut fields: Vec<Field> = declared.iter().map(read).collect();
    number(&mut fields);
    fields
}

/// Whoever numbers one array in a form numbers them all, at every depth.
fn number(fields: &mut [Field]) {
    let numbered = fields.iter().any(|field| field.encoding.indexed);
    for field in fields {
        field.encoding.indexed = numbered && field.encoding.style == Style::Deep;
    }
}

/// Collects the properties that `schema` and what it is composed of have. What
/// only one of several alternatives asks for is not required.
fn flatten<'d>(schema: &'d Value, refs: Refs<'d>, sure: bool, depth: usize, flat: &mut Flat<'d>) {
    let Ok(schema) = refs.follow(schema) else { return };
    if depth > MAX_DEPTH {
        return;
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        let read_only =
            refs.follow(property).is_ok_and(|property| property.get("readOnly") == Some(&json!(true)));
        if !read_only && !flat.properties.iter().any(|(held, _)| held == name) {
            flat.properties.push((name, property));
        }
    }
    flat.description = flat.description.or_else(|| schema.get("description").and_then(Value::as_str));
    for (key, sure) in [("allOf", sure), ("oneOf", false), ("anyOf", false)] {
        for member in schema.get(key).and_then(Value::as_array).into_iter().flatten() {
            flatten(member, refs, sure, depth + 1, flat);
        }
    }
    if sure {
        let required = schema.get("required").and_then(Value::as_array);
        let names = required.into_iter().flatten().filter_map(Value::as_str);
        flat.required.extend(names);
    }
}

/// How one field is written, by its schema and its `encoding`.
fn field<'d>(name: &str, property: &'d Value, encoding: &'d Value, refs: Refs<'d>) -> Field {
    let shape = shape(property, refs);
    let style = query_style(encoding.get("style").and_then(Value::as_str).unwrap_or_default());
    let styled = ["style", "explode", "allowReserved"].iter().any(|key| encoding.get(key).is_some());
    let declared = encoding.get("contentType").and_then(Value::as_str).unwrap_or_default();
    let first = declared.split(',').next().and_then(content::visible).filter(|text| !text.contains('*'));
    Field {
        name: name.to_owned(),
        encoding: Encoding {
            style,
            explode: encoding.get("explode").and_then(Value::as_bool).unwrap_or(style == Style::Form),
            reserved: encoding.get("allowReserved") == Some(&Value::Bool(true)),
            indexed: style == Style::Deep && shape == Shape::Array,
            json: !styled && (declared.contains("json") || shape == Shape::Object),
        },
        file: is_file(property, refs) || takes_bytes(declared, property, refs),
        media_type: first,
    }
}

/// A media type that is no text, declared for what is no object.
fn takes_bytes<'d>(media_type: &str, property: &'d Value, refs: Refs<'d>) -> bool {
    !media_type.is_empty()
        && content::kind(media_type) == content::Content::Binary
        && matches!(shape(item(property, refs), refs), Shape::Scalar | Shape::Any)
}

fn item<'d>(property: &'d Value, refs: Refs<'d>) -> &'d Value {
    let property = refs.follow(property).unwrap_or(&Value::Null);
    match shape(property, refs) {
        Shape::Array => property.get("items").unwrap_or(&Value::Null),
        _ => property,
    }
}

/// Whether a schema, or that of its items, describes bytes.
fn is_file<'d>(property: &'d Value, refs: Refs<'d>) -> bool {
    let Ok(schema) = refs.follow(item(property, refs)) else {
        return false;
    };
    let text = |key: &str| schema.get(key).and_then(Value::as_str).unwrap_or_default();
    let raw_media = schema.get("contentMediaType").is_some() && schema.get("contentEncoding").is_none();
    text("type") == "file" || matches!(text("format"), "binary" | "file") || raw_media
}

/// The schema of a field's value.
pub(super) fn field_schema<'d>(
    property: &'d Value,
    file: bool,
    refs: Refs<'d>,
    definitions: &mut Definitions<'d>,
    faults: &mut Vec<String>,
) -> String {
    if !file {
        let written = definitions.write(Side::Input, property, Notes::default());
        faults.extend(written.faults);
        return written.json;
    }
    let description = refs.follow(property).ok().and_then(|schema| schema.get("description"));
    let one = bytes_or_file(description.and_then(Value::as_str));
    if shape(property, refs) == Shape::Array {
        format!("{{\"type\":\"array\",\"items\":{one}}}")
    } else {
        one
    }
}

/// The schema of what is text, or a file that the host holds.
pub(super) fn text_or_file(description: Option<&str>) -> String {
    or_file(json!({"type": "string"}), description)
}

/// The schema of what is bytes: a file that the host holds, or its content
/// where that is a text.
pub(super) fn bytes_or_file(description: Option<&str>) -> String {
    or_file(json!({"type": "string", "format": "binary"}), description)
}

/// What every answer and upload says of a file is taken, so that one is passed
/// on as it is.
fn or_file(text: Value, description: Option<&str>) -> String {
    let description = description.map(|text| crate::text::plain(text, 600));
    let mut schema = json!({"anyOf": [
        text,
        {
            "type": "object",
            "description": "a file the host holds",
            "properties": {
                "$file": {"type": "string"},
                "name": {"type": "string"},
                "mediaType": {"type": "string"},
                "size": {"type": "integer"},
            },
            "required": ["$file"],
        },
    ]});
    if let Some(description) = description.filter(|text| !text.is_empty()) {
        schema["description"] = json!(description);
    }
    schema.to_string()
}
