//! The keywords of a schema that hold values, and what becomes of each.

use serde_json::Value;

use super::write::{Schema, Writer, flag};
use crate::text::plain;

const MAX_TITLE_CHARS: usize = 200;
/// Longer defaults and examples tell a reader nothing.
const MAX_VALUE_BYTES: usize = 1024;
const MAX_PATTERN_BYTES: usize = 1000;
const TYPES: [&str; 7] = ["null", "boolean", "object", "array", "number", "string", "integer"];

impl Writer<'_, '_> {
    /// Writes one keyword, or nothing where 2020-12 has no such.
    pub(super) fn keyword(&mut self, map: &Schema, key: &str, value: &Value, nullable: bool) {
        match key {
            "type" => self.types(map, value, nullable),
            "properties" => self.properties(value),
            "required" => self.required(map, value),
            "enum" => self.choices(map, value, nullable),
            "items" => self.items(map, value),
            "allOf" | "anyOf" | "oneOf" => self.members(map, key, value, true),
            "prefixItems" => self.members(map, key, value, false),
            "not" | "if" | "then" | "else" => self.sub(key, value, true),
            "additionalProperties"
            | "contains"
            | "propertyNames"
            | "unevaluatedItems"
            | "unevaluatedProperties"
            | "contentSchema" => self.sub(key, value, false),
            "patternProperties" | "dependentSchemas" => self.named(key, value),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => self.bound(map, key, value),
            "multipleOf" if value.as_f64().is_some_and(|factor| factor > 0.0) => self.copy(key, value),
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties"
            | "minContains" | "maxContains"
                if value.is_u64() =>
            {
                self.copy(key, value)
            }
            "uniqueItems" | "readOnly" | "writeOnly" if value == &Value::Bool(true) => self.copy(key, value),
            "format" | "contentEncoding" | "contentMediaType" if value.is_string() => self.copy(key, value),
            "title" => self.title(value),
            "pattern" => self.pattern(value),
            "const" | "default" => self.copy_if_short(key, value),
            "example" if !map.contains_key("examples") => self.example(value),
            "examples" => self.examples(value),
            "discriminator" => self.discriminator(value),
            _ => {}
        }
    }

    fn types(&mut self, map: &Schema, value: &Value, nullable: bool) {
        let mut types: Vec<&str> = match value {
            Value::String(one) => vec![one.as_str()],
            Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
            _ => vec![],
        };
        let is_file = types == ["file"];
        if is_file {
            types = vec!["string"];
        }
        types.retain(|each| TYPES.contains(each));
        types.dedup();
        if types.is_empty() {
            return;
        }
        if nullable && !types.contains(&"null") {
            types.push("null");
        }
        self.key("type");
        match types.as_slice() {
            [one] => self.string(one),
            several => self.json(several),
        }
        if is_file && !map.contains_key("format") {
            self.key("format");
            self.string("binary");
        }
    }

    /// YAML reads `enum: [1.0, true]` of a string as no strings: they are taken
    /// for what the type says they are.
    fn choices(&mut self, map: &Schema, value: &Value, nullable: bool) {
        let Some(list) = value.as_array().filter(|list| !list.is_empty()) else {
            return;
        };
        let kind = map.get("type").and_then(Value::as_str).unwrap_or_default();
        let list: Vec<Value> = list.iter().map(|each| coerced(kind, each)).collect();
        self.key("enum");
        self.json(&list);
        if nullable && !list.contains(&Value::Null) {
            self.out.pop();
            self.raw(",null]");
        }
    }

    /// In 3.0 `exclusiveMinimum: true` makes `minimum` exclusive; in 3.1 it is
    /// the bound itself.
    fn bound(&mut self, map: &Schema, key: &str, value: &Value) {
        if !value.is_number() {
            return;
        }
        let exclusive = match key {
            "minimum" => "exclusiveMinimum",
            "maximum" => "exclusiveMaximum",
            _ => return self.copy(key, value),
        };
        self.copy(if flag(map, exclusive) { exclusive } else { key }, value);
    }

    fn title(&mut self, value: &Value) {
        if let Some(title) = value.as_str() {
            self.key("title");
            self.string(&plain(title, MAX_TITLE_CHARS));
        }
    }

    fn pattern(&mut self, value: &Value) {
        if value.as_str().is_some_and(|pattern| pattern.len() <= MAX_PATTERN_BYTES && is_portable(pattern)) {
            self.copy("pattern", value);
        }
    }

    fn copy_if_short(&mut self, key: &str, value: &Value) {
        let start = self.out.len();
        self.copy(key, value);
        if key == "default" {
            self.keep_if_telling(start);
        }
    }

    fn example(&mut self, value: &Value) {
        let start = self.out.len();
        self.key("examples");
        self.raw("[");
        self.json(value);
        self.raw("]");
        self.keep_if_telling(start);
    }

    fn examples(&mut self, value: &Value) {
        let Some(list) = value.as_array().filter(|list| !list.is_empty()) else {
            return;
        };
        let start = self.out.len();
        self.key("examples");
        self.json(&list[..list.len().min(3)]);
        self.keep_if_telling(start);
    }

    /// Takes back a value that is too long, or that refers to an example
    /// elsewhere: only schemas are referred to in what is written here.
    fn keep_if_telling(&mut self, start: usize) {
        let value = &self.out[start..];
        if value.len() > MAX_VALUE_BYTES || value.windows(6).any(|word| word == b"\"$ref\"") {
            self.out.truncate(start);
        }
    }
}

fn coerced(kind: &str, value: &Value) -> Value {
    match (kind, value) {
        ("string", Value::Number(_) | Value::Bool(_)) => Value::String(value.to_string()),
        ("integer" | "number", Value::String(text)) => match serde_json::from_str(text.trim()) {
            Ok(Value::Number(number)) => Value::Number(number),
            _ => value.clone(),
        },
        ("boolean", Value::String(text)) => match text.as_str() {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => value.clone(),
        },
        _ => value.clone(),
    }
}

/// Whether engines without backtracking can read a pattern; the others cost
/// time that a stranger chooses.
pub(super) fn is_portable(pattern: &str) -> bool {
    let look_around = ["(?=", "(?!", "(?<=", "(?<!"].iter().any(|mark| pattern.contains(mark));
    let bytes = pattern.as_bytes();
    let back_reference = bytes
        .windows(2)
        .any(|pair| pair[0] == b'\\' && (pair[1].is_ascii_digit() && pair[1] != b'0' || pair[1] == b'k'));
    !look_around && !back_reference
}
