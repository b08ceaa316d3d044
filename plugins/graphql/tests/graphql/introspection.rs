//! Endpoints that are asked for their schema, and how they refuse.

use serde_json::{Value, json};

use crate::support::{Api, Catalog, bytes_of, failure, try_index_at};
use executor_common::seam::{Document, Failure, HttpRequest, IndexRequest};
use executor_graphql::source;

const URL: &str = "https://api.example.com/graphql";

fn ty(kind: &str, name: &str) -> Value {
    json!({"kind": kind, "name": name, "ofType": null})
}

fn schema() -> Value {
    json!({
        "queryType": {"name": "Query"}, "mutationType": null, "subscriptionType": null,
        "directives": [{"name": "shown", "locations": ["FIELD"]}],
        "types": [
            {"kind": "OBJECT", "name": "Query", "fields": [
                {"name": "user", "description": "A user.", "args": [
                    {"name": "id", "type": {"kind": "NON_NULL", "name": null, "ofType": ty("SCALAR", "ID")}, "defaultValue": null}
                ], "type": ty("OBJECT", "User"), "isDeprecated": false},
                {"name": "cut", "args": [], "type": {"kind": "LIST", "ofType": {"kind": "NON_NULL"}}},
            ]},
            {"kind": "OBJECT", "name": "User", "fields": [{"name": "id", "args": [], "type": ty("SCALAR", "ID")}]},
            {"kind": "SCALAR", "name": "ID"},
            {"kind": "OBJECT", "name": "__Schema", "fields": []},
        ],
    })
}

fn sent(request: &HttpRequest) -> String {
    let body: Value = serde_json::from_slice(&bytes_of(request)).unwrap_or_default();
    body["query"].as_str().unwrap_or_default().to_owned()
}

/// Answers by the query; none: 400 with an error.
fn server(answer: impl Fn(&str) -> Option<Value> + 'static) -> Api {
    Api::by(move |request| {
        let found = answer(&sent(request));
        let (status, body) = match found {
            Some(body) => (200, body),
            None => (400, json!({"errors": [{"message": "Query is too complex"}]})),
        };
        Ok((status, "application/json".to_owned(), body.to_string().into_bytes()))
    })
}

fn index(api: &mut Api) -> Result<Catalog, Failure> {
    try_index_at(api, b"{\"errors\":[{\"message\":\"Must provide query string.\"}]}", Some(URL), &json!({}))
}

#[test]
fn an_endpoint_is_asked_for_its_schema() {
    let mut api = server(|_| Some(json!({"data": {"__schema": schema()}})));
    let catalog = index(&mut api).unwrap();
    assert_eq!(catalog.names(), ["query.user"]);
    assert_eq!(catalog.codes(), ["operation-incomplete"]);
    assert!(catalog.warnings[0].message.contains("Query.cut is left out: its type is cut off"));
    let summary = catalog.summary.as_ref().unwrap();
    assert_eq!(summary.base_url.as_deref(), Some(URL));
    assert_eq!(summary.title.as_deref(), Some("GraphQL API of api.example.com"));
    assert_eq!(api.requests.len(), 1);
    assert!(sent(&api.requests[0]).contains("isOneOf"));
    // The binding knows the endpoint, so no setting is needed.
    let mut api = Api::json(200, &json!({"data": {"user": null}}));
    catalog.call_with(&mut api, "query.user", &json!({"id": 1}), &json!({})).unwrap();
    assert_eq!(api.requests[0].url, URL);
}

#[test]
fn older_servers_are_asked_for_less() {
    let mut api = server(|query| {
        if query.contains("isOneOf") {
            return Some(
                json!({"errors": [{"message": "Cannot query field \"isOneOf\" on type \"__Type\"."}]}),
            );
        }
        Some(json!({"data": {"__schema": schema()}}))
    });
    let catalog = index(&mut api).unwrap();
    assert_eq!(api.requests.len(), 2);
    assert_eq!(catalog.codes()[0], "introspection-limited");
}

