//! What goes over the wire, and what comes back.

use crate::support::{Api, Catalog, document, header, index, text_of};
use executor_common::seam::{Chunk, Failure};
use serde_json::{Value, json};

fn with_parameters(path: &str, parameters: Value) -> Catalog {
    index(&document(
        &json!({path: {"get": {"operationId": "call", "tags": ["x"], "parameters": parameters}}}),
    ))
}

fn parameter(name: &str, place: &str, more: Value) -> Value {
    let mut parameter = json!({"name": name, "in": place, "schema": {}});
    parameter.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    parameter
}

#[test]
fn default_styles_of_each_place() {
    let catalog = with_parameters(
        "/a/{p}/b",
        json!([
            parameter("p", "path", json!({})),
            parameter("q", "query", json!({})),
            parameter("H", "header", json!({})),
            parameter("c", "cookie", json!({}))
        ]),
    );
    let value = json!(["x y", "é,"]);
    let sent =
        catalog.request("x.call", json!({"p": value, "q": value, "H": ["x y", "z"], "c": "1;2"})).unwrap();
    assert_eq!(sent.url, "https://api.example.com/v1/a/x%20y,%C3%A9%2C/b?q=x%20y&q=%C3%A9%2C");
    assert_eq!(header(&sent, "h"), Some("x y,z"));
    assert_eq!(header(&sent, "cookie"), Some("c=1%3B2"));
    assert_eq!(header(&sent, "user-agent"), Some("executor"));
    assert_eq!(header(&sent, "content-type"), None);
    assert_eq!(sent.method, "GET");
}

#[test]
fn declared_styles_reach_the_wire() {
    let catalog = with_parameters(
        "/{m}/{l}",
        json!([
            parameter("m", "path", json!({"style": "matrix", "explode": true})), parameter("l", "path", json!({"style": "label"})),
            parameter("d", "query", json!({"style": "deepObject", "explode": true})), parameter("e", "query", json!({"style": "deepObject", "schema": {"type": "array", "items": {}}})),
            parameter("p", "query", json!({"style": "pipeDelimited"})), parameter("r", "query", json!({"allowReserved": true})),
            {"name": "j", "in": "query", "content": {"application/json": {"schema": {"type": "object"}}}}
        ]),
    );
    let url = catalog.url("x.call", json!({"m": {"a": 1}, "l": ["x", "y"], "d": {"a": {"b": "c"}}, "e": ["f"], "p": [1, 2], "r": "a/b?c&d", "j": {"k": null}}));
    assert_eq!(
        url,
        "https://api.example.com/v1/;a=1/.x,y?d%5Ba%5D%5Bb%5D=c&e%5B0%5D=f&p=1%7C2&r=a/b?c%26d&j=%7B%22k%22%3Anull%7D"
    );
    let repeated = catalog
        .request_with(
            "x.call",
            json!({"m": 1, "l": 2, "e": ["f"]}),
            json!({"deep_object_arrays": "repeated"}),
        )
        .unwrap();
    assert!(repeated.url.ends_with("?e=f"), "{}", repeated.url);
}

#[test]
fn a_path_parameter_stays_in_its_segment() {
    let catalog = with_parameters("/files/{id}/meta", json!([parameter("id", "path", json!({}))]));
    let check = |value: &str, expected: &str| {
        assert_eq!(
            catalog.url("x.call", json!({"id": value})),
            format!("https://api.example.com/v1/files/{expected}/meta")
        );
    };
    check("a/b", "a%2Fb");
    check("../../admin", "..%2F..%2Fadmin");
    check("a?x=1#y", "a%3Fx%3D1%23y");
    check("%2e%2e", "%252e%252e");
    check("..\\x", "..%5Cx");
    check("file.tar.gz", "file.tar.gz");
    check("\u{0}\r\n", "%00%0D%0A");
    for refused in [json!(".."), json!("."), json!(""), json!(null), json!([]), json!([".."]), json!({})] {
        let message = catalog.refusal("x.call", json!({"id": refused}));
        assert!(message.contains("id"), "{message}");
    }
    let two = with_parameters("/x/{a}{b}", json!([]));
    assert!(two.refusal("x.call", json!({"a": ".", "b": "."})).contains("another path"));
    let half = with_parameters("/x/%2E{a}/y", json!([]));
    assert!(half.refusal("x.call", json!({"a": "."})).contains("another path"));
}

