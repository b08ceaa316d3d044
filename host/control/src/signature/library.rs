//! The definitions that a tool's schemas refer to.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Deref;
use std::rc::Rc;

use serde_json::Value;

use super::Definitions;
use super::names;

/// Definitions that are looked up for one signature at most.
const MAX_LOOKUPS: u32 = 400;
/// Nodes that a search for a type by its shown name visits at most.
const MAX_VISITED: usize = 20_000;

/// A definition's schema, cheap to clone.
#[derive(Clone)]
pub(super) enum Schema<'a> {
    Borrowed(&'a Value),
    Owned(Rc<Value>),
}

impl Deref for Schema<'_> {
    type Target = Value;

    fn deref(&self) -> &Value {
        match self {
            Self::Borrowed(value) => value,
            Self::Owned(value) => value,
        }
    }
}

/// The catalogue's definitions, whatever they live for.
type LookUp<'a> = dyn Fn(&str) -> Option<Schema<'a>> + 'a;

/// The tool's own `$defs` first, then the catalogue's definitions; each looked
/// up once.
pub(super) struct Library<'a> {
    catalogue: Box<LookUp<'a>>,
    roots: Vec<&'a Value>,
    known: RefCell<HashMap<String, Option<Schema<'a>>>>,
    lookups_left: Cell<u32>,
}

impl<'a> Library<'a> {
    pub(super) fn new<'d: 'a>(
        definitions: &'a Definitions<'d>,
        input: &'a Value,
        output: Option<&'a Value>,
    ) -> Self {
        let catalogue = move |name: &str| {
            definitions(name).map(|found| match found {
                Cow::Borrowed(value) => Schema::Borrowed(value),
                Cow::Owned(value) => Schema::Owned(Rc::new(value)),
            })
        };
        Library {
            catalogue: Box::new(catalogue),
            roots: std::iter::once(input).chain(output).collect(),
            known: RefCell::default(),
            lookups_left: Cell::new(MAX_LOOKUPS),
        }
    }

    /// The schema under `name`, if there is one and lookups are left.
    pub(super) fn get(&self, name: &str) -> Option<Schema<'a>> {
        if let Some(known) = self.known.borrow().get(name) {
            return known.clone();
        }
        let left = self.lookups_left.get().checked_sub(1)?;
        self.lookups_left.set(left);
        let found = self.look_up(name);
        self.known.borrow_mut().insert(name.to_owned(), found.clone());
        found
    }

    fn look_up(&self, name: &str) -> Option<Schema<'a>> {
        for root in &self.roots {
            for holder in ["$defs", "definitions"] {
                if let Some(schema) = root.get(holder).and_then(|held| held.get(name)) {
                    return Some(Schema::Borrowed(schema));
                }
            }
        }
        (self.catalogue)(name)
    }

    /// The name that a reference means, as it is looked up by.
    pub(super) fn target(&self, reference: &str) -> Option<String> {
        let raw = ["#/$defs/", "#/definitions/", "#/components/schemas/"]
            .iter()
            .find_map(|prefix| reference.strip_prefix(prefix))?;
        // A plain name is not looked up: it may be all that is shown of it.
        if !raw.contains(['%', '~']) || self.get(raw).is_some() {
            return Some(raw.to_owned());
        }
        let decoded = percent_decoded(raw).replace("~1", "/").replace("~0", "~");
        Some(if decoded != raw && self.get(&decoded).is_some() { decoded } else { raw.to_owned() })
    }

    /// The definition that is called `name`, in the catalogue or as a type.
    pub(super) fn resolve(&self, name: &str) -> Option<String> {
        if self.get(name).is_some() {
            return Some(name.to_owned());
        }
        // The names are given in the order of reach, as a signature does.
        let mut given = names::Names::default();
        self.reachable().into_iter().find(|definition| given.of(definition) == name)
    }

    /// The definitions that the tool's schemas reach, nearest first.
    pub(super) fn reachable(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut seen = HashSet::new();
        let mut queue: VecDeque<Schema<'a>> = self.roots.iter().map(|root| Schema::Borrowed(root)).collect();
        let mut left = MAX_VISITED;
        while let Some(schema) = queue.pop_front() {
            for reference in references(&schema, &mut left) {
                let Some(name) = self.target(&reference) else {
                    continue;
                };
                if !seen.insert(name.clone()) {
                    continue;
                }
                if let Some(schema) = self.get(&name) {
                    queue.push_back(schema);
                    found.push(name);
                }
            }
        }
        found
    }
}

/// Every `$ref` within a schema in the order of the text, visiting at most
/// `left` nodes. `$defs` of a root are no part of what it refers to.
pub(super) fn references(schema: &Value, left: &mut usize) -> Vec<String> {
    let mut found = Vec::new();
    let mut stack = vec![schema];
    while let Some(value) = stack.pop() {
        let Some(rest) = left.checked_sub(1) else {
            break;
        };
        *left = rest;
        match value {
            Value::Object(members) => {
                if let Some(Value::String(reference)) = members.get("$ref") {
                    found.push(reference.clone());
                }
                let inner = members.iter().filter(|(key, _)| {
                    !matches!(
                        key.as_str(),
                        "$defs" | "definitions" | "enum" | "const" | "default" | "examples"
                    )
                });
                let first = stack.len();
                stack.extend(inner.map(|(_, value)| value));
                stack[first..].reverse();
            }
            Value::Array(items) => {
                let first = stack.len();
                stack.extend(items);
                stack[first..].reverse();
            }
            _ => {}
        }
    }
    found
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = match (first, tail) {
            (b'%', [high, low, ..]) => hex(*high).zip(hex(*low)),
            _ => None,
        };
        if let Some((high, low)) = code {
            bytes.push(high * 16 + low);
            rest = &tail[2..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn percent_decoding_keeps_what_it_cannot_read() {
        assert_eq!(percent_decoded("a%20b%2fc"), "a b/c");
        assert_eq!(percent_decoded("100%"), "100%");
        assert_eq!(percent_decoded("%zz%ff"), "%zz%ff");
    }

    #[test]
    fn references_are_in_the_order_of_the_text() {
        let schema = json!({"properties": {"a": {"$ref": "1"}, "b": {"items": {"$ref": "2"}}},
            "allOf": [{"$ref": "3"}, {"not": {"$ref": "4"}}], "$defs": {"x": {"$ref": "5"}}});
        assert_eq!(references(&schema, &mut 100), ["1", "2", "3", "4"]);
        assert_eq!(references(&schema, &mut 3).len(), 1);
    }
}
