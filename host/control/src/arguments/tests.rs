use std::time::{Duration, Instant};

use super::*;
use serde_json::json;

fn none(_: &str) -> Option<Cow<'static, Value>> {
    None
}

fn with(definitions: Value) -> impl Fn(&str) -> Option<Cow<'static, Value>> {
    move |name| definitions.get(name).cloned().map(Cow::Owned)
}

fn compiled(schema: &Value) -> Validator {
    Validator::compile(schema, &none).expect("the schema compiles")
}

fn issue_tool() -> Value {
    json!({"type": "object", "additionalProperties": false, "required": ["owner", "repo", "body"], "properties": {
        "owner": {"type": "string", "description": "The account owner. Not case sensitive."},
        "repo": {"type": "string"},
        "per_page": {"type": "integer", "minimum": 1, "maximum": 100},
        "state": {"enum": ["open", "closed", "all"]},
        "body": {"type": "object", "required": ["title"], "additionalProperties": false, "properties": {
            "title": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "labels": {"type": "array", "items": {"type": "string", "minLength": 1}, "maxItems": 3}}}}})
}

#[track_caller]
fn check(schema: &Value, arguments: Value, expect: &str) {
    let fault = compiled(schema).check(&arguments).err();
    let message = fault.map_or_else(String::new, |fault| fault.to_string());
    assert_eq!(message, expect, "{arguments}");
}

#[test]
fn a_place_for_a_file_is_named_as_one() {
    let file = json!({"type": "object", "properties": {"$file": {"type": "string"}}, "required": ["$file"]});
    let nullable = json!({"type": ["object", "null"], "properties": {"$file": {"type": "string"}}});
    let schema = json!({"type": "object", "properties": {
        "one": nullable, "some": {"anyOf": [{"type": "array", "items": file}, file]}}});
    let expect = "must be a file, {\"$file\": reference}, is string";
    check(&schema, json!({"one": "up.txt"}), &format!("/one {expect}"));
    check(&schema, json!({"some": ["up.txt"]}), "/some/0 must be a file, {\"$file\": reference}, is string");
    check(&schema, json!({"some": "x"}), "/some must be array or a file, {\"$file\": reference}, is string");
    check(&schema, json!({"one": {"$file": "blob:1", "size": 1, "name": "a", "mediaType": "x/y"}}), "");
}

#[test]
fn good_arguments_pass() {
    let schema = issue_tool();
    check(&schema, json!({"owner": "o", "repo": "r", "body": {"title": "t"}}), "");
    check(
        &schema,
        json!({"owner": "o", "repo": "r", "body": {"title": 1, "labels": ["a"]}, "per_page": 3.0}),
        "",
    );
    check(&json!({}), json!({"anything": 1}), "");
    check(&json!({"type": "object"}), Value::Null, "");
    check(&json!(true), json!({"a": 1}), "");
}

#[test]
fn names_come_first_and_all_at_once() {
    let schema = issue_tool();
    check(
        &schema,
        json!({"ownr": 7, "title": "t", "requestBody": {}, "perPage": "many"}),
        "unknown argument `ownr`: did you mean `owner`?; \
         unknown argument `title`: it belongs inside `body`; \
         unknown argument `requestBody`: the request body is the argument `body`; \
         unknown argument `perPage`: did you mean `per_page`?; \
         missing argument `owner` (The account owner); missing argument `repo`; missing argument `body`. \
         It takes: owner, repo, per_page, state, body",
    );
    let fault = compiled(&schema).check(&json!({"ownr": 7, "zzz": 1})).expect_err("unknown");
    assert_eq!(fault.suggestions, [Suggestion { given: "ownr".to_owned(), meant: vec!["owner".to_owned()] }]);
    assert_eq!(fault.accepted, ["owner", "repo", "per_page", "state", "body"]);
    assert_eq!(fault.issues[1].pointer, "/zzz");
    check(
        &json!({"type": "object", "additionalProperties": false}),
        json!({"x": 1}),
        "unknown argument `x`. It takes no arguments",
    );
    check(&schema, json!([1]), "the arguments must be one object, they are array");
}

