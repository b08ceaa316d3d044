//! Schemas that nobody means well with, or that came broken.

use serde_json::{Value, json};

use crate::support::{ENDPOINT, index, try_index};

fn refused(body: &[u8], code: &str, part: &str) {
    let failure = try_index(body, None, &json!({"base_url": ENDPOINT})).err();
    let failure = failure.unwrap_or_else(|| panic!("read, but should say {part}"));
    assert!(failure.code == code && failure.message.contains(part), "{failure:?}");
}

#[test]
fn broken_documents_say_what_and_where() {
    refused(b"type Query {\n  a: Int\n  b: \n}", "document-invalid", "line 4, column 1");
    refused(b"type Query { a: Int", "document-invalid", "line 1");
    refused(br#"type Query { a: Int @deprecated(reason: "\u{110000}") }"#, "document-invalid", "line 1");
    refused(b"{\"data\":{\"__schema\":{\"types\":[", "document-invalid", "cut off");
    refused(b"<html>login</html>", "document-unsupported", "an HTML page");
    refused(b"query { a }", "document-unsupported", "operation");
    refused(b"", "document-unsupported", "neither");
    refused(b"\xff\xfe\x00", "document-unsupported", "neither");
    refused(
        format!("type Query {{ a: {}Int{} }}", "[".repeat(9000), "]".repeat(9000)).as_bytes(),
        "document-invalid",
        "limit",
    );
    refused(
        format!("type Query {{ a(b: Int = {}1) : Int }}", "[".repeat(9000)).as_bytes(),
        "document-invalid",
        "limit",
    );
}

#[test]
fn a_schema_that_was_cut_or_mistyped_ends_in_words() {
    let sdl = "\"a \\u{41}\" type Query @x(a: [1, {b: \"c\"}]) { \"\"\"b\"\"\" a(b: [Int!]! = [1, 2]): [U!] @deprecated(reason: \"\\n\") } union U = | A | B type A implements I & J { a: Int } extend type A { b: E } enum E { X Y }";
    for place in 0..sdl.len() {
        for typed in ["", "{", "\"", "\\", "!", "\u{0}"] {
            let text = format!("{}{typed}{}", &sdl[..place], &sdl[place + 1..]);
            let _ = try_index(text.as_bytes(), None, &json!({}));
        }
        let _ = try_index(&sdl.as_bytes()[..place], None, &json!({}));
    }
}

#[test]
fn what_is_missing_costs_what_needs_it() {
    let catalog = index(
        "type Query { a: Missing, b(c: Missing): Int, d(e: Missing!): Int, f(g: User): Int, h: In, ok: User }
         type User { id: ID!, gone: Nowhere, id: Int } input In { x: Query, y: Int }",
    );
    assert_eq!(catalog.names(), ["query.b", "query.f", "query.ok"]);
    assert_eq!(catalog.query("query.ok", &json!({})), "query ok { ok { id } }");
    assert!(catalog.codes().iter().all(|code| *code == "operation-incomplete"));
    let told: Vec<&str> = catalog.warnings.iter().map(|warning| warning.message.as_str()).collect();
    assert!(
        told.contains(&"the field Query.a is left out: its type Missing is not in the schema"),
        "{told:?}"
    );
    assert!(
        told.contains(&"the argument g of Query.f is left out: its type User can't stand there"),
        "{told:?}"
    );
}

fn introspection(types: Value) -> Vec<u8> {
    json!({"__schema": {"queryType": {"name": "Query"}, "types": types}}).to_string().into_bytes()
}

#[test]
fn names_can_not_leave_the_operation() {
    let int = json!({"kind": "SCALAR", "name": "Int"});
    let evil = "a } mutation Evil { drop";
    let body = introspection(json!([
        {"kind": "OBJECT", "name": "Query", "fields": [
            {"name": evil, "args": [], "type": int},
            {"name": "b", "args": [{"name": evil, "type": int}], "type": int},
            {"name": "c", "args": [], "type": {"kind": "OBJECT", "name": "User"}},
            {"name": "d", "args": [{"name": "e", "type": {"kind": "SCALAR", "name": evil}}], "type": int},
        ]},
        {"kind": "OBJECT", "name": "User", "fields": [{"name": evil, "args": [], "type": int}, {"name": "id", "args": [], "type": int}]},
        {"kind": "SCALAR", "name": evil}, {"kind": "ENUM", "name": "E", "enumValues": [{"name": evil}]},
        {"kind": "UNION", "name": "U", "possibleTypes": [{"name": evil}]}, int,
    ]));
    let catalog = try_index(&body, None, &json!({"base_url": ENDPOINT})).unwrap();
    assert_eq!(catalog.names(), ["query.b", "query.c", "query.d"]);
    for tool in catalog.names() {
        assert!(!catalog.query(tool, &json!({})).contains("mutation"));
    }
    assert!(catalog.files.sizes().iter().all(|size| *size < 1_000));
}

#[test]
fn odd_introspections_cost_little() {
    let body = introspection(json!([
        null, 5, {}, {"kind": "OBJECT"}, {"kind": "WHAT", "name": "X"}, {"name": "Y"},
        {"kind": "OBJECT", "name": "Query", "fields": [null, {"name": 5}, {"name": "a"}, {"name": "ok", "type": {"kind": "SCALAR", "name": "Int"}, "args": null}]},
        {"kind": "OBJECT", "name": "Query", "fields": []},
    ]));
    let catalog = try_index(&body, None, &json!({"base_url": ENDPOINT})).unwrap();
    assert_eq!(catalog.names(), ["query.ok"]);
}

#[test]
fn text_is_made_fit_to_show() {
    let catalog = index("type Query { \"red \\u001b[31m and \\u202e back\" a: Int }");
    assert!(catalog.tool("query.a").description.starts_with("red [31m and  back"));
}

#[test]
fn large_schemas_stay_bounded() {
    let queries: Vec<String> =
        (0..3_000).map(|number| format!("q{number}(w: W{}): T{}", number % 50, number % 50)).collect();
    let types: Vec<String> = (0..50)
        .map(|number| {
            let fields: Vec<String> =
                (0..200).map(|field| format!("f{field}: Int o{field}: T{}", (number + field) % 50)).collect();
            let inputs: Vec<String> =
                (0..200).map(|field| format!("i{field}: W{}", (number + field) % 50)).collect();
            format!("type T{number} {{ {} }} input W{number} {{ {} }}", fields.join(" "), inputs.join(" "))
        })
        .collect();
    let catalog = index(&format!("type Query {{ {} }} {}", queries.join(" "), types.join(" ")));
    assert_eq!(catalog.tools.len(), 3_000);
    assert_eq!(catalog.definitions.len(), 50);
    for tool in &catalog.tools {
        assert!(tool.binding.len() < 8_000 && tool.input_schema.len() < 8_000, "{}", tool.binding.len());
        assert!(tool.output_schema.as_ref().unwrap().len() < 40_000);
    }
}

#[test]
fn there_may_be_nothing_to_call() {
    assert_eq!(index("type User { id: ID }").codes(), ["no-operations"]);
    assert_eq!(index("type Query { a: Int } schema { mutation: Nope }").codes(), ["no-operations"]);
}
