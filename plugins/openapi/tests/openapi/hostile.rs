//! Documents that mean harm: an error or a warning, soon, and never a crash.

use std::fmt::Write as _;

use crate::support::{document, index, try_index};
use serde_json::{Value, json};

fn refused(body: &[u8], code: &str, part: &str) {
    let failure =
        try_index(body, None, &json!({})).err().unwrap_or_else(|| panic!("indexed, but should say {part}"));
    assert_eq!(failure.code, code, "{}", failure.message);
    assert!(failure.message.contains(part), "{}", failure.message);
}

#[test]
fn what_is_no_document_is_named() {
    refused(b"", "document-invalid", "empty");
    refused(b"<!doctype html><html><body>Sign in</body></html>", "document-unsupported", "an HTML page");
    refused(br#"{"swagger": "1.2"}"#, "document-unsupported", "Swagger 1.2, which is not read: convert");
    refused(b"swagger: 3.0\npaths: {}\n", "document-unsupported", "Swagger 3.0");
    refused(br#"{"openapi": "4.0.0"}"#, "document-unsupported", "unknown version \"4.0.0\"");
    refused(br#"{"openapi": {"a": 1}}"#, "document-unsupported", "unknown version");
    refused(br#"{"asyncapi": "2.6.0"}"#, "document-unsupported", "AsyncAPI");
    refused(br#"{"info": {"_postman_id": "1", "schema": "https://schema.getpostman.com/json/collection/v2.1.0/"}, "item": []}"#, "document-unsupported", "Postman");
    refused(br#"{"discoveryVersion": "v1"}"#, "document-unsupported", "Google API Discovery");
    refused(b"#%RAML 1.0\ntitle: x\n", "document-unsupported", "RAML");
    refused(b"type Query {\n  a: Int\n}\n", "document-unsupported", "GraphQL");
    refused(b"just words", "document-unsupported", "no `openapi` version");
    refused(b"[]", "document-unsupported", "no `openapi` version");
    refused(br#"{"openapi": "3.0.0", "paths": {"#, "document-invalid", "EOF");
    refused(&[0, 1, 2, 3], "document-unsupported", "binary");
}

#[test]
fn nesting_is_bounded() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let deep =
            format!("{{\"openapi\":\"3.0.0\",\"paths\":{}1{}}}", open.repeat(10_000), close.repeat(10_000));
        refused(deep.as_bytes(), "document-invalid", "recursion limit");
        let yaml = format!("openapi: 3.0.0\npaths: {}1{}\n", open.repeat(10_000), close.repeat(10_000));
        refused(yaml.as_bytes(), "document-invalid", "not valid YAML");
    }
    let nested =
        (0..60).fold(json!({"type": "string"}), |schema, _| json!({"type": "array", "items": schema}));
    let catalog = index(&document(
        &json!({"/x": {"get": {"responses": {"200": {"content": {"application/json": {"schema": nested}}}}}}}),
    ));
    assert_eq!(catalog.output("x.getX"), nested);
}

#[test]
fn aliases_can_neither_loop_nor_multiply() {
    refused(b"openapi: 3.0.0\nx: &a [*a]\n", "document-invalid", "recursion limit");
    let mut bomb = String::from("openapi: 3.0.0\na: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..20 {
        writeln!(bomb, "b{level}: &a{level} [{}]", vec![format!("*a{}", level - 1); 9].join(",")).unwrap();
    }
    refused(bomb.as_bytes(), "document-invalid", "repetition limit");
}

#[test]
fn many_small_values_are_bounded() {
    let many = format!(r#"{{"openapi":"3.0.0","paths":{{}},"z":[{}1]}}"#, "[],".repeat(6_000_000));
    refused(many.as_bytes(), "document-invalid", "too many values");
}

#[test]
fn a_hundred_thousand_operations_end() {
    let mut text = String::from(r#"{"openapi":"3.0.0","servers":[{"url":"https://a.example"}],"paths":{"#);
    for n in 0..100_000 {
        write!(text, r#"{}"/p{n}":{{"get":{{"operationId":"same"}}}}"#, if n == 0 { "" } else { "," })
            .unwrap();
    }
    text.push_str("}}");
    let catalog = try_index(text.as_bytes(), None, &json!({})).unwrap();
    assert_eq!(catalog.tools.len(), 60_000);
    assert!(catalog.codes().contains(&"too-many-operations"));
    assert!(catalog.batches.iter().all(|(count, size)| *count <= 500 && *size <= 2 << 20));
    assert!(catalog.progress.windows(2).all(|pair| pair[0] < pair[1]));
    let names: std::collections::HashSet<String> =
        catalog.names().into_iter().map(str::to_ascii_lowercase).collect();
    assert_eq!(names.len(), 60_000);
}

#[test]
fn what_is_shared_is_not_written_without_end() {
    let parameters: Vec<Value> = (0..1000)
        .map(|n| json!({"name": format!("p{n}"), "in": "query", "schema": {"type": "string", "description": "d".repeat(400)}}))
        .collect();
    let mut paths: serde_json::Map<String, Value> =
        (0..2000).map(|n| (format!("/p{n}"), json!({"$ref": "#/paths/~1shared"}))).collect();
    paths.insert("/shared".to_owned(), json!({"parameters": parameters, "get": {}}));
    let catalog = index(&document(&Value::Object(paths)));
    let bytes: usize = catalog.tools.iter().map(|tool| tool.input_schema.len()).sum();
    assert!((400 << 20..513 << 20).contains(&bytes), "{bytes}");
    assert!(catalog.codes().contains(&"too-many-operations"));
}

#[test]
fn warnings_are_bounded() {
    let paths: serde_json::Map<String, Value> =
        (0..5000).map(|n| (format!("/{n}"), json!("no item"))).collect();
    let catalog = index(&document(&Value::Object(paths)));
    assert!(catalog.warnings.len() <= 201, "{}", catalog.warnings.len());
    assert!(catalog.codes().contains(&"more-warnings"));
}

#[test]
fn names_that_surprise_javascript() {
    let operation = |id: &str| json!({"operationId": id, "tags": ["__proto__"]});
    let catalog = index(&document(&json!({
        "/a": {"get": operation("constructor")}, "/b": {"get": operation("then")}, "/c": {"get": operation("__proto__")},
        "/d": {"get": operation("toJSON")}, "/e": {"get": operation("../../etc")}, "/f": {"get": operation("a\u{202E}b\u{0}")},
        "/g": {"get": {"operationId": "constructor/__proto__"}}, "/h": {"get": {"operationId": "😀"}}, "/i": {"get": {"operationId": {"x": 1}}}
    })));
    assert_eq!(catalog.tools.len(), 9);
    for name in catalog.names() {
        let segments: Vec<&str> = name.split('.').collect();
        assert_eq!(segments.len(), 2, "{name}");
        for segment in segments {
            assert!(segment.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'), "{name}");
            assert!(segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'), "{name}");
            assert!(
                !["then", "constructor", "__proto__", "toJSON", "prototype"].contains(&segment),
                "{name}"
            );
        }
    }
}

#[test]
fn every_kind_of_value_in_every_place() {
    let odd = [
        json!(null),
        json!(true),
        json!(7),
        json!("x"),
        json!([]),
        json!({}),
        json!([[{}]]),
        json!({"$ref": 7}),
        json!({"$ref": "#"}),
        json!({"$ref": "#/"}),
    ];
    let full = json!({
        "openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "servers": [{"url": "https://a.example/{v}", "variables": {"v": {"default": "1", "enum": ["1"]}}}],
        "security": [{"k": []}], "tags": [{"name": "t"}], "webhooks": {}, "externalDocs": {"url": "https://a.example"},
        "components": {"schemas": {"S": {"type": "object", "properties": {"a": {"oneOf": [{"$ref": "#/components/schemas/S"}]}}, "required": ["a"], "discriminator": {"propertyName": "a", "mapping": {"x": "S"}}}},
            "securitySchemes": {"k": {"type": "oauth2", "flows": {"authorizationCode": {"authorizationUrl": "u", "tokenUrl": "t", "scopes": {"a": "b"}}}}}},
        "paths": {"/{a}": {"parameters": [{"name": "a", "in": "path", "schema": {"$ref": "#/components/schemas/S"}}], "servers": [{"url": "/"}],
            "post": {"operationId": "o", "tags": ["t"], "security": [{"k": ["a"]}], "servers": [{"url": "/x"}],
                "requestBody": {"content": {"application/x-www-form-urlencoded": {"schema": {"type": "object"}, "encoding": {"a": {"style": "deepObject"}}}, "application/json": {"schema": {"enum": [1]}}}},
                "responses": {"200": {"content": {"application/json": {"schema": {"items": {"type": "string"}}}}}}}}}
    });
    let mut places = Vec::new();
    pointers(&full, String::new(), &mut places);
    let mut indexed = 0;
    for place in &places {
        for value in &odd {
            let mut changed = full.clone();
            *changed.pointer_mut(place).unwrap() = value.clone();
            if let Ok(catalog) = try_index(changed.to_string().as_bytes(), None, &json!({})) {
                indexed += 1;
                for tool in &catalog.tools {
                    let input: Value = serde_json::from_str(&tool.input_schema).unwrap();
                    assert_eq!(input["type"], "object");
                    let _ = catalog.request(&tool.name, json!({"a": "1", "body": {}}));
                }
            }
        }
    }
    assert!(indexed > places.len() * 8, "{indexed} of {}", places.len() * odd.len());
}

fn pointers(value: &Value, at: String, places: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, member) in map {
                let place = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
                pointers(member, place.clone(), places);
                places.push(place);
            }
        }
        Value::Array(list) => {
            for (index, member) in list.iter().enumerate() {
                let place = format!("{at}/{index}");
                pointers(member, place.clone(), places);
                places.push(place);
            }
        }
        _ => {}
    }
}

#[test]
fn long_chains_of_references_end() {
    let schemas: serde_json::Map<String, Value> = (0..5000)
        .map(|n| (format!("S{n}"), json!({"$ref": format!("#/components/schemas/S{}", n + 1)})))
        .collect();
    let mut document = document(
        &json!({"/x": {"get": {"responses": {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/S0"}}}}}}}}),
    );
    document["components"] = json!({"schemas": schemas});
    let catalog = index(&document);
    assert_eq!(catalog.output("x.getX"), json!({}));
}