#[test]
fn values_say_where_and_why() {
    let schema = issue_tool();
    let good = json!({"owner": "o", "repo": "r", "body": {"title": "t"}});
    let changed = |pointer: &str, value: Value| {
        let mut arguments = good.clone();
        let (holder, name) = pointer.rsplit_once('/').expect("a pointer");
        arguments.pointer_mut(holder).expect("it exists")[name] = value;
        arguments
    };
    for (pointer, value, expect) in [
        ("/owner", json!(7), "/owner must be string, is integer"),
        ("/per_page", json!(1.5), "/per_page must be integer, is number"),
        ("/per_page", json!(0), "/per_page must be at least 1"),
        (
            "/state",
            json!("opened"),
            "/state must be one of \"open\", \"closed\", \"all\": did you mean \"open\"?",
        ),
        ("/body/title", json!([]), "/body/title must be string or integer, is array"),
        ("/body/titel", json!("t"), "/body/titel is unknown: did you mean `title`?"),
        ("/body/zzz", json!("t"), "/body/zzz is unknown here"),
        (
            "/body/labels",
            json!(["a", 1, ""]),
            "/body/labels/1 must be string, is integer; /body/labels/2 must have at least 1 characters",
        ),
        ("/body/labels", json!(["a", "b", "c", "d"]), "/body/labels must have at most 3 items"),
    ] {
        check(&schema, changed(pointer, value), expect);
    }
    let mut arguments = good.clone();
    arguments["body"] = json!({});
    check(&schema, arguments, "/body is missing `title`");
}

