//! Documents as tools: schemas, references, servers and security.

use crate::support::{Catalog, document, index, try_index};
use serde_json::{Value, json};

fn answering(schema: Value) -> Value {
    json!({"responses": {"200": {"description": "ok", "content": {"application/json": {"schema": schema}}}}})
}

/// The output schema that a schema of a document becomes, in this version.
fn converted(version: &str, schema: Value) -> Value {
    let mut document = document(&json!({"/x": {"get": answering(schema)}}));
    document["openapi"] = json!(version);
    document["components"] = json!({"schemas": {"Named": {"type": "string"}}});
    index(&document).output("x.getX")
}

#[test]
fn a_tool_has_all_that_a_caller_needs() {
    let catalog = index(&json!({
        "openapi": "3.0.3",
        "info": {"title": "Issues", "version": "7"},
        "servers": [{"url": "https://API.github.com/"}],
        "components": {"schemas": {"issue": {"type": "object"}}},
        "paths": {"/repos/{owner}/{repo}/issues": {
            "parameters": [{"name": "owner", "in": "path", "required": true, "schema": {"type": "string"}, "description": "path's"}],
            "post": {
                "operationId": "issues/create", "tags": ["issues"], "summary": "Create an\n issue", "description": "Long \u{1b}[2J text",
                "externalDocs": {"url": "https://docs.github.com/issues"}, "deprecated": true,
                "parameters": [
                    {"name": "owner", "in": "path", "required": true, "schema": {"type": "string"}, "description": "own"},
                    {"name": "per_page", "in": "query", "schema": {"type": "integer", "default": 30}}
                ],
                "requestBody": {"required": true, "content": {"application/json": {"schema": {
                    "type": "object", "required": ["title", "id"],
                    "properties": {"title": {"type": "string"}, "id": {"type": "integer", "readOnly": true}}
                }}}},
                "responses": {"201": {"description": "made", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/issue"}}}}}
            }
        }}
    }));
    let tool = catalog.tool("issues.create");
    assert_eq!(tool.description, "Create an\n issue\n\nLong [2J text");
    assert_eq!(tool.annotations.title.as_deref(), Some("Create an issue"));
    let annotations = &tool.annotations;
    assert!(
        annotations.deprecated
            && annotations.requires_approval
            && !annotations.read_only
            && !annotations.idempotent
            && !annotations.destructive
    );
    assert_eq!(
        catalog.input("issues.create"),
        json!({
            "type": "object",
            "properties": {
                "owner": {"type": "string", "description": "own"},
                "per_page": {"type": "integer", "default": 30},
                "repo": {"type": "string"},
                "body": {"type": "object", "required": ["title"], "properties": {"title": {"type": "string"}}}
            },
            "required": ["owner", "repo", "body"],
            "additionalProperties": false
        })
    );
    assert_eq!(catalog.output("issues.create"), json!({"$ref": "#/$defs/issue"}));
    assert_eq!(
        catalog.meta("issues.create"),
        json!({
            "summary": "Create an issue", "request": "POST /repos/{owner}/{repo}/issues", "origin": "https://api.github.com",
            "tags": ["issues"], "docs": "https://docs.github.com/issues"
        })
    );
    let summary = catalog.summary.as_ref().unwrap();
    assert_eq!(
        (summary.title.as_deref(), summary.version.as_deref(), summary.base_url.as_deref()),
        (Some("Issues"), Some("7"), Some("https://api.github.com"))
    );
    assert_eq!(
        catalog.summary_meta(),
        json!({"origins": ["https://api.github.com"], "specification": "3.0.3", "operations": 1, "transport": "http"})
    );
}

#[test]
fn methods_say_what_they_do() {
    let methods = ["get", "head", "options", "put", "post", "patch", "delete", "trace"];
    let item: serde_json::Map<String, Value> =
        methods.iter().map(|method| ((*method).to_owned(), json!({"operationId": method}))).collect();
    let catalog = index(&document(&json!({"/x": item})));
    let of = |method: &str| {
        let annotations = &catalog.tool(&format!("x.{method}")).annotations;
        assert_eq!(annotations.requires_approval, !annotations.read_only);
        (annotations.read_only, annotations.destructive, annotations.idempotent)
    };
    for method in ["get", "head", "options"] {
        assert_eq!(of(method), (true, false, true), "{method}");
    }
    assert_eq!(of("put"), (false, false, true));
    assert_eq!(of("post"), (false, false, false));
    assert_eq!(of("patch"), (false, false, false));
    assert_eq!(of("delete"), (false, true, true));
    assert_eq!(of("trace"), (false, false, false));
}

#[test]
fn schemas_of_3_0_become_2020_12() {
    let check = |from: Value, to: Value| assert_eq!(converted("3.0.1", from.clone()), to, "{from}");
    check(json!({"type": "string", "nullable": true}), json!({"type": ["string", "null"]}));
    check(
        json!({"type": "string", "nullable": true, "enum": ["a"]}),
        json!({"type": ["string", "null"], "enum": ["a", null]}),
    );
    check(json!({"nullable": true, "enum": ["a", null]}), json!({"enum": ["a", null]}));
    check(
        json!({"$ref": "#/components/schemas/Named", "nullable": true}),
        json!({"anyOf": [{"$ref": "#/$defs/Named"}, {"type": "null"}]}),
    );
    check(
        json!({"allOf": [{"$ref": "#/components/schemas/Named"}], "nullable": true, "description": "d"}),
        json!({"anyOf": [{"$ref": "#/$defs/Named"}, {"type": "null"}], "description": "d"}),
    );
    check(
        json!({"oneOf": [{"type": "string"}, {"type": "integer"}], "nullable": true, "description": "d"}),
        json!({"anyOf": [{"oneOf": [{"type": "string"}, {"type": "integer"}]}, {"type": "null"}], "description": "d"}),
    );
    check(
        json!({"type": "integer", "minimum": 1, "exclusiveMinimum": true, "maximum": 9, "exclusiveMaximum": false}),
        json!({"type": "integer", "exclusiveMinimum": 1, "maximum": 9}),
    );
    check(
        json!({"type": "string", "example": "x", "xml": {"name": "y"}, "x-other": 1}),
        json!({"type": "string", "examples": ["x"]}),
    );
    check(
        json!({"$ref": "#/components/schemas/Named", "description": "kept", "type": "integer"}),
        json!({"$ref": "#/$defs/Named", "description": "kept"}),
    );
    check(json!({"type": "file"}), json!({"type": "string", "format": "binary"}));
    check(
        json!({"type": "any", "required": true, "minLength": -1, "pattern": "(?!x)y", "enum": [], "allOf": []}),
        json!({}),
    );
    check(
        json!({"type": "array", "items": [{"type": "string"}]}),
        json!({"type": "array", "prefixItems": [{"type": "string"}]}),
    );
    check(
        json!({"type": "object", "additionalProperties": {"type": "string", "nullable": true}}),
        json!({"type": "object", "additionalProperties": {"type": ["string", "null"]}}),
    );
    check(
        json!({"type": "object", "properties": {"$ref": {"type": "string"}, "nullable": {"type": "boolean"}, "x-y": {"type": "string"}}}),
        json!({"type": "object", "properties": {"$ref": {"type": "string"}, "nullable": {"type": "boolean"}, "x-y": {"type": "string"}}}),
    );
}

#[test]
fn schemas_of_3_1_stay() {
    let check = |from: Value, to: Value| assert_eq!(converted("3.1.0", from.clone()), to, "{from}");
    check(json!({"type": ["string", "null"]}), json!({"type": ["string", "null"]}));
    check(json!({"const": null}), json!({"const": null}));
    check(
        json!({"type": "integer", "exclusiveMinimum": 3}),
        json!({"type": "integer", "exclusiveMinimum": 3}),
    );
    check(
        json!({"$ref": "#/components/schemas/Named", "description": "d", "maxLength": 3}),
        json!({"$ref": "#/$defs/Named", "maxLength": 3, "description": "d"}),
    );
    check(
        json!({"if": {"type": "string"}, "then": {"minLength": 1}, "else": false, "prefixItems": [true]}),
        json!({"if": {"type": "string"}, "then": {"minLength": 1}, "else": false, "prefixItems": [{}]}),
    );
    check(json!({"examples": [1, 2, 3, 4], "$schema": "x", "$id": "y"}), json!({"examples": [1, 2, 3]}));
}

#[test]
fn references_stay_references_and_broken_ones_cost_a_warning() {
    let mut document = document(&json!({
        "/a": {"get": answering(json!({"$ref": "#/components/schemas/Node"}))},
        "/b": {"get": answering(json!({"type": "array", "items": {"$ref": "#/components/schemas/No%20such"}}))},
        "/c": {"get": answering(json!({"$ref": "other.yaml#/X"}))},
        "/d": {"get": answering(json!({"$ref": "#/components/schemas/Node/properties/value"}))},
        "/e": {"get": answering(json!({"$ref": "#/components/schemas/a%20b~1c"}))},
        "/f": {"get": answering(json!({"$ref": "#/components/schemas/Loop"}))},
        "/g": {"get": answering(json!({"$ref": "#/paths/~1d/get/responses/200/content/application~1json/schema"}))},
        "/h": {"$ref": "#/paths/~1a"},
        "/i": {"$ref": "#/nowhere"},
        "/j": {"get": {"operationId": "j", "parameters": [{"$ref": "#/nope"}, {"name": "ok", "in": "query"}]}}
    }));
    document["components"] = json!({"schemas": {
        "Node": {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/Node"}, "value": {"type": "integer"}}},
        "a b/c": {"type": "string"},
        "a_b_c": {"type": "boolean"},
        "Loop": {"$ref": "#/components/schemas/Loop2"},
        "Loop2": {"$ref": "#/components/schemas/Loop"},
        "Alias": {"$ref": "#/components/schemas/Node"}
    }});
    let catalog = index(&document);
    assert_eq!(catalog.output("a.getA"), json!({"$ref": "#/$defs/Node"}));
    assert_eq!(catalog.definition("Node")["properties"]["next"], json!({"$ref": "#/$defs/Node"}));
    assert_eq!(catalog.output("b.getB"), json!({"type": "array", "items": {}}));
    assert_eq!(catalog.output("c.getC"), json!({}));
    assert_eq!(catalog.output("d.getD"), json!({"$ref": "#/$defs/value"}));
    assert_eq!(catalog.definition("value"), json!({"type": "integer"}));
    let odd = catalog.output("e.getE")["$ref"].as_str().unwrap().strip_prefix("#/$defs/").unwrap().to_owned();
    assert_ne!(odd, "a_b_c");
    assert_eq!(catalog.definition(&odd), json!({"type": "string"}));
    assert_eq!(catalog.definition("a_b_c"), json!({"type": "boolean"}));
    assert_eq!(catalog.output("f.getF"), json!({}));
    assert_eq!(catalog.definition("Alias"), json!({"$ref": "#/$defs/Node"}));
    assert_eq!(catalog.output("g.getG"), json!({"$ref": "#/$defs/schema"}));
    assert_eq!(catalog.definition("schema"), json!({"$ref": "#/$defs/value"}));
    assert_eq!(catalog.output("h.getH"), json!({"$ref": "#/$defs/Node"}));
    assert_eq!(catalog.input("j.j")["properties"], json!({"ok": {}}));
    assert_eq!(catalog.tools.len(), 9);
    let told = |part: &str| {
        assert!(
            catalog.warnings.iter().any(|warning| warning.message.contains(part)),
            "{part} in {:?}",
            catalog.warnings
        )
    };
    told("other.yaml#/X");
    told("No%20such");
    told("/i");
    told("back to itself");
    every_reference_is_defined(&catalog);
}

fn every_reference_is_defined(catalog: &Catalog) {
    let outputs = catalog.tools.iter().filter_map(|tool| tool.output_schema.as_ref());
    for text in
        catalog.tools.iter().map(|tool| &tool.input_schema).chain(outputs).chain(catalog.definitions.values())
    {
        let schema: Value = serde_json::from_str(text).unwrap();
        check_references(&schema, catalog);
    }
}

fn check_references(value: &Value, catalog: &Catalog) {
    match value {
        Value::Object(map) => {
            if let Some(Value::String(reference)) = map.get("$ref") {
                let name = reference.strip_prefix("#/$defs/").unwrap();
                assert!(catalog.definitions.contains_key(name), "{name}");
            }
            map.values().for_each(|member| check_references(member, catalog));
        }
        Value::Array(list) => list.iter().for_each(|member| check_references(member, catalog)),
        _ => {}
    }
}

#[test]
fn a_base_type_and_its_subtypes_do_not_go_round() {
    let mut document =
        document(&json!({"/a": {"get": answering(json!({"$ref": "#/components/schemas/Pet"}))}}));
    document["components"] = json!({"schemas": {
        "Pet": {"type": "object", "properties": {"name": {"type": "string"}}, "oneOf": [{"$ref": "#/components/schemas/Cat"}],
            "discriminator": {"propertyName": "kind", "mapping": {"cat": "Cat", "cat2": "#/components/schemas/Cat", "gone": "Gone"}}},
        "Cat": {"allOf": [{"$ref": "#/components/schemas/Pet"}, {"type": "object", "properties": {"claws": {"type": "integer"}}}]},
        "Self": {"allOf": [{"$ref": "#/components/schemas/Self"}, {"type": "string"}]},
        "Either": {"oneOf": [{"$ref": "#/components/schemas/Either"}, {"type": "string"}], "not": {"$ref": "#/components/schemas/Either"}}
    }});
    let catalog = index(&document);
    assert_eq!(
        catalog.definition("Cat")["allOf"][0],
        json!({"type": "object", "properties": {"name": {"type": "string"}}})
    );
    assert_eq!(catalog.definition("Pet")["oneOf"], json!([{"$ref": "#/$defs/Cat"}]));
    assert_eq!(
        catalog.definition("Pet")["discriminator"],
        json!({"propertyName": "kind", "mapping": {"cat": "#/$defs/Cat", "cat2": "#/$defs/Cat"}})
    );
    assert_eq!(catalog.definition("Self"), json!({"allOf": [{}, {"type": "string"}]}));
    assert_eq!(catalog.definition("Either"), json!({"anyOf": [{}, {"type": "string"}]}));
}

#[test]
fn bodies_leave_out_what_only_the_api_sets() {
    let body = |schema: Value| json!({"requestBody": {"content": {"application/json": {"schema": schema}}}});
    let mut document = document(&json!({
        "/a": {"post": body(json!({"$ref": "#/components/schemas/Outer"})), "get": answering(json!({"$ref": "#/components/schemas/Outer"}))},
        "/b": {"post": body(json!({"$ref": "#/components/schemas/Plain"}))},
        "/c": {"post": body(json!({"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false}, {"type": "object", "properties": {"b": {"type": "string"}}}]}))}
    }));
    document["components"] = json!({"schemas": {
        "Outer": {"type": "object", "properties": {"inner": {"$ref": "#/components/schemas/Inner"}, "self": {"$ref": "#/components/schemas/Outer"}}},
        "Inner": {"type": "object", "required": ["id", "name"], "properties": {"id": {"$ref": "#/components/schemas/Id"}, "name": {"type": "string"}}},
        "Id": {"type": "integer", "readOnly": true},
        "Plain": {"type": "object"}
    }});
    let catalog = index(&document);
    assert_eq!(catalog.input("a.postA")["properties"]["body"], json!({"$ref": "#/$defs/Outer.input"}));
    assert_eq!(
        catalog.definition("Outer.input")["properties"],
        json!({"inner": {"$ref": "#/$defs/Inner.input"}, "self": {"$ref": "#/$defs/Outer.input"}})
    );
    assert_eq!(
        catalog.definition("Inner.input"),
        json!({"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}})
    );
    assert_eq!(catalog.definition("Inner")["required"], json!(["id", "name"]));
    assert_eq!(catalog.output("a.getA"), json!({"$ref": "#/$defs/Outer"}));
    assert_eq!(catalog.input("b.postB")["properties"]["body"], json!({"$ref": "#/$defs/Plain"}));
    assert_eq!(
        catalog.input("c.postC")["properties"]["body"]["allOf"][0],
        json!({"type": "object", "properties": {"a": {"type": "string"}}})
    );
    every_reference_is_defined(&catalog);
}

#[test]
fn arguments_that_share_a_name_are_told_apart() {
    let parameter =
        |name: &str, place: &str| json!({"name": name, "in": place, "schema": {"type": "string"}});
    let catalog = index(&document(&json!({"/x/{id}/{body}": {"post": {
        "operationId": "x",
        "parameters": [parameter("id", "query"), parameter("id", "path"), parameter("body", "path"), parameter("id_query", "query"), parameter("__proto__", "query"),
            parameter("X-Id", "header"), parameter("x-id", "header"), parameter("Authorization", "header"), parameter("Accept", "header"), parameter("Content-Length", "header"), parameter("unused", "path")],
        "requestBody": {"content": {"application/json": {"schema": {"type": "string"}}}}
    }}})));
    let input = catalog.input("x.x");
    let names: Vec<&str> = input["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, ["id_query_", "id_path", "body_path", "id_query", "__proto___query", "x-id", "body"]);
    let sent = catalog.request("x.x", json!({"id_query_": "1", "id_path": "2", "body_path": "3", "id_query": "4", "__proto___query": "5", "x-id": "6", "body": "7"})).unwrap();
    assert_eq!(sent.url, "https://api.example.com/v1/x/2/3?id=1&id_query=4&__proto__=5");
    assert_eq!(crate::support::header(&sent, "x-id"), Some("6"));
    assert_eq!(crate::support::text_of(&sent), "\"7\"");
}

#[test]
fn what_cannot_be_called_is_named_and_the_rest_stays() {
    let catalog = index(&document(&json!({
        "/upload": {"post": {"operationId": "upload", "requestBody": {"$ref": "#/components/requestBodies/gone"}}},
        "/broken": {"get": 7, "post": {"operationId": "fine"}},
        "/worse": "x",
        "/form": {"post": {"operationId": "both", "requestBody": {"content": {"multipart/form-data": {}, "application/x-www-form-urlencoded": {"schema": {"type": "object"}}, "application/vnd.a+json": {"schema": {"type": "object"}}}}}},
        "/{}": {"get": {"operationId": "nameless"}},
        "x-ignored": {"get": {"operationId": "ignored"}}
    })));
    assert_eq!(catalog.names(), ["broken.fine", "form.both"]);
    assert_eq!(
        catalog.input("form.both")["properties"]["contentType"]["enum"],
        json!(["application/vnd.a+json", "application/x-www-form-urlencoded", "multipart/form-data"])
    );
    let told: Vec<&str> = catalog.warnings.iter().filter_map(|warning| warning.tool.as_deref()).collect();
    assert!(told.contains(&"upload.upload"), "{told:?}");
    assert_eq!(catalog.codes().iter().filter(|code| **code == "operation-unreadable").count(), 2);
}

#[test]
fn outputs_are_those_of_the_first_success() {
    let json_of = |title: &str| json!({"description": "d", "content": {"application/json": {"schema": {"title": title}}}});
    let catalog = index(&document(&json!({
        "/a": {"get": {"responses": {"default": json_of("default"), "201": json_of("201"), "200": json_of("200"), "404": json_of("404")}}},
        "/b": {"get": {"responses": {"2XX": json_of("2XX"), "default": json_of("default")}}},
        "/c": {"get": {"responses": {"default": json_of("default")}}},
        "/d": {"get": {"responses": {"204": {"description": "none"}}}},
        "/e": {"get": {"responses": {"200": {"description": "d", "content": {"text/plain": {}}}}}},
        "/f": {"get": {"responses": {"200": {"description": "d", "content": {"application/pdf": {}}}}}},
        "/g": {"get": {"responses": {"200": {"description": "d", "content": {"application/x-ndjson": {"schema": {"type": "integer"}}}}}}},
        "/h": {"get": {}}
    })));
    assert_eq!(catalog.output("a.getA"), json!({"title": "200"}));
    assert_eq!(catalog.output("b.getB"), json!({"title": "2XX"}));
    assert_eq!(catalog.output("c.getC"), json!({"title": "default"}));
    assert_eq!(catalog.output("d.getD"), json!({"type": "null"}));
    assert_eq!(catalog.output("e.getE"), json!({"type": "string"}));
    assert_eq!(catalog.output("f.getF")["required"], json!(["$file"]));
    assert_eq!(catalog.output("g.getG"), json!({"type": "array", "items": {"type": "integer"}}));
    assert_eq!(catalog.tool("h.getH").output_schema, None);
}

#[test]
fn security_becomes_methods_and_alternatives() {
    let catalog = index(&json!({
        "openapi": "3.1.0", "info": {"title": "t", "version": "1"},
        "servers": [{"url": "https://api.example.com"}],
        "security": [{"key": []}],
        "components": {"securitySchemes": {
            "key": {"type": "apiKey", "in": "query", "name": "api_key"},
            "a key!": {"type": "apiKey", "in": "header", "name": "X-Key"},
            "jar": {"type": "apiKey", "in": "cookie", "name": "session"},
            "basic": {"type": "http", "scheme": "Basic"},
            "bearer": {"type": "http", "scheme": "bearer"},
            "digest": {"type": "http", "scheme": "digest"},
            "oauth": {"type": "oauth2", "flows": {
                "implicit": {"authorizationUrl": "https://login.example.com/a", "scopes": {}},
                "authorizationCode": {"authorizationUrl": "/authorize", "tokenUrl": "https://login.example.com/token", "refreshUrl": "", "scopes": {"read": "Read"}}
            }},
            "oidc": {"type": "openIdConnect", "openIdConnectUrl": "https://login.example.com/.well-known/openid-configuration"},
            "tls": {"type": "mutualTLS"},
            "odd": {"type": "magic"}
        }},
        "paths": {
            "/a": {"get": {"parameters": [{"name": "api_key", "in": "query"}, {"name": "x-key", "in": "header"}, {"name": "q", "in": "query"}]}},
            "/b": {"get": {"security": []}},
            "/c": {"get": {"security": [{"bearer": [], "a key!": []}, {"oauth": ["read"]}, {}]}},
            "/d": {"get": {"security": [{"gone": []}, {"basic": []}]}}
        }
    }));
    let method =
        |id: &str| catalog.methods.iter().find(|method| method.id == id).unwrap_or_else(|| panic!("no {id}"));
    let config = |id: &str| serde_json::from_str::<Value>(&method(id).config).unwrap();
    let kinds: Vec<&str> = catalog.methods.iter().map(|method| method.kind.as_str()).collect();
    assert_eq!(
        kinds,
        [
            "api-key",
            "api-key",
            "api-key",
            "http-basic",
            "http-bearer",
            "http-digest",
            "oauth2",
            "openid-connect",
            "mtls"
        ]
    );
    assert_eq!(
        config("key")["placements"],
        json!([{"in": "query", "name": "api_key", "template": "{token}"}])
    );
    assert_eq!(config("a_key_")["placements"][0]["in"], "header");
    assert_eq!(
        config("bearer"),
        json!({
            "placements": [{"in": "header", "name": "Authorization", "template": "Bearer {token}"}],
            "variables": [{"name": "token", "label": "Bearer token", "secret": true}]
        })
    );
    assert_eq!(
        config("basic")["variables"][1],
        json!({"name": "password", "label": "Password", "secret": true, "optional": true})
    );
    let oauth = config("oauth")["oauth"].clone();
    assert_eq!(oauth["flow"], "authorizationCode");
    assert_eq!(oauth["authorizationUrl"], "https://example.com/authorize");
    assert_eq!(oauth["scopes"], json!({"read": "Read"}));
    assert_eq!(oauth.get("refreshUrl"), None);
    assert_eq!(oauth["alternatives"][0]["flow"], "implicit");
    assert_eq!(
        config("oidc")["oauth"]["openIdConnectUrl"],
        "https://login.example.com/.well-known/openid-configuration"
    );
    assert_eq!(catalog.tool("a.getA").auth, [["key"]]);
    assert_eq!(catalog.input("a.getA")["properties"], json!({"q": {}}));
    assert_eq!(catalog.tool("b.getB").auth, Vec::<Vec<String>>::new());
    assert_eq!(
        catalog.tool("c.getC").auth,
        [vec!["bearer".to_owned(), "a_key_".to_owned()], vec!["oauth".to_owned()], vec![]]
    );
    assert_eq!(catalog.meta("c.getC")["scopes"], json!(["read"]));
    assert_eq!(catalog.tool("d.getD").auth, [["basic"]]);
    assert_eq!(catalog.codes().iter().filter(|code| **code == "auth-unsupported").count(), 2);
}

#[test]
fn a_document_silent_about_security_still_takes_a_token() {
    let silent = document(&json!({"/a": {"get": {}}, "/b": {"get": {"security": []}}}));
    let catalog = index(&silent);
    assert_eq!(catalog.methods.len(), 1);
    assert_eq!((catalog.methods[0].id.as_str(), catalog.methods[0].kind.as_str()), ("bearer", "http-bearer"));
    assert_eq!(catalog.tool("a.getA").auth, [vec!["bearer".to_owned()], vec![]]);
    assert!(catalog.tool("b.getB").auth.is_empty());
    assert!(catalog.codes().contains(&"no-security-declared"));
    let mut forgetful = document(&json!({"/a": {"get": {}}}));
    forgetful["components"] =
        json!({"securitySchemes": {"k": {"type": "apiKey", "in": "header", "name": "K"}}});
    let catalog = index(&forgetful);
    assert_eq!(catalog.tool("a.getA").auth, [vec!["k".to_owned()], vec![]]);
    assert!(catalog.codes().contains(&"no-security-declared"));
}

#[test]
fn servers_of_each_level() {
    let mut document = document(&json!({
        "/root": {"get": {}},
        "/path": {"servers": [{"url": "https://path.example.com"}], "get": {}, "post": {"servers": [{"url": "https://operation.example.com/x/"}]}},
        "/empty": {"get": {"servers": []}}
    }));
    document["servers"] = json!([
        {"url": "https://{region}.example.com:{port}/{base}", "variables": {"region": {"default": "eu", "enum": ["eu", "us"]}, "port": {"default": 443}, "base": {"default": "v1"}}},
        {"url": "/relative"},
        {"url": "ftp://nope"}
    ]);
    let catalog = index(&document);
    assert_eq!(catalog.url("root.getRoot", json!({})), "https://eu.example.com:443/v1/root");
    assert_eq!(
        catalog.url("root.getRoot", json!({"server": {"url": "https://example.com/relative"}})),
        "https://example.com/relative/root"
    );
    assert_eq!(
        catalog.url("root.getRoot", json!({"server": "https://example.com/relative"})),
        "https://example.com/relative/root"
    );
    assert_eq!(
        catalog.url("root.getRoot", json!({"server": {"variables": {"region": "us", "base": "v2"}}})),
        "https://us.example.com:443/v2/root"
    );
    assert!(
        catalog
            .refusal("root.getRoot", json!({"server": {"url": "https://evil.example"}}))
            .contains("not offered")
    );
    assert!(
        catalog
            .refusal("root.getRoot", json!({"server": {"variables": {"region": "evil.com/#"}}}))
            .contains("one of eu, us")
    );
    assert!(
        catalog
            .refusal("root.getRoot", json!({"server": {"variables": {"base": "../.."}}}))
            .contains("only letters")
    );
    assert!(
        catalog
            .refusal("root.getRoot", json!({"server": {"variables": {"base": ".."}}}))
            .contains("only letters")
    );
    assert!(
        catalog
            .refusal("root.getRoot", json!({"server": {"variables": {"nope": "x"}}}))
            .contains("no variable")
    );
    assert_eq!(catalog.url("path.getPath", json!({})), "https://path.example.com/path");
    assert_eq!(catalog.url("path.postPath", json!({})), "https://operation.example.com/x/path");
    assert_eq!(catalog.url("empty.getEmpty", json!({})), "https://eu.example.com:443/v1/empty");
    let set = |settings: Value| {
        catalog.request_with("root.getRoot", json!({}), settings).map(|request| request.url)
    };
    assert_eq!(
        set(json!({"base_url": "https://own.example.com/api/"})).unwrap(),
        "https://own.example.com/api/root"
    );
    assert_eq!(
        set(json!({"server_variables": {"region": "us"}})).unwrap(),
        "https://us.example.com:443/v1/root"
    );
    assert_eq!(set(json!({"base_url": "file:///etc/passwd"})).unwrap_err().code, "settings-invalid");
    assert_eq!(
        catalog.summary_meta()["origins"],
        json!([
            "https://eu.example.com",
            "https://us.example.com",
            "https://example.com",
            "https://path.example.com",
            "https://operation.example.com"
        ])
    );
    assert_eq!(catalog.input("path.getPath")["properties"].get("server"), None);
    assert!(catalog.codes().contains(&"server-unusable"));
}

#[test]
fn without_a_server_the_documents_own_origin_is_used_or_one_is_asked_for() {
    let bare = json!({"openapi": "3.0.0", "info": {}, "paths": {"/x": {"get": {}}}});
    assert_eq!(index(&bare).url("x.getX", json!({})), "https://example.com/x");
    let nowhere = try_index(bare.to_string().as_bytes(), None, &json!({})).unwrap();
    assert_eq!(nowhere.summary.as_ref().unwrap().base_url, None);
    let failure = nowhere.request("x.getX", json!({})).unwrap_err();
    assert_eq!(failure.code, "settings-invalid");
    assert!(failure.message.contains("base_url"));
    let set =
        try_index(bare.to_string().as_bytes(), None, &json!({"base_url": "https://a.example/b"})).unwrap();
    assert_eq!(set.summary.as_ref().unwrap().base_url.as_deref(), Some("https://a.example/b"));
    assert_eq!(set.summary_meta()["origins"], json!(["https://a.example"]));
}

#[test]
fn a_private_server_in_a_public_document_is_warned_about() {
    let mut document = document(&json!({"/x": {"get": {}}}));
    document["servers"] = json!([{"url": "http://169.254.169.254/latest"}]);
    assert!(index(&document).codes().contains(&"private-server"));
}
