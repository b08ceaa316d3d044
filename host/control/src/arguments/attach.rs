//! A schema and the definitions it reaches as one bounded, self-contained
//! document of the keywords that are checked.
//!
//! What can't be kept is left out, which must never make the schema refuse
//! more. Most keywords only refuse; `not`, `if`, `oneOf` and a few others turn
//! a weaker part into a stricter whole. So the copy is made twice: where the
//! first attempt had to leave anything out, the second leaves those out too.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::{Map, Value, json};

use super::Definitions;
use super::meter;
use super::pattern::{MAX_PATTERNS, Verdicts};

/// Nodes of the copy.
const MAX_NODES: usize = 20_000;
/// Definitions of the copy.
const MAX_DEFINITIONS: usize = 256;
/// Nesting within one definition.
const MAX_NESTING: usize = 48;

/// The copy.
pub(super) struct Attached {
    pub(super) schema: Value,
    pub(super) definitions: usize,
    /// Patterns that are in it.
    pub(super) patterns: HashSet<String>,
}

/// Copies `root` and what it reaches.
pub(super) fn attach(root: &Value, definitions: &Definitions<'_>, verdicts: &Verdicts) -> Attached {
    let whole = Copier::new(root, definitions, verdicts, false).run();
    match whole {
        Ok(attached) => attached,
        Err(Weakened) => {
            Copier::new(root, definitions, verdicts, true).run().unwrap_or_else(|Weakened| nothing())
        }
    }
}

fn nothing() -> Attached {
    Attached { schema: Value::Bool(true), definitions: 0, patterns: HashSet::new() }
}

/// Something had to be left out.
struct Weakened;

struct Copier<'a, 'd> {
    root: &'a Value,
    definitions: &'a Definitions<'d>,
    verdicts: &'a Verdicts,
    /// Whether keywords that are only right of a whole schema are left out.
    weak: bool,
    weakened: bool,
    numbers: HashMap<String, usize>,
    pending: VecDeque<String>,
    patterns: HashSet<String>,
    nodes_left: usize,
}

impl<'a, 'd> Copier<'a, 'd> {
    fn new(root: &'a Value, definitions: &'a Definitions<'d>, verdicts: &'a Verdicts, weak: bool) -> Self {
        Self {
            root,
            definitions,
            verdicts,
            weak,
            weakened: false,
            numbers: HashMap::new(),
            pending: VecDeque::new(),
            patterns: HashSet::new(),
            nodes_left: MAX_NODES,
        }
    }

    fn run(mut self) -> Result<Attached, Weakened> {
        let mut schema = self.schema(self.root, 0);
        let mut held = Map::new();
        while let Some(target) = self.pending.pop_front() {
            let number = self.numbers[&target];
            let definition = self.find(&target);
            let copy = match definition {
                Some(definition) => self.schema(&definition, 0),
                None => self.any(),
            };
            held.insert(format!("d{number}"), copy);
        }
        if self.weakened && !self.weak {
            return Err(Weakened);
        }
        let definitions = held.len();
        // A schema that refers to others is metered, so it is an object.
        if let (Value::Object(members), true) = (&mut schema, definitions > 0) {
            members.insert("$defs".to_owned(), Value::Object(held));
        }
        Ok(Attached { schema, definitions, patterns: self.patterns })
    }

    /// Stands for a part that is left out.
    fn any(&mut self) -> Value {
        self.weakened = true;
        Value::Bool(true)
    }

    fn schema(&mut self, schema: &Value, nesting: usize) -> Value {
        let Value::Object(members) = schema else {
            return if schema.is_boolean() { schema.clone() } else { self.any() };
        };
        if self.nodes_left == 0 || nesting > MAX_NESTING {
            return self.any();
        }
        self.nodes_left -= 1;
        let mut copy = Map::new();
        let mut both = Vec::new();
        for (key, value) in members {
            self.keyword(members, key, value, nesting + 1, &mut copy, &mut both);
        }
        if !both.is_empty() {
            let all = copy.entry("allOf").or_insert_with(|| json!([]));
            if let Value::Array(all) = all {
                all.append(&mut both);
            }
        }
        metered(copy)
    }