#[test]
fn several_segments_only_where_the_document_says_so() {
    let catalog =
        with_parameters("/c/{path}", json!([parameter("path", "path", json!({"x-multi-segment": true}))]));
    assert_eq!(
        catalog.url("x.call", json!({"path": "a b/c?.md"})),
        "https://api.example.com/v1/c/a%20b/c%3F.md"
    );
    assert!(catalog.refusal("x.call", json!({"path": "a/../../b"})).contains("another path"));
    let catalog = with_parameters("/c/{+rest}/{all*}.json", json!([]));
    assert_eq!(
        catalog.url("x.call", json!({"rest": "a/b", "all": "c"})),
        "https://api.example.com/v1/c/a/b/c.json"
    );
}

#[test]
fn arguments_are_checked_before_anything_is_sent() {
    let catalog = with_parameters(
        "/{id}",
        json!([
            parameter("id", "path", json!({"schema": {"type": "integer"}})),
            parameter("perPage", "query", json!({"required": true})),
            parameter("H", "header", json!({}))
        ]),
    );
    let check = |arguments: Value, part: &str| {
        let message = catalog.refusal("x.call", arguments);
        assert!(message.contains(part), "{message}");
    };
    check(json!({"perPage": 1}), "path parameter \"id\" is required");
    check(json!({"id": 1}), "query parameter \"perPage\" is required");
    check(json!({"id": 1, "per_page": 2}), "Did you mean \"perPage\"?");
    check(json!({"id": 1, "zzz": 2}), "Accepted: id, perPage, H");
    check(json!({"id": [1], "perPage": 1}), "single value");
    check(json!({"id": 1, "perPage": 1, "H": "a\r\nX-Evil: 1"}), "line break");
    check(json!({"id": 1, "perPage": 1, "H": "a\u{0}"}), "control");
    check(json!([]), "not an object");
    let call = executor_common::seam::Call { binding: b"{\"v\":9}".to_vec(), ..Default::default() };
    assert_eq!(executor_openapi::source::validate(&call).unwrap_err().code, "binding-invalid");
}

fn with_body(content: Value, required: bool) -> Catalog {
    index(&document(
        &json!({"/x": {"post": {"operationId": "call", "requestBody": {"required": required, "content": content}}}}),
    ))
}

#[test]
fn bodies_of_each_kind() {
    let catalog = with_body(json!({"application/json": {"schema": {"type": "array"}}}), false);
    let sent = catalog.request("x.call", json!({"body": [1, {"a": null}]})).unwrap();
    assert_eq!(
        (text_of(&sent).as_str(), header(&sent, "content-type")),
        (r#"[1,{"a":null}]"#, Some("application/json"))
    );
    let none = catalog.request("x.call", json!({})).unwrap();
    assert_eq!((none.body.len(), header(&none, "content-type")), (0, None));
    assert!(
        with_body(json!({"application/json": {}}), true)
            .refusal("x.call", json!({}))
            .contains("\"body\" is required")
    );

    let catalog =
        with_body(json!({"application/octet-stream": {}, "text/plain": {}, "*/*": {"schema": {}}}), true);
    let send = |kind: &str, body: Value| {
        catalog.request("x.call", json!({"body": body, "contentType": kind})).unwrap()
    };
    assert_eq!(text_of(&send("application/json", json!({"a": 1}))), r#"{"a":1}"#);
    assert_eq!(text_of(&send("text/plain", json!("hi"))), "hi");
    assert_eq!(
        send("application/octet-stream", json!({"$file": "blob:7"})).body,
        [Chunk::File("blob:7".to_owned())]
    );
    assert!(
        catalog
            .refusal("x.call", json!({"body": "", "contentType": "image/png"}))
            .contains("application/json, text/plain")
    );
    assert!(
        catalog
            .refusal("x.call", json!({"body": 1, "contentType": "text/plain"}))
            .contains("must be a string")
    );

    let stripe = with_body(
        json!({"application/x-www-form-urlencoded": {
            "encoding": {"expand": {"style": "deepObject", "explode": true}, "items": {"style": "deepObject", "explode": true}},
            "schema": {"type": "object", "properties": {"expand": {"type": "array"}, "items": {"type": "object"}}}
        }}),
        true,
    );
    let sent = stripe
        .request(
            "x.call",
            json!({"body": {"amount": 5, "expand": ["a"], "items": {"list": [{"price": "p q"}]}}}),
        )
        .unwrap();
    assert_eq!(text_of(&sent), "amount=5&expand%5B0%5D=a&items%5Blist%5D%5B0%5D%5Bprice%5D=p%20q");
    assert_eq!(header(&sent, "content-type"), Some("application/x-www-form-urlencoded"));
}

fn promising(content: Value) -> Catalog {
    let item = json!({"operationId": "call", "security": [{"o": ["repo"]}], "responses": {"200": {"description": "", "content": content}}});
    let mut document = document(
        &json!({"/x": {"get": item, "post": {"operationId": "write"}, "head": {"operationId": "look"}}}),
    );
    document["components"] = json!({"securitySchemes": {"o": {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "https://a.example/t", "scopes": {}}}}}});
    index(&document)
}

