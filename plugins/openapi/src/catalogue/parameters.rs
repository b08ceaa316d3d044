//! Declared parameters: which there are, and how each is written.

use serde_json::Value;

use super::model::Model;
use super::operations::Operation;
use crate::document::{Refs, Version};
use crate::wire::binding::{Encoding, Place, Shape, Style};

/// More than any published operation has.
const MAX_PARAMETERS: usize = 1000;
/// Parameters of these names are ignored by the specification, or are the
/// host's and the transport's to set.
const NOT_FOR_ARGUMENTS: [&str; 17] = [
    "accept",
    "content-type",
    "authorization",
    "host",
    "cookie",
    "content-length",
    "connection",
    "transfer-encoding",
    "te",
    "trailer",
    "upgrade",
    "expect",
    "keep-alive",
    "proxy-authorization",
    "proxy-authenticate",
    "proxy-connection",
    "set-cookie",
];

/// One parameter of an operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Declared<'d> {
    pub(crate) name: &'d str,
    pub(crate) place: Place,
    /// The parameter object.
    pub(crate) value: &'d Value,
    /// Whether it is written as in OpenAPI 2.
    pub(crate) swagger: bool,
}

/// Whether an argument may never set a header of this name.
pub(crate) fn is_kept_from_arguments(name: &str) -> bool {
    NOT_FOR_ARGUMENTS.iter().any(|kept| name.eq_ignore_ascii_case(kept))
}

/// The parameters of an operation: the path's, then its own, which replace
/// those of the same name and place.
pub(crate) fn declared<'d>(
    operation: &Operation<'d>,
    model: &Model<'d>,
    faults: &mut Vec<String>,
) -> Vec<Declared<'d>> {
    let mut list: Vec<Declared<'d>> = Vec::new();
    for level in [operation.item, operation.value] {
        for entry in level.get("parameters").and_then(Value::as_array).into_iter().flatten() {
            if list.len() == MAX_PARAMETERS {
                faults.push(format!("more than {MAX_PARAMETERS} parameters: the rest is left out"));
                return list;
            }
            match read(entry, model) {
                Ok(Some(parameter)) => place(&mut list, parameter),
                Ok(None) => {}
                Err(fault) => faults.push(fault),
            }
        }
    }
    list
}

fn place<'d>(list: &mut Vec<Declared<'d>>, parameter: Declared<'d>) {
    let same = |other: &&mut Declared<'d>| {
        other.place == parameter.place
            && (other.name == parameter.name
                || (parameter.place == Place::Header && other.name.eq_ignore_ascii_case(parameter.name)))
    };
    match list.iter_mut().find(same) {
        Some(held) => *held = parameter,
        None => list.push(parameter),
    }
}

fn read<'d>(entry: &'d Value, model: &Model<'d>) -> Result<Option<Declared<'d>>, String> {
    let swagger = model.version == Version::V20;
    let value = model.refs.follow(entry).map_err(|fault| format!("a parameter is left out: {fault}"))?;
    let name = value.get("name").and_then(Value::as_str).unwrap_or_default();
    let place = value.get("in").and_then(Value::as_str);
    if swagger && matches!(place, Some("body" | "formData")) {
        return Ok(None);
    }
    if name.is_empty() || name.len() > 256 {
        return Err("a parameter without a usable name is left out".to_owned());
    }
    let place = match place {
        Some("path") => Place::Path,
        Some("query") => Place::Query,
        Some("header") if is_kept_from_arguments(name) => return Ok(None),
        Some("header") if !is_token(name) => {
            return Err(format!("the header parameter {name:?} has no possible name and is left out"));
        }
        Some("header") => Place::Header,
        Some("cookie") if !is_token(name) => {
            return Err(format!("the cookie parameter {name:?} has no possible name and is left out"));
        }
        Some("cookie") => Place::Cookie,
        Some("querystring") => Place::QueryString,
        other => {
            return Err(format!("the parameter {name:?} is left out: its place {other:?} is not supported"));
        }
    };
    Ok(Some(Declared { name, place, value, swagger }))
}