#[test]
fn the_nearest_alternative_is_explained() {
    let schema = json!({"type": "object", "required": ["shape"], "properties": {"shape": {"oneOf": [
        {"type": "object", "properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}}, "required": ["kind", "radius"]},
        {"type": "object", "properties": {"kind": {"const": "square"}, "side": {"type": "number"}}, "required": ["kind", "side"]},
        {"type": "null"}]}}});
    check(&schema, json!({"shape": {"kind": "square", "side": 2}}), "");
    check(
        &schema,
        json!({"shape": {"kind": "square", "side": "2"}}),
        "/shape matches none of 3 forms; the nearest: /shape/side must be number, is string",
    );
}

#[test]
fn what_may_be_null_or_a_list_has_one_form() {
    let kind = json!({ "enum": ["DOG", "CAT"] });
    let pet = json!({ "type": "object", "required": ["name"] });
    let schema = json!({ "type": "object", "properties": {
        "kind": { "anyOf": [kind, { "type": "null" }] },
        "kinds": { "anyOf": [{ "type": "array", "items": kind }, kind, { "type": "null" }] },
        "pet": { "oneOf": [{ "type": "null" }, pet] } } });
    for (arguments, expect) in [
        (json!({ "kind": "COW" }), "/kind must be one of \"DOG\", \"CAT\""),
        (json!({ "kinds": "COW" }), "/kinds must be one of \"DOG\", \"CAT\""),
        (json!({ "pet": {} }), "/pet is missing `name`"),
        (json!({ "pet": 1 }), "/pet must be null or object, is integer"),
        (json!({ "kind": null, "kinds": ["DOG"], "pet": { "name": "Rex" } }), ""),
    ] {
        check(&schema, arguments, expect);
    }
}

#[test]
fn definitions_are_followed() {
    let definitions = with(json!({
        "node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "value": {"$ref": "#/$defs/a~1b"}}, "additionalProperties": false},
        "a/b": {"type": "integer"}, "inner": {"properties": {"deep": {"type": "boolean"}}}}));
    let schema = json!({"properties": {"node": {"$ref": "#/$defs/node"}, "own": {"$ref": "#/$defs/mine"},
        "part": {"$ref": "#/$defs/inner/properties/deep"}, "same": {"$ref": "#/properties/own"}, "gone": {"$ref": "#/$defs/nothing"},
        "far": {"$ref": "https://example.com/schema.json"}, "file": {"$ref": "file:///etc/passwd"}},
        "$defs": {"mine": {"type": "string"}}});
    let validator = Validator::compile(&schema, &definitions).expect("it compiles");
    for (arguments, expect) in [
        (json!({"node": {"next": {"next": {"value": 1}}}, "gone": 1, "far": [], "file": {}}), ""),
        (
            json!({"node": {"next": {"next": {"value": "x"}}}}),
            "/node/next/next/value must be integer, is string",
        ),
        (json!({"node": {"nxt": {}}}), "/node/nxt is unknown: did you mean `next`?"),
        (json!({"own": 1}), "/own must be string, is integer"),
        (json!({"part": 1}), "/part must be boolean, is integer"),
        (json!({"same": 1}), "/same must be string, is integer"),
    ] {
        let message = validator.check(&arguments).err().map_or_else(String::new, |fault| fault.message);
        assert_eq!(message, expect, "{arguments}");
    }
}

#[test]
fn what_is_open_stays_open() {
    for schema in [
        json!({"properties": {"a": {}}, "additionalProperties": true}),
        json!({"properties": {"a": {}}, "additionalProperties": {"type": "integer"}}),
        json!({"properties": {"a": {}}, "patternProperties": {"^b": {}}}),
        json!({"properties": {"a": {}}, "allOf": [{"$ref": "#/$defs/unknown"}]}),
        json!({"properties": {"a": {}}, "anyOf": [{"properties": {"b": {}}}]}),
    ] {
        check(&schema, json!({"b": 1}), "");
        assert_eq!(structural(&schema, &json!({"b": 1})), Ok(()), "{schema}");
    }
    let closed = json!({"properties": {"a": {}}, "anyOf": [{"required": ["a"]}, {"properties": {"c": {}}}]});
    assert!(compiled(&closed).check(&json!({"b": 1})).is_err());
    assert!(structural(&closed, &json!({"b": 1})).is_err());
    assert!(structural(&issue_tool(), &json!({"owner": 1})).is_err());
    assert_eq!(structural(&issue_tool(), &json!({"owner": 1, "repo": 2, "body": 3})), Ok(()));
}

#[test]
fn formats_are_not_asserted() {
    let schema =
        json!({"properties": {"at": {"type": "string", "format": "date-time"}, "to": {"format": "email"}}});
    check(&schema, json!({"at": "now", "to": "nobody"}), "");
}

#[test]
fn odd_keywords_weaken_and_never_refuse() {
    for (schema, arguments) in [
        (json!({"properties": {"a": {"type": "file"}}}), json!({"a": 1})),
        (
            json!({"properties": {"a": {"type": "integer", "exclusiveMinimum": true, "minimum": 1}}}),
            json!({"a": 1}),
        ),
        (json!({"properties": {"a": {"required": true}}}), json!({"a": {}})),
        (json!({"properties": {"a": {"enum": []}}}), json!({"a": 1})),
        (json!({"properties": {"a": {"pattern": "(?!x)y"}}}), json!({"a": "z"})),
        (json!({"properties": {"a": {"pattern": "["}}}), json!({"a": "z"})),
        (json!({"properties": {"a": {"pattern": "^\\w{1,5000}$"}}}), json!({"a": "z"})),
        (json!({"properties": {"a": {"not": {"pattern": "(?!x)y"}}}}), json!({"a": "z"})),
        (json!({"properties": {"a": {"not": {"$ref": "#/$defs/gone"}}}}), json!({"a": "z"})),
        (
            json!({"properties": {"a": {"oneOf": [{"$ref": "#/$defs/gone"}, {"type": "string"}]}}}),
            json!({"a": "z"}),
        ),
        (json!({"properties": {"a": {"if": {"type": "nonsense"}, "then": false}}}), json!({"a": "z"})),
        (
            json!({"properties": {"a": {"patternProperties": {"(?!x)": {}}, "additionalProperties": false}}}),
            json!({"a": {"b": 1}}),
        ),
        (
            json!({"properties": {"a": {"allOf": [{"$ref": "#/$defs/gone"}], "unevaluatedProperties": false}}}),
            json!({"a": {"b": 1}}),
        ),
        (
            json!({"properties": {"a": {"$id": "http://x/y", "$ref": "#/$defs/b"}}, "$defs": {"b": {"type": "string"}}}),
            json!({"a": "s"}),
        ),
        (
            json!({"properties": {"a": {"x-executor-steps": 9e9, "$schema": "http://nowhere", "$dynamicRef": "#q"}}}),
            json!({"a": 1}),
        ),
        (json!({"properties": 7, "required": "x", "allOf": {}, "items": [{}]}), json!({"a": 1})),
    ] {
        check(&schema, arguments, "");
    }
}

#[test]
fn what_is_kept_beside_an_odd_keyword_still_counts() {
    let schema = json!({"properties": {"a": {"type": "string", "pattern": "(?!x)", "maxLength": 2}, "b": {"pattern": "["}, "c": {"pattern": "^c$"}}});
    check(&schema, json!({"a": "abc"}), "/a must have at most 2 characters");
    check(&schema, json!({"c": "d"}), "/c must match the pattern ^c$");
}

fn quickly<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let done = work();
    assert!(started.elapsed() < Duration::from_secs(20), "{what} took {:?}", started.elapsed());
    done
}

