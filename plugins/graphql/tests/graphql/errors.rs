//! Answers that are errors, in whole or in part.

use serde_json::{Value, json};

use crate::support::{Api, Catalog, ENDPOINT, index};
use executor_common::seam::Failure;

fn catalog() -> Catalog {
    index("type Query { user: User } type Mutation { rename: User! } type User { id: ID!, name: String }")
}

fn failed(api: &mut Api, tool: &str) -> Failure {
    catalog().call(api, tool, &json!({})).unwrap_err()
}

fn details(failure: &Failure) -> Value {
    serde_json::from_str(failure.details.as_deref().unwrap_or("null")).unwrap()
}

#[test]
fn errors_with_data_are_both() {
    let body = json!({"data": {"user": {"id": "1", "name": null}}, "errors": [{"message": "no name", "path": ["user", "name"]}, {"message": "b"}]});
    let failure = failed(&mut Api::json(200, &body), "query.user");
    assert_eq!(
        (failure.code.as_str(), failure.status, failure.retryable),
        ("upstream-partial", Some(200), false)
    );
    assert_eq!(
        failure.message,
        "parts of the answer failed: no name (and 1 more) (the rest is in details.data)"
    );
    assert_eq!(details(&failure)["data"], json!({"id": "1", "name": null}));
    assert_eq!(details(&failure)["errors"][0]["path"], json!(["user", "name"]));
    let body = json!({"data": {"rename": {"id": "1"}}, "errors": [{"message": "no name"}]});
    let failure = failed(&mut Api::json(200, &body), "mutation.rename");
    assert!(failure.message.starts_with("the mutation was carried out"), "{}", failure.message);
}

