//! What a schema is about, seen from outside.

use serde_json::{Map, Value};

/// How a tool takes its arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Arguments {
    /// It takes none.
    None,
    /// All may be left out.
    Optional,
    Required,
}

pub(super) fn arguments(schema: &Value) -> Arguments {
    let Value::Object(members) = schema else {
        return if *schema == Value::Bool(false) { Arguments::None } else { Arguments::Optional };
    };
    let required = members.get("required").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
    let composed = ["$ref", "allOf", "anyOf", "oneOf"].iter().any(|key| members.contains_key(*key));
    if required || composed {
        return Arguments::Required;
    }
    let closed = members.get("additionalProperties") == Some(&Value::Bool(false));
    let empty = properties(members).is_none_or(Map::is_empty);
    let open = members.contains_key("additionalProperties") || members.contains_key("patternProperties");
    if empty && (closed || !open) { Arguments::None } else { Arguments::Optional }
}

pub(super) fn properties(members: &Map<String, Value>) -> Option<&Map<String, Value>> {
    members.get("properties").and_then(Value::as_object)
}

/// Keywords that give a schema a shape; what has none of them only restricts.
const SHAPES: &[&str] = &[
    "$ref",
    "type",
    "properties",
    "items",
    "prefixItems",
    "enum",
    "const",
    "allOf",
    "anyOf",
    "oneOf",
    "additionalProperties",
    "patternProperties",
];

/// Whether the schema says what a value looks like, rather than only which
/// members it must have or how it is called.
pub(super) fn has_shape(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => SHAPES.iter().any(|key| members.contains_key(*key)),
        Value::Bool(_) => true,
        _ => false,
    }
}

/// The reference of a schema that is nothing else.
pub(super) fn alias(schema: &Value) -> Option<&str> {
    let members = schema.as_object()?;
    let nothing_else = SHAPES.iter().all(|key| *key == "$ref" || !members.contains_key(*key));
    members.get("$ref").and_then(Value::as_str).filter(|_| nothing_else && !members.contains_key("nullable"))
}

/// The types that a schema allows, stated or evident; `nullable` counts.
pub(super) fn types(members: &Map<String, Value>) -> Vec<&str> {
    let mut types: Vec<&str> = match members.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(some)) => some.iter().filter_map(Value::as_str).take(8).collect(),
        _ => evident(members).into_iter().collect(),
    };
    if members.get("nullable") == Some(&Value::Bool(true)) && !types.is_empty() {
        types.push("null");
    }
    types
}

fn evident(members: &Map<String, Value>) -> Option<&'static str> {
    let any = |keys: &[&str]| keys.iter().any(|key| members.contains_key(*key));
    if any(&["properties", "additionalProperties", "patternProperties"]) {
        Some("object")
    } else if any(&["items", "prefixItems"]) {
        Some("array")
    } else if any(&["pattern", "minLength", "maxLength"]) {
        Some("string")
    } else if any(&["minimum", "maximum", "multipleOf", "exclusiveMinimum", "exclusiveMaximum"]) {
        Some("number")
    } else {
        None
    }
}

/// Whether a definition is short enough to be shown in place of its name: up
/// to six members of which none is an object, or no object at all.
pub(super) fn is_small(schema: &Value) -> bool {
    let Value::Object(members) = schema else {
        return true;
    };
    let composed = ["allOf", "anyOf", "oneOf"].iter().filter_map(|key| members.get(*key));
    for all in composed {
        let few = all.as_array().is_some_and(|all| all.len() <= 6 && all.iter().all(is_plain));
        if !few {
            return false;
        }
    }
    if members.get("enum").and_then(Value::as_array).is_some_and(|all| all.len() > 8) {
        return false;
    }
    let inner = ["items", "additionalProperties"].iter().filter_map(|key| members.get(*key));
    let shown = properties(members);
    shown.is_none_or(|shown| shown.len() <= 6 && shown.values().all(is_plain))
        && inner.into_iter().all(is_plain)
}

/// A scalar, a reference, or an array of these.
fn is_plain(schema: &Value) -> bool {
    let Value::Object(members) = schema else {
        return true;
    };
    let nested = ["properties", "allOf", "anyOf", "oneOf", "additionalProperties", "prefixItems"];
    !nested.iter().any(|key| members.contains_key(*key))
        && members.get("items").is_none_or(is_plain)
        && members.get("enum").and_then(Value::as_array).is_none_or(|all| all.len() <= 8)
}
