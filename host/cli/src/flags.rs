//! A tool's arguments as flags: its schema's top-level properties.

use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::nearest::nearest;
use crate::text;

/// References that are followed to a property's schema.
const REFERENCE_LIMIT: usize = 16;

/// What can be told about a property's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Integer,
    Number,
    Boolean,
    List,
    /// An object, a union, or a type that is not said: JSON, else a text.
    Any,
}

/// A property that can be set by a flag.
#[derive(Debug)]
pub(crate) struct Property<'s> {
    pub(crate) name: &'s str,
    pub(crate) schema: &'s Value,
    pub(crate) kind: Kind,
    pub(crate) required: bool,
}

/// The top-level properties of a schema, in its order, required ones first.
pub(crate) fn properties(root: &Value) -> Vec<Property<'_>> {
    let schema = resolved(root, root);
    let required: Vec<&str> = match schema["required"].as_array() {
        Some(names) => names.iter().filter_map(Value::as_str).collect(),
        None => Vec::new(),
    };
    let mut properties: Vec<Property<'_>> = Vec::new();
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        let schema = resolved(root, schema);
        properties.push(Property {
            name,
            schema,
            kind: kind(schema),
            required: required.contains(&name.as_str()),
        });
    }
    properties.sort_by_key(|property| !property.required);
    properties
}

/// The schema that a local reference leads to.
fn resolved<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    let mut current = schema;
    for _ in 0..REFERENCE_LIMIT {
        let target = current["$ref"]
            .as_str()
            .and_then(|reference| reference.strip_prefix('#'));
        match target.and_then(|pointer| root.pointer(pointer)) {
            Some(next) => current = next,
            None => break,
        }
    }
    current
}

fn kind(schema: &Value) -> Kind {
    let named = match &schema["type"] {
        Value::String(name) => Some(name.as_str()),
        // `["string", "null"]` is a text that may be left out.
        Value::Array(names) => {
            let mut names = names
                .iter()
                .filter_map(Value::as_str)
                .filter(|name| *name != "null");
            names.next().filter(|_| names.next().is_none())
        }
        _ => None,
    };
    match named {
        Some("string") => Kind::Text,
        Some("integer") => Kind::Integer,
        Some("number") => Kind::Number,
        Some("boolean") => Kind::Boolean,
        Some("array") => Kind::List,
        _ => Kind::Any,
    }
}

/// The property that a flag names: as it is written, or in kebab case.
///
/// # Errors
/// None, with what may have been meant.
pub(crate) fn property<'p, 's>(
    properties: &'p [Property<'s>],
    flag: &str,
    tool: &str,
) -> Result<&'p Property<'s>, Failure> {
    if let Some(exact) = properties.iter().find(|property| property.name == flag) {
        return Ok(exact);
    }
    let folded = fold(flag);
    let mut alike = properties
        .iter()
        .filter(|property| fold(property.name) == folded);
    match (alike.next(), alike.next()) {
        (Some(only), None) => Ok(only),
        (Some(one), Some(other)) => Err(Failure::usage(format!(
            "--{} may be `{}` or `{}`: write it as one of them",
            text::line(flag, 80),
            one.name,
            other.name
        ))),
        (None, _) => Err(unknown(properties, flag, tool)),
    }
}

fn fold(name: &str) -> String {
    name.chars()
        .filter(|character| !matches!(character, '-' | '_'))
        .flat_map(char::to_lowercase)
        .collect()
}

