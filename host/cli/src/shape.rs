//! What a schema says of a value, as far as a flag has to know: its type, its
//! properties, its choices. References and what is put together of several
//! parts are followed; a schema is a stranger's, and may lead in circles.

use serde_json::Value;

use crate::uploads::{self, Takes};

/// Parts of one schema that are looked at.
const PART_LIMIT: usize = 64;

/// What can be told about a value's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Integer,
    Number,
    Boolean,
    List,
    /// A file of the machine, or one that the workspace holds.
    File,
    /// An object, a union, or a type that is not said: JSON, else a text.
    Any,
}

/// A schema with the parts that all hold of a value.
#[derive(Debug, Clone)]
pub(crate) struct Shape<'s> {
    root: &'s Value,
    parts: Vec<&'s Value>,
    pub(crate) kind: Kind,
    /// Whether `null` is a value of it.
    pub(crate) nullable: bool,
    /// Its description, or nothing.
    pub(crate) about: &'s str,
    /// How it takes a file, where it does.
    pub(crate) takes: Option<Takes>,
    /// Whether it takes one file or a list of them.
    pub(crate) takes_several: bool,
}

impl<'s> Shape<'s> {
    /// Of a schema within `root`, to which its references belong.
    pub(crate) fn of(root: &'s Value, schema: &'s Value) -> Self {
        let mut parts: Vec<&'s Value> = vec![schema];
        let mut nullable = false;
        let mut looked_at = 0;
        while looked_at < parts.len().min(PART_LIMIT) {
            let part = parts[looked_at];
            looked_at += 1;
            parts.extend(referred(root, part));
            parts.extend(list(part, "allOf"));
            for union in ["anyOf", "oneOf"] {
                let members = list(part, union);
                nullable |= members.iter().any(is_null);
                parts.extend(meant(members));
            }
        }
        parts.truncate(PART_LIMIT);
        let kinds = || parts.iter().map(|part| kind(part));
        let takes = parts.iter().find_map(|part| uploads::takes(part));
        let is_file = takes == Some(Takes::Reference);
        let takes_several = is_file && parts.iter().any(|part| uploads::takes_several(part));
        let kind = match kinds().find(|kind| *kind != Kind::Any) {
            _ if is_file => Kind::File,
            found => found.unwrap_or(Kind::Any),
        };
        nullable |= parts.iter().any(|part| list(part, "type").iter().any(|name| name == "null"));
        let about = parts.iter().find_map(|part| part["description"].as_str()).unwrap_or("");
        Self { root, parts, kind, nullable, about, takes, takes_several }
    }

    /// Of an item, where it is a list.
    pub(crate) fn item(&self) -> Self {
        let items = self.parts.iter().map(|part| &part["items"]).find(|items| items.is_object());
        Self::of(self.root, items.unwrap_or(&Value::Null))
    }

    /// The properties of an object, each once.
    pub(crate) fn properties(&self) -> Vec<(&'s str, Self)> {
        let mut properties: Vec<(&'s str, Self)> = Vec::new();
        for part in &self.parts {
            for (name, schema) in part["properties"].as_object().into_iter().flatten() {
                if !properties.iter().any(|(known, _)| known == name) {
                    properties.push((name, Self::of(self.root, schema)));
                }
            }
        }
        properties
    }

    /// The names of the properties that must be there.
    pub(crate) fn required(&self) -> Vec<&'s str> {
        self.parts.iter().flat_map(|part| list(part, "required")).filter_map(Value::as_str).collect()
    }

    /// The values that it may have, where they are listed.
    pub(crate) fn choices(&self) -> Option<&'s [Value]> {
        self.parts.iter().find_map(|part| part["enum"].as_array()).map(Vec::as_slice)
    }
}

/// What a local reference leads to.
fn referred<'s>(root: &'s Value, schema: &'s Value) -> Option<&'s Value> {
    root.pointer(schema["$ref"].as_str()?.strip_prefix('#')?)
}

/// The member of a union that a flag is for: the only one beside `null`, or a
/// list where the other is what its items are.
fn meant(members: &[Value]) -> Option<&Value> {
    let members: Vec<&Value> = members.iter().filter(|member| !is_null(member)).collect();
    match members.as_slice() {
        [only] => Some(only),
        [one, other] if one["items"] == **other && kind(one) == Kind::List => Some(one),
        [one, other] if other["items"] == **one && kind(other) == Kind::List => Some(other),
        _ => None,
    }
}

fn is_null(schema: &Value) -> bool {
    schema["type"] == "null"
        || schema.get("const").is_some_and(Value::is_null)
        || schema["enum"] == Value::from(vec![Value::Null])
}

fn list<'s>(schema: &'s Value, name: &str) -> &'s [Value] {
    schema[name].as_array().map_or(&[], Vec::as_slice)
}

fn kind(schema: &Value) -> Kind {
    let named = match &schema["type"] {
        Value::String(name) => Some(name.as_str()),
        // `["string", "null"]` is a text that may be left out.
        Value::Array(names) => {
            let mut names = names.iter().filter_map(Value::as_str).filter(|name| *name != "null");
            names.next().filter(|_| names.next().is_none())
        }
        _ => None,
    };
    match named {
        Some("string") => Kind::Text,
        Some("integer") => Kind::Integer,
        Some("number") => Kind::Number,
        Some("boolean") => Kind::Boolean,
        Some("array") => Kind::List,
        _ => Kind::Any,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(schema: Value, kind: Kind, nullable: bool) {
        let root = json!({ "$defs": { "text": { "type": "string" } } });
        let shape = Shape::of(&root, &schema);
        assert_eq!((shape.kind, shape.nullable), (kind, nullable), "{schema}");
    }

    #[test]
    fn the_one_form_beside_null_is_meant() {
        let text = || json!({ "$ref": "#/$defs/text" });
        check(text(), Kind::Text, false);
        check(json!({ "anyOf": [text(), { "type": "null" }] }), Kind::Text, true);
        check(json!({ "oneOf": [{ "const": null }, { "allOf": [text()] }] }), Kind::Text, true);
        check(json!({ "oneOf": [{ "enum": [null] }, { "type": "integer" }] }), Kind::Integer, true);
        check(json!({ "type": ["boolean", "null"] }), Kind::Boolean, true);
        check(json!({ "anyOf": [text(), { "type": "integer" }] }), Kind::Any, false);
        check(json!({ "anyOf": [{ "type": "array", "items": text() }, text()] }), Kind::List, false);
        let numbers = json!({ "type": "array", "items": { "type": "integer" } });
        check(json!({ "anyOf": [numbers, text()] }), Kind::Any, false);
        check(json!(true), Kind::Any, false);
    }

    #[test]
    fn circles_and_webs_end() {
        let circle =
            json!({ "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "allOf": [{ "$ref": "#/$defs/a" }] } } });
        assert_eq!(Shape::of(&circle, &circle["$defs"]["a"]).kind, Kind::Any);
        let own =
            json!({ "allOf": [{ "$ref": "#" }, { "$ref": "#" }], "properties": { "x": { "$ref": "#" } } });
        let shape = Shape::of(&own, &own);
        assert!(shape.parts.len() <= PART_LIMIT);
        assert_eq!(shape.properties().len(), 1);
    }
}