/// Definitions of which each holds the next one twice.
fn doubling(key: &'static str) -> impl Fn(&str) -> Option<Cow<'static, Value>> {
    move |name| {
        let number: u32 = name.strip_prefix('n')?.parse().ok()?;
        if number == 60 {
            return Some(Cow::Owned(json!({"type": "string"})));
        }
        let next = json!({"$ref": format!("#/$defs/n{}", number + 1)});
        Some(Cow::Owned(json!({ key: [next.clone(), next] })))
    }
}

#[test]
fn branching_is_bounded() {
    for key in ["anyOf", "allOf", "oneOf"] {
        let schema = json!({"properties": {"a": {"$ref": "#/$defs/n0"}}});
        let validator =
            quickly("compiling", || Validator::compile(&schema, &doubling(key))).expect("it compiles");
        for value in [json!("text"), json!(1)] {
            // Whatever comes out, it comes soon.
            let _ = quickly(key, || validator.check(&json!({"a": value})));
        }
    }
    // An unfinished check passes; one that finishes still refuses.
    let schema = json!({"properties": {"a": {"$ref": "#/$defs/n0"}, "b": {"type": "string"}}});
    let validator = Validator::compile(&schema, &doubling("anyOf")).expect("it compiles");
    assert_eq!(validator.check(&json!({"a": 1, "b": "x"})), Ok(()));
    assert!(validator.check(&json!({"b": 1})).is_err());
}

#[test]
fn nesting_is_bounded() {
    let chain = |name: &str| -> Option<Cow<'static, Value>> {
        let number: u64 = name.strip_prefix('n')?.parse().ok()?;
        let next = json!({"$ref": format!("#/$defs/n{}", number + 1)});
        Some(Cow::Owned(json!({"allOf": [{"anyOf": [{"properties": {"x": next.clone()}}]}, next]})))
    };
    let schema = json!({"properties": {"a": {"$ref": "#/$defs/n0"}}});
    match quickly("compiling", || Validator::compile(&schema, &chain)) {
        Ok(validator) => {
            let _ = validator.check(&json!({"a": {"x": {"x": 1}}}));
        }
        Err(fault) => assert_eq!(fault, SchemaFault::TooDeep),
    }
    let mut deep = json!({"type": "string"});
    let mut value = json!(1);
    for _ in 0..40 {
        deep = json!({"properties": {"a": deep}});
        value = json!({"a": value});
    }
    let _ = compiled(&deep).check(&value);
    let mut list = json!(1);
    for _ in 0..20_000 {
        list = Value::Array(vec![list]);
    }
    let recursive = json!({"properties": {"a": {"$ref": "#/$defs/l"}}, "$defs": {"l": {"items": {"$ref": "#/$defs/l"}, "type": "array"}}});
    let arguments = Value::Object(std::iter::once(("a".to_owned(), list)).collect());
    let _ = quickly("deep arguments", || compiled(&recursive).check(&arguments));
    dismantle(arguments);
}

/// Drops a value that nests deeper than a recursive drop can go.
fn dismantle(value: Value) {
    let mut stack = vec![value];
    while let Some(value) = stack.pop() {
        match value {
            Value::Array(items) => stack.extend(items),
            Value::Object(members) => stack.extend(members.into_iter().map(|(_, value)| value)),
            _ => {}
        }
    }
}

