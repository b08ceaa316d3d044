//! Request bodies: which media types there are, and what an argument may be.

use serde_json::{Value, json};

use super::operations::Operation;
use super::parameters::{query_style, shape};
use crate::document::Refs;
use crate::schema::{Definitions, Notes, Side};
use crate::wire::binding::{Body, BodyKind, BodyType, Encoding, Shape, Style};
use crate::wire::content;

const MAX_TYPES: usize = 8;

/// A body as the catalogue needs it.
pub(crate) struct Planned {
    pub(crate) body: Body,
    /// JSON Schema of the argument.
    pub(crate) schema: String,
    pub(crate) faults: Vec<String>,
}

/// The body of an operation, where it has one.
///
/// # Errors
/// In words, why the operation can't be called.
pub(crate) fn read<'d>(
    operation: &Operation<'d>,
    refs: Refs<'d>,
    definitions: &mut Definitions<'d>,
) -> Result<Option<Planned>, String> {
    let Some(declared) = operation.value.get("requestBody").filter(|body| !body.is_null()) else {
        return Ok(None);
    };
    let declared =
        refs.follow(declared).map_err(|fault| format!("its request body can't be read: {fault}"))?;
    let Some(content) =
        declared.get("content").and_then(Value::as_object).filter(|content| !content.is_empty())
    else {
        return Ok(None);
    };
    let mut types: Vec<(BodyType, &'d Value)> =
        content.iter().filter_map(|(name, media)| Some((media_type(name, media, refs)?, media))).collect();
    types.sort_by_key(|(each, _)| each.kind);
    types.truncate(MAX_TYPES);
    if types.is_empty() {
        let names: Vec<&str> = content.keys().map(String::as_str).take(5).collect();
        return Err(format!("its request body is {}, which is not supported yet", names.join(", ")));
    }
    let mut faults = Vec::new();
    let schema = schema(declared, &types, definitions, &mut faults);
    let required = declared.get("required") == Some(&Value::Bool(true));
    let types = types.into_iter().map(|(each, _)| each).collect();
    Ok(Some(Planned { body: Body { required, types }, schema, faults }))
}

fn media_type<'d>(name: &str, media: &'d Value, refs: Refs<'d>) -> Option<BodyType> {
    let kind = content::body_kind(name)?;
    let fields = if kind == BodyKind::Form { fields(media, refs) } else { Vec::new() };
    Some(BodyType { media_type: content::sendable(name, kind), kind, fields })
}

/// The argument's schema: that of the type, or of any of them where they differ.
fn schema<'d>(
    declared: &'d Value,
    types: &[(BodyType, &'d Value)],
    definitions: &mut Definitions<'d>,
    faults: &mut Vec<String>,
) -> String {
    let mut schemas: Vec<String> = Vec::new();
    let description = declared.get("description").and_then(Value::as_str);
    for (each, media) in types {
        let own = media.get("schema").unwrap_or(&Value::Null);
        let text = match each.kind {
            BodyKind::Json | BodyKind::Form => {
                let has_own = own.get("description").is_some();
                let notes = Notes { description: description.filter(|_| !has_own), deprecated: false };
                let written = definitions.write(Side::Input, own, notes);
                faults.extend(written.faults);
                written.json
            }
            BodyKind::Text | BodyKind::Binary => text_or_file(description),
        };
        if !schemas.contains(&text) {
            schemas.push(text);
        }
    }
    if schemas.len() == 1 {
        return schemas.remove(0);
    }
    format!("{{\"anyOf\":[{}]}}", schemas.join(","))
}

fn text_or_file(description: Option<&str>) -> String {
    let description = description.map(|text| crate::text::plain(text, 600));
    let mut schema = json!({"anyOf": [
        {"type": "string"},
        {"type": "object", "description": "a file the host holds", "properties": {"$file": {"type": "string"}}, "required": ["$file"]},
    ]});
    if let Some(description) = description.filter(|text| !text.is_empty()) {
        schema["description"] = json!(description);
    }
    schema.to_string()
}

/// How the fields of a form are written, where `encoding` says how. Others
/// repeat their arrays and write their objects as JSON.
fn fields<'d>(media: &'d Value, refs: Refs<'d>) -> Vec<(String, Encoding)> {
    let Some(declared) = media.get("encoding").and_then(Value::as_object) else {
        return Vec::new();
    };
    let properties = media
        .get("schema")
        .and_then(|schema| refs.follow(schema).ok())
        .and_then(|schema| schema.get("properties"));
    let property = |name: &str| properties.and_then(|all| all.get(name));
    let mut fields: Vec<(String, Encoding)> = declared
        .iter()
        .map(|(name, encoding)| {
            let shape = property(name).map_or(Shape::Any, |schema| shape(schema, refs));
            (name.clone(), encoding_of(encoding, shape))
        })
        .collect();
    // Whoever numbers one array in a form numbers them all, at every depth.
    let numbered = fields.iter().any(|(_, encoding)| encoding.indexed);
    for (_, encoding) in &mut fields {
        encoding.indexed = numbered && encoding.style == Style::Deep;
    }
    fields
}

fn encoding_of(declared: &Value, shape: Shape) -> Encoding {
    let style = query_style(declared.get("style").and_then(Value::as_str).unwrap_or_default());
    let styled = ["style", "explode", "allowReserved"].iter().any(|key| declared.get(key).is_some());
    let content_type = declared.get("contentType").and_then(Value::as_str).unwrap_or_default();
    Encoding {
        style,
        explode: declared.get("explode").and_then(Value::as_bool).unwrap_or(style == Style::Form),
        reserved: declared.get("allowReserved") == Some(&Value::Bool(true)),
        indexed: style == Style::Deep && shape == Shape::Array,
        json: !styled && (content_type.contains("json") || shape == Shape::Object),
    }
}
