//! Request bodies: which media types there are, and what an argument may be.

use serde_json::{Value, json};

use super::form::{self, bytes_or_file, text_or_file};
use super::model::Model;
use super::operations::Operation;
use super::swagger;
use crate::document::Version;
use crate::schema::{Definitions, Notes, Side};
use crate::wire::binding::{Body, BodyKind, BodyType, Field};
use crate::wire::content;

const MAX_TYPES: usize = 8;

/// A body as the catalogue needs it.
pub(crate) struct Planned {
    pub(crate) body: Body,
    /// JSON Schema of the argument.
    pub(crate) schema: String,
    pub(crate) faults: Vec<String>,
}

/// One media type that a body may have.
pub(super) struct Choice<'d> {
    pub(super) name: &'d str,
    pub(super) kind: BodyKind,
    /// The media type object, or what has its `schema`.
    pub(super) media: &'d Value,
}

/// The body of an operation, where it has one.
///
/// # Errors
/// In words, why the operation can't be called.
pub(crate) fn read<'d>(
    operation: &Operation<'d>,
    model: &Model<'d>,
    definitions: &mut Definitions<'d>,
) -> Result<Option<Planned>, String> {
    if model.version == Version::V20 {
        return Ok(swagger::body(operation, model, definitions));
    }
    let refs = model.refs;
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
    let choices = content.iter().map(|(name, media)| Choice {
        name,
        kind: content::body_kind(name),
        media: refs.follow(media).unwrap_or(&Value::Null),
    });
    let description = declared.get("description").and_then(Value::as_str);
    let required = declared.get("required") == Some(&Value::Bool(true));
    Ok(Some(plan(choices.collect(), required, description, model, definitions)))
}

/// A body of any of these media types; there is at least one.
pub(super) fn plan<'d>(
    mut choices: Vec<Choice<'d>>,
    required: bool,
    description: Option<&'d str>,
    model: &Model<'d>,
    definitions: &mut Definitions<'d>,
) -> Planned {
    choices.sort_by_key(|choice| choice.kind);
    choices.truncate(MAX_TYPES);
    let mut faults = Vec::new();
    let mut schemas: Vec<String> = Vec::new();
    let mut types: Vec<BodyType> = Vec::new();
    for choice in choices {
        let media_type = content::sendable(choice.name, choice.kind);
        if types.iter().any(|held| held.media_type == media_type) {
            continue;
        }
        let (schema, fields) = argument(&choice, description, model, definitions, &mut faults);
        if !schemas.contains(&schema) {
            schemas.push(schema);
        }
        types.push(BodyType { media_type, kind: choice.kind, fields });
    }
    let schema = match schemas.as_slice() {
        [only] => only.clone(),
        several => format!("{{\"anyOf\":[{}]}}", several.join(",")),
    };
    Planned { body: Body { required, types }, schema, faults }
}

/// What the argument is in one media type, and how its fields are written.
fn argument<'d>(
    choice: &Choice<'d>,
    description: Option<&'d str>,
    model: &Model<'d>,
    definitions: &mut Definitions<'d>,
    faults: &mut Vec<String>,
) -> (String, Vec<Field>) {
    let own = choice.media.get("schema").unwrap_or(&Value::Null);
    let mut write = |schema: &'d Value| {
        let has_own = schema.get("description").is_some();
        let notes = Notes { description: description.filter(|_| !has_own), deprecated: false };
        let written = definitions.write(Side::Input, schema, notes);
        faults.extend(written.faults);
        written.json
    };
    match choice.kind {
        BodyKind::Json => (write(own), Vec::new()),
        BodyKind::Form => (write(own), form::urlencoded(choice.media, model.refs)),
        BodyKind::Multipart => form::multipart(choice.media, description, model.refs, definitions, faults),
        BodyKind::Lines => {
            let item = write(choice.media.get("itemSchema").unwrap_or(&Value::Null));
            (json_lines(&item), Vec::new())
        }
        BodyKind::Text => (text_or_file(description), Vec::new()),
        BodyKind::Binary => (bytes_or_file(description), Vec::new()),
    }
}

fn json_lines(item: &str) -> String {
    let items = json!({"description": "one value a line"}).to_string();
    let array = format!("{{\"type\":\"array\",\"items\":{item}}}");
    format!("{{\"anyOf\":[{array},{}],{}", text_or_file(None), &items[1..])
}
