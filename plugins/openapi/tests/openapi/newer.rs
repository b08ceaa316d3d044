//! What 3.2 added, streams, pages, parts and defaults, through the adapter.

use crate::support::{Api, Catalog, document, header, index, text_of};
use executor_common::seam::{Chunk, Failure};
use serde_json::{Value, json};

fn newer(paths: Value) -> Value {
    let mut document = document(&paths);
    document["openapi"] = json!("3.2.0");
    document
}

#[test]
fn methods_of_3_2() {
    let catalog = index(&newer(json!({"/x": {
        "query": {"operationId": "search", "requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}}},
        "additionalOperations": {"COPY": {"operationId": "copy"}, "bad method": {"operationId": "bad"}}
    }})));
    assert_eq!(catalog.names(), ["x.search", "x.copy"]);
    assert_eq!(catalog.request("x.search", json!({"body": {}})).unwrap().method, "QUERY");
    assert_eq!(catalog.request("x.copy", json!({})).unwrap().method, "COPY");
    assert!(
        catalog.tool("x.search").annotations.idempotent && !catalog.tool("x.copy").annotations.idempotent
    );
    assert!(catalog.codes().contains(&"operation-unreadable") && !catalog.codes().contains(&"newer-version"));
}

#[test]
fn a_parameter_that_is_the_query() {
    let of = |content: Value| {
        index(&newer(
            json!({"/x": {"get": {"operationId": "call", "parameters": [{"name": "q", "in": "querystring", "content": content}]}}}),
        ))
    };
    let form = of(json!({"application/x-www-form-urlencoded": {"schema": {"type": "object"}}}));
    assert!(form.url("x.call", json!({"q": {"a": "b c", "d": [1, 2]}})).ends_with("/x?a=b%20c&d=1&d=2"));
    let path = of(json!({"application/json": {"schema": {}}}));
    assert!(path.url("x.call", json!({"q": {"a": [1]}})).ends_with("/x?%7B%22a%22%3A%5B1%5D%7D"));
    let text = of(json!({"text/plain": {"schema": {"type": "string"}}}));
    assert!(text.url("x.call", json!({"q": "?$.a b#c"})).ends_with("/x?$.a%20b%23c"));
}

#[test]
fn media_types_by_reference_and_raw_cookies() {
    let mut document = newer(json!({"/x": {"get": {
        "operationId": "call", "parameters": [{"name": "c", "in": "cookie", "style": "cookie", "schema": {}}],
        "responses": {"200": {"content": {"application/json": {"$ref": "#/components/mediaTypes/Thing"}}}}
    }}}));
    document["components"] = json!({"mediaTypes": {"Thing": {"schema": {"type": "integer"}}}});
    let catalog = index(&document);
    assert_eq!(catalog.output("x.call"), json!({"type": "integer"}));
    assert_eq!(header(&catalog.request("x.call", json!({"c": "a=b c"})).unwrap(), "cookie"), Some("c=a=b c"));
    assert!(catalog.refusal("x.call", json!({"c": "a\r\nX: y"})).contains("cookie"));
}

#[test]
fn multipart_takes_files_where_bytes_are_asked_for() {
    let mut document = document(
        &json!({"/x": {"post": {"operationId": "call", "requestBody": {"required": true, "content": {"multipart/form-data": {
            "schema": {"allOf": [{"$ref": "#/components/schemas/Base"}, {"type": "object", "required": ["file"], "properties": {
                "file": {"type": "string", "format": "binary", "description": "the picture"},
                "more": {"type": "array", "items": {"type": "string", "format": "binary"}}}}]},
            "encoding": {"file": {"contentType": "image/png, image/jpeg"}, "meta": {"contentType": "application/json"}}
        }}}}}}),
    );
    document["components"] = json!({"schemas": {"Base": {"type": "object", "required": ["id", "meta"], "properties": {
        "id": {"type": "integer", "readOnly": true}, "meta": {"type": "object", "properties": {"a": {"type": "integer"}}}}}}});
    let catalog = index(&document);
    let body = &catalog.input("x.call")["properties"]["body"];
    assert_eq!(body["required"], json!(["meta", "file"]));
    let file = &body["properties"]["file"]["anyOf"];
    assert_eq!(file[0], json!({"type": "string", "format": "binary"}), "a text stands for its bytes");
    assert_eq!(file[1]["required"], json!(["$file"]));
    for name in ["$file", "name", "mediaType", "size"] {
        assert!(file[1]["properties"].get(name).is_some(), "an answer's file is passed on as it is: {file}");
    }
    assert_eq!(body["properties"]["file"]["description"], "the picture");
    assert_eq!(body["properties"]["more"]["type"], "array");
    assert_eq!(body["properties"].get("id"), None);
    let sent = catalog
        .request("x.call", json!({"body": {"meta": {"a": 1}, "file": {"$file": "blob:1"}, "more": [{"$file": "blob:2"}, "text"]}}))
        .unwrap();
    let files: Vec<&Chunk> = sent.body.iter().filter(|chunk| matches!(chunk, Chunk::File(_))).collect();
    assert_eq!(files, [&Chunk::File("blob:1".to_owned()), &Chunk::File("blob:2".to_owned())]);
    let text = text_of(&sent);
    assert!(
        text.contains("name=\"file\"; filename=\"file\"\r\nContent-Type: image/png\r\n\r\n<blob:1>\r\n"),
        "{text}"
    );
    assert!(text.contains("name=\"meta\"\r\nContent-Type: application/json\r\n\r\n{\"a\":1}\r\n"), "{text}");
    let again = catalog
        .request("x.call", json!({"body": {"meta": {"a": 1}, "file": {"$file": "blob:1"}, "more": [{"$file": "blob:2"}, "text"]}}))
        .unwrap();
    assert_eq!(sent, again, "a preview shows what is sent");
    assert!(catalog.refusal("x.call", json!({"body": [1]})).contains("must be an object"));
}

#[test]
fn what_has_one_value_is_sent_without_being_asked_for() {
    let catalog = index(&document(&json!({"/{v}/x": {"get": {"operationId": "call", "parameters": [
        {"name": "v", "in": "path", "required": true, "schema": {"type": "string", "default": "v2"}},
        {"name": "api-version", "in": "query", "required": true, "schema": {"type": "string", "enum": ["2026-01-01"]}},
        {"name": "page", "in": "query", "schema": {"type": "integer", "default": 1}},
        {"name": "must", "in": "query", "required": true, "schema": {"type": "string"}}
    ]}}})));
    assert_eq!(catalog.input("x.call")["required"], json!(["must"]));
    assert!(catalog.url("x.call", json!({"must": "m"})).ends_with("/v2/x?api-version=2026-01-01&must=m"));
    assert!(catalog.url("x.call", json!({"must": "m", "v": "v1"})).contains("/v1/x?"));
}

fn listing() -> Catalog {
    index(&document(&json!({
        "/x/{id}": {"get": {"operationId": "list", "parameters": [{"name": "page", "in": "query", "schema": {"type": "integer"}}],
            "responses": {"200": {"content": {"application/json": {"schema": {"type": "array", "items": {}}}}}}}},
        "/one": {"get": {"operationId": "one", "responses": {"200": {"content": {"application/json": {"schema": {"type": "object", "properties": {"name": {}}}}}}}},
            "post": {"operationId": "make", "responses": {"200": {"content": {"application/json": {"schema": {"type": "array"}}}}}}},
        "/named/{nextLink}": {"get": {"operationId": "named", "responses": {"200": {"content": {"application/json": {"schema": {"properties": {"@odata.nextLink": {"type": "string"}}}}}}}}}
    })))
}

#[test]
fn a_next_page_is_the_same_call_with_another_query() {
    let catalog = listing();
    let headers = [
        ("content-type", "application/json"),
        (
            "link",
            "<https://api.example.com/repositories/9/x?page=2&after=c>; rel=\"next\", <https://api.example.com/x?page=9>; rel=\"last\"",
        ),
    ];
    let answer = Api::answering(200, &headers, b"[1]")
        .call(&catalog, "x.list", &json!({"id": "a", "page": 1}))
        .unwrap();
    let metadata: Value = serde_json::from_str(&answer.metadata.unwrap()).unwrap();
    let next = metadata["next"]["arguments"].clone();
    assert_eq!(
        next,
        json!({"id": "a", "page": 1, "nextLink": "https://api.example.com/repositories/9/x?page=2&after=c"})
    );
    assert_eq!(catalog.url("x.list", next), "https://api.example.com/v1/x/a?page=2&after=c");
    assert!(
        catalog
            .refusal("x.list", json!({"id": "a", "nextLink": "https://evil.example/x?page=2"}))
            .contains("another server")
    );
    assert!(catalog.refusal("x.list", json!({"id": "a", "nextLink": 7})).contains("not a string"));
    assert_eq!(catalog.input("one.one")["properties"].get("nextLink"), None);
    assert_eq!(catalog.input("one.make")["properties"].get("nextLink"), None);
    let input = catalog.input("named.named");
    let names: Vec<&str> = input["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, ["nextLink_path", "nextLink"], "the API's own parameter keeps its place");
    let elsewhere =
        [("content-type", "application/json"), ("link", "<https://evil.example/x?page=2>; rel=next")];
    let answer =
        Api::answering(200, &elsewhere, b"[1]").call(&catalog, "x.list", &json!({"id": "a"})).unwrap();
    assert!(!answer.metadata.unwrap().contains("evil\",\"arguments"), "no other server is offered");
}

fn streaming(media_type: &str) -> Catalog {
    index(&newer(
        json!({"/x": {"get": {"operationId": "call", "responses": {"200": {"content": {media_type: {"itemSchema": {"type": "object"}}}}}}}}),
    ))
}

fn stream(media_type: &str, chunks: Vec<Result<Option<Vec<u8>>, Failure>>) -> (Value, Value) {
    let mut api = Api::answering(200, &[("content-type", media_type)], b"");
    api.chunks = chunks;
    let answer = api.call(&streaming(media_type), "x.call", &json!({})).unwrap();
    (serde_json::from_str(&answer.data).unwrap(), serde_json::from_str(&answer.metadata.unwrap()).unwrap())
}

#[test]
fn streams_end_when_they_fall_silent() {
    let catalog = streaming("text/event-stream");
    assert_eq!(
        catalog.output("x.call"),
        json!({"type": "array", "items": {"type": "object", "properties": {"data": {"type": "object"}, "event": {"type": "string"}, "id": {"type": "string"}}, "required": ["data"]}})
    );
    let silent = || std::iter::repeat_with(|| Ok(None)).take(20);
    let bytes = |text: &str| Ok(Some(text.as_bytes().to_vec()));
    let mut chunks = vec![Ok(None), bytes("data: {\"a\":1}\n\nda"), bytes("ta: two\n\n")];
    chunks.extend(silent());
    let (data, metadata) = stream("text/event-stream; charset=utf-8", chunks);
    assert_eq!(data, json!([{"data": {"a": 1}}, {"data": "two"}]));
    assert_eq!(metadata["truncated"], "the stream fell silent");
    let (data, metadata) = stream("text/event-stream", vec![bytes("data: 1\n\n")]);
    assert_eq!((data, metadata.get("truncated")), (json!([{"data": "1"}]), None));
    let mut chunks = vec![bytes("{\"a\":1}\n{\"a\":2}\n{\"a\":")];
    chunks.extend(silent());
    let (data, metadata) = stream("application/jsonl", chunks);
    assert_eq!(data, json!([{"a": 1}, {"a": 2}]), "half a line is no line");
    assert_eq!(metadata["truncated"], "the stream fell silent");
    let mut api = Api::answering(200, &[("content-type", "text/event-stream")], b"");
    api.chunks = silent().collect();
    assert_eq!(api.call(&catalog, "x.call", &json!({})).unwrap_err().code, "upstream-timeout");
}

#[test]
fn bytes_in_an_unknown_encoding_stay_bytes() {
    let catalog = index(&document(
        &json!({"/x": {"get": {"operationId": "call", "responses": {"200": {"content": {"text/plain": {}}}}}}}),
    ));
    let mut api =
        Api::answering(200, &[("content-type", "text/plain; charset=shift_jis")], b"\x93\xfa\x96\x7b");
    let answer = api.call(&catalog, "x.call", &json!({})).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&answer.data).unwrap()["$file"], "written");
    assert_eq!(api.files.borrow().as_slice(), b"\x93\xfa\x96\x7b");
}