fn json_api() -> Catalog {
    promising(json!({"application/json": {}}))
}

/// The data of an answer with this media type and body.
fn data(catalog: &Catalog, media_type: &str, body: &[u8]) -> Value {
    let headers = [("Content-Type", media_type)];
    let headers = if media_type.is_empty() { &headers[..0] } else { &headers[..] };
    let answer = Api::answering(200, headers, body)
        .call(catalog, "x.call", &json!({}))
        .unwrap_or_else(|failure| panic!("{failure:?}"));
    serde_json::from_str(&answer.data).unwrap()
}

#[test]
fn answers_become_data() {
    let api = json_api();
    assert_eq!(
        data(&api, "application/json; charset=utf-8", b"\xEF\xBB\xBF {\"a\": [1]} "),
        json!({"a": [1]})
    );
    assert_eq!(data(&api, "application/vnd.github+json", b"[1]"), json!([1]));
    assert_eq!(data(&api, "application/json", b""), Value::Null);
    assert_eq!(data(&api, "application/json", b" \n"), Value::Null);
    assert_eq!(data(&api, "text/html", b"{\"a\":1}"), json!({"a": 1}));
    assert_eq!(data(&api, "", b"{\"a\":1}"), json!({"a": 1}));
    assert_eq!(data(&api, "application/octet-stream", b"{\"a\":1}"), json!({"a": 1}));
    assert_eq!(data(&api, "text/html", b"<html>"), json!("<html>"));
    assert_eq!(data(&api, "", b"plain"), json!("plain"));
    assert_eq!(data(&api, "application/x-ndjson", b"{\"a\":1}\n\n[2]\r\n3"), json!([{"a": 1}, [2], 3]));
    assert_eq!(
        data(&api, "application/octet-stream", b"\xff\x00{"),
        json!({"$file": "written", "mediaType": "application/octet-stream", "size": 3})
    );
    let text = promising(json!({"text/plain": {}}));
    assert_eq!(data(&text, "text/plain", b"{\"a\":1}"), json!("{\"a\":1}"));
    assert_eq!(data(&text, "text/plain; charset=ISO-8859-1", b"caf\xe9"), json!("café"));
    assert_eq!(
        data(&text, "image/png", b"\x89PNG"),
        json!({"$file": "moved:image/png", "mediaType": "image/png", "size": 4})
    );
    let big = Api::answering(
        200,
        &[("content-type", "application/json")],
        b"{\"n\": 12345678901234567890123, \"e\": 1.10}",
    )
    .call(&api, "x.call", &json!({}))
    .unwrap();
    assert_eq!(big.data, "{\"n\": 12345678901234567890123, \"e\": 1.10}");
    for (status, tool) in [(204, "x.call"), (205, "x.call"), (304, "x.call"), (200, "x.look")] {
        let answer = Api::answering(status, &[("content-type", "application/json")], b"")
            .call(&api, tool, &json!({}))
            .unwrap();
        assert_eq!(answer.data, "null", "{status}");
    }
}

#[test]
fn metadata_has_the_useful_headers_and_no_other() {
    let headers = [
        ("Link", "<https://api.example.com/x?page=2>; rel=\"next\""),
        ("X-RateLimit-Remaining", "59"),
        ("Set-Cookie", "secret=1"),
        ("ETag", "\"e\""),
        ("Server", "nginx"),
        ("Content-Type", "application/json"),
        ("X-Request-Id", "a\u{1b}[2Jb"),
        ("Sunset", &"x".repeat(5000)),
    ];
    let answer = Api::answering(200, &headers, b"1").call(&json_api(), "x.call", &json!({})).unwrap();
    let metadata: Value = serde_json::from_str(&answer.metadata.unwrap()).unwrap();
    assert_eq!(metadata["status"], 200);
    let names: Vec<&str> = metadata["headers"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, ["link", "x-ratelimit-remaining", "etag", "content-type", "x-request-id", "sunset"]);
    assert_eq!(metadata["headers"]["x-request-id"], "a[2Jb");
    assert_eq!(metadata["headers"]["sunset"].as_str().unwrap().chars().count(), 1000);
}

