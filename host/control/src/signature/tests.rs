use super::*;
use serde_json::json;

fn none(_: &str) -> Option<Cow<'static, Value>> {
    None
}

fn tool<'a>(input: &'a Value, output: Option<&'a Value>) -> Tool<'a> {
    Tool {
        path: "s.t",
        description: "",
        summary: "",
        request: "",
        input_schema: input,
        output_schema: output,
        deprecated: false,
    }
}

fn with(definitions: Value) -> impl Fn(&str) -> Option<Cow<'static, Value>> {
    move |name| definitions.get(name).cloned().map(Cow::Owned)
}

fn output_of(schema: &Value) -> String {
    let input = json!({});
    let rendered = render(&tool(&input, Some(schema)), &none, &Options::default());
    let result =
        rendered.declaration.strip_prefix("tools.s.t(): Promise<").expect("a call without arguments");
    result.strip_suffix('>').expect("a promise").to_owned()
}

#[track_caller]
fn check(schema: Value, expect: &str) {
    assert_eq!(output_of(&schema), expect, "{schema}");
}

#[test]
fn schemas_are_types() {
    check(json!(true), "unknown");
    check(json!(false), "never");
    check(json!({}), "unknown");
    check(json!(7), "unknown");
    check(json!({"type": "integer"}), "number");
    check(json!({"type": ["string", "null"]}), "string | null");
    check(json!({"type": ["null", "string", "string"]}), "string | null");
    check(json!({"type": "string", "nullable": true}), "string | null");
    check(json!({"type": "wrong"}), "unknown");
    check(json!({"type": "array"}), "unknown[]");
    check(json!({"items": {"type": ["string", "null"]}}), "(string | null)[]");
    check(json!({"prefixItems": [{"type": "string"}, {}], "items": false}), "[string, unknown]");
    check(json!({"prefixItems": [{"type": "string"}], "items": {"type": "number"}}), "[string, ...number[]]");
    check(json!({"type": "object"}), "Record<string, unknown>");
    check(json!({"type": "object", "additionalProperties": false}), "{}");
    check(json!({"additionalProperties": {"type": "number"}}), "Record<string, number>");
    check(json!({"patternProperties": {"^x": {"type": "number"}}}), "Record<string, number>");
    check(
        json!({"properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": {"type": "number"}}),
        "{ a: string } & Record<string, number>",
    );
    check(json!({"anyOf": [{"type": "string"}, {"type": "null"}, {"type": "string"}]}), "string | null");
    check(json!({"anyOf": [{"type": "string"}, {}]}), "unknown");
    check(
        json!({"allOf": [{"properties": {"a": {}}}, {"description": "x"}, {"properties": {"b": {}}}]}),
        "{ a?: unknown } & { b?: unknown }",
    );
    check(
        json!({"type": "object", "properties": {"a": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
        "{ a?: unknown }",
    );
    check(json!({"type": "array", "items": {"anyOf": [{"const": 1}, {"const": "x"}]}}), "(1 | \"x\")[]");
}

#[test]
fn enums_are_literals_or_samples() {
    check(json!({"enum": []}), "never");
    check(json!({"enum": ["a", null, "a", 1, true]}), "\"a\" | 1 | true | null");
    check(json!({"enum": ["Order won't \"fit\"", "a\\b"]}), r#""Order won't \"fit\"" | "a\\b""#);
    check(json!({"enum": ["\u{2028}", "*/"]}), "\"\\u2028\" | \"*/\"");
    check(json!({"enum": [{"a": 1}, [1]]}), "Record<string, unknown> | unknown[]");
    let many: Vec<String> = (0..412).map(|number| format!("v{number}*/")).collect();
    check(
        json!({"enum": many}),
        "string /* one of 412: v0*\\/, v1*\\/, v2*\\/, v3*\\/, v4*\\/, v5*\\/, v6*\\/, v7*\\/, … */",
    );
    check(json!({"enum": ["x".repeat(500)]}), &format!("string /* one of 1: {}… */", "x".repeat(30)));
    check(json!({"const": "a"}), "\"a\"");
}

#[test]
fn a_tool_reads_as_documented() {
    let definitions = with(json!({"issue": {"type": "object", "properties": {
        "id": {"type": "integer"}, "title": {"type": "string"}, "owner": {"$ref": "#/$defs/simple-user"},
        "other": {"$ref": "#/$defs/simple-user"}, "parent": {"$ref": "#/$defs/issue"},
        "state": {"$ref": "#/$defs/state"}, "created_at": {"type": "string", "format": "date-time"}
    }, "required": ["id", "title", "owner", "state", "created_at"]},
    "simple-user": {"type": "object", "properties": {"login": {"type": "string"}, "plan": {"$ref": "#/$defs/plan"}}},
    "state": {"enum": ["open", "closed"]}}));
    let input = json!({"type": "object", "additionalProperties": false, "required": ["owner", "body"], "properties": {
        "owner": {"type": "string", "description": "The account owner. Not case sensitive."},
        "per_page": {"type": "integer", "default": 30, "maximum": 100},
        "body": {"type": "object", "required": ["title"], "properties": {
            "title": {"type": "string"}, "when": {"type": "string", "format": "date-time", "deprecated": true}}}}});
    let output = json!({"$ref": "#/$defs/issue"});
    let tool = Tool {
        path: "forge.issues.create",
        description: "Anybody can. [See](https://example.com) it.\n\nMore.",
        summary: "Create an issue",
        request: "POST /issues",
        deprecated: true,
        ..tool(&input, Some(&output))
    };
    let rendered = render(&tool, &definitions, &Options::default());
    assert_eq!(rendered.head, "tools.forge.issues.create(args: { … }): Promise<Issue>");
    assert_eq!(
        rendered.declaration,
        "/**
 * Create an issue
 * Anybody can. See it.
 * POST /issues
 * @deprecated
 */
tools.forge.issues.create(args: {
  owner: string; // The account owner.
  per_page?: number; // max 100; default 30
  body: {
    title: string;
    when?: string; // date-time; @deprecated
  };
}): Promise<Issue>"
    );
    assert_eq!(
        rendered.types,
        "type Issue = {
  id: number;
  title: string;
  owner: SimpleUser;
  other?: SimpleUser;
  parent?: Issue;
  state: \"open\" | \"closed\";
  created_at: string; // date-time
};
type SimpleUser = { login?: string; plan?: Plan };
// not shown, describe with { type }: Plan"
    );
    assert_eq!(rendered.omitted, ["Plan"]);
}

#[test]
fn one_type_is_expanded_on_demand() {
    let definitions = with(json!({
        "a.issue": {"properties": {"user": {"$ref": "#/$defs/simple-user"}, "n": {}, "x": {"properties": {"y": {}}}}},
        "simple-user": {"properties": {"login": {"type": "string", "description": "How they sign in"}, "b": {"$ref": "#/$defs/a.issue"}}}}));
    let input = json!({});
    let output = json!({"items": {"$ref": "#/$defs/a.issue"}});
    let tool = tool(&input, Some(&output));
    for name in ["simple-user", "SimpleUser"] {
        let options = Options { type_name: Some(name), depth: 1, ..Options::default() };
        let rendered = render(&tool, &definitions, &options);
        assert_eq!(
            rendered.types,
            "type SimpleUser = {\n  login?: string; // How they sign in\n  b?: Issue;\n};\n\
             // not shown, describe with { type }: Issue"
        );
    }
    let options = Options { type_name: Some("Nobody"), ..Options::default() };
    let rendered = render(&tool, &definitions, &options);
    assert_eq!(rendered.omitted, ["Issue", "SimpleUser"]);
    assert!(!rendered.types.contains("type Issue"));
}

#[test]
fn references_find_their_targets() {
    let definitions = with(json!({
        "400": {"type": "string"}, "a/b": {"type": "number"}, "x y": {"type": "boolean"},
        "loop": {"$ref": "#/$defs/loop2"}, "loop2": {"$ref": "#/$defs/loop"},
        "alias": {"$ref": "#/$defs/400", "description": "x"}, "maybe": {"$ref": "#/$defs/400", "nullable": true}}));
    let input = json!({"$defs": {"own": {"type": "null"}}});
    for (reference, expect) in [
        ("#/$defs/400", "string"),
        ("#/$defs/a~1b", "number"),
        ("#/$defs/x%20y", "boolean"),
        ("#/$defs/loop", "unknown"),
        ("#/$defs/alias", "string"),
        ("#/$defs/maybe", "string | null"),
        ("#/$defs/own", "null"),
        ("#/$defs/missing", "unknown"),
        ("#", "unknown"),
        ("https://example.com/x", "unknown"),
    ] {
        let output = json!({"$ref": reference});
        let rendered = render(&tool(&input, Some(&output)), &definitions, &Options::default());
        assert_eq!(rendered.head, format!("tools.s.t(): Promise<{expect}>"), "{reference}");
    }
}

#[test]
fn a_large_input_is_shown_less_deep() {
    let inner: serde_json::Map<String, Value> = (0..60)
        .map(|number| {
            (format!("inner{number}"), json!({"type": "string", "description": "Some words about it."}))
        })
        .collect();
    let outer: serde_json::Map<String, Value> = (0..10)
        .map(|number| (format!("outer{number}"), json!({"type": "object", "properties": inner})))
        .collect();
    let input =
        json!({"type": "object", "properties": {"body": {"properties": outer}}, "required": ["body"]});
    let rendered = render(&tool(&input, None), &none, &Options::default());
    assert!(rendered.declaration.contains("outer9?: { /* 60 fields */ }"), "{}", rendered.declaration);
    assert_eq!(rendered.omitted, ["args: +600 fields"]);
}

#[test]
fn arguments_may_be_none_or_optional() {
    for (input, head) in [
        (json!({}), "()"),
        (json!({"type": "object", "properties": {}, "additionalProperties": false}), "()"),
        (json!({"type": "object", "additionalProperties": true}), "(args?: { … })"),
        (json!({"properties": {"a": {}}}), "(args?: { … })"),
        (json!({"properties": {"a": {}}, "required": ["a"]}), "(args: { … })"),
    ] {
        let rendered = render(&tool(&input, None), &none, &Options::default());
        assert_eq!(rendered.head, format!("tools.s.t{head}: Promise<unknown>"), "{input}");
    }
}

/// Comments and strings taken out, brackets must match, and no character may
/// be one that could mislead.
#[track_caller]
fn assert_sound(rendered: &Signature) {
    let length = rendered.declaration.len() + rendered.types.len();
    assert!(length <= MAX_CHARS, "{length} characters");
    for text in [&rendered.head, &rendered.declaration, &rendered.types] {
        let bad = |c: char| {
            (c.is_control() && c != '\n') || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202e}' | '\u{200b}')
        };
        assert!(!text.contains(bad), "{text:?}");
        let mut open = Vec::new();
        let mut rest = text.as_str();
        while let Some(first) = rest.chars().next() {
            if rest.starts_with("/*") {
                rest = &rest[rest.find("*/").expect("a comment ends") + 2..];
                continue;
            }
            if rest.starts_with("//") {
                rest = rest.find('\n').map_or("", |at| &rest[at..]);
                continue;
            }
            if first == '"' {
                let mut end = 1;
                while rest.as_bytes()[end] != b'"' {
                    end += if rest.as_bytes()[end] == b'\\' { 2 } else { 1 };
                }
                rest = &rest[end + 1..];
                continue;
            }
            match first {
                '{' | '[' | '(' => open.push(first),
                '}' => assert_eq!(open.pop(), Some('{'), "{text}"),
                ']' => assert_eq!(open.pop(), Some('['), "{text}"),
                ')' => assert_eq!(open.pop(), Some('('), "{text}"),
                _ => {}
            }
            rest = &rest[first.len_utf8()..];
        }
        assert!(open.is_empty(), "{text}");
    }
}

#[test]
fn hostile_schemas_stay_bounded() {
    let mut deep = json!({"type": "string"});
    for _ in 0..120 {
        deep = json!({"properties": {"a": {"items": deep}}, "additionalProperties": {"anyOf": [{"type": "null"}, {"const": 1}]}});
    }
    let wide: serde_json::Map<String, Value> =
        (0..30_000).map(|at| (format!("p{at}"), json!({"enum": vec!["\u{0}".repeat(90); 30]}))).collect();
    let evil = json!({"properties": {"*/ evil": {"description": "*/ } \n\u{2028}\u{1b}[0m"}, "\u{202e}": {}, "__proto__": {}, "constructor": {},
        "x".repeat(1_000_000): {}, "": {"default": "*/"}, "class": {"pattern": "*/"}}});
    let union: Vec<Value> = (0..5000).map(|at| json!({"properties": {format!("v{at}"): {}}})).collect();
    let schemas = [deep, json!({"properties": wide}), evil, json!({"oneOf": union})];
    let definitions = |name: &str| -> Option<Cow<'static, Value>> {
        let number: u64 = name.strip_prefix('n')?.parse().ok()?;
        let next = |step: u64| json!({"$ref": format!("#/$defs/n{}", number + step)});
        let members: serde_json::Map<String, Value> =
            (1..40).map(|step| (format!("*/m{step}"), next(step))).collect();
        Some(Cow::Owned(
            json!({"properties": members, "allOf": [next(1), next(2)], "description": "*/ \u{7}"}),
        ))
    };
    let chained = json!({"$ref": "#/$defs/n1"});
    for input in schemas.iter().chain([&chained]) {
        for output in schemas.iter().chain([&chained]) {
            for depth in [0, 2, 9, u32::MAX] {
                let options = Options { depth, input_budget_chars: usize::MAX, type_name: None };
                let long = "*/ \u{2029}text ".repeat(5_000);
                let tool = Tool {
                    path: "s.*/\n.class",
                    summary: &long,
                    description: &long,
                    request: &long,
                    deprecated: true,
                    ..tool(input, Some(output))
                };
                assert_sound(&render(&tool, &definitions, &options));
            }
        }
    }
    for name in ["n1", "N7", "Nobody", "*/"] {
        let options = Options { type_name: Some(name), ..Options::default() };
        assert_sound(&render(&tool(&chained, None), &definitions, &options));
    }
}

#[test]
fn random_schemas_are_sound_and_steady() {
    let mut state = 0xfeed_u64;
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
        "enum",
        "const",
        "required",
        "$ref",
        "description",
        "additionalProperties",
        "prefixItems",
        "nullable",
        "default",
        "format",
        "deprecated",
        "pattern",
        "minimum",
    ];
    let texts = [
        "object",
        "string",
        "array",
        "null",
        "#/$defs/a",
        "#/$defs/b",
        "*/",
        "\u{2028}",
        "date-time",
        "",
        "a.b",
        "`${x}`",
    ];
    for _ in 0..1500 {
        let a = random(&mut next, &keys, &texts, 5);
        let b = random(&mut next, &keys, &texts, 5);
        let definitions = with(json!({"a": a.clone(), "b": b.clone()}));
        let tool = tool(&a, Some(&b));
        for type_name in [None, Some("a"), Some("B")] {
            let options = Options { type_name, ..Options::default() };
            let rendered = render(&tool, &definitions, &options);
            assert_sound(&rendered);
            assert_eq!(rendered, render(&tool, &definitions, &options));
        }
    }
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