#[test]
fn write_only_and_read_only_across_compositions() {
    let content = |name: &str| json!({"content": {"application/json": {"schema": {"$ref": format!("#/components/schemas/{name}")}}}});
    let mut document = document(
        &json!({"/x": {"post": {"operationId": "call", "requestBody": content("User"), "responses": {"200": content("User")}}}}),
    );
    document["components"] = json!({"schemas": {"User": {
        "allOf": [{"type": "object", "properties": {"id": {"type": "integer", "readOnly": true}, "password": {"type": "string", "writeOnly": true}, "name": {"type": "string"}}}],
        "required": ["id", "password", "name"]
    }}});
    let catalog = index(&document);
    assert_eq!(catalog.input("x.call")["properties"]["body"], json!({"$ref": "#/$defs/User.input"}));
    assert_eq!(catalog.output("x.call"), json!({"$ref": "#/$defs/User.output"}));
    let names = |name: &str| {
        let schema = catalog.definition(name);
        let properties =
            schema["allOf"][0]["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        (properties, schema["required"].clone())
    };
    assert_eq!(
        names("User.input"),
        (vec!["password".to_owned(), "name".to_owned()], json!(["password", "name"]))
    );
    assert_eq!(names("User.output"), (vec!["id".to_owned(), "name".to_owned()], json!(["id", "name"])));
}

#[test]
fn yaml_numbers_that_are_choices_of_a_text() {
    let text = "openapi: 3.0.0\ninfo: {version: 1.10}\nservers: [{url: https://a.example}]\npaths:\n  /x:\n    get:\n      operationId: call\n      operationId: last\n      parameters:\n      - {name: v, in: query, schema: {type: string, enum: [1.5, true, no, 2026-01-01]}}\n      - {name: n, in: query, schema: {type: integer, enum: ['1', '2']}}\n";
    let catalog = crate::support::try_index(text.as_bytes(), None, &json!({})).unwrap();
    let input = catalog.input("x.last");
    assert_eq!(input["properties"]["v"]["enum"], json!(["1.5", "true", "no", "2026-01-01"]));
    assert_eq!(input["properties"]["n"]["enum"], json!([1, 2]));
    assert!(catalog.codes().contains(&"duplicate-key"));
}

#[test]
fn an_undeclared_scheme_offers_those_that_are() {
    let mut document = document(&json!({"/x": {"get": {"operationId": "call", "security": [{"gone": []}]}}}));
    document["components"] = json!({"securitySchemes": {
        "key": {"type": "apiKey", "in": "header", "name": "Authorization"},
        "aws": {"type": "apiKey", "in": "header", "name": "Authorization", "x-amazon-apigateway-authtype": "awsSigv4"},
        "meta": {"type": "oauth2", "flows": {}, "oauth2MetadataUrl": "/.well-known/oauth-authorization-server"}
    }});
    let catalog = index(&document);
    assert_eq!(
        catalog.tool("x.call").auth,
        [vec!["key".to_owned()], vec!["aws".to_owned()], vec!["meta".to_owned()], vec![]]
    );
    let kinds: Vec<&str> = catalog.methods.iter().map(|method| method.kind.as_str()).collect();
    assert_eq!(kinds, ["api-key", "aws-sigv4", "oauth2"]);
    assert!(catalog.methods[0].label.contains("whole Authorization header"));
    let oauth: Value = serde_json::from_str(&catalog.methods[2].config).unwrap();
    assert_eq!(oauth["oauth"]["metadataUrl"], "https://example.com/.well-known/oauth-authorization-server");
}