/// RFC 9110, section 5.6.2.
pub(super) fn is_token(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

impl<'d> Declared<'d> {
    pub(crate) fn is_required(&self) -> bool {
        self.place == Place::Path || self.value.get("required") == Some(&Value::Bool(true))
    }

    pub(crate) fn is_deprecated(&self) -> bool {
        self.value.get("deprecated") == Some(&Value::Bool(true))
    }

    pub(crate) fn description(&self) -> Option<&'d str> {
        self.value.get("description").and_then(Value::as_str)
    }

    fn content(&self) -> Option<(&'d str, &'d Value)> {
        let (media_type, value) = self.value.get("content")?.as_object()?.iter().next()?;
        Some((media_type, value))
    }

    /// Its schema. Where there is none, keywords may stand beside the name, as
    /// OpenAPI 2 wrote them.
    pub(crate) fn schema(&self) -> &'d Value {
        let content = self.content().and_then(|(_, content)| content.get("schema"));
        self.value.get("schema").or(content).unwrap_or(self.value)
    }

    /// Its style, by the defaults of its place where it names none that fits.
    pub(crate) fn encoding(&self, refs: Refs<'d>) -> Encoding {
        let json = self.value.get("schema").is_none()
            && self.content().is_some_and(|(media_type, _)| media_type.contains("json"));
        let named = self.value.get("style").and_then(Value::as_str).unwrap_or_default();
        let (style, usually_explodes) = match (self.place, named) {
            _ if self.swagger => collection_style(self.value, self.place),
            (Place::Path, "label") => (Style::Label, false),
            (Place::Path, "matrix") => (Style::Matrix, false),
            (Place::Path | Place::Header, _) => (Style::Simple, false),
            (Place::Query | Place::QueryString, other) => {
                (query_style(other), query_style(other) == Style::Form)
            }
            (Place::Cookie, "cookie") => (Style::Cookie, true),
            (Place::Cookie, _) => (Style::Form, true),
        };
        let explode = self.value.get("explode").and_then(Value::as_bool).unwrap_or(usually_explodes);
        Encoding {
            style,
            explode,
            reserved: self.place == Place::Query
                && self.value.get("allowReserved") == Some(&Value::Bool(true)),
            // Who calls an array a deep object expects its items numbered.
            indexed: style == Style::Deep && shape(self.schema(), refs) == Shape::Array,
            json,
        }
    }

    /// What is sent where a required one is left out: the declared default, or
    /// the only value there is.
    pub(crate) fn default(&self, refs: Refs<'d>) -> Option<&'d Value> {
        let schema = refs.follow(self.schema()).ok()?;
        let choices = schema.get("enum").and_then(Value::as_array).map(Vec::as_slice);
        let only = match choices {
            Some([only]) => Some(only),
            _ => schema.get("const"),
        };
        let usable = |value: &&Value| match value {
            Value::String(text) => !text.is_empty() && text.len() <= 1000,
            Value::Number(_) | Value::Bool(_) => true,
            _ => false,
        };
        only.or_else(|| schema.get("default")).filter(|_| self.is_required()).filter(usable)
    }

    /// Whether slashes in a path parameter part segments.
    pub(crate) fn is_multi_segment(&self) -> bool {
        self.value.get("x-multi-segment") == Some(&Value::Bool(true))
    }
}

/// What `collectionFormat` of OpenAPI 2 means, and whether it repeats the name.
pub(super) fn collection_style(value: &Value, place: Place) -> (Style, bool) {
    match value.get("collectionFormat").and_then(Value::as_str) {
        Some("multi") if place == Place::Query => (Style::Form, true),
        Some("ssv") => (Style::Space, false),
        Some("tsv") => (Style::Tab, false),
        Some("pipes") => (Style::Pipe, false),
        _ if matches!(place, Place::Path | Place::Header) => (Style::Simple, false),
        _ => (Style::Form, false),
    }
}

pub(crate) fn query_style(name: &str) -> Style {
    match name {
        "spaceDelimited" => Style::Space,
        "pipeDelimited" => Style::Pipe,
        "deepObject" => Style::Deep,
        _ => Style::Form,
    }
}

/// What a schema expects, as far as one look tells.
pub(crate) fn shape<'d>(schema: &'d Value, refs: Refs<'d>) -> Shape {
    let Ok(schema) = refs.follow(schema) else {
        return Shape::Any;
    };
    let mut types: Vec<&str> = match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
        _ => vec![],
    };
    types.retain(|each| *each != "null");
    match types.as_slice() {
        ["array"] => Shape::Array,
        ["object"] => Shape::Object,
        ["string" | "number" | "integer" | "boolean"] => Shape::Scalar,
        [] if schema.get("properties").is_some() => Shape::Object,
        [] if schema.get("items").is_some() => Shape::Array,
        _ => Shape::Any,
    }
}
