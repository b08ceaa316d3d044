//! How a schema is written as a type.

use serde_json::{Map, Value};

use super::combine::{Binding, Line, Type, fields, intersection, kind, layout, literal, sample, union};
use super::docs;
use super::library::Schema;
use super::names;
use super::render::Renderer;
use super::shapes;

/// Nesting of a type within types, objects or not.
const MAX_NESTING: usize = 32;
/// Members of a literal union, and the characters they may take together.
const MAX_LITERALS: usize = 25;
const MAX_LITERALS_CHARS: usize = 600;
/// Literals that are named where there are more.
const SAMPLE_LITERALS: usize = 8;
/// Longest literal, quoted.
const MAX_LITERAL_CHARS: usize = 80;
/// Members of a union, an intersection or a tuple.
const MAX_MEMBERS: usize = 16;
/// Longest property name that is shown, quoted.
const MAX_PROPERTY_CHARS: usize = 120;
/// A definition that is only a reference is followed this far.
const MAX_ALIASES: usize = 16;

/// Where a type stands: object levels left, and how deep in others.
#[derive(Clone, Copy)]
struct Place {
    depth: u32,
    indent: usize,
    nesting: usize,
}

impl Place {
    fn deeper(self) -> Self {
        Self { nesting: self.nesting + 1, ..self }
    }
}

