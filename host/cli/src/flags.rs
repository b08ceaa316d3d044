//! A tool's arguments as flags: its schema's top-level properties.

use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::nearest::nearest;
use crate::shape::{Kind, Shape};
use crate::text;
use crate::uploads::{self, Takes};

/// How deep a dotted flag may lead.
const DEPTH_LIMIT: usize = 16;

/// A property that can be set by a flag.
#[derive(Debug, Clone)]
pub(crate) struct Property<'s> {
    /// Where it stands: names from the top.
    pub(crate) path: Vec<&'s str>,
    /// The flag without its dashes, in the property's own spelling.
    pub(crate) flag: String,
    pub(crate) shape: Shape<'s>,
    pub(crate) required: bool,
}

/// What can be set by flags: the properties of a schema, required ones first,
/// and those of its `body`, where HTTP adapters put what a request carries.
/// `--body.title` is `--title` too, unless the schema has a `title` itself.
pub(crate) fn properties(root: &Value) -> Vec<Property<'_>> {
    let top = properties_of(&Shape::of(root, root), &[]);
    let mut all = top.clone();
    if let Some(body) = top.iter().find(|property| property.flag == "body") {
        for mut inner in properties_of(&body.shape, &body.path) {
            let name = inner.path.last().copied().unwrap_or_default();
            if !top.iter().any(|other| fold(&other.flag) == fold(name)) {
                inner.flag = name.to_owned();
            }
            inner.required &= body.required;
            all.push(inner);
        }
    }
    all
}

/// The properties of one object, which stands at `at`.
fn properties_of<'s>(object: &Shape<'s>, at: &[&'s str]) -> Vec<Property<'s>> {
    let required = object.required();
    let mut properties: Vec<Property<'_>> = Vec::new();
    for (name, shape) in object.properties() {
        let mut path = at.to_vec();
        path.push(name);
        let required = required.contains(&name);
        properties.push(Property { flag: path.join("."), path, shape, required });
    }
    properties.sort_by_key(|property| !property.required);
    properties
}

/// The property that a flag names: as it is written, or in kebab case; with
/// dots, one within another.
///
/// # Errors
/// None, with what may have been meant.
pub(crate) fn property<'s>(root: &'s Value, flag: &str, tool: &str) -> Result<Property<'s>, Failure> {
    let properties = properties(root);
    if let Some(found) = named(&properties, flag)? {
        return Ok(found);
    }
    match within(root, flag, tool)? {
        Some(found) => Ok(found),
        None => Err(unknown(&properties, flag, tool)),
    }
}

fn named<'s>(properties: &[Property<'s>], flag: &str) -> Result<Option<Property<'s>>, Failure> {
    if let Some(exact) = properties.iter().find(|property| property.flag == flag) {
        return Ok(Some(exact.clone()));
    }
    let folded = fold(flag);
    let mut alike = properties.iter().filter(|property| fold(&property.flag) == folded);
    match (alike.next(), alike.next()) {
        (Some(only), None) => Ok(Some(only.clone())),
        (Some(one), Some(other)) => Err(Failure::usage(format!(
            "--{} may be `{}` or `{}`: write it as one of them",
            text::line(flag, 80),
            one.flag,
            other.flag
        ))),
        (None, _) => Ok(None),
    }
}

/// `body.user.name`: from object to object.
fn within<'s>(root: &'s Value, flag: &str, tool: &str) -> Result<Option<Property<'s>>, Failure> {
    let mut found: Option<Property<'s>> = None;
    for part in flag.split('.').take(DEPTH_LIMIT) {
        let mut properties = match &found {
            Some(outer) => properties_of(&outer.shape, &outer.path),
            None => properties_of(&Shape::of(root, root), &[]),
        };
        let whole = properties.clone();
        for property in &mut properties {
            property.flag = property.path.last().copied().unwrap_or_default().to_owned();
        }
        let inner = named(&properties, part)?;
        if inner.is_none() && found.is_some() && !whole.is_empty() {
            return Err(unknown(&whole, flag, tool));
        }
        found = inner;
        if found.is_none() {
            return Ok(None);
        }
    }
    if let Some(found) = &mut found {
        found.flag = found.path.join(".");
    }
    Ok(found)
}

fn fold(name: &str) -> String {
    name.chars().filter(|character| !matches!(character, '-' | '_')).flat_map(char::to_lowercase).collect()
}

