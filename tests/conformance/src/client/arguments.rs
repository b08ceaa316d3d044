//! Values that fit a schema, as a person would fill a form.

use serde_json::{Map, Value, json};

/// A value of a schema: its default where it has one.
pub(crate) fn of(schema: &Value) -> Value {
    if let Some(default) = schema.get("default").or_else(|| schema.get("const")) {
        return default.clone();
    }
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    match schema["type"].as_str() {
        Some("number" | "integer") => schema.get("minimum").cloned().unwrap_or_else(|| json!(5)),
        Some("boolean") => json!(true),
        Some("string") => json!("test"),
        Some("array") => json!([]),
        Some("null") => Value::Null,
        _ => {
            let properties = schema["properties"].as_object();
            let filled =
                properties.into_iter().flatten().map(|(name, property)| (name.clone(), of(property)));
            Value::Object(filled.collect::<Map<_, _>>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_go_first() {
        let schema = json!({ "type": "object", "properties": {
            "a": { "type": "number" }, "b": { "type": "string", "default": "x" },
            "c": { "enum": ["one", "two"] }, "d": { "type": "boolean" } } });
        assert_eq!(of(&schema), json!({ "a": 5, "b": "x", "c": "one", "d": true }));
    }
}