impl<'a> Renderer<'_, 'a> {
    /// The type of a schema, showing `depth` levels of objects.
    pub(super) fn body(&mut self, schema: &Value, depth: u32) -> String {
        self.of(schema, Place { depth, indent: 0, nesting: 0 }).text
    }

    fn leaf(&mut self, text: impl Into<String>) -> Type {
        let leaf = Type::atom(text);
        self.size += leaf.text.len();
        leaf
    }

    fn of(&mut self, schema: &Value, place: Place) -> Type {
        if self.nodes_left == 0 || place.nesting > MAX_NESTING {
            self.cut = true;
            return self.leaf("unknown /* nested too deeply to show */");
        }
        self.nodes_left -= 1;
        match schema {
            Value::Bool(false) => self.leaf("never"),
            Value::Object(members) => self.of_members(members, place),
            _ => self.leaf("unknown"),
        }
    }

    fn of_members(&mut self, members: &Map<String, Value>, place: Place) -> Type {
        let mut all = Vec::new();
        if let Some(Value::String(reference)) = members.get("$ref") {
            all.push(self.reference(reference, place));
        }
        if let Some(value) = members.get("const") {
            all.push(self.literals(std::slice::from_ref(value)));
        } else if let Some(Value::Array(values)) = members.get("enum") {
            all.push(self.literals(values));
        } else {
            self.composed(members, place, &mut all);
        }
        let mut whole = intersection(all);
        let composed = members.get("type").is_none();
        if composed && members.get("nullable") == Some(&Value::Bool(true)) && whole.text != "unknown" {
            whole = union(vec![whole, Type::atom("null")]);
        }
        whole
    }

    /// `allOf`, `anyOf`, `oneOf` and the schema's own keywords: what holds at once.
    fn composed(&mut self, members: &Map<String, Value>, place: Place, all: &mut Vec<Type>) {
        let list = |key: &str| members.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for member in list("allOf").iter().filter(|member| shapes::has_shape(member)).take(MAX_MEMBERS) {
            all.push(self.of(member, place.deeper()));
        }
        for key in ["anyOf", "oneOf"] {
            let shaped: Vec<&Value> = list(key).iter().filter(|member| shapes::has_shape(member)).collect();
            if shaped.is_empty() || shaped.len() < list(key).len() {
                continue;
            }
            all.push(self.either(&shaped, place));
        }
        let own = shapes::types(members);
        let says_more = shapes::properties(members).is_some_and(|shown| !shown.is_empty());
        if !own.is_empty() && (all.is_empty() || says_more) {
            let of_each = own.iter().map(|kind| self.of_type(kind, members, place)).collect();
            all.push(union(of_each));
        }
    }

    fn either(&mut self, members: &[&Value], place: Place) -> Type {
        let shown = members.len().min(MAX_MEMBERS);
        let mut types: Vec<Type> = Vec::new();
        for member in &members[..shown] {
            types.push(self.of(member, place.deeper()));
        }
        let mut whole = union(types);
        if members.len() > shown {
            whole.text.push_str(&format!(" /* +{} variants */", members.len() - shown));
            self.cut = true;
        }
        whole
    }

    fn of_type(&mut self, kind: &str, members: &Map<String, Value>, place: Place) -> Type {
        match kind {
            "string" => self.leaf("string"),
            "number" | "integer" => self.leaf("number"),
            "boolean" => self.leaf("boolean"),
            "null" => self.leaf("null"),
            "array" => self.array(members, place),
            "object" => self.object(members, place),
            _ => self.leaf("unknown"),
        }
    }

    fn array(&mut self, members: &Map<String, Value>, place: Place) -> Type {
        let items = members.get("items");
        let first = members.get("prefixItems").and_then(Value::as_array).filter(|first| !first.is_empty());
        let Some(first) = first else {
            let Some(items) = items else {
                return self.leaf("unknown[]");
            };
            let item = self.of(items, place.deeper()).within(Binding::Atom);
            return Type::atom(format!("{item}[]"));
        };
        let mut slots = Vec::new();
        for slot in first.iter().take(MAX_MEMBERS) {
            slots.push(self.of(slot, place.deeper()).text);
        }
        if first.len() > MAX_MEMBERS || items != Some(&Value::Bool(false)) {
            let rest = match items {
                Some(items) if first.len() <= MAX_MEMBERS => {
                    self.of(items, place.deeper()).within(Binding::Atom)
                }
                _ => "unknown".to_owned(),
            };
            slots.push(format!("...{rest}[]"));
        }
        Type::atom(format!("[{}]", slots.join(", ")))
    }

    fn object(&mut self, members: &Map<String, Value>, place: Place) -> Type {
        let rest = self.rest(members, place);
        let shown = shapes::properties(members).filter(|shown| !shown.is_empty());
        let Some(shown) = shown else {
            let closed = members.get("additionalProperties") == Some(&Value::Bool(false));
            return match rest {
                Some(rest) => Type::atom(format!("Record<string, {}>", rest.text)),
                None if closed => self.leaf("{}"),
                None => self.leaf("Record<string, unknown>"),
            };
        };
        if place.depth == 0 {
            self.omit_members(shown.len());
            return self.leaf(format!("{{ /* {} */ }}", fields(shown.len())));
        }
        let body = self.properties(members, shown, place);
        match rest {
            Some(rest) if rest.text != "unknown" => Type {
                text: format!("{body} & Record<string, {}>", rest.text),
                binding: Binding::Intersection,
            },
            _ => Type::atom(body),
        }
    }

    /// The type of members that have no property of their own.
    fn rest(&mut self, members: &Map<String, Value>, place: Place) -> Option<Type> {
        let mut types = Vec::new();
        if let Some(Value::Object(patterns)) = members.get("patternProperties") {
            for schema in patterns.values().take(MAX_MEMBERS) {
                types.push(self.of(schema, place.deeper()));
            }
        }
        match members.get("additionalProperties") {
            None | Some(Value::Bool(_)) => {}
            Some(schema) => types.push(self.of(schema, place.deeper())),
        }
        (!types.is_empty()).then(|| union(types))
    }

    fn properties(
        &mut self,
        members: &Map<String, Value>,
        shown: &Map<String, Value>,
        place: Place,
    ) -> String {
        let required: Vec<&str> = match members.get("required") {
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let inner = Place { depth: place.depth - 1, indent: place.indent + 1, nesting: place.nesting + 1 };
        let mut lines = Vec::new();
        let mut left = shown.len();
        for (name, schema) in shown {
            if self.size > self.limit || self.nodes_left == 0 {
                self.cut = true;
                break;
            }
            let quoted = names::property(name);
            if quoted.len() > MAX_PROPERTY_CHARS {
                continue;
            }
            let optional = !required.contains(&name.as_str());
            let docs = docs::of_property(name, schema, self.prose);
            self.size += 2 * inner.indent + quoted.len() + docs.len() + 4;
            let text = self.of(schema, inner).text;
            lines.push(Line { name: quoted, optional, docs, text });
            left -= 1;
        }
        if left > 0 {
            self.omit_members(left);
        }
        layout(&lines, left, place.indent, self.prose)
    }

    fn reference(&mut self, reference: &str, place: Place) -> Type {
        let Some(definition) = self.library.target(reference) else {
            return self.leaf("unknown");
        };
        if place.depth == 0 {
            let name = self.omit_type(&definition);
            return self.leaf(name);
        }
        let Some((definition, schema)) = self.unaliased(definition) else {
            return self.leaf("unknown");
        };
        let objects = schema.get("properties").is_some();
        let once = self.counts.get(reference).is_none_or(|count| *count <= 1);
        let open = self.inlining.contains(&definition);
        if shapes::is_small(&schema) && (once || !objects) && !open {
            self.inlining.push(definition);
            let shown = self.of(&schema, place.deeper());
            self.inlining.pop();
            return shown;
        }
        let name = self.queue_type(&definition, place.depth);
        self.leaf(name)
    }

    /// The definition behind definitions that only refer to others.
    fn unaliased(&self, mut definition: String) -> Option<(String, Schema<'a>)> {
        let mut schema = self.library.get(&definition)?;
        for _ in 0..MAX_ALIASES {
            let Some(next) = shapes::alias(&schema).and_then(|next| self.library.target(next)) else {
                return Some((definition, schema));
            };
            schema = self.library.get(&next)?;
            definition = next;
        }
        None
    }

    /// Literal types, or their base type with some of them in a comment.
    fn literals(&mut self, values: &[Value]) -> Type {
        if values.is_empty() {
            return self.leaf("never");
        }
        let mut literals: Vec<String> = Vec::new();
        let mut length = 0;
        let mut fit = true;
        for value in values.iter().take(MAX_LITERALS + 1) {
            // A text that is too long is not even quoted.
            fit &= value.as_str().is_none_or(|text| text.len() <= MAX_LITERAL_CHARS);
            let literal = if fit { literal(value) } else { break };
            fit &= literal.len() <= MAX_LITERAL_CHARS;
            if !literals.contains(&literal) {
                length += literal.len() + 3;
                literals.push(literal);
            }
        }
        fit &= values.len() <= MAX_LITERALS && length <= MAX_LITERALS_CHARS;
        if fit {
            self.size += length;
            return union(literals.into_iter().map(Type::atom).collect());
        }
        let sample: Vec<String> = values.iter().take(SAMPLE_LITERALS).map(sample).collect();
        let mut kinds: Vec<&str> = Vec::new();
        for kind in values.iter().map(kind) {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        let more = if values.len() > SAMPLE_LITERALS { ", …" } else { "" };
        let comment = format!("/* one of {}: {}{more} */", values.len(), sample.join(", "));
        let binding = if kinds.len() > 1 { Binding::Union } else { Binding::Atom };
        let Type { text, .. } = self.leaf(format!("{} {comment}", kinds.join(" | ")));
        Type { text, binding }
    }
}