fn malformed(headers: &[(&str, &str)], body: &[u8], part: &str) {
    let failure = Api::answering(200, headers, body).call(&json_api(), "x.call", &json!({})).unwrap_err();
    assert_eq!((failure.code.as_str(), failure.status), ("upstream-malformed", Some(200)));
    assert!(failure.message.contains(part), "{}", failure.message);
}

#[test]
fn answers_that_are_not_what_they_say() {
    let json_type = ("content-type", "application/json");
    malformed(&[json_type], b"{\"a\": ", "EOF while parsing");
    malformed(&[json_type], b"{\"a\": 1} x", "trailing characters");
    malformed(&[json_type], b"<html>", "expected value at line 1 column 1");
    malformed(&[json_type], b"\"\xff\"", "not UTF-8");
    malformed(&[json_type], "[".repeat(100_000).as_bytes(), "nested deeper");
    malformed(&[json_type, ("content-length", "10")], b"{\"a\":1}", "7 of 10 bytes");
    malformed(&[("content-type", "application/jsonl")], b"1\n{", "line 2");
}

#[test]
fn a_lost_connection_and_a_stalled_one() {
    let mut api = Api::answering(200, &[("content-type", "application/json")], b"");
    api.chunks = vec![Ok(Some(b"[1".to_vec())), Err(failure("connection-lost", "reset by peer"))];
    let lost = api.call(&json_api(), "x.call", &json!({})).unwrap_err();
    assert_eq!(lost.code, "upstream-malformed");
    assert!(lost.message.contains("after 2 bytes: reset by peer"), "{}", lost.message);
    api.chunks = vec![Ok(Some(b"[1".to_vec())), Ok(None)];
    let stalled = api.call(&json_api(), "x.call", &json!({})).unwrap_err();
    assert_eq!((stalled.code.as_str(), stalled.retryable), ("upstream-timeout", true));
    api.chunks = vec![Err(failure("cancelled", "by the caller"))];
    assert_eq!(
        api.call(&json_api(), "x.call", &json!({})).unwrap_err(),
        failure("cancelled", "by the caller")
    );
    api.refusal = Some(Failure {
        status: Some(7),
        retry_after_ms: Some(3),
        details: Some("{}".to_owned()),
        ..failure("denied", "origin not pinned")
    });
    assert_eq!(Some(api.call(&json_api(), "x.call", &json!({})).unwrap_err()), api.refusal);
}

fn failure(code: &str, message: &str) -> Failure {
    Failure {
        code: code.to_owned(),
        message: message.to_owned(),
        status: None,
        retryable: false,
        retry_after_ms: None,
        details: None,
    }
}

#[test]
fn large_bodies_become_files() {
    let big = vec![b'x'; (16 << 20) + 5];
    let mut known = Api::answering(
        200,
        &[("content-type", "text/plain"), ("content-length", &big.len().to_string())],
        &big,
    );
    let moved = known.call(&promising(json!({"text/plain": {}})), "x.call", &json!({})).unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(&moved.data).unwrap(),
        json!({"$file": "moved:text/plain", "mediaType": "text/plain", "size": big.len()})
    );
    let mut unknown = Api::answering(200, &[("content-type", "application/json")], &big);
    let written = unknown.call(&json_api(), "x.call", &json!({})).unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(&written.data).unwrap(),
        json!({"$file": "written", "mediaType": "application/json", "size": big.len()})
    );
    assert_eq!(*unknown.files.borrow(), big);
}

fn rejected(status: u16, headers: &[(&str, &str)], body: &str) -> Failure {
    Api::answering(status, headers, body.as_bytes()).call(&json_api(), "x.call", &json!({})).unwrap_err()
}

