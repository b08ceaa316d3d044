//! The fields of a request's JSON body, and all that is wrong with them.

use http::StatusCode;
use serde_json::{Map, Value};

use super::call::Call;
use super::refusals::{Refusal, field_error};

/// Reads fields and collects errors; [`Fields::finish`] reports them at once.
#[derive(Debug)]
pub(crate) struct Fields {
    resource: &'static str,
    object: Map<String, Value>,
    errors: Vec<Value>,
}

impl Fields {
    /// 400 for a body that is no JSON object. No body is an empty object.
    pub(crate) fn of(call: &Call, resource: &'static str) -> Result<Self, Refusal> {
        let object = if call.body.is_empty() {
            Map::new()
        } else {
            match serde_json::from_slice(&call.body) {
                Ok(Value::Object(object)) => object,
                Ok(_) => return Err(bad_request("Body should be a JSON object")),
                Err(_) => return Err(bad_request("Problems parsing JSON")),
            }
        };
        Ok(Self { resource, object, errors: Vec::new() })
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.object.contains_key(name)
    }

    /// A text that must be there and must not be blank.
    pub(crate) fn required_text(&mut self, name: &str) -> String {
        match self.object.get(name) {
            Some(Value::String(text)) if !text.trim().is_empty() => text.clone(),
            None | Some(Value::Null | Value::String(_)) => self.fail(name, "missing_field"),
            Some(_) => self.fail(name, "invalid"),
        }
    }

    pub(crate) fn text(&mut self, name: &str) -> Option<String> {
        match self.object.get(name)? {
            Value::String(text) => Some(text.clone()),
            Value::Null => None,
            _ => self.fail(name, "invalid"),
        }
    }

    /// The outer option: whether it was sent; the inner: whether it was null.
    pub(crate) fn text_change(&mut self, name: &str) -> Option<Option<String>> {
        match self.object.get(name)? {
            Value::String(text) => Some(Some(text.clone())),
            Value::Null => Some(None),
            _ => self.fail(name, "invalid"),
        }
    }

    /// One of `choices`.
    pub(crate) fn choice(&mut self, name: &str, choices: &[&'static str]) -> Option<&'static str> {
        let text = self.text(name)?;
        match choices.iter().find(|choice| **choice == text) {
            Some(choice) => Some(choice),
            None => self.fail(name, "invalid"),
        }
    }

    pub(crate) fn boolean(&mut self, name: &str) -> Option<bool> {
        match self.object.get(name)? {
            Value::Bool(boolean) => Some(*boolean),
            Value::Null => None,
            _ => self.fail(name, "invalid"),
        }
    }

    /// As [`Self::text_change`], of a whole number; digits in a text count.
    pub(crate) fn number_change(&mut self, name: &str) -> Option<Option<u32>> {
        let number = match self.object.get(name)? {
            Value::Null => return Some(None),
            Value::String(text) => text.parse().ok(),
            other => other.as_u64().and_then(|wide| u32::try_from(wide).ok()),
        };
        match number {
            Some(number) => Some(Some(number)),
            None => self.fail(name, "invalid"),
        }
    }

    /// Texts, or objects with a `name`, as labels may be given.
    pub(crate) fn texts(&mut self, name: &str) -> Option<Vec<String>> {
        let Value::Array(items) = self.object.get(name)? else {
            return self.fail(name, "invalid");
        };
        let text = |item: &Value| item.as_str().or(item["name"].as_str()).map(str::to_owned);
        match items.iter().map(text).collect() {
            Some(texts) => Some(texts),
            None => self.fail(name, "invalid"),
        }
    }

    /// An object as it was sent.
    pub(crate) fn object(&mut self, name: &str) -> Option<Map<String, Value>> {
        match self.object.get(name)? {
            Value::Object(object) => Some(object.clone()),
            _ => self.fail(name, "invalid"),
        }
    }

    /// Notes that the field is wrong; answers what stands in for it.
    pub(crate) fn fail<T: Default>(&mut self, name: &str, code: &str) -> T {
        self.errors.push(field_error(self.resource, name, code));
        T::default()
    }

    /// 422 where anything was wrong.
    pub(crate) fn finish(self) -> Result<(), Refusal> {
        match self.errors.is_empty() {
            true => Ok(()),
            false => Err(Refusal::invalid(self.errors)),
        }
    }
}

fn bad_request(message: &str) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, message)
}
