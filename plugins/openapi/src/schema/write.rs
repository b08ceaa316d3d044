//! Writes one schema as JSON, straight from the document's tree.

use serde_json::{Map, Value};

use super::Side;
use super::definitions::{Definitions, home};
use super::keywords::is_portable;
use crate::document::{Version, canonical};
use crate::text::plain;

const MAX_DESCRIPTION_CHARS: usize = 600;
/// Compositions inside of compositions are looked through this far.
const MAX_COMPOSITION: usize = 6;

/// What stands beside a schema and belongs to the value it describes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Notes<'n> {
    /// Replaces the schema's own.
    pub(crate) description: Option<&'n str>,
    /// Adds to the schema's own.
    pub(crate) deprecated: bool,
}

/// A schema, and what could not be kept of it.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) json: String,
    pub(crate) faults: Vec<String>,
}

pub(super) struct Writer<'w, 'd> {
    definitions: &'w mut Definitions<'d>,
    side: Side,
    /// The definition being written.
    node: Option<&'w str>,
    /// Whether what is written describes the same value as the node.
    in_place: bool,
    /// Properties that are not of this side, of the schemas around the one
    /// that is written and of the same value.
    absent: Vec<String>,
    pub(super) out: Vec<u8>,
    faults: Vec<String>,
}

pub(super) type Schema = Map<String, Value>;

impl<'w, 'd> Writer<'w, 'd> {
    pub(super) fn new(definitions: &'w mut Definitions<'d>, side: Side) -> Self {
        Self {
            definitions,
            side,
            node: None,
            in_place: true,
            absent: Vec::new(),
            out: Vec::new(),
            faults: Vec::new(),
        }
    }

    pub(super) fn for_definition(definitions: &'w mut Definitions<'d>, side: Side, node: &'w str) -> Self {
        Self { node: Some(node), ..Self::new(definitions, side) }
    }

    pub(super) fn finish(mut self, schema: &Value, notes: Notes<'_>) -> Written {
        self.schema(schema, notes);
        let json = String::from_utf8(self.out).expect("only whole strings are written");
        Written { json, faults: self.faults }
    }

    fn schema(&mut self, schema: &Value, notes: Notes<'_>) {
        match schema {
            Value::Bool(false) => self.raw("false"),
            Value::Object(map) => self.object(map, notes),
            _ => {
                self.raw("{");
                self.notes(notes);
                self.raw("}");
            }
        }
    }

    fn object(&mut self, map: &Schema, notes: Notes<'_>) {
        let nullable = flag(map, "nullable") || flag(map, "x-nullable");
        if let Some(reference) = reference_of(map) {
            return self.reference(map, reference, nullable, notes);
        }
        if nullable && is_composed(map) {
            self.raw("{\"anyOf\":[{");
            self.each_keyword(map, false, |_| true);
            self.raw("},{\"type\":\"null\"}]");
            self.own_notes(map, notes);
            self.raw("}");
            return;
        }
        self.raw("{");
        self.keywords(map, notes, nullable);
        self.raw("}");
    }

    fn reference(&mut self, map: &Schema, reference: &str, nullable: bool, notes: Notes<'_>) {
        let notes = Notes { description: notes.description.or_else(|| text(map, "description")), ..notes };
        if let Some(target) = self.cut_target(reference) {
            return self.without_composition(target, notes);
        }
        let name = match self.definitions.name_of(reference, self.side) {
            Ok(name) => name,
            Err(fault) => {
                self.faults.push(fault.to_string());
                self.raw("{");
                self.notes(notes);
                return self.raw("}");
            }
        };
        self.raw("{");
        if nullable {
            self.raw("\"anyOf\":[{");
        }
        self.key("$ref");
        self.string(&format!("#/$defs/{name}"));
        if nullable {
            self.raw("},{\"type\":\"null\"}]");
        }
        if nullable {
            self.notes(notes);
        } else {
            self.siblings(map, notes);
        }
        self.raw("}");
    }

    /// In 3.1 what stands beside a reference applies; in 3.0 it is to be
    /// ignored, but the descriptions people write there are worth keeping.
    fn siblings(&mut self, map: &Schema, notes: Notes<'_>) {
        if self.definitions.version == Version::V31 && map.contains_key("$ref") {
            let rest = map.keys().any(|key| !matches!(key.as_str(), "$ref" | "description" | "deprecated"));
            if rest {
                return self.keywords(map, notes, false);
            }
        }
        self.notes(Notes { deprecated: notes.deprecated || flag(map, "deprecated"), ..notes });
    }

