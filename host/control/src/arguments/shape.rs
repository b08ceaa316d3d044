//! The names that a tool takes at the top, and the check of names alone.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::{Map, Value};

use super::closest::closest;
use super::explain::{self, shown};
use super::{ArgumentFault, Definitions, Issue, Suggestion};

/// Schemas that are looked into for names.
const MAX_VISITED: usize = 256;
/// Names that are remembered, at the top and within one argument.
const MAX_NAMES: usize = 2_000;
/// Names that are listed in a message.
const MAX_LISTED: usize = 30;
/// What callers used to other tools call the body.
const BODY_NAMES: &[&str] = &["requestBody", "request_body", "requestbody", "data", "payload", "json"];

/// One name that is taken.
#[derive(Debug)]
struct Accepted {
    name: String,
    docs: String,
    /// The names of its members, where it is an object.
    inner: Vec<String>,
}

/// What is taken at the top.
#[derive(Debug, Default)]
pub(super) struct Shape {
    accepted: Vec<Accepted>,
    required: Vec<String>,
    /// Whether other names may be taken too.
    open: bool,
    closed: bool,
}

impl Shape {
    /// Of a schema; without `definitions`, references out of it leave it open.
    pub(super) fn of(schema: &Value, definitions: Option<&Definitions<'_>>) -> Self {
        let mut shape = Shape::default();
        let mut left = MAX_VISITED;
        let look_up = |reference: &str| find(schema, reference, definitions);
        shape.gather(schema, true, &look_up, &mut left);
        // A schema that names nothing and forbids nothing takes anything.
        shape.open |= shape.accepted.is_empty() && !shape.closed;
        shape
    }