#[test]
fn a_server_that_lacks_a_newer_field_of_the_schema_still_tells_the_others() {
    for refusal in [
        // graphql-js before 15, graphene 2, graphql-php; graphql-ruby; graphql-java; Sangria.
        "Cannot query field \"description\" on type \"__Schema\".",
        "Field 'description' doesn't exist on type '__Schema'",
        "Validation error of type FieldUndefined: Field 'description' in type '__Schema' is undefined @ '__schema/description'",
        "Cannot query field 'description' on type '__Schema'. (line 1, column 41): query IntrospectionQuery { __schema { description",
    ] {
        let mut api = server(move |query| match query.contains("__schema { description") {
            true => Some(json!({"errors": [{"message": refusal}]})),
            false => Some(json!({"data": {"__schema": schema()}})),
        });
        let catalog = index(&mut api).unwrap_or_else(|failure| panic!("{refusal}: {}", failure.message));
        assert_eq!((catalog.codes()[0], api.requests.len()), ("introspection-limited", 2), "{refusal}");
    }
}

#[test]
fn limited_servers_are_asked_in_small_steps() {
    let deep = |query: &str| query.matches("ofType").count() > 3;
    let mut api = server(move |query| (!deep(query)).then(|| json!({"data": {"__schema": schema()}})));
    index(&mut api).unwrap();
    assert_eq!(api.requests.len(), 3);

    // A type at a time, and no more than one.
    let mut api = server(move |query| {
        if query.contains("types { name kind }") {
            return Some(json!({"data": {"__schema": schema()}}));
        }
        let one = query.matches("__type(name").count() == 1;
        let name = query.split("name: \"").nth(1).unwrap_or_default().split('"').next().unwrap_or_default();
        let types = schema()["types"].take();
        let found = types.as_array().unwrap().iter().find(|ty| ty["name"] == name).cloned();
        (one && !query.contains("__schema")).then(|| json!({"data": {"t0": found}}))
    });
    let catalog = index(&mut api).unwrap();
    assert_eq!(catalog.names(), ["query.user"]);
    assert!(catalog.warnings[0].message.contains("type by type"), "{:?}", catalog.warnings);
    assert_eq!(api.requests.len(), 3 + 1 + 1 + 3, "three whole, the outline, a batch, three types");
}

#[test]
fn a_server_that_takes_no_post_is_asked_by_get() {
    let mut api = Api::by(|request| {
        let body = json!({"data": {"__schema": schema()}}).to_string().into_bytes();
        match request.method.as_str() {
            "GET" => Ok((200, "application/json".to_owned(), body)),
            _ => Ok((405, "text/plain".to_owned(), Vec::new())),
        }
    });
    index(&mut api).unwrap();
    assert!(
        api.requests[1]
            .url
            .starts_with("https://api.example.com/graphql?query=query%20IntrospectionQuery%20%7B")
    );
}

#[test]
fn refusals_say_what_to_do() {
    let check = |status: u16, body: Value, code: &str, part: &str, requests: usize| {
        let mut api = Api::json(status, &body);
        let failure = index(&mut api).err().unwrap();
        assert_eq!(failure.code, code, "{}", failure.message);
        assert!(failure.message.contains(part), "{}", failure.message);
        assert_eq!(api.requests.len(), requests, "{body}");
    };
    let error = |message: &str| json!({"errors": [{"message": message}]});
    let apollo =
        "GraphQL introspection is not allowed by Apollo Server, but the query contained __schema or __type.";
    check(400, error(apollo), "introspection-disabled", "base_url", 1);
    check(
        200,
        error("Field '__schema' doesn't exist on type 'Query'"),
        "introspection-disabled",
        "its makers",
        1,
    );
    check(
        200,
        error("Unknown field \"__schema\" on type \"Query\"."),
        "introspection-disabled",
        "base_url",
        1,
    );
    check(
        200,
        error("field '__schema' not found in type: 'query_root'"),
        "introspection-disabled",
        "base_url",
        1,
    );
    check(200, json!({"data": {}}), "introspection-disabled", "without an error", 1);
    check(200, json!({"data": {"__schema": null}}), "introspection-disabled", "without an error", 1);
    check(404, json!({}), "introspection-failed", "answered 404", 1);
    check(400, error("Query is too complex"), "introspection-failed", "Query is too complex", 4);
    check(200, json!({"data": {"__schema": {"types": []}}}), "introspection-failed", "no types", 1);
}