    fn keyword(
        &mut self,
        members: &Map<String, Value>,
        key: &str,
        value: &Value,
        nesting: usize,
        copy: &mut Map<String, Value>,
        both: &mut Vec<Value>,
    ) {
        let kept = match key {
            "$ref" => self.reference(value),
            "not" | "if" | "then" | "else" | "unevaluatedItems" | "unevaluatedProperties" if self.weak => {
                return;
            }
            "maxContains" if self.weak => return,
            "additionalProperties" if self.weak && members.contains_key("patternProperties") => {
                return;
            }
            "items"
            | "additionalProperties"
            | "contains"
            | "propertyNames"
            | "not"
            | "if"
            | "then"
            | "else"
            | "unevaluatedItems"
            | "unevaluatedProperties" => Some(self.schema(value, nesting)),
            "oneOf" if self.weak => {
                // Of alternatives that were weakened, more than one may match.
                both.extend(self.schemas(value, nesting).map(|any| json!({ "anyOf": any })));
                return;
            }
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => self.schemas(value, nesting),
            "properties" | "dependentSchemas" => self.named(value, nesting),
            "patternProperties" => self.patterned(value, nesting),
            "pattern" => self.pattern(value),
            "enum" | "const" => self.literal(key, value),
            key if is_assertion(key) => {
                let valid = assertion_is_valid(key, value);
                self.weakened |= !valid;
                valid.then(|| value.clone())
            }
            // Annotations, and keywords that nobody defined.
            _ => return,
        };
        match kept {
            Some(kept) => {
                copy.insert(key.to_owned(), kept);
            }
            None => self.weakened = true,
        }
    }

    fn schemas(&mut self, value: &Value, nesting: usize) -> Option<Value> {
        let all = value.as_array().filter(|all| !all.is_empty())?;
        Some(all.iter().map(|schema| self.schema(schema, nesting)).collect())
    }

    fn named(&mut self, value: &Value, nesting: usize) -> Option<Value> {
        let mut copy = Map::new();
        for (name, schema) in value.as_object()? {
            // A property beyond the bound is kept as one that may be anything.
            let schema = self.schema(schema, nesting);
            copy.insert(name.clone(), schema);
        }
        Some(Value::Object(copy))
    }

    fn patterned(&mut self, value: &Value, nesting: usize) -> Option<Value> {
        let mut copy = Map::new();
        for (pattern, schema) in value.as_object()? {
            if self.may_use(pattern) {
                let schema = self.schema(schema, nesting);
                copy.insert(pattern.clone(), schema);
            } else {
                self.weakened = true;
            }
        }
        Some(Value::Object(copy))
    }

    fn pattern(&mut self, value: &Value) -> Option<Value> {
        let pattern = value.as_str()?;
        self.may_use(pattern).then(|| value.clone())
    }

    fn may_use(&mut self, pattern: &str) -> bool {
        let known = self.patterns.contains(pattern);
        if !self.verdicts.may_use(pattern) || (!known && self.patterns.len() >= MAX_PATTERNS) {
            return false;
        }
        if !known {
            self.patterns.insert(pattern.to_owned());
        }
        true
    }

    /// `enum` and `const`, whose values count as nodes.
    fn literal(&mut self, key: &str, value: &Value) -> Option<Value> {
        if key == "enum" && value.as_array().is_none_or(Vec::is_empty) {
            return None;
        }
        let nodes = count(value, self.nodes_left)?;
        self.nodes_left -= nodes;
        Some(value.clone())
    }

    fn reference(&mut self, value: &Value) -> Option<Value> {
        let target = value.as_str()?;
        let number = match self.numbers.get(target) {
            Some(number) => *number,
            None => {
                if self.numbers.len() >= MAX_DEFINITIONS || self.find(target).is_none() {
                    return None;
                }
                let number = self.numbers.len();
                self.numbers.insert(target.to_owned(), number);
                self.pending.push_back(target.to_owned());
                number
            }
        };
        Some(Value::String(format!("#/$defs/d{number}")))
    }