fn unknown(properties: &[Property<'_>], flag: &str, tool: &str) -> Failure {
    let failure =
        Failure::usage(format!("{} has no argument `{}`", text::line(tool, 200), text::line(flag, 80)));
    let names: Vec<String> = properties.iter().map(|property| flag_name(&property.flag)).collect();
    match nearest(flag, names.iter().map(String::as_str)) {
        Some(near) => failure.hint(format!("did you mean --{near}?")),
        None if names.is_empty() => failure.hint("it takes no arguments"),
        None => {
            let some: Vec<String> = names.iter().take(12).map(|name| format!("--{name}")).collect();
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
    let flag = &property.flag;
    let Some((name, outer)) = property.path.split_last() else { return Ok(()) };
    let mut object = arguments;
    for part in outer {
        let inner = object.entry(*part).or_insert_with(|| Value::Object(Map::new()));
        object = inner.as_object_mut().ok_or_else(|| twice(flag))?;
    }
    if property.shape.kind == Kind::List {
        let list = object.entry(*name).or_insert_with(|| Value::Array(Vec::new()));
        let Value::Array(items) = list else { return Err(twice(flag)) };
        match serde_json::from_str(given) {
            Ok(Value::Array(whole)) => items.extend(whole),
            _ => items.push(parse(flag, &property.shape.item(), given)?),
        }
        return Ok(());
    }
    let value = parse(flag, &property.shape, given)?;
    if property.shape.takes_several && object.contains_key(*name) {
        match &mut object[*name] {
            Value::Array(items) => items.push(value),
            first => *first = Value::Array(vec![first.take(), value]),
        }
        return Ok(());
    }
    if object.insert((*name).to_owned(), value).is_some() {
        return Err(twice(flag));
    }
    Ok(())
}

fn twice(name: &str) -> Failure {
    Failure::usage(format!("--{} is given twice", flag_name(name)))
}

fn parse(name: &str, shape: &Shape<'_>, given: &str) -> Result<Value, Failure> {
    let wrong = |what: &str| {
        Failure::usage(format!("--{} takes {what}, and `{}` is none", flag_name(name), text::line(given, 80)))
    };
    let json = serde_json::from_str::<Value>(given).ok();
    let value = match (shape.kind, json) {
        (Kind::Text, _) if given.starts_with('@') && shape.takes == Some(Takes::Base64) => {
            uploads::base64(given)?
        }
        (Kind::Text, _) => Value::from(given),
        (Kind::File, _) => uploads::given(given).ok_or_else(|| no_file(name, given))?,
        (_, Some(Value::Null)) if shape.nullable => Value::Null,
        (Kind::Integer, Some(value)) if value.is_i64() || value.is_u64() => value,
        (Kind::Integer, _) => return Err(wrong("a whole number")),
        (Kind::Number, Some(value)) if value.is_number() => value,
        (Kind::Number, _) => return Err(wrong("a number")),
        (Kind::Boolean, Some(value)) if value.is_boolean() => value,
        (Kind::Boolean, _) => return Err(wrong("true or false")),
        (Kind::List | Kind::Any, Some(value)) => value,
        (Kind::List | Kind::Any, None) => Value::from(given),
    };
    check_choice(name, shape, &value)?;
    Ok(value)
}

fn no_file(name: &str, given: &str) -> Failure {
    let (name, given) = (flag_name(name), text::line(given, 80));
    Failure::usage(format!("--{name} takes a file, and `{given}` is a text"))
        .hint(format!("`--{name} @PATH` sends a file of this machine, `--{name} -` stdin, `--{name} blob:…` one that the workspace holds"))
}

fn check_choice(name: &str, shape: &Shape<'_>, value: &Value) -> Result<(), Failure> {
    let allowed = |choices: &&[Value]| choices.contains(value) || (shape.nullable && value.is_null());
    let Some(choices) = shape.choices().filter(|choices| !allowed(choices)) else {
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
    Err(match nearest(given, choices.iter().filter_map(Value::as_str)) {
        Some(near) => failure.hint(format!("did you mean `{}`?", text::line(near, 80))),
        None => failure,
    })
}

/// The flags of a tool, for its help.
pub(crate) fn render(properties: &[Property<'_>], style: crate::style::Style) -> String {
    let mut table = crate::table::Table::new(&["FLAG", "VALUE", "WHAT"]);
    for property in properties {
        let mut about = text::line(property.shape.about, 200);
        if property.required {
            about = format!("(required) {about}");
        }
        table.row([&format!("--{}", flag_name(&property.flag)), &value_name(property), &about]);
    }
    table.render(style)
}

fn value_name(property: &Property<'_>) -> String {
    if let Some(choices) = property.shape.choices().filter(|choices| choices.len() <= 6) {
        let choices: Vec<String> =
            choices.iter().filter(|choice| !choice.is_null()).map(crate::view::scalar).collect();
        return choices.join("|");
    }
    match property.shape.kind {
        Kind::Text => "text",
        Kind::Integer => "integer",
        Kind::Number => "number",
        Kind::Boolean => "[true|false]",
        Kind::List if property.shape.item().kind == Kind::File => "@file, repeated",
        Kind::List => "item, repeated",
        Kind::File => "@file",
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
        take_by(&schema(), given)
    }

    fn take_by(schema: &Value, given: &[(&str, &str)]) -> Result<Value, Failure> {
        let mut arguments = Map::new();
        for (flag, value) in given {
            insert(&mut arguments, &property(schema, flag, "t")?, value)?;
        }
        Ok(Value::Object(arguments))
    }

    #[track_caller]
    fn check(given: &[(&str, &str)], expect: Value) {
        assert_eq!(take(given).unwrap(), expect);
    }

    #[test]
    fn values_are_of_their_types() {
        check(&[("title", "12"), ("per-page", "12")], json!({ "title": "12", "per_page": 12 }));
        check(&[("perPage", "-3"), ("draft", "true")], json!({ "per_page": -3, "draft": true }));
        check(&[("labels", "a"), ("labels", "1")], json!({ "labels": ["a", "1"] }));
        check(&[("labels", "[\"a\",\"b\"]"), ("ids", "7")], json!({ "labels": ["a", "b"], "ids": [7] }));
        check(
            &[("milestone", "null"), ("extra", "{\"a\":1}")],
            json!({ "milestone": null, "extra": { "a": 1 } }),
        );
        check(&[("extra", "plain"), ("shared", "0.5")], json!({ "extra": "plain", "shared": 0.5 }));
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
        refused(&[("per-page", "many")], "--per-page takes a whole number, and `many` is none", "");
        refused(&[("per-page", "1.5")], "whole number", "");
        refused(&[("shared", "x")], "a number", "");
        refused(&[("draft", "maybe")], "true or false", "");
        refused(&[("ids", "x")], "whole number", "");
        refused(&[("state", "opne")], "one of open, closed", "did you mean `open`?");
        refused(&[("titel", "x")], "t has no argument `titel`", "did you mean --title?");
        refused(&[("title", "a"), ("title", "b")], "--title is given twice", "");
    }

    #[test]
    fn what_a_request_carries_is_a_flag_too() {
        let schema = json!({
            "required": ["owner", "body"],
            "properties": { "owner": { "type": "string" }, "body": { "$ref": "#/$defs/issue" } },
            "$defs": {
                "issue": { "type": "object", "required": ["title"], "properties": {
                    "title": { "type": "string" }, "body": { "type": "string" }, "owner": { "type": "integer" },
                    "user": { "properties": { "first_name": { "type": "string" } } } } } }
        });
        let mut arguments = Map::new();
        let given = [
            ("title", "T"),
            ("body.body", "B"),
            ("body.owner", "3"),
            ("body.user.first-name", "F"),
            ("owner", "o"),
        ];
        for (flag, value) in given {
            insert(&mut arguments, &property(&schema, flag, "t").unwrap(), value).unwrap();
        }
        let expect = json!({
            "body": { "title": "T", "body": "B", "owner": 3, "user": { "first_name": "F" } }, "owner": "o"
        });
        assert_eq!(Value::Object(arguments.clone()), expect);
        let whole = property(&schema, "body", "t").unwrap();
        assert!(insert(&mut arguments, &whole, "{}").unwrap_err().message.contains("--body is given twice"));
        assert!(property(&schema, "body.user.last", "t").is_err());
        assert!(property(&schema, &"body.".repeat(100), "t").is_err());
        insta::assert_snapshot!(render(&properties(&schema), crate::style::Style::default()), @r"
        FLAG          VALUE    WHAT
        --owner       text     (required)
        --body        json     (required)
        --title       text     (required)
        --body.body   text
        --body.owner  integer
        --user        json
        ");
    }

    /// A schema as adapters write it: references, what may be null, lists that
    /// are taken as their only item.
    #[test]
    fn what_is_nested_or_a_list_is_found_behind_references_and_unions() {
        let kind = json!({ "$ref": "#/$defs/Kind" });
        let schema = json!({
            "properties": {
                "input": { "anyOf": [{ "$ref": "#/$defs/Pet" }, { "type": "null" }] },
                "kinds": { "anyOf": [{ "type": "array", "items": kind }, kind, { "type": "null" }] },
                "body": { "allOf": [{ "$ref": "#/$defs/Pet" }] }
            },
            "$defs": {
                "Kind": { "enum": ["DOG", "CAT"] },
                "Pet": { "allOf": [{ "$ref": "#/$defs/Named" }, { "properties": {
                    "age": { "oneOf": [{ "type": "null" }, { "type": "integer" }] },
                    "friend": { "$ref": "#/$defs/Pet" } } }] },
                "Named": { "type": "object", "required": ["name"], "properties": { "name": { "type": "string" } } }
            }
        });
        let given = [("input.name", "Rex"), ("input.friend.friend.age", "3"), ("body.name", "x")];
        let expect = json!({ "input": { "name": "Rex", "friend": { "friend": { "age": 3 } } }, "body": { "name": "x" } });
        assert_eq!(take_by(&schema, &given).unwrap(), expect);
        let given = [("kinds", "DOG"), ("kinds", "CAT"), ("input.age", "null")];
        assert_eq!(
            take_by(&schema, &given).unwrap(),
            json!({ "kinds": ["DOG", "CAT"], "input": { "age": null } })
        );
        let refused = take_by(&schema, &[("kinds", "COW")]).unwrap_err();
        assert!(refused.message.contains("one of DOG, CAT"), "{refused:?}");
        let refused = take_by(&schema, &[("input.nmae", "x")]).unwrap_err();
        assert_eq!(refused.hints, ["did you mean --input.name?"]);
    }

    #[test]
    fn a_file_is_marked_and_a_text_is_none() {
        let file = json!({ "properties": { "$file": { "type": "string" } }, "type": "object" });
        let schema = json!({ "properties": {
            "up": file, "all": { "type": "array", "items": file },
            "some": { "anyOf": [{ "type": "array", "items": file }, file] },
            "text": { "type": "string" }, "data": { "type": "string", "contentEncoding": "base64" } } });
        let take = |given: &[(&str, &str)]| {
            let mut arguments = Map::new();
            for (flag, value) in given {
                insert(&mut arguments, &property(&schema, flag, "t")?, value)?;
            }
            Ok::<_, Failure>(Value::Object(arguments))
        };
        let at = |name: &str| json!({ "$file": name });
        assert_eq!(take(&[("up", "@a"), ("text", "@a")]).unwrap(), json!({ "up": at("@a"), "text": "@a" }));
        assert_eq!(take(&[("all", "@a"), ("all", "@b")]).unwrap(), json!({ "all": [at("@a"), at("@b")] }));
        assert_eq!(take(&[("some", "@a")]).unwrap(), json!({ "some": at("@a") }));
        let three = take(&[("some", "@a"), ("some", "@b"), ("some", "blob:1")]).unwrap();
        assert_eq!(three, json!({ "some": [at("@a"), at("@b"), at("blob:1")] }));
        let refused = take(&[("up", "a.txt")]).unwrap_err();
        assert_eq!(refused.message, "--up takes a file, and `a.txt` is a text");
        assert!(refused.hints[0].contains("--up @PATH"), "{:?}", refused.hints);
        assert!(take(&[("all", "a.txt")]).is_err());
        assert!(take(&[("up", "@a"), ("up", "@b")]).unwrap_err().message.contains("twice"));

        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.bin");
        std::fs::write(&path, b"\x00\xff").unwrap();
        let named = format!("@{}", path.display());
        assert_eq!(take(&[("data", &named)]).unwrap(), json!({ "data": "AP8=" }));
        assert!(take(&[("data", "@/missing")]).is_err());
        insta::assert_snapshot!(render(&properties(&schema), crate::style::Style::default()), @r"
        FLAG    VALUE            WHAT
        --up    @file
        --all   @file, repeated
        --some  @file
        --text  text
        --data  text
        ");
    }

    #[test]
    fn names_that_fold_to_the_same_must_be_written_out() {
        let schema = json!({ "properties": { "a_b": { "type": "string" }, "aB": { "type": "string" } } });
        assert!(property(&schema, "a-b", "t").unwrap_err().message.contains("`a_b` or `aB`"));
        assert_eq!(property(&schema, "aB", "t").unwrap().path, ["aB"]);
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
