//! Builds the tree, and leaves out what no tool is made of: examples, links,
//! callbacks and most extensions are half of a published document's bytes.

use std::cell::{Cell, RefCell};
use std::fmt;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};
use serde_json::{Map, Number, Value};

/// Four times what the largest published document has (Microsoft Graph beta,
/// 1.5 million); a node costs up to 160 bytes.
const MAX_NODES: usize = 6_000_000;
/// YAML aliases copy, so that a short text can become a long one.
const MAX_CHARS_PER_BYTE: usize = 4;
const MIN_CHARS: usize = 16 << 20;
const MAX_DUPLICATES: usize = 20;

/// How much tree a text may become.
pub(super) struct Budget {
    nodes_left: Cell<usize>,
    chars_left: Cell<usize>,
    duplicates: RefCell<Vec<String>>,
}

impl Budget {
    /// For texts of so many bytes together.
    pub(super) fn for_bytes(len: usize) -> Self {
        let chars = len.saturating_mul(MAX_CHARS_PER_BYTE).max(MIN_CHARS);
        Self {
            nodes_left: Cell::new(MAX_NODES),
            chars_left: Cell::new(chars),
            duplicates: RefCell::default(),
        }
    }

    /// Keys that an object has more than once; the last one counts.
    pub(super) fn take_duplicates(&self) -> Vec<String> {
        self.duplicates.take()
    }

    fn tell_duplicate(&self, key: &str) {
        let mut duplicates = self.duplicates.borrow_mut();
        if duplicates.len() < MAX_DUPLICATES {
            duplicates.push(key.chars().take(100).collect());
        }
    }

    fn spend<E: Error>(&self, chars: usize) -> Result<(), E> {
        let nodes = self.nodes_left.get().checked_sub(1);
        let chars = self.chars_left.get().checked_sub(chars);
        let (Some(nodes), Some(chars)) = (nodes, chars) else {
            return Err(E::custom("too many values, or too much text once aliases are followed"));
        };
        self.nodes_left.set(nodes);
        self.chars_left.set(chars);
        Ok(())
    }
}

/// Reads JSON. The reader refuses more than 128 levels.
pub(super) fn json(text: &str, place: Place, budget: &Budget) -> Result<Value, String> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let seed = Skim { place, budget, yaml: false };
    let value = seed.deserialize(&mut reader).map_err(|fault| fault.to_string())?;
    reader.end().map_err(|fault| fault.to_string())?;
    Ok(value)
}

/// Reads the first document of a YAML stream.
pub(super) fn yaml(text: &str, place: Place, budget: &Budget) -> Result<Value, String> {
    let first = yaml_serde::Deserializer::from_str(text).next();
    let reader = first.ok_or_else(|| "no document in it".to_owned())?;
    let seed = Skim { place, budget, yaml: true };
    seed.deserialize(reader).map_err(|fault| fault.to_string())
}

/// Where in an OpenAPI document a value stands, as far as skipping needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Root,
    Components,
    Paths,
    PathItem,
    Operations,
    Operation,
    Responses,
    Response,
    Content,
    MediaType,
    /// Where nothing is known of: all is kept.
    Other,
}

enum Step {
    Into(Place),
    /// The key alone is kept.
    Mark,
    Skip,
}

impl Place {
    fn step(self, key: &str) -> Step {
        let extension = key.starts_with("x-");
        match (self, key) {
            (Self::Root, "paths" | "x-ms-paths") => Step::Into(Self::Paths),
            (Self::Root, "components") => Step::Into(Self::Components),
            (Self::Root, "webhooks") => Step::Mark,
            (Self::Components, "examples" | "callbacks" | "links" | "headers") => Step::Skip,
            (Self::Components, "responses" | "requestBodies") => Step::Into(Self::Responses),
            (Self::Components, "pathItems") => Step::Into(Self::Paths),
            (Self::Components, "mediaTypes") => Step::Into(Self::Content),
            (Self::Operation, "callbacks") => Step::Skip,
            (Self::Operation, "responses") => Step::Into(Self::Responses),
            (Self::Operation, "requestBody") => Step::Into(Self::Response),
            (Self::Response, "headers" | "links" | "examples") => Step::Skip,
            (Self::Response, "content") => Step::Into(Self::Content),
            (Self::MediaType, "example" | "examples") => Step::Skip,
            (Self::Content, _) => Step::Into(Self::MediaType),
            (Self::Responses, _) => Step::Into(Self::Response),
            (Self::Other, _) => Step::Into(Self::Other),
            (_, _) if extension => Step::Skip,
            (Self::Paths, _) => Step::Into(Self::PathItem),
            (Self::PathItem, "additionalOperations") => Step::Into(Self::Operations),
            (Self::PathItem, key) if is_method(key) => Step::Into(Self::Operation),
            (Self::Operations, _) => Step::Into(Self::Operation),
            (_, _) => Step::Into(Self::Other),
        }
    }
}