    /// The referenced schema, where following it would close a circle.
    fn cut_target(&mut self, reference: &str) -> Option<&'d Value> {
        let node = self.node.filter(|_| self.in_place)?;
        let target = canonical(reference).ok()?;
        let refs = self.definitions.refs;
        self.definitions.cycles.is_cut(refs, node, &target).then(|| refs.get(&target)).flatten()
    }

    /// What a schema says by itself, without what it takes from others.
    fn without_composition(&mut self, target: &Value, notes: Notes<'_>) {
        let Some(map) = target.as_object() else {
            return self.raw("{}");
        };
        self.raw("{");
        let in_place = std::mem::replace(&mut self.in_place, false);
        self.each_keyword(map, false, |key| {
            !matches!(key, "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" | "discriminator")
        });
        self.own_notes(map, notes);
        self.in_place = in_place;
        self.raw("}");
    }

    fn keywords(&mut self, map: &Schema, notes: Notes<'_>, nullable: bool) {
        self.each_keyword(map, nullable, |_| true);
        self.own_notes(map, notes);
    }

    fn each_keyword(&mut self, map: &Schema, nullable: bool, wanted: fn(&str) -> bool) {
        for (key, value) in map {
            if wanted(key) {
                self.keyword(map, key, value, nullable);
            }
        }
    }

    fn own_notes(&mut self, map: &Schema, notes: Notes<'_>) {
        let description = notes.description.or_else(|| text(map, "description"));
        self.notes(Notes { description, deprecated: notes.deprecated || flag(map, "deprecated") });
    }

    pub(super) fn properties(&mut self, value: &Value) {
        let Some(map) = value.as_object() else { return };
        self.key("properties");
        self.raw("{");
        let in_place = std::mem::replace(&mut self.in_place, false);
        let absent = std::mem::take(&mut self.absent);
        for (name, schema) in map {
            if !self.is_left_out(schema) {
                self.key(name);
                self.schema(schema, Notes::default());
            }
        }
        self.absent = absent;
        self.in_place = in_place;
        self.raw("}");
    }

    /// Whether a property does not belong to this side, by its own mark or
    /// that of the schema it refers to.
    fn is_left_out(&self, schema: &Value) -> bool {
        let mark = self.side.mark();
        let Some(map) = schema.as_object() else {
            return false;
        };
        if flag(map, mark) {
            return true;
        }
        map.contains_key("$ref")
            && self
                .definitions
                .refs
                .follow(schema)
                .is_ok_and(|target| target.get(mark) == Some(&Value::Bool(true)))
    }

    /// The names in `list` that this side has. What an `allOf` asks for may be
    /// declared by a member, and the other way round.
    pub(super) fn required(&mut self, map: &Schema, value: &Value) {
        let Some(list) = value.as_array() else { return };
        let mut absent = Vec::new();
        self.collect_absent(map, 0, &mut absent);
        let mut names: Vec<&str> = Vec::new();
        for name in list.iter().filter_map(Value::as_str) {
            let is_absent = |held: &String| held == name;
            let left_out = absent.iter().any(is_absent) || self.absent.iter().any(is_absent);
            if !left_out && !names.contains(&name) {
                names.push(name);
            }
        }
        if !names.is_empty() {
            self.key("required");
            self.json(&names);
        }
    }

    /// The properties of `map`, and of what it is composed of, that are not of
    /// this side.
    fn collect_absent(&self, map: &Schema, depth: usize, absent: &mut Vec<String>) {
        if self.side == Side::Whole || depth > MAX_COMPOSITION {
            return;
        }
        for (name, schema) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
            if self.is_left_out(schema) {
                absent.push(name.clone());
            }
        }
        for member in map.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            if let Ok(Value::Object(member)) = self.definitions.refs.follow_any(member) {
                self.collect_absent(member, depth + 1, absent);
            }
        }
    }

    pub(super) fn items(&mut self, map: &Schema, value: &Value) {
        match value {
            // A tuple, as drafts before 2020-12 wrote it.
            Value::Array(_) => self.members(map, "prefixItems", value, false),
            _ => self.sub("items", value, false),
        }
    }

    pub(super) fn members(&mut self, map: &Schema, key: &str, value: &Value, in_place: bool) {
        let Some(list) = value.as_array().filter(|list| !list.is_empty()) else {
            return;
        };
        // With a circle cut out of it, "exactly one" can no longer be said.
        let cut = key == "oneOf"
            && list.iter().any(|member| {
                reference_in(member).is_some_and(|reference| self.cut_target(reference).is_some())
            });
        self.key(if cut { "anyOf" } else { key });
        self.raw("[");
        let before = self.in_place;
        self.in_place &= in_place;
        let around = self.absent.len();
        if in_place && self.side != Side::Whole {
            let mut absent = Vec::new();
            self.collect_absent(map, 0, &mut absent);
            self.absent.extend(absent);
        }
        for (index, member) in list.iter().enumerate() {
            if index > 0 {
                self.raw(",");
            }
            self.member(key, member);
        }
        self.absent.truncate(around);
        self.in_place = before;
        self.raw("]");
    }

    /// A member of `allOf` that closes itself would refuse what the other
    /// members add; nobody who writes that means it.
    fn member(&mut self, key: &str, member: &Value) {
        match member {
            Value::Object(map) if key == "allOf" && is_closed(map) => {
                self.raw("{");
                self.each_keyword(map, flag(map, "nullable"), |key| {
                    !matches!(key, "additionalProperties" | "unevaluatedProperties")
                });
                self.own_notes(map, Notes::default());
                self.raw("}");
            }
            _ => self.schema(member, Notes::default()),
        }
    }

    pub(super) fn sub(&mut self, key: &str, value: &Value, in_place: bool) {
        if !value.is_object() && !value.is_boolean() {
            return;
        }
        if key == "not" && reference_in(value).is_some_and(|reference| self.cut_target(reference).is_some()) {
            return;
        }
        let before = self.in_place;
        self.in_place &= in_place;
        let around = if in_place { None } else { Some(std::mem::take(&mut self.absent)) };
        self.key(key);
        match value {
            Value::Bool(true) => self.raw("true"),
            _ => self.schema(value, Notes::default()),
        }
        if let Some(around) = around {
            self.absent = around;
        }
        self.in_place = before;
    }

    pub(super) fn named(&mut self, key: &str, value: &Value) {
        let Some(map) = value.as_object() else { return };
        self.key(key);
        self.raw("{");
        let before = std::mem::replace(&mut self.in_place, false);
        for (name, schema) in map {
            if key != "patternProperties" || is_portable(name) {
                self.key(name);
                self.schema(schema, Notes::default());
            }
        }
        self.in_place = before;
        self.raw("}");
    }

    /// In OpenAPI 2 it is the property's name alone.
    pub(super) fn discriminator(&mut self, value: &Value) {
        let named = value.get("propertyName").and_then(Value::as_str);
        let Some(property) = named.or_else(|| value.as_str()) else {
            return;
        };
        self.key("discriminator");
        self.raw("{");
        self.key("propertyName");
        self.string(property);
        if let Some(mapping) = value.get("mapping").and_then(Value::as_object) {
            self.key("mapping");
            self.raw("{");
            for (tag, target) in mapping {
                let Some(target) = target.as_str() else {
                    continue;
                };
                let reference = if target.contains(['/', '#']) {
                    target.to_owned()
                } else {
                    format!("{}/{target}", home(self.definitions.version))
                };
                if let Ok(name) = self.definitions.name_of(&reference, self.side) {
                    self.key(tag);
                    self.string(&format!("#/$defs/{name}"));
                }
            }
            self.raw("}");
        }
        self.raw("}");
    }

    fn notes(&mut self, notes: Notes<'_>) {
        if let Some(description) = notes.description {
            let description = plain(description, MAX_DESCRIPTION_CHARS);
            if !description.is_empty() {
                self.key("description");
                self.string(&description);
            }
        }
        if notes.deprecated {
            self.key("deprecated");
            self.raw("true");
        }
    }

    pub(super) fn key(&mut self, name: &str) {
        if !matches!(self.out.last(), Some(b'{')) {
            self.out.push(b',');
        }
        self.string(name);
        self.out.push(b':');
    }

    pub(super) fn copy(&mut self, key: &str, value: &Value) {
        self.key(key);
        self.json(value);
    }

    pub(super) fn string(&mut self, text: &str) {
        self.json(text);
    }

    pub(super) fn json<T: serde::Serialize + ?Sized>(&mut self, value: &T) {
        serde_json::to_writer(&mut self.out, value).expect("JSON values can be written into memory");
    }

    pub(super) fn raw(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }
}