#[test]
fn every_status_has_its_code() {
    let cases = [
        (400, "upstream-invalid", false),
        (401, "upstream-rejected", false),
        (402, "upstream-error", false),
        (403, "upstream-rejected", false),
        (404, "upstream-not-found", false),
        (408, "upstream-error", true),
        (409, "upstream-conflict", false),
        (410, "upstream-not-found", false),
        (412, "upstream-conflict", false),
        (418, "upstream-error", false),
        (422, "upstream-invalid", false),
        (425, "upstream-error", true),
        (429, "upstream-rate-limited", true),
        (500, "upstream-failed", true),
        (501, "upstream-failed", false),
        (502, "upstream-failed", true),
        (503, "upstream-failed", true),
        (504, "upstream-failed", true),
        (301, "upstream-redirected", false),
        (307, "upstream-redirected", false),
        (101, "upstream-error", false),
        (999, "upstream-error", false),
    ];
    for (status, code, retryable) in cases {
        let failure = rejected(status, &[], "");
        assert_eq!(
            (failure.code.as_str(), failure.status, failure.retryable),
            (code, Some(status), retryable)
        );
    }
    let write = |status: u16| {
        Api::answering(status, &[], b"").call(&json_api(), "x.write", &json!({})).unwrap_err().retryable
    };
    assert_eq!([write(500), write(502), write(503), write(429)], [false, false, true, true]);
}

#[test]
fn failures_carry_what_the_api_said() {
    let json_type = ("content-type", "application/json");
    let github = r#"{"message":"Validation Failed","errors":[{"field":"title"}]}"#;
    let failure = rejected(422, &[json_type], github);
    assert_eq!(failure.message, "the API answered 422: Validation Failed");
    assert_eq!(failure.details.as_deref(), Some(github));
    let said = |body: &str| rejected(400, &[json_type], body).message;
    assert_eq!(said(r#"{"error":{"message":"deep","code":1}}"#), "the API answered 400: deep");
    assert_eq!(
        said(r#"{"error":"invalid_grant","error_description":"expired"}"#),
        "the API answered 400: expired"
    );
    assert_eq!(said(r#"{"type":"x","title":"Problem","status":400}"#), "the API answered 400: Problem");
    assert_eq!(said(r#"{"errors":[{"detail":"first"}]}"#), "the API answered 400: first");
    assert_eq!(said(r#"["odd"]"#), "the API answered 400: odd");
    assert_eq!(said("{}"), "the API answered 400");
    assert_eq!(said("{broken"), "the API answered 400: {broken");
    assert_eq!(said("a\u{1b}[2J\nb"), "the API answered 400: a[2J b");
    let page = rejected(502, &[("content-type", "text/html")], "<html>bad gateway</html>");
    assert_eq!(
        (page.message.as_str(), page.details.as_deref()),
        ("the API answered 502", Some("\"<html>bad gateway</html>\""))
    );
    assert!(rejected(403, &[], "").message.contains("declares the scopes repo"));
    let long = rejected(400, &[], &"y".repeat(1 << 20));
    assert!(long.message.len() < 600 && long.details.unwrap().len() < 3000);
    let moved = rejected(302, &[("location", "https://other.example/x")], "");
    assert_eq!(moved.details.as_deref(), Some(r#"{"location":"https://other.example/x"}"#));
    assert!(moved.message.contains("https://other.example/x"));
}

#[test]
fn waiting_times_are_read_in_both_forms() {
    let wait = |status: u16, headers: &[(&str, &str)]| {
        let failure = rejected(status, headers, "");
        (failure.code, failure.retry_after_ms)
    };
    let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
    assert_eq!(wait(429, &[("retry-after", "7")]).1, Some(7000));
    assert_eq!(wait(503, &[("retry-after", "1.5")]).1, Some(2000));
    assert_eq!(wait(429, &[("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT"), date]).1, Some(30_000));
    assert_eq!(wait(429, &[("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")]).1, None);
    assert_eq!(wait(429, &[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT"), date]).1, Some(0));
    assert_eq!(wait(429, &[("retry-after", "99999999999999999999")]).1, Some(604_800_000));
    assert_eq!(wait(429, &[("retry-after", "soon")]).1, None);
    let github = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "784111787"), date];
    assert_eq!(wait(403, &github), ("upstream-rate-limited".to_owned(), Some(10_000)));
    assert_eq!(wait(403, &[("retry-after", "60")]), ("upstream-rate-limited".to_owned(), Some(60_000)));
}

#[test]
fn what_is_asked_for_is_what_is_declared() {
    let accept = |content: Value| {
        header(&promising(content).request("x.call", json!({})).unwrap(), "accept").unwrap().to_owned()
    };
    assert_eq!(
        accept(json!({"text/plain": {}, "application/vnd.x+json": {}})),
        "application/vnd.x+json, text/plain;q=0.5, */*;q=0.1"
    );
    assert_eq!(accept(json!({"*/*": {}})), "application/json, */*;q=0.5");
    assert_eq!(accept(json!({"a/b\r\nX-Evil: 1": {}})), "application/json, */*;q=0.5");
}
