//! What leaves for a call, and what its answer is.

use serde_json::{Value, json};

use crate::support::{Api, Catalog, ENDPOINT, failure, header, index};

const SCHEMA: &str = "type Query { user(id: ID!, in: [String!] = []): User, users(first: Int, last: Int): UserConnection, n: Int }
    type Mutation { rename(id: ID!, name: String): User! }
    type User { id: ID!, name: String! } type UserConnection { nodes: [User], pageInfo: PageInfo! } type PageInfo { endCursor: String }";

fn catalog() -> Catalog {
    index(SCHEMA)
}

#[test]
fn an_operation_has_a_name_and_typed_variables() {
    let body = catalog().body("query.user", &json!({"id": 7, "in": "x"}));
    assert_eq!(
        body,
        json!({
            "query": "query user($id: ID!, $in: [String!]) { user(id: $id, in: $in) { id name } }",
            "operationName": "user",
            "variables": {"id": 7, "in": "x"},
        })
    );
    assert_eq!(catalog().query("query.n", &json!({})), "query n { n }");
    let renamed = catalog().body("mutation.rename", &json!({"id": "1", "name": null}));
    assert_eq!(
        renamed["query"],
        "mutation rename($id: ID!, $name: String) { rename(id: $id, name: $name) { id name } }"
    );
    assert_eq!(renamed["variables"], json!({"id": "1", "name": null}), "null is a value");
}

#[test]
fn what_is_not_given_is_not_sent() {
    assert_eq!(
        catalog().query("query.user", &json!({"id": "1"})),
        "query user($id: ID!) { user(id: $id) { id name } }"
    );
}

#[test]
fn a_page_has_a_length() {
    let sent = |arguments: Value| catalog().body("query.users", &arguments)["variables"].clone();
    assert_eq!(sent(json!({})), json!({"first": 30}));
    assert_eq!(sent(json!({"first": null})), json!({"first": 30}));
    assert_eq!(sent(json!({"first": 2})), json!({"first": 2}));
    assert_eq!(sent(json!({"last": 2})), json!({"last": 2}));
}

#[test]
fn arguments_that_can_not_be_are_refused() {
    let check = |tool: &str, arguments: Value, part: &str| {
        let message = catalog().refusal(tool, &arguments);
        assert!(message.contains(part), "{message}");
    };
    check("query.user", json!({}), "\"id\" (ID!) is required");
    check("query.user", json!({"id": null}), "\"id\" (ID!) is required");
    check("query.user", json!({"id": "1", "idd": 1}), "no argument \"idd\"; did you mean id?");
    check("query.user", json!({"id": "1", "select": 5}), "\"select\" is a text");
    check("query.n", json!({"select": "x"}), "no argument \"select\"");
    check("query.n", json!([]), "no JSON object");
}

#[test]
fn requests_are_posts_of_json() {
    let catalog = catalog();
    let mut api = Api::json(200, &json!({"data": {"n": 1}}));
    let answer = catalog.call(&mut api, "query.n", &json!({})).unwrap();
    assert_eq!(answer.data, "1");
    let request = &api.requests[0];
    assert_eq!((request.method.as_str(), request.url.as_str()), ("POST", ENDPOINT));
    assert_eq!(header(request, "content-type"), Some("application/json"));
    assert!(
        header(request, "accept").unwrap().starts_with("application/graphql-response+json, application/json")
    );
    assert_eq!(header(request, "user-agent"), Some("executor"));
}

#[test]
fn the_answer_is_the_value_of_the_field_as_it_came() {
    let catalog = catalog();
    let body = br#"{"data":{"user":{"id":"1","name":"\u00e9","big":12345678901234567890.50}},"errors":[],"extensions":{"cost":{"actual":1}}}"#;
    let mut api = Api::answering(200, "application/graphql-response+json", body);
    api.headers.push(("X-RateLimit-Remaining".to_owned(), "4999".to_owned()));
    let answer = catalog.call(&mut api, "query.user", &json!({"id": "1"})).unwrap();
    assert_eq!(answer.data, r#"{"id":"1","name":"\u00e9","big":12345678901234567890.50}"#);
    let metadata: Value = serde_json::from_str(answer.metadata.as_deref().unwrap()).unwrap();
    assert_eq!(metadata["status"], 200);
    assert_eq!(metadata["headers"]["x-ratelimit-remaining"], "4999");
    assert_eq!(metadata["extensions"]["cost"]["actual"], 1);
}

#[test]
fn null_without_errors_is_an_answer() {
    let mut api = Api::json(200, &json!({"data": {"user": null}}));
    assert_eq!(catalog().call(&mut api, "query.user", &json!({"id": "1"})).unwrap().data, "null");
}

#[test]
fn what_the_host_refuses_passes_through() {
    for code in ["captured", "denied-origin", "outcome-unknown", "connect-failed"] {
        let mut api = Api::by(move |_| Err(failure(code, "the host says no")));
        let refused = catalog().call(&mut api, "mutation.rename", &json!({"id": "1"})).unwrap_err();
        assert_eq!(refused, failure(code, "the host says no"));
    }
}

#[test]
fn a_query_whose_answer_was_lost_may_be_asked_again() {
    let mut api = Api::by(|_| Err(failure("outcome-unknown", "it may have arrived")));
    let lost = catalog().call(&mut api, "query.n", &json!({})).unwrap_err();
    assert_eq!((lost.code.as_str(), lost.retryable), ("connection-lost", true));
}

#[test]
fn a_binding_of_another_version_is_stale() {
    let mut catalog = catalog();
    catalog.tools[0].binding = br#"{"v":9,"o":"q","f":"user"}"#.to_vec();
    let mut api = Api::json(200, &json!({}));
    let failure = catalog.call(&mut api, "query.user", &json!({"id": "1"})).unwrap_err();
    assert!(failure.code == "binding-invalid" && failure.message.contains("refresh"), "{failure:?}");
}