fn is_method(key: &str) -> bool {
    matches!(key, "get" | "put" | "post" | "delete" | "options" | "head" | "patch" | "trace" | "query")
}

#[derive(Clone, Copy)]
struct Skim<'b> {
    place: Place,
    budget: &'b Budget,
    yaml: bool,
}

impl<'de> DeserializeSeed<'de> for Skim<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl Skim<'_> {
    fn insert_merged(map: &mut Map<String, Value>, merged: Vec<Value>) {
        for source in merged {
            match source {
                Value::Object(entries) => {
                    for (key, value) in entries {
                        map.entry(key).or_insert(value);
                    }
                }
                Value::Array(list) => Self::insert_merged(map, list),
                _ => {}
            }
        }
    }
}

impl<'de> Visitor<'de> for Skim<'_> {
    type Value = Value;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        self.budget.spend(0)?;
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        self.budget.spend(0)?;
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        self.budget.spend(0)?;
        Ok(value.into())
    }

    #[expect(clippy::cast_precision_loss, reason = "a bound of a schema may be approximate")]
    fn visit_i128<E: Error>(self, value: i128) -> Result<Value, E> {
        self.visit_f64(value as f64)
    }

    #[expect(clippy::cast_precision_loss, reason = "a bound of a schema may be approximate")]
    fn visit_u128<E: Error>(self, value: u128) -> Result<Value, E> {
        self.visit_f64(value as f64)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        self.budget.spend(0)?;
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        self.budget.spend(value.len())?;
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        self.budget.spend(value.len())?;
        Ok(Value::String(value))
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        self.deserialize(reader)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        self.deserialize(reader)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.budget.spend(0)?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        self.budget.spend(0)?;
        let mut map = Map::new();
        let mut merged = Vec::new();
        while let Some(key) = entries.next_key_seed(Key)? {
            self.budget.spend(key.len())?;
            if self.yaml && key == "<<" {
                merged.push(entries.next_value_seed(self)?);
                continue;
            }
            match self.place.step(&key) {
                Step::Into(place) => {
                    let value = entries.next_value_seed(Skim { place, ..self })?;
                    if map.contains_key(&key) {
                        self.budget.tell_duplicate(&key);
                    }
                    map.insert(key, value);
                }
                Step::Mark => {
                    entries.next_value::<IgnoredAny>()?;
                    map.insert(key, Value::Null);
                }
                Step::Skip => {
                    entries.next_value::<IgnoredAny>()?;
                }
            }
        }
        Self::insert_merged(&mut map, merged);
        Ok(Value::Object(map))
    }

    /// A YAML tag (`!name value`): the value counts.
    fn visit_enum<A: EnumAccess<'de>>(self, tagged: A) -> Result<Value, A::Error> {
        let (IgnoredTag, content) = tagged.variant_seed(TagSeed)?;
        content.newtype_variant_seed(self)
    }
}

/// A key as written: YAML's `200:` and `true:` are names here.
struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<String, D::Error> {
        String::deserialize(reader)
    }
}

struct IgnoredTag;
struct TagSeed;

impl<'de> DeserializeSeed<'de> for TagSeed {
    type Value = IgnoredTag;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<IgnoredTag, D::Error> {
        String::deserialize(reader).map(|_| IgnoredTag)
    }
}