#[test]
fn errors_with_data_may_be_an_answer() {
    let settings = json!({"base_url": ENDPOINT, "partial": "answer"});
    let mut api = Api::json(200, &json!({"data": {"user": {"id": "1"}}, "errors": [{"message": "no name"}]}));
    let answer = catalog().call_with(&mut api, "query.user", &json!({}), &settings).unwrap();
    assert_eq!(answer.data, r#"{"id":"1"}"#);
    let metadata: Value = serde_json::from_str(answer.metadata.as_deref().unwrap()).unwrap();
    assert_eq!(metadata["errors"], json!([{"message": "no name"}]));
}

#[test]
fn much_data_with_errors_becomes_a_file() {
    let name = "x".repeat(400_000);
    let mut api = Api::json(
        200,
        &json!({"data": {"user": {"name": name}}, "errors": [{"message": "y".repeat(90_000)}]}),
    );
    let failure = failed(&mut api, "query.user");
    assert!(details(&failure)["data"]["$file"].is_string() && failure.details.unwrap().len() < 64 << 10);
    assert!(api.files.sizes().contains(&(name.len() + r#"{"name":""}"#.len())));
}

#[test]
fn a_graphql_body_counts_whatever_the_status() {
    let data = json!({"data": {"user": {"id": "1"}}});
    for status in [200, 203, 400, 500] {
        let answer = catalog().call(&mut Api::json(status, &data), "query.user", &json!({})).unwrap();
        assert_eq!(answer.data, r#"{"id":"1"}"#, "{status}");
    }
    let check = |status: u16, error: Value, code: &str, retryable: bool| {
        let failure = failed(&mut Api::json(status, &json!({"errors": [error]})), "query.user");
        assert_eq!(
            (failure.code.as_str(), failure.retryable),
            (code, retryable),
            "{status} {}",
            failure.message
        );
        assert_eq!(failure.status, Some(status));
    };
    check(400, json!({"message": "no"}), "upstream-invalid", false);
    check(200, json!({"message": "no"}), "upstream-error", false);
    check(
        200,
        json!({"message": "no", "extensions": {"code": "UNAUTHENTICATED"}}),
        "upstream-rejected",
        false,
    );
    check(200, json!({"message": "no", "type": "NOT_FOUND"}), "upstream-not-found", false);
    check(200, json!({"message": "no", "extensions": {"code": "THROTTLED"}}), "upstream-rate-limited", true);
    check(
        200,
        json!({"message": "no", "extensions": {"code": "INTERNAL_SERVER_ERROR"}}),
        "upstream-failed",
        true,
    );
    check(500, json!({"message": "no"}), "upstream-failed", true);
    check(401, json!({"message": "no"}), "upstream-rejected", false);
    check(429, json!({"message": "no"}), "upstream-rate-limited", true);
}

#[test]
fn a_write_that_failed_within_the_server_is_not_repeated() {
    let failure = failed(&mut Api::json(500, &json!({"errors": [{"message": "x"}]})), "mutation.rename");
    assert!(!failure.retryable);
    let failure = failed(&mut Api::json(503, &json!({})), "mutation.rename");
    assert!(failure.retryable, "it was refused before it was worked on");
}

#[test]
fn shopify_and_github_say_it_in_their_own_ways() {
    let failure = failed(&mut Api::json(401, &json!({"errors": "[API] Invalid API key"})), "query.user");
    assert_eq!(
        (failure.code.as_str(), failure.message.as_str()),
        ("upstream-rejected", "[API] Invalid API key")
    );
    let failure = failed(&mut Api::json(401, &json!({"message": "Bad credentials"})), "query.user");
    assert_eq!(failure.code, "upstream-rejected");
    assert_eq!(failure.message, "the endpoint answered 401: Bad credentials");
    let mut api = Api::json(403, &json!({"message": "secondary rate limit"}));
    api.headers.push(("Retry-After".to_owned(), "60".to_owned()));
    let failure = failed(&mut api, "query.user");
    assert_eq!((failure.code.as_str(), failure.retry_after_ms), ("upstream-rate-limited", Some(60_000)));
    let scopes = json!({"data": {"user": null}, "errors": [{"type": "INSUFFICIENT_SCOPES", "message": "needs user:email"}]});
    let failure = failed(&mut Api::json(200, &scopes), "query.user");
    assert_eq!(failure.code, "upstream-rejected");
    assert_eq!(failure.message, "needs user:email (`select` with fewer fields may be allowed)");
}

#[test]
fn what_is_no_graphql_answer_is_named() {
    let check = |status: u16, kind: &str, body: &str, code: &str, part: &str| {
        let failure = failed(&mut Api::answering(status, kind, body.as_bytes()), "query.user");
        assert_eq!(failure.code, code, "{body}: {}", failure.message);
        assert!(failure.message.contains(part), "{}", failure.message);
        assert_eq!(failure.status, Some(status));
    };
    check(200, "text/html", "<!DOCTYPE html><html><form>", "upstream-malformed", "an HTML page (a login");
    check(502, "text/html", "<html>Bad Gateway</html>", "upstream-failed", "502 with an HTML page");
    check(200, "application/json", "", "upstream-malformed", "an empty body");
    check(200, "application/json", "{\"data\":{\"user\":{", "upstream-malformed", "JSON that breaks off");
    check(200, "application/json", "{}", "upstream-malformed", "JSON that is no GraphQL answer");
    check(200, "application/json", "[{\"data\":{}}]", "upstream-malformed", "JSON that is no GraphQL answer");
    check(200, "application/json", "{\"data\":{\"other\":1}}", "upstream-malformed", "no GraphQL answer");
    check(200, "text/plain", "hello", "upstream-malformed", "text that is no JSON (hello)");
    check(404, "text/plain", "nothing here", "upstream-not-found", "404");
    check(200, "application/json", &"[".repeat(100_000), "upstream-malformed", "deeper than 120");
    let mut api = Api::answering(302, "text/html", b"");
    api.headers.push(("Location".to_owned(), "https://login.example.com/".to_owned()));
    let failure = failed(&mut api, "query.user");
    assert_eq!(failure.code, "upstream-redirected");
    assert!(
        failure.message.contains("https://login.example.com/, which is not followed"),
        "{}",
        failure.message
    );
}

#[test]
fn an_answer_has_a_bound() {
    let mut body = vec![b' '; 17 << 20];
    body.splice(0..0, *b"{");
    let failure = failed(&mut Api::answering(200, "application/json", &body), "query.user");
    assert_eq!(failure.code, "upstream-too-large");
}