fn unknown(properties: &[Property<'_>], flag: &str, tool: &str) -> Failure {
    let failure = Failure::usage(format!(
        "{} has no argument `{}`",
        text::line(tool, 200),
        text::line(flag, 80)
    ));
    let names: Vec<String> = properties
        .iter()
        .map(|property| flag_name(property.name))
        .collect();
    match nearest(flag, names.iter().map(String::as_str)) {
        Some(near) => failure.hint(format!("did you mean --{near}?")),
        None if names.is_empty() => failure.hint("it takes no arguments"),
        None => {
            let some: Vec<String> = names
                .iter()
                .take(12)
                .map(|name| format!("--{name}"))
                .collect();
            failure.hint(format!("it takes {}", some.join(", ")))
        }
    }
}

/// A property as a flag, without the dashes.
pub(crate) fn flag_name(property: &str) -> String {
    text::line(property, 80).replace('_', "-")
}

/// Takes one given value into the arguments.
///
/// # Errors
/// It is not of the property's type, or given twice.
pub(crate) fn insert(
    arguments: &mut Map<String, Value>,
    property: &Property<'_>,
    given: &str,
) -> Result<(), Failure> {
    let name = property.name;
    if property.kind == Kind::List {
        let list = arguments
            .entry(name)
            .or_insert_with(|| Value::Array(Vec::new()));
        let Value::Array(items) = list else {
            return Err(twice(name));
        };
        match serde_json::from_str(given) {
            Ok(Value::Array(whole)) => items.extend(whole),
            _ => items.push(parse(
                name,
                kind(&property.schema["items"]),
                &property.schema["items"],
                given,
            )?),
        }
        return Ok(());
    }
    let value = parse(name, property.kind, property.schema, given)?;
    if arguments.insert(name.to_owned(), value).is_some() {
        return Err(twice(name));
    }
    Ok(())
}

fn twice(name: &str) -> Failure {
    Failure::usage(format!("--{} is given twice", flag_name(name)))
}

fn parse(name: &str, kind: Kind, schema: &Value, given: &str) -> Result<Value, Failure> {
    let wrong = |what: &str| {
        Failure::usage(format!(
            "--{} takes {what}, and `{}` is none",
            flag_name(name),
            text::line(given, 80)
        ))
    };
    let json = serde_json::from_str::<Value>(given).ok();
    let nullable = schema["type"]
        .as_array()
        .is_some_and(|names| names.iter().any(|name| name == "null"));
    let value = match (kind, json) {
        (Kind::Text, _) => Value::from(given),
        (_, Some(Value::Null)) if nullable => Value::Null,
        (Kind::Integer, Some(value)) if value.is_i64() || value.is_u64() => value,
        (Kind::Integer, _) => return Err(wrong("a whole number")),
        (Kind::Number, Some(value)) if value.is_number() => value,
        (Kind::Number, _) => return Err(wrong("a number")),
        (Kind::Boolean, Some(value)) if value.is_boolean() => value,
        (Kind::Boolean, _) => return Err(wrong("true or false")),
        (Kind::List | Kind::Any, Some(value)) => value,
        (Kind::List | Kind::Any, None) => Value::from(given),
    };
    check_choice(name, schema, &value)?;
    Ok(value)
}

fn check_choice(name: &str, schema: &Value, value: &Value) -> Result<(), Failure> {
    let Some(choices) = schema["enum"]
        .as_array()
        .filter(|choices| !choices.contains(value))
    else {
        return Ok(());
    };
    let shown: Vec<String> = choices.iter().take(20).map(crate::view::scalar).collect();
    let failure = Failure::usage(format!(
        "--{} can't be `{}`: it is one of {}",
        flag_name(name),
        crate::view::scalar(value),
        shown.join(", ")
    ));
    let given = value.as_str().unwrap_or("");
    Err(
        match nearest(given, choices.iter().filter_map(Value::as_str)) {
            Some(near) => failure.hint(format!("did you mean `{}`?", text::line(near, 80))),
            None => failure,
        },
    )
}

/// The flags of a tool, for its help.
pub(crate) fn render(properties: &[Property<'_>], style: crate::style::Style) -> String {
    let mut table = crate::table::Table::new(&["FLAG", "VALUE", "WHAT"]);
    for property in properties {
        let mut about = text::line(property.schema["description"].as_str().unwrap_or(""), 200);
        if property.required {
            about = format!("(required) {about}");
        }
        table.row([
            &format!("--{}", flag_name(property.name)),
            &value_name(property),
            &about,
        ]);
    }
    table.render(style)
}

fn value_name(property: &Property<'_>) -> String {
    if let Some(choices) = property.schema["enum"]
        .as_array()
        .filter(|choices| choices.len() <= 6)
    {
        return choices
            .iter()
            .map(crate::view::scalar)
            .collect::<Vec<_>>()
            .join("|");
    }
    match property.kind {
        Kind::Text => "text",
        Kind::Integer => "integer",
        Kind::Number => "number",
        Kind::Boolean => "[true|false]",
        Kind::List => "item, repeated",
        Kind::Any => "json",
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Value {
        json!({
            "type": "object", "required": ["title"],
            "properties": {
                "per_page": { "type": "integer", "description": "How many" },
                "title": { "type": "string", "description": "The \u{1b}[31mtitle" },
                "draft": { "type": "boolean" },
                "labels": { "type": "array", "items": { "type": "string" } },
                "ids": { "type": "array", "items": { "type": "integer" } },
                "state": { "type": "string", "enum": ["open", "closed"] },
                "milestone": { "type": ["integer", "null"] },
                "extra": { "anyOf": [{ "type": "string" }, { "type": "object" }] },
                "shared": { "$ref": "#/$defs/ratio" },
                "loop": { "$ref": "#/$defs/loop" }
            },
            "$defs": { "ratio": { "type": "number" }, "loop": { "$ref": "#/$defs/loop" } }
        })
    }

    fn take(given: &[(&str, &str)]) -> Result<Value, Failure> {
        let schema = schema();
        let properties = properties(&schema);
        let mut arguments = Map::new();
        for (flag, value) in given {
            insert(&mut arguments, property(&properties, flag, "t")?, value)?;
        }
        Ok(Value::Object(arguments))
    }

    #[track_caller]
    fn check(given: &[(&str, &str)], expect: Value) {
        assert_eq!(take(given).unwrap(), expect);
    }

    #[test]
    fn values_are_of_their_types() {
        check(
            &[("title", "12"), ("per-page", "12")],
            json!({ "title": "12", "per_page": 12 }),
        );
        check(
            &[("perPage", "-3"), ("draft", "true")],
            json!({ "per_page": -3, "draft": true }),
        );
        check(
            &[("labels", "a"), ("labels", "1")],
            json!({ "labels": ["a", "1"] }),
        );
        check(
            &[("labels", "[\"a\",\"b\"]"), ("ids", "7")],
            json!({ "labels": ["a", "b"], "ids": [7] }),
        );
        check(
            &[("milestone", "null"), ("extra", "{\"a\":1}")],
            json!({ "milestone": null, "extra": { "a": 1 } }),
        );
        check(
            &[("extra", "plain"), ("shared", "0.5")],
            json!({ "extra": "plain", "shared": 0.5 }),
        );
        check(&[("loop", "x")], json!({ "loop": "x" }));
    }

    #[track_caller]
    fn refused(given: &[(&str, &str)], message: &str, hint: &str) {
        let failure = take(given).unwrap_err();
        assert!(failure.message.contains(message), "{}", failure.message);
        assert_eq!(failure.hints.first().map_or("", String::as_str), hint);
    }

    #[test]
    fn mistakes_are_named() {
        refused(
            &[("per-page", "many")],
            "--per-page takes a whole number, and `many` is none",
            "",
        );
        refused(&[("per-page", "1.5")], "whole number", "");
        refused(&[("shared", "x")], "a number", "");
        refused(&[("draft", "maybe")], "true or false", "");
        refused(&[("ids", "x")], "whole number", "");
        refused(
            &[("state", "opne")],
            "one of open, closed",
            "did you mean `open`?",
        );
        refused(
            &[("titel", "x")],
            "t has no argument `titel`",
            "did you mean --title?",
        );
        refused(
            &[("title", "a"), ("title", "b")],
            "--title is given twice",
            "",
        );
    }

    #[test]
    fn names_that_fold_to_the_same_must_be_written_out() {
        let schema =
            json!({ "properties": { "a_b": { "type": "string" }, "aB": { "type": "string" } } });
        let properties = properties(&schema);
        assert!(
            property(&properties, "a-b", "t")
                .unwrap_err()
                .message
                .contains("`a_b` or `aB`")
        );
        assert_eq!(property(&properties, "aB", "t").unwrap().name, "aB");
    }

    #[test]
    fn flags_are_listed_with_the_required_first() {
        let schema = json!({ "required": ["b"], "properties": {
            "a_long": { "type": "array", "description": "Many\nof it" },
            "b": { "enum": ["x", "y"], "description": "One" } } });
        insta::assert_snapshot!(render(&properties(&schema), crate::style::Style::default()), @r"
        FLAG      VALUE           WHAT
        --b       x|y             (required) One
        --a-long  item, repeated  Many of it
        ");
    }
}