    /// `must` is false in alternatives, whose required names may not be needed.
    fn gather<'v>(
        &mut self,
        schema: &Value,
        must: bool,
        look_up: &dyn Fn(&str) -> Option<Cow<'v, Value>>,
        left: &mut usize,
    ) {
        let Some(rest) = left.checked_sub(1) else {
            self.open = true;
            return;
        };
        *left = rest;
        let Value::Object(members) = schema else {
            self.open |= *schema != Value::Bool(false);
            return;
        };
        self.own(members, must, look_up);
        if let Some(Value::String(reference)) = members.get("$ref") {
            match look_up(reference) {
                Some(found) => self.gather(&found, must, look_up, left),
                None => self.open = true,
            }
        }
        for (key, must) in [("allOf", must), ("anyOf", false), ("oneOf", false)] {
            for member in members.get(key).and_then(Value::as_array).into_iter().flatten() {
                // One that only restricts says nothing about names.
                if member.is_object() {
                    self.gather(member, must, look_up, left);
                }
            }
        }
        for key in ["then", "else"] {
            if let Some(member) = members.get(key).filter(|member| member.is_object()) {
                self.gather(member, false, look_up, left);
            }
        }
        for member in
            members.get("dependentSchemas").and_then(Value::as_object).into_iter().flat_map(Map::values)
        {
            self.gather(member, false, look_up, left);
        }
    }

    /// The keywords of one schema itself.
    fn own<'v>(
        &mut self,
        members: &Map<String, Value>,
        must: bool,
        look_up: &dyn Fn(&str) -> Option<Cow<'v, Value>>,
    ) {
        for key in ["additionalProperties", "unevaluatedProperties"] {
            match members.get(key) {
                None => {}
                Some(Value::Bool(false)) => self.closed = true,
                Some(_) => self.open = true,
            }
        }
        self.open |= members.contains_key("patternProperties");
        for (name, schema) in members.get("properties").and_then(Value::as_object).into_iter().flatten() {
            if self.accepted.iter().any(|known| known.name == *name) {
                continue;
            }
            if self.accepted.len() >= MAX_NAMES {
                self.open = true;
                break;
            }
            let inner = inner_names(schema, look_up);
            self.accepted.push(Accepted { name: name.clone(), docs: explain::sentence(schema), inner });
        }
        if must {
            let required = members.get("required").and_then(Value::as_array);
            let names = required.into_iter().flatten().filter_map(Value::as_str);
            for name in names.take(MAX_NAMES) {
                if !self.required.iter().any(|known| known == name) {
                    self.required.push(name.to_owned());
                }
            }
        }
    }

    /// Unknown names and missing ones, all at once.
    pub(super) fn check(&self, arguments: &Value) -> Result<(), ArgumentFault> {
        let none = Map::new();
        let arguments = match arguments {
            Value::Object(members) => members,
            Value::Null => &none,
            other => {
                let message = format!("the arguments must be one object, they are {}", explain::kind(other));
                return Err(self.fault(vec![Issue { pointer: String::new(), message }], Vec::new()));
            }
        };
        let mut issues = Vec::new();
        let mut suggestions = Vec::new();
        if !self.open {
            let known: HashSet<&str> = self.accepted.iter().map(|accepted| accepted.name.as_str()).collect();
            for name in arguments.keys().filter(|name| !known.contains(name.as_str())) {
                if issues.len() >= super::MAX_ISSUES {
                    break;
                }
                let (issue, suggestion) = self.unknown(name, arguments);
                issues.push(issue);
                suggestions.extend(suggestion);
            }
        }
        let missing = self.required.iter().filter(|name| !arguments.contains_key(*name));
        issues.extend(missing.map(|name| self.missing(name)));
        if issues.is_empty() { Ok(()) } else { Err(self.fault(issues, suggestions)) }
    }

    fn unknown(&self, name: &str, arguments: &Map<String, Value>) -> (Issue, Option<Suggestion>) {
        let pointer = explain::pointer("", name);
        let given = shown(name, 60);
        let meant = self.meant(name, arguments);
        let message = match meant.first() {
            None => format!("unknown argument `{given}`"),
            Some(body) if body == "body" && BODY_NAMES.contains(&name) => {
                format!("unknown argument `{given}`: the request body is the argument `body`")
            }
            Some(inside) if inside.ends_with(&format!(".{name}")) => {
                let (holder, _) = inside.split_at(inside.len() - name.len() - 1);
                format!("unknown argument `{given}`: it belongs inside `{}`", shown(holder, 60))
            }
            Some(_) => {
                let names: Vec<String> = meant.iter().map(|name| format!("`{}`", shown(name, 60))).collect();
                format!("unknown argument `{given}`: did you mean {}?", names.join(" or "))
            }
        };
        let suggestion = (!meant.is_empty()).then_some(Suggestion { given, meant });
        (Issue { pointer, message }, suggestion)
    }

    /// What an unknown name may stand for: what is inside an argument under
    /// that very name, the body, then names like it that are not given.
    fn meant(&self, name: &str, arguments: &Map<String, Value>) -> Vec<String> {
        let inside = self.accepted.iter().filter(|accepted| accepted.inner.iter().any(|inner| inner == name));
        let inside: Vec<String> =
            inside.map(|accepted| format!("{}.{name}", accepted.name)).take(3).collect();
        if !inside.is_empty() {
            return inside;
        }
        let takes_body = self.accepted.iter().any(|accepted| accepted.name == "body");
        if takes_body && BODY_NAMES.contains(&name) && !arguments.contains_key("body") {
            return vec!["body".to_owned()];
        }
        let free = self.accepted.iter().map(|accepted| accepted.name.as_str());
        let free = free.filter(|known| !arguments.contains_key(*known));
        closest(name, free).into_iter().map(str::to_owned).collect()
    }

    fn missing(&self, name: &str) -> Issue {
        let docs =
            self.accepted.iter().find(|accepted| accepted.name == *name).map_or("", |found| &found.docs);
        let end = if docs.is_empty() { String::new() } else { format!(" ({docs})") };
        let message = format!("missing argument `{}`{end}", shown(name, 60));
        Issue { pointer: explain::pointer("", name), message }
    }

    /// The fault that reports `issues`.
    pub(super) fn fault(&self, mut issues: Vec<Issue>, suggestions: Vec<Suggestion>) -> ArgumentFault {
        let more = issues.len().saturating_sub(super::MAX_ISSUES);
        issues.truncate(super::MAX_ISSUES);
        let mut message = explain::join(&issues);
        if more > 0 {
            message.push_str(&format!("; and {more} more"));
        }
        let accepted: Vec<String> = self.accepted.iter().map(|accepted| accepted.name.clone()).collect();
        let names = issues.iter().any(|issue| issue.message.starts_with("unknown argument"));
        if names {
            message.push_str(&self.listing());
        }
        ArgumentFault { message, issues, suggestions, accepted }
    }

    fn listing(&self) -> String {
        if self.accepted.is_empty() {
            return ". It takes no arguments".to_owned();
        }
        let names = self.accepted.iter().take(MAX_LISTED).map(|accepted| shown(&accepted.name, 60));
        let mut text = format!(". It takes: {}", names.collect::<Vec<_>>().join(", "));
        if self.accepted.len() > MAX_LISTED {
            text.push_str(&format!(" and {} more", self.accepted.len() - MAX_LISTED));
        }
        text
    }
}

fn inner_names<'v>(schema: &Value, look_up: &dyn Fn(&str) -> Option<Cow<'v, Value>>) -> Vec<String> {
    let names = |schema: &Value| -> Vec<String> {
        let properties = schema.get("properties").and_then(Value::as_object);
        properties.into_iter().flat_map(Map::keys).take(MAX_NAMES / 10).cloned().collect()
    };
    match schema.get("$ref").and_then(Value::as_str).and_then(look_up) {
        Some(found) => names(&found),
        None => names(schema),
    }
}

/// What a reference means, in the tool's schema or in the catalogue.
fn find<'v, 'd: 'v>(
    root: &'v Value,
    reference: &str,
    definitions: Option<&Definitions<'d>>,
) -> Option<Cow<'v, Value>> {
    let fragment = reference.strip_prefix('#')?;
    if let Some(found) = root.pointer(fragment) {
        return Some(Cow::Borrowed(found));
    }
    let name = fragment.strip_prefix("/$defs/")?;
    definitions?(name)
}
