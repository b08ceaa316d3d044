//! Arguments that fit a schema, made without chance: the same schema gives the
//! same value.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

const MAX_DEPTH: usize = 24;

/// Makes values of schemas that refer to definitions.
pub(crate) struct Generator<'d> {
    pub(crate) definitions: &'d BTreeMap<String, String>,
    /// Whether properties that nothing requires are there too.
    pub(crate) full: bool,
}

impl Generator<'_> {
    /// Arguments for a tool's input schema.
    pub(crate) fn arguments(&self, input: &Value) -> Value {
        let mut arguments = self.value(input, 0);
        if let Some(map) = arguments.as_object_mut() {
            // What chooses among servers and pages is no part of the request,
            // unless the API has arguments of these names itself.
            let is_required = |name: &str| {
                let required = input.get("required").and_then(Value::as_array);
                required.is_some_and(|list| list.iter().any(|each| each == name))
            };
            map.retain(|name, _| !matches!(name.as_str(), "server" | "nextLink") || is_required(name));
        }
        arguments
    }

    fn value(&self, schema: &Value, depth: usize) -> Value {
        let schema = self.merged(schema, depth);
        let Some(map) = schema.as_object() else { return json!("x") };
        if let Some(fixed) = map.get("const") {
            return fixed.clone();
        }
        if let Some(choice) = map.get("enum").and_then(Value::as_array) {
            let telling = choice.iter().find(|each| !each.is_null() && *each != "");
            return telling.or_else(|| choice.first()).cloned().unwrap_or(Value::Null);
        }
        match kind(map) {
            "object" => self.object(map, depth),
            "array" => self.array(map, depth),
            "integer" => number(map, true),
            "number" => number(map, false),
            "boolean" => json!(true),
            "null" => Value::Null,
            _ => string(map),
        }
    }

    /// The schema with what it refers to and is composed of taken in.
    fn merged(&self, schema: &Value, depth: usize) -> Value {
        let Some(map) = schema.as_object() else { return json!({}) };
        if depth > MAX_DEPTH {
            return json!({});
        }
        let mut merged = Map::new();
        if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
            let name = reference.strip_prefix("#/$defs/").unwrap_or_default();
            let target = self.definitions.get(name).and_then(|text| serde_json::from_str(text).ok());
            absorb(&mut merged, self.merged(&target.unwrap_or_default(), depth + 1));
        }
        for member in map.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            absorb(&mut merged, self.merged(member, depth + 1));
        }
        for key in ["oneOf", "anyOf"] {
            let members = map.get(key).and_then(Value::as_array);
            let usable = |member: &&Value| member.get("type").is_none_or(|kind| kind != "null");
            if let Some(member) = members.and_then(|list| list.iter().find(usable)) {
                absorb(&mut merged, self.merged(member, depth + 1));
            }
        }
        let own = map.iter().filter(|(key, _)| !matches!(key.as_str(), "$ref" | "allOf" | "oneOf" | "anyOf"));
        let own: Map<String, Value> = own.map(|(key, value)| (key.clone(), value.clone())).collect();
        absorb(&mut merged, Value::Object(own));
        Value::Object(merged)
    }

    fn object(&self, map: &Map<String, Value>, depth: usize) -> Value {
        let required: Vec<&str> = map
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let empty = Map::new();
        let properties = map.get("properties").and_then(Value::as_object).unwrap_or(&empty);
        let mut object = Map::new();
        for (name, property) in properties {
            let wanted = required.contains(&name.as_str()) || (self.full && depth < 2);
            if wanted && depth < MAX_DEPTH {
                object.insert(name.clone(), self.value(property, depth + 1));
            }
        }
        for name in required {
            if !properties.contains_key(name) {
                let more = map.get("additionalProperties").cloned().unwrap_or_default();
                object.insert(name.to_owned(), self.value(&more, depth + 1));
            }
        }
        // An argument that is an empty object can stand in no path.
        let least = map.get("minProperties").and_then(Value::as_u64).unwrap_or(u64::from(depth == 1));
        for (name, property) in properties {
            if (object.len() as u64) < least && !object.contains_key(name) {
                object.insert(name.clone(), self.value(property, depth + 1));
            }
        }
        let closed = map.get("additionalProperties") == Some(&Value::Bool(false));
        for n in object.len() as u64..if closed { 0 } else { least.min(20) } {
            let more = map.get("additionalProperties").cloned().unwrap_or_default();
            object.insert(format!("key{n}"), self.value(&more, depth + 1));
        }
        Value::Object(object)
    }

    fn array(&self, map: &Map<String, Value>, depth: usize) -> Value {
        let least = map.get("minItems").and_then(Value::as_u64).unwrap_or(0);
        let most = map.get("maxItems").and_then(Value::as_u64).unwrap_or(u64::MAX);
        let wanted = if depth < 4 { least.max(1) } else { least }.min(most).min(50);
        let prefix = map.get("prefixItems").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let items = map.get("items").cloned().unwrap_or_default();
        let distinct = map.get("uniqueItems") == Some(&Value::Bool(true)) && wanted > 1;
        let choices = self.merged(&items, depth).get("enum").and_then(Value::as_array).cloned();
        let item = |n: u64| match prefix.get(usize::try_from(n).unwrap_or(usize::MAX)) {
            Some(schema) => self.value(schema, depth + 1),
            None if distinct => match &choices {
                Some(list) => list[usize::try_from(n).unwrap_or(0) % list.len()].clone(),
                None => varied(self.value(&items, depth + 1), n),
            },
            None => self.value(&items, depth + 1),
        };
        Value::Array((0..wanted).map(item).collect())
    }
}

