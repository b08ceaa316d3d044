//! Forms: what an API asks a person for, shown and filled in on a terminal.

use serde_json::{Map, Value};

use crate::context::Context;
use crate::failure::Failure;
use crate::prompt;
use crate::text;

/// The fields of a form, a line each.
pub(crate) fn describe(schema: &Value) -> String {
    let Some(fields) = schema["properties"].as_object() else {
        return if schema.is_null() { String::new() } else { format!("\n{}\n", text::pretty_json(schema)) };
    };
    let mut lines = String::from("\n");
    for (name, field) in fields {
        lines.push_str(&format!("  {}\n", label(schema, name, field)));
    }
    lines
}

/// A field's name, what it takes, and whether it has to be there.
fn label(schema: &Value, name: &str, field: &Value) -> String {
    let mut label = text::line(name, 60);
    if let Some(title) = field["title"].as_str().or(field["description"].as_str()) {
        label.push_str(&format!(": {}", text::line(title, 120)));
    }
    let values: Vec<String> =
        field["enum"].as_array().into_iter().flatten().take(20).map(crate::view::scalar).collect();
    let kind = field["type"].as_str().map(|kind| text::line(kind, 20));
    let kind = if values.is_empty() { kind.unwrap_or_default() } else { values.join(", ") };
    let needed = if required(schema, name) { "" } else { ", may be left out" };
    label.push_str(&format!(" ({kind}{needed})"));
    label
}

fn required(schema: &Value, name: &str) -> bool {
    schema["required"].as_array().is_some_and(|names| names.iter().any(|one| one == name))
}

/// Asks for each field; nothing where the person stops.
pub(crate) fn fill(context: &Context, schema: &Value) -> Result<Option<Value>, Failure> {
    let Some(fields) = schema["properties"].as_object() else {
        return Ok(Some(Value::Null));
    };
    let mut filled = Map::new();
    for (name, field) in fields {
        loop {
            let Some(answer) = prompt::line(&format!("{}: ", label(schema, name, field)))? else {
                context.output.tell("");
                return Ok(None);
            };
            if answer.is_empty() {
                if required(schema, name) {
                    continue;
                }
                break;
            }
            match typed(field, &answer) {
                Ok(value) => {
                    filled.insert(name.clone(), value);
                    break;
                }
                Err(why) => context.output.tell(why),
            }
        }
    }
    Ok(Some(Value::Object(filled)))
}

/// What a person typed, as the field's type has it.
fn typed(field: &Value, answer: &str) -> Result<Value, &'static str> {
    match field["type"].as_str() {
        Some("boolean") => match answer.to_lowercase().as_str() {
            "y" | "yes" | "true" => Ok(true.into()),
            "n" | "no" | "false" => Ok(false.into()),
            _ => Err("yes or no"),
        },
        Some("integer" | "number") => {
            serde_json::from_str::<Value>(answer).ok().filter(Value::is_number).ok_or("a number")
        }
        Some("array" | "object") => serde_json::from_str(answer).map_err(|_| "JSON"),
        _ => Ok(answer.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_are_shown_and_read_by_their_types() {
        let schema = json!({
            "type": "object",
            "properties": {
                "title": { "type": "string", "description": "What it is\u{9b}2J about" },
                "priority": { "enum": ["low", "high"] },
                "count": { "type": "integer" },
            },
            "required": ["title"],
        });
        insta::assert_snapshot!(describe(&schema), @r"

          title: What it is about (string)
          priority (low, high, may be left out)
          count (integer, may be left out)
        ");
        assert_eq!(describe(&Value::Null), "");
        assert_eq!(typed(&json!({"type": "integer"}), "3"), Ok(json!(3)));
        assert_eq!(typed(&json!({"type": "integer"}), "x"), Err("a number"));
        assert_eq!(typed(&json!({"type": "boolean"}), "Yes"), Ok(json!(true)));
        assert_eq!(typed(&json!({"type": "string"}), "3"), Ok(json!("3")));
    }
}
