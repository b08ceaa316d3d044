//! Whose document it is.

use executor_common::seam::{Detection, Document, Probe};
use executor_openapi::source::detect;
use serde_json::{Value, json};

fn probe(body: &str) -> Option<Detection> {
    let url = Some("https://raw.example.org/x/openapi.json".to_owned());
    detect(&Probe {
        url: url.clone(),
        document: Document { url, media_type: None, body: body.as_bytes().to_vec() },
        ..Probe::default()
    })
}

#[test]
fn openapi_is_ours() {
    let document = json!({
        "openapi": "3.0.3", "info": {"title": "GitHub v3 REST API", "version": "1.1.4"},
        "servers": [{"url": "https://api.github.com"}], "paths": {"/a": {"get": {}, "post": {}}}
    });
    let found = probe(&document.to_string()).unwrap();
    assert_eq!(
        (found.confidence, found.config.as_str(), found.suggested_name.as_str()),
        (95, "{}", "github")
    );
    let meta: Value = serde_json::from_str(&found.meta.unwrap()).unwrap();
    assert_eq!(
        meta,
        json!({"title": "GitHub v3 REST API", "version": "1.1.4", "specification": "3.0.3", "operations": 2, "origins": ["https://api.github.com"], "transport": "http", "auth": []})
    );
    let signed = json!({
        "openapi": "3.0.3", "paths": {"/a": {"get": {}}},
        "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}, "b": {"type": "http", "scheme": "bearer"}}}
    });
    let meta: Value = serde_json::from_str(&probe(&signed.to_string()).unwrap().meta.unwrap()).unwrap();
    let kinds: Vec<&Value> = meta["auth"].as_array().unwrap().iter().map(|hint| &hint["kind"]).collect();
    assert_eq!(kinds, ["api-key", "http-bearer"], "{meta}");
    let yaml = probe(
        "openapi: 3.1.0\ninfo: {title: Pets, version: 1.0}\nservers: [{url: /api}]\npaths: {/a: {get: {}}}\n",
    )
    .unwrap();
    assert_eq!((yaml.config.as_str(), yaml.suggested_name.as_str()), ("{\"format\":\"yaml\"}", "pets"));
    assert!(probe(r#"{"openapi": "3.3.0", "paths": {"/a": {"get": {}}}}"#).unwrap().confidence < 95);
    assert!(probe(r#"{"openapi": "3.1.0", "webhooks": {}}"#).unwrap().confidence < 95);
}

#[test]
fn others_are_named_or_left_to_others() {
    let named = |body: &str, part: &str| {
        let found = probe(body).unwrap();
        assert!(found.confidence < 20 && found.warnings[0].contains(part), "{found:?}");
    };
    named("<!DOCTYPE html><html></html>", "HTML");
    named(r#"{"swagger": "1.2"}"#, "Swagger 1.2");
    named(r#"{"asyncapi": "2.0.0"}"#, "AsyncAPI");
    named(r#"{"info": {"_postman_id": "1"}, "item": []}"#, "Postman");
    named(r#"{"kind": "discovery#restDescription"}"#, "Google");
    named("#%RAML 1.0\n", "RAML");
    named(r#"{"openapi": "3.0.0", "paths": {"#, "not valid JSON");
    for foreign in [
        "type Query { a: Int }",
        r#"{"data": {"__schema": {}}}"#,
        r#"{"jsonrpc": "2.0"}"#,
        "",
        "hello",
        "{}",
        "[1, 2",
    ] {
        assert_eq!(probe(foreign), None, "{foreign}");
    }
}