fn varied(value: Value, n: u64) -> Value {
    match value {
        Value::String(text) if n > 0 => json!(format!("{text}{n}")),
        Value::Number(number) if n > 0 => json!(number.as_i64().unwrap_or(0) + i64::try_from(n).unwrap_or(0)),
        other => other,
    }
}

/// Adds the keywords of `from`; properties and requirements of both count.
fn absorb(into: &mut Map<String, Value>, from: Value) {
    let Value::Object(from) = from else { return };
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(Value::Object(held)), Value::Object(more)) if key == "properties" => {
                for (name, property) in more {
                    match held.get_mut(&name) {
                        Some(Value::Object(held)) => absorb(held, property),
                        _ => drop(held.insert(name, property)),
                    }
                }
            }
            (Some(Value::Array(held)), Value::Array(more)) if key == "required" => held.extend(more),
            (_, value) => drop(into.insert(key, value)),
        }
    }
}

fn kind(map: &Map<String, Value>) -> &str {
    let named = match map.get("type") {
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
        Some(value) => value.as_str(),
        None => None,
    };
    named.unwrap_or_else(|| {
        if map.contains_key("properties") || map.contains_key("required") {
            "object"
        } else if map.contains_key("items") {
            "array"
        } else if map.contains_key("minimum") || map.contains_key("maximum") {
            "number"
        } else {
            "string"
        }
    })
}

fn number(map: &Map<String, Value>, whole: bool) -> Value {
    let get = |key: &str| map.get(key).and_then(Value::as_f64);
    let step = get("multipleOf").unwrap_or(if whole { 1.0 } else { 0.5 });
    let mut value: f64 = 1.0;
    if let Some(least) = get("minimum") {
        value = value.max(least);
    }
    if let Some(least) = get("exclusiveMinimum") {
        value = value.max(least + step);
    }
    if let Some(most) = get("maximum") {
        value = value.min(most);
    }
    if let Some(most) = get("exclusiveMaximum") {
        value = value.min(most - step);
    }
    if let Some(step) = get("multipleOf") {
        value = (value / step).ceil() * step;
    }
    #[expect(clippy::cast_possible_truncation, reason = "bounds of schemas that are met")]
    if whole || value.fract() == 0.0 { json!(value.ceil() as i64) } else { json!(value) }
}

fn string(map: &Map<String, Value>) -> Value {
    let example = map.get("examples").and_then(|list| list.get(0)).or_else(|| map.get("default"));
    let pattern = map.get("pattern").and_then(Value::as_str);
    if pattern.is_some()
        && let Some(Value::String(text)) = example
    {
        return json!(text);
    }
    let text = match map.get("format").and_then(Value::as_str).unwrap_or_default() {
        "date-time" => "2026-11-30T12:00:00Z",
        "date" => "2026-11-30",
        "time" => "12:00:00Z",
        "uuid" => "123e4567-e89b-42d3-a456-426614174000",
        "email" => "ada@example.com",
        "uri" | "url" => "https://example.com/a?b=c",
        "byte" => "aGVsbG8=",
        "ipv4" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "hostname" => "example.com",
        "duration" => "P1D",
        _ => "",
    };
    if !text.is_empty() {
        return json!(text);
    }
    let least = usize::try_from(map.get("minLength").and_then(Value::as_u64).unwrap_or(0)).unwrap_or(0);
    let most = usize::try_from(map.get("maxLength").and_then(Value::as_u64).unwrap_or(1000)).unwrap_or(1000);
    if let Some(text) = pattern.and_then(|pattern| super::pattern::matching(pattern, least)) {
        return json!(text);
    }
    let mut text = "a b/c".to_owned();
    while text.len() < least.min(5000) {
        text.push('x');
    }
    text.truncate(most.max(1));
    json!(text)
}