    /// What a reference means: within the tool's schema, else a definition of
    /// the catalogue or a part of one.
    fn find(&self, reference: &str) -> Option<Cow<'a, Value>>
    where
        'd: 'a,
    {
        let fragment = reference.strip_prefix('#')?;
        if let Some(found) = self.root.pointer(fragment) {
            return Some(Cow::Borrowed(found));
        }
        let named = ["/$defs/", "/definitions/", "/components/schemas/"]
            .iter()
            .find_map(|prefix| fragment.strip_prefix(prefix))?;
        if let Some(found) = (self.definitions)(named) {
            return Some(found);
        }
        let (name, inner) = named.split_once('/').map_or((named, ""), |(name, inner)| (name, inner));
        let found = (self.definitions)(&name.replace("~1", "/").replace("~0", "~"))?;
        if inner.is_empty() {
            return Some(found);
        }
        found.pointer(&format!("/{inner}")).cloned().map(Cow::Owned)
    }
}

/// Nodes of a value, if there are not more than `limit`.
fn count(value: &Value, limit: usize) -> Option<usize> {
    let mut stack = vec![value];
    let mut nodes = 0;
    while let Some(value) = stack.pop() {
        nodes += 1;
        if nodes > limit {
            return None;
        }
        match value {
            Value::Array(items) => stack.extend(items),
            Value::Object(members) => stack.extend(members.values()),
            _ => {}
        }
    }
    Some(nodes)
}

/// The schema behind a meter. The library runs keywords of its own before
/// others in one schema, but the members of `allOf` in order. Schemas without
/// others within need no meter, unless they are expensive.
fn metered(copy: Map<String, Value>) -> Value {
    let literals = copy.get("enum").and_then(Value::as_array).map_or(0, Vec::len);
    let branches = copy.iter().any(|(key, value)| {
        matches!(key.as_str(), "$ref" | "pattern" | "uniqueItems")
            || (!is_literal(key) && (value.is_object() || holds_schemas(value)))
    });
    if !branches && literals <= 64 {
        return Value::Object(copy);
    }
    let steps = 1 + copy.len() + literals / 8;
    json!({ "allOf": [{ meter::KEYWORD: steps }, copy] })
}

fn is_literal(key: &str) -> bool {
    matches!(key, "enum" | "const" | "type" | "required" | "dependentRequired")
}

fn holds_schemas(value: &Value) -> bool {
    value.as_array().is_some_and(|all| all.iter().any(|member| member.is_object() || member.is_boolean()))
}

fn is_assertion(key: &str) -> bool {
    matches!(
        key,
        "type"
            | "minimum"
            | "maximum"
            | "exclusiveMinimum"
            | "exclusiveMaximum"
            | "multipleOf"
            | "minLength"
            | "maxLength"
            | "minItems"
            | "maxItems"
            | "minProperties"
            | "maxProperties"
            | "minContains"
            | "maxContains"
            | "uniqueItems"
            | "required"
            | "dependentRequired"
    )
}

/// Whether the value is one that the keyword may have.
fn assertion_is_valid(key: &str, value: &Value) -> bool {
    match key {
        "type" => match value {
            Value::String(name) => is_type(name),
            Value::Array(names) => {
                let distinct: HashSet<_> =
                    names.iter().filter_map(Value::as_str).filter(|name| is_type(name)).collect();
                !names.is_empty() && distinct.len() == names.len()
            }
            _ => false,
        },
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
        "multipleOf" => value.as_f64().is_some_and(|number| number > 0.0),
        "uniqueItems" => value.is_boolean(),
        "required" => is_names(value),
        "dependentRequired" => value.as_object().is_some_and(|all| all.values().all(is_names)),
        _ => value.is_u64(),
    }
}

fn is_type(name: &str) -> bool {
    matches!(name, "string" | "number" | "integer" | "boolean" | "null" | "array" | "object")
}

/// Distinct strings.
fn is_names(value: &Value) -> bool {
    let Some(names) = value.as_array() else {
        return false;
    };
    let distinct: HashSet<_> = names.iter().filter_map(Value::as_str).collect();
    distinct.len() == names.len()
}
