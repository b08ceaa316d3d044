//! Comments: what a tool does, what a property means, and the constraints that
//! a model gets wrong otherwise.

use serde_json::{Map, Value};

use super::Tool;
use super::text;

/// Characters of a tool's description, beside its summary.
const DESCRIPTION_CHARS: usize = 400;
/// Longest pattern or default that is shown.
const SHORT_CHARS: usize = 48;

/// The comment above a signature, with the line break after it.
pub(super) fn of_tool(tool: &Tool<'_>) -> String {
    let mut lines = Vec::new();
    let summary = text::comment(tool.summary, 200);
    let paragraph = tool.description.trim().split("\n\n").next().unwrap_or("");
    let description = text::comment(paragraph, DESCRIPTION_CHARS);
    let same = description.trim_end_matches('.').eq_ignore_ascii_case(summary.trim_end_matches('.'));
    lines.push(summary);
    if !same {
        lines.push(description);
    }
    lines.push(text::comment(tool.request, 300));
    if tool.deprecated {
        lines.push("@deprecated".to_owned());
    }
    lines.retain(|line| !line.is_empty());
    match lines.as_slice() {
        [] => String::new(),
        [line] => format!("/** {line} */\n"),
        lines => format!("/**\n * {}\n */\n", lines.join("\n * ")),
    }
}

/// What there is to say of a property, for a comment; empty for nothing.
/// `prose` is false where only constraints are wanted.
pub(super) fn of_property(name: &str, schema: &Value, prose: bool) -> String {
    let Value::Object(members) = schema else {
        return String::new();
    };
    let mut parts = Vec::new();
    if prose {
        let told = ["description", "title"]
            .iter()
            .filter_map(|key| members.get(*key).and_then(Value::as_str))
            .map(text::sentence)
            .find(|sentence| !sentence.is_empty());
        parts.extend(told.filter(|sentence| !says_nothing(name, sentence)));
        constraints(members, &mut parts);
    } else {
        // Of a result, only what its text does not show by itself.
        let plain = |format: &String| {
            matches!(format.as_str(), "uri" | "uri-reference" | "email" | "uuid" | "hostname")
        };
        parts.extend(format(members).filter(|format| !plain(format)));
    }
    if members.get("deprecated") == Some(&Value::Bool(true)) {
        parts.push("@deprecated".to_owned());
    }
    parts.join("; ").replace(".; ", ". ")
}

/// `The name of the repository.` says nothing about `repository_name`.
fn says_nothing(name: &str, sentence: &str) -> bool {
    let name = name.to_ascii_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "");
    let mut words = sentence.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.all(|word| {
        let word = word.to_ascii_lowercase();
        matches!(word.as_str(), "a" | "an" | "the" | "of" | "this" | "for" | "s") || name.contains(&word)
    })
}

fn format(members: &Map<String, Value>) -> Option<String> {
    let format = members.get("format").and_then(Value::as_str)?;
    match format {
        "int32" | "int64" | "float" | "double" | "string" | "uri-template" => None,
        "byte" => Some("base64".to_owned()),
        _ => Some(text::comment(format, 24)).filter(|format| !format.is_empty()),
    }
}

fn constraints(members: &Map<String, Value>, parts: &mut Vec<String>) {
    parts.extend(format(members));
    if let Some(encoding) = members.get("contentEncoding").and_then(Value::as_str) {
        parts.push(text::comment(encoding, 24));
    }
    for (key, shown) in [
        ("minimum", "min"),
        ("exclusiveMinimum", "more than"),
        ("maximum", "max"),
        ("exclusiveMaximum", "less than"),
        ("multipleOf", "multiple of"),
        ("minLength", "min length"),
        ("maxLength", "max length"),
        ("minItems", "min items"),
        ("maxItems", "max items"),
        ("minProperties", "min properties"),
        ("maxProperties", "max properties"),
    ] {
        let number = members.get(key).and_then(Value::as_number).map(ToString::to_string);
        // A minimal length of 0 restricts nothing.
        if let Some(number) =
            number.filter(|number| !(number == "0" && key.starts_with("min") && key != "minimum"))
        {
            parts.push(format!("{shown} {number}"));
        }
    }
    if members.get("uniqueItems") == Some(&Value::Bool(true)) {
        parts.push("unique".to_owned());
    }
    if let Some(pattern) = members.get("pattern").and_then(Value::as_str)
        && pattern.chars().count() <= SHORT_CHARS
    {
        parts.push(format!("pattern {}", text::comment(pattern, SHORT_CHARS)));
    }
    if let Some(default) = members.get("default").and_then(short_json) {
        parts.push(format!("default {default}"));
    }
}

/// JSON of a scalar or an empty container, if it is short.
fn short_json(value: &Value) -> Option<String> {
    let empty = match value {
        Value::Null => false,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::String(text) => text.len() <= SHORT_CHARS,
        Value::Bool(_) | Value::Number(_) => true,
    };
    empty.then(|| text::comment(&value.to_string(), SHORT_CHARS + 2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(name: &str, schema: &Value, expect: &str) {
        assert_eq!(of_property(name, schema, true), expect);
    }

    #[test]
    fn properties_say_what_matters() {
        check("repo_name", &json!({"description": "The name of the repo."}), "");
        check("owner", &json!({"description": "The account owner."}), "The account owner.");
        check(
            "per_page",
            &json!({"description": "Results per page. More text", "minimum": 1, "maximum": 100, "default": 30}),
            "Results per page. min 1; max 100; default 30",
        );
        check("since", &json!({"format": "date-time"}), "date-time");
        check("content", &json!({"format": "byte", "deprecated": true}), "base64; @deprecated");
        check("tag", &json!({"pattern": "^a*/$", "minLength": 0}), "pattern ^a*\\/$");
        check("x", &json!({"default": {"a": 1}}), "");
        check("x", &json!({"default": "a\"b"}), "default \"a\\\"b\"");
        check("x", &json!(true), "");
        check("x", &json!({"description": 7, "minimum": "1"}), "");
    }
}
