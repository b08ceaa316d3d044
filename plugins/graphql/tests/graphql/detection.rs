//! What is a GraphQL source, and what else people give.

use executor_common::seam::{Detection, Document, Probe};
use executor_graphql::source;
use serde_json::{Value, json};

use crate::support::{Api, failure};

fn probe(api: &mut Api, body: &str, url: Option<&str>) -> Option<Detection> {
    let document = Document { url: url.map(str::to_owned), media_type: None, body: body.as_bytes().to_vec() };
    let status = url.map(|_| 200);
    source::detect(&Probe { url: url.map(str::to_owned), status, headers: Vec::new(), document }, api)
}

fn silent() -> Api {
    Api::by(|_| Err(failure("denied-origin", "no")))
}

#[test]
fn schemas_are_known() {
    let found = probe(&mut silent(), "type Query { a: Int, b: Int } type Mutation { c: Int }", None).unwrap();
    assert_eq!((found.confidence, found.suggested_name.as_str()), (95, "graphql"));
    let meta: Value = serde_json::from_str(found.meta.as_deref().unwrap()).unwrap();
    assert_eq!((&meta["queries"], &meta["mutations"], &meta["form"]), (&json!(2), &json!(1), &json!("sdl")));
    assert!(found.warnings[0].contains("base_url"));
    let introspection = json!({"data": {"__schema": {"queryType": {"name": "Q"}, "types": [
        {"kind": "OBJECT", "name": "Q", "fields": [{"name": "a", "args": [], "type": {"kind": "SCALAR", "name": "Int"}}]}]}}});
    let found = probe(&mut silent(), &introspection.to_string(), Some("https://docs.github.com/schema.json"))
        .unwrap();
    assert_eq!((found.confidence, found.suggested_name.as_str()), (95, "github"));
    assert_eq!(probe(&mut silent(), "type A { a: Int }", None).unwrap().confidence, 60);
}

#[test]
fn endpoints_are_asked_for_the_name_of_their_root() {
    let mut api = Api::json(200, &json!({"data": {"__typename": "Query"}}));
    let found = probe(&mut api, "Not Found", Some("https://api.linear.app/graphql")).unwrap();
    assert_eq!((found.confidence, found.suggested_name.as_str()), (95, "linear"));
    let config: Value = serde_json::from_str(&found.config).unwrap();
    assert_eq!(config["endpoint"], "https://api.linear.app/graphql");
    let mut api = Api::json(401, &json!({"errors": [{"message": "sign in"}]}));
    let found = probe(&mut api, "{\"errors\":[{\"message\":\"x\"}]}", Some("https://a.example/api")).unwrap();
    assert!(found.confidence == 75 && found.warnings[0].contains("wants a credential"), "{found:?}");
    let meta: Value = serde_json::from_str(found.meta.as_deref().unwrap()).unwrap();
    assert_eq!((&meta["transport"], &meta["auth"][0]["kind"]), (&json!("http"), &json!("http-bearer")));
}

#[test]
fn looks_count_where_nothing_can_be_sent() {
    let check = |body: &str, url: &str, confidence: u8| {
        let found = probe(&mut silent(), body, Some(url));
        assert_eq!(found.map(|found| found.confidence), Some(confidence), "{body}");
    };
    check("{\"errors\":[{\"message\":\"Must provide query string.\"}]}", "https://a.example/api", 75);
    check("<html><title>GraphiQL</title></html>", "https://a.example/", 60);
    check("<html>login</html>", "https://a.example/graphql", 5);
}

#[test]
fn apis_of_another_kind_are_not_taken_for_endpoints() {
    let rest = r#"{"success":false,"errors":[{"code":7000,"message":"No route"}],"result":null}"#;
    let mut api = Api::answering(400, "application/json", rest.as_bytes());
    let found = probe(&mut api, rest, Some("https://a.example/graphql")).unwrap();
    assert_eq!(found.confidence, 5, "{found:?}");
    // What was asked counts for more than what a reading looks like.
    let one = r#"{"data":{"id":1}}"#;
    for status in [200, 201, 404, 405] {
        let mut api = Api::answering(status, "application/json", one.as_bytes());
        assert_eq!(probe(&mut api, one, Some("https://a.example/things/1")), None, "{status}");
    }
    let mut api = Api::answering(404, "application/json", b"{}");
    assert_eq!(probe(&mut api, r#"{"errors":[{"message":"no"}]}"#, Some("https://a.example/x")), None);
}

#[test]
fn an_endpoint_that_takes_no_post_is_asked_by_get() {
    let mut api = Api::by(|request| match request.method.as_str() {
        "GET" => Ok((200, "application/json".to_owned(), br#"{"data":{"__typename":"Query"}}"#.to_vec())),
        _ => Ok((405, "text/plain".to_owned(), Vec::new())),
    });
    let asked = r#"{"errors":[{"message":"Must provide query string."}]}"#;
    assert_eq!(probe(&mut api, asked, Some("https://a.example/api")).unwrap().confidence, 95);
    assert_eq!(api.requests[1].url, "https://a.example/api?query=%7B__typename%7D");
}

#[test]
fn what_is_no_endpoint_is_explained() {
    let check = |status: u16, kind: &str, answer: &str, part: &str| {
        let mut api = Api::answering(status, kind, answer.as_bytes());
        let found = probe(&mut api, "<html>Sign in</html>", Some("https://a.example/graphql")).unwrap();
        assert_eq!(found.confidence, 5);
        assert!(found.warnings[0].contains(part), "{:?}", found.warnings);
    };
    check(200, "text/html", "<html>Sign in</html>", "200 and an HTML page (a login");
    check(404, "text/html", "<html>Not found</html>", "look for the endpoint's URL");
    check(403, "text/html", "<html>Attention Required!</html>", "lets nobody through");
    let mut api = Api::answering(401, "application/json", b"{\"message\":\"no\"}");
    let found = probe(&mut api, "<html>Sign in</html>", Some("https://a.example/graphql")).unwrap();
    assert!(found.confidence == 50 && found.warnings[0].contains("wants a credential"), "{found:?}");
    let mut api = Api::answering(401, "application/json", b"{\"message\":\"no\"}");
    assert_eq!(probe(&mut api, "<html>Sign in</html>", Some("https://a.example/api")), None);
    let found = probe(&mut silent(), "query { a }", None).unwrap();
    assert!(found.confidence == 5 && found.warnings[0].contains("not a schema"));
    let found = probe(&mut silent(), "type Query { a: }", None).unwrap();
    assert!(found.confidence == 5 && found.warnings[0].contains("line 1, column"), "{found:?}");
}

#[test]
fn documents_of_others_are_left_to_them() {
    for body in
        [r#"{"openapi":"3.0.0","paths":{}}"#, "openapi: 3.1.0", "{\"jsonrpc\":\"2.0\"}", "hello", "", "[1]"]
    {
        let mut api = Api::json(200, &json!({}));
        assert_eq!(probe(&mut api, body, Some("https://a.example/openapi.json")), None, "{body}");
        assert!(api.requests.is_empty(), "{body}");
        assert_eq!(probe(&mut api, body, None), None);
    }
    // A page somewhere is asked, since a tool for queries may be behind it.
    let mut api = Api::answering(404, "text/html", b"<html></html>");
    assert_eq!(probe(&mut api, "<html>Welcome</html>", Some("https://a.example/")), None);
}