pub(super) fn flag(map: &Schema, key: &str) -> bool {
    map.get(key) == Some(&Value::Bool(true))
}

fn text<'m>(map: &'m Schema, key: &str) -> Option<&'m str> {
    map.get(key).and_then(Value::as_str)
}

fn is_composed(map: &Schema) -> bool {
    ["allOf", "anyOf", "oneOf", "not", "const"].iter().any(|key| map.contains_key(*key))
}

fn is_closed(map: &Schema) -> bool {
    let closed = |key: &str| map.get(key) == Some(&Value::Bool(false));
    !map.contains_key("$ref") && (closed("additionalProperties") || closed("unevaluatedProperties"))
}

fn reference_in(value: &Value) -> Option<&str> {
    value.get("$ref").and_then(Value::as_str)
}

/// The reference that a schema is: its own, or the only member of an `allOf`
/// that is there to carry a description or `nullable`.
fn reference_of(map: &Schema) -> Option<&str> {
    if let Some(reference) = text(map, "$ref") {
        return Some(reference);
    }
    let [only] = map.get("allOf")?.as_array()?.as_slice() else {
        return None;
    };
    let reference = reference_in(only)?;
    let alone = only.as_object().is_some_and(|member| member.len() == 1)
        && map.keys().all(|key| {
            matches!(
                key.as_str(),
                "allOf"
                    | "nullable"
                    | "description"
                    | "title"
                    | "deprecated"
                    | "readOnly"
                    | "writeOnly"
                    | "example"
                    | "examples"
                    | "default"
            ) || key.starts_with("x-")
        });
    alone.then_some(reference)
}