#[test]
fn an_endpoint_that_wants_a_credential_has_no_tools_yet() {
    let check = |status: u16, body: Value, part: &str| {
        let mut api = Api::json(status, &body);
        let catalog = index(&mut api).unwrap();
        assert_eq!((catalog.names().len(), catalog.codes()), (0, vec!["sign-in-needed"]), "{body}");
        assert!(catalog.warnings[0].message.contains(part), "{:?}", catalog.warnings);
        let methods: Vec<&str> = catalog.methods.iter().map(|method| method.id.as_str()).collect();
        assert_eq!(methods, ["bearer", "basic"]);
        let summary = catalog.summary.as_ref().unwrap();
        assert_eq!(summary.base_url.as_deref(), Some(URL));
        let meta: Value = serde_json::from_str(summary.meta.as_deref().unwrap()).unwrap();
        assert_eq!(
            meta,
            json!({"origins": ["https://api.example.com"], "sign_in": true, "transport": "http"})
        );
        assert_eq!(api.requests.len(), 1, "{body}");
    };
    let github = "This endpoint requires you to be authenticated.";
    check(401, json!({"message": github}), "(401: This endpoint requires you");
    check(403, json!({"errors": [{"message": "no"}]}), "(403: no)");
    check(200, json!({"errors": [{"message": "x", "extensions": {"code": "UNAUTHENTICATED"}}]}), "(200: x)");
}

#[test]
fn a_credential_that_is_refused_is_named() {
    let mut api = Api::json(401, &json!({"message": "Bad credentials"}));
    let request = IndexRequest {
        config: json!({"endpoint": URL}).to_string(),
        settings: "{}".to_owned(),
        document: Some(Document { url: Some(URL.to_owned()), media_type: None, body: Vec::new() }),
        meta: Some(json!({"connection": "work"}).to_string()),
    };
    let mut catalog = Catalog::default();
    let summary = source::index(&request, &mut catalog, &mut api).unwrap();
    assert!(summary.meta.unwrap().contains("sign_in"));
    let told = &catalog.warnings[0].message;
    assert!(told.contains("\"work\"") && told.contains("Bad credentials"), "{told}");
}

#[test]
fn pages_are_named() {
    let mut api = Api::answering(200, "text/html", b"<!DOCTYPE html><html><form>Sign in</form></html>");
    let failure = index(&mut api).err().unwrap();
    assert_eq!(failure.code, "introspection-failed");
    assert!(failure.message.contains("200 with an HTML page (a login"), "{}", failure.message);
    let mut api = Api::answering(403, "text/html", b"<!DOCTYPE html><html>Attention Required!</html>");
    let failure = index(&mut api).err().unwrap();
    assert!(failure.message.contains("403 with an HTML page"), "no credential opens that: {failure:?}");
}

#[test]
fn a_host_that_lets_nothing_out_is_explained() {
    let mut api =
        Api::by(|_| Err(failure("denied-origin", "https://api.example.com is not an origin of this source")));
    let failed = index(&mut api).err().unwrap();
    assert_eq!(failed.code, "introspection-failed");
    assert!(failed.message.contains("add the schema as a file"), "{}", failed.message);
    let mut api = Api::by(|_| Err(failure("connect-failed", "refused")));
    assert_eq!(index(&mut api).err().unwrap(), failure("connect-failed", "refused"));
}
