//! Enums and input objects as definitions of the catalogue, each written once
//! and only where something refers to it.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::{Map, Value, json};

use super::{arguments, scalars};
use crate::schema::{Kind, Schema, Type};
use crate::text::line;

/// Longer enums are shown in part, and taken whole.
const MAX_VALUES: usize = 1_500;
const MAX_DESCRIPTION_CHARS: usize = 400;
/// The host takes 1 MiB.
const MAX_BYTES: usize = 768 << 10;

/// What is referred to, and what of it is still to be written.
#[derive(Debug)]
pub(crate) struct Definitions<'s> {
    pub(crate) schema: &'s Schema,
    known: HashSet<String>,
    waiting: VecDeque<String>,
    /// What was asked of `takes_files` before.
    files: HashMap<String, bool>,
}

impl<'s> Definitions<'s> {
    pub(crate) fn new(schema: &'s Schema) -> Self {
        Self { schema, known: HashSet::new(), waiting: VecDeque::new(), files: HashMap::new() }
    }

    /// A reference to a type, which is then to be written.
    pub(crate) fn reference(&mut self, name: &str) -> Value {
        if self.known.insert(name.to_owned()) {
            self.waiting.push_back(name.to_owned());
        }
        json!({"$ref": format!("#/$defs/{name}")})
    }

    /// The next definition, and what had to be left out of it. Writing one
    /// may refer to others.
    pub(crate) fn take_next(&mut self) -> Option<(String, String, Option<String>)> {
        let name = self.waiting.pop_front()?;
        let ty = self.schema.get(&name)?;
        let json = match ty.kind {
            Kind::Enum => an_enum(ty),
            _ => self.object(ty),
        };
        let text = json.to_string();
        if text.len() <= MAX_BYTES {
            return Some((name, text, None));
        }
        let fault = format!(
            "the input {name} is too large to be described ({} bytes): any object is taken",
            text.len()
        );
        Some((name, json!({"type": "object"}).to_string(), Some(fault)))
    }

    fn object(&mut self, ty: &'s Type) -> Value {
        let mut schema = Map::new();
        schema.insert("type".to_owned(), json!("object"));
        let mut told = line(&ty.description, MAX_DESCRIPTION_CHARS);
        if ty.one_of {
            told = format!("Exactly one of its fields. {told}").trim_end().to_owned();
        }
        if !told.is_empty() {
            schema.insert("description".to_owned(), json!(told));
        }
        let (properties, required) = arguments::properties(self, &ty.inputs, ty.one_of);
        schema.insert("properties".to_owned(), Value::Object(properties));
        if ty.one_of {
            schema.insert("minProperties".to_owned(), json!(1));
            schema.insert("maxProperties".to_owned(), json!(1));
        } else if !required.is_empty() {
            schema.insert("required".to_owned(), json!(required));
        }
        schema.insert("additionalProperties".to_owned(), json!(false));
        Value::Object(schema)
    }

    /// Whether a file may stand somewhere in a value of the type.
    pub(crate) fn takes_files(&mut self, name: &str) -> bool {
        if let Some(known) = self.files.get(name) {
            return *known;
        }
        let found = self.reaches_files(name);
        self.files.insert(name.to_owned(), found);
        found
    }

    fn reaches_files(&self, name: &str) -> bool {
        let mut seen = HashSet::new();
        let mut waiting = vec![name];
        while let Some(name) = waiting.pop() {
            if !seen.insert(name) {
                continue;
            }
            match self.schema.get(name) {
                Some(ty) if ty.kind == Kind::Scalar && scalars::is_upload(name) => return true,
                Some(ty) => waiting.extend(ty.inputs.iter().map(|input| input.ty.name.as_str())),
                None => {}
            }
        }
        false
    }
}

fn an_enum(ty: &Type) -> Value {
    let mut told = line(&ty.description, MAX_DESCRIPTION_CHARS);
    let deprecated: Vec<&str> =
        ty.values.iter().filter(|value| value.deprecated).map(|value| value.name.as_str()).take(20).collect();
    if !deprecated.is_empty() {
        told = format!("{told} Deprecated: {}.", deprecated.join(", ")).trim().to_owned();
    }
    let mut schema = json!({"type": "string"});
    if (1..=MAX_VALUES).contains(&ty.values.len()) {
        let names: Vec<&str> = ty.values.iter().map(|value| value.name.as_str()).collect();
        schema["enum"] = json!(names);
    }
    if !told.is_empty() {
        schema["description"] = json!(told);
    }
    schema
}