#[test]
fn references_in_circles_end() {
    let definitions = with(json!({
        "self": {"$ref": "#/$defs/self"}, "one": {"allOf": [{"$ref": "#/$defs/two"}]}, "two": {"anyOf": [{"$ref": "#/$defs/one"}]},
        "not": {"not": {"$ref": "#/$defs/not"}}}));
    for name in ["self", "one", "not"] {
        let schema = json!({"properties": {"a": {"$ref": format!("#/$defs/{name}")}}});
        if let Ok(validator) = Validator::compile(&schema, &definitions) {
            let _ = quickly(name, || validator.check(&json!({"a": {"b": [1]}})));
        }
    }
    check(&json!({"properties": {"a": {"$ref": "#"}}}), json!({"a": {"a": {"a": {}}}}), "");
}

#[test]
fn large_schemas_and_arguments_are_bounded() {
    let wide: Map<String, Value> = (0..30_000)
        .map(|at| (format!("p{at}"), json!({"type": "string", "pattern": format!("^a{at}b*$")})))
        .collect();
    let schema = json!({"type": "object", "properties": wide});
    let validator = quickly("a wide schema", || Validator::compile(&schema, &none)).expect("it compiles");
    assert_eq!(validator.check(&json!({"p29999": 1})), Ok(()));
    let fault = quickly("many unknown", || {
        let arguments: Map<String, Value> =
            (0..5_000).map(|at| (format!("unknown{at}\u{1b}"), json!(1))).collect();
        compiled(&issue_tool()).check(&Value::Object(arguments)).expect_err("they are unknown")
    });
    assert!(fault.message.len() < 8_000 && !fault.message.contains('\u{1b}'));
    assert_eq!(fault.issues.len(), MAX_ISSUES);
    let items: Vec<Value> = (0..500_000).map(Value::from).collect();
    let schema = json!({"properties": {"a": {"items": {"anyOf": [{"type": "string"}, {"pattern": "(a|aa)+$"}, {"enum": (0..2_000).map(|at| json!(format!("v{at}"))).collect::<Vec<_>>()}]}, "uniqueItems": true}}});
    let _ = quickly("a long array", || compiled(&schema).check(&json!({"a": items})));
    let text = "a".repeat(2_000_000);
    let schema = json!({"properties": {"a": {"pattern": "^(a|aa)+$", "maxLength": 5}}});
    let _ = quickly("a long text", || compiled(&schema).check(&json!({"a": text})));
}

#[test]
fn random_schemas_neither_panic_nor_hang() {
    let mut state = 0xc0ffee_u64;
    let mut next = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let keys = [
        "type",
        "properties",
        "items",
        "anyOf",
        "allOf",
        "oneOf",
        "not",
        "if",
        "then",
        "enum",
        "const",
        "required",
        "$ref",
        "description",
        "additionalProperties",
        "prefixItems",
        "pattern",
        "patternProperties",
        "minimum",
        "unevaluatedProperties",
        "$id",
        "$defs",
        "contains",
    ];
    let texts = [
        "object",
        "string",
        "array",
        "#/$defs/a",
        "#/$defs/b",
        "#",
        "#/properties",
        "(",
        "^a",
        "a",
        "b",
        "\u{2028}",
        "http://x",
    ];
    let mut refused = 0;
    for _ in 0..1500 {
        let a = random(&mut next, &keys, &texts, 5);
        let b = random(&mut next, &keys, &texts, 4);
        let definitions = with(json!({"a": a.clone(), "b": b}));
        let arguments = random(&mut next, &["a", "b", "c"], &texts, 4);
        let _ = structural(&a, &arguments);
        match Validator::compile(&a, &definitions) {
            Ok(validator) => drop(validator.check(&arguments)),
            Err(_) => refused += 1,
        }
    }
    assert_eq!(refused, 0, "every copy should compile");
}

fn random(next: &mut impl FnMut(usize) -> usize, keys: &[&str], texts: &[&str], depth: usize) -> Value {
    match if depth == 0 { next(4) } else { next(9) } {
        0 => json!(next(2) == 0),
        1 | 2 => json!(texts[next(texts.len())]),
        3 => json!(next(100)),
        4 => (0..next(4)).map(|_| random(next, keys, texts, depth - 1)).collect(),
        _ => {
            let members = (0..next(5)).map(|_| {
                let key = if next(4) == 0 { texts[next(texts.len())] } else { keys[next(keys.len())] };
                (key.to_owned(), random(next, keys, texts, depth - 1))
            });
            Value::Object(members.collect())
        }
    }
}
