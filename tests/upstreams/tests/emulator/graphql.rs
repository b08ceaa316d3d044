//! The GraphQL emulator.

use executor_upstreams::graphql::{self, Config, Emulator, Fault, TOKEN};
use serde_json::{Value, json};

use crate::client::anonymous;

async fn ask(emulator: &Emulator, status: u16, query: &str) -> Value {
    anonymous(emulator.addr, "POST", "/graphql").json(json!({ "query": query })).expect(status).await
}

#[tokio::test]
async fn operations_are_answered_and_kept() {
    let emulator = graphql::start(Config::default()).await.expect("a port is free");
    let answer = ask(&emulator, 200, "{ book(id: 1) { title } books(first: 1) { totalCount } }").await;
    assert_eq!(answer, json!({ "data": { "book": { "title": "Emma" }, "books": { "totalCount": 3 } } }));
    ask(&emulator, 200, "mutation { removeBook(by: {title: \"Emma\"}) }").await;
    assert_eq!(emulator.titles(), ["Persuasion", "Sanditon"]);
    assert_eq!(emulator.ledger.matching("POST", "/graphql").len(), 2);
    let answer = ask(&emulator, 400, "{ books { totalCount } }").await;
    assert_eq!(answer["errors"][0]["message"], "you must give `first`");
}

#[tokio::test]
async fn introspection_depth_and_tokens_are_switches() {
    let off = graphql::start(Config { introspection_off: true, ..Config::default() }).await.expect("a port");
    let answer = ask(&off, 200, "{ __schema { types { name } } }").await;
    assert_eq!(answer, json!({ "data": { "__schema": null } }));
    let flat = graphql::start(Config { depth: Some(2), ..Config::default() }).await.expect("a port");
    ask(&flat, 200, "{ book(id: 1) { title } }").await;
    ask(&flat, 400, "{ book(id: 1) { author { name } } }").await;
    let closed = graphql::start(Config { require_token: true, ..Config::default() }).await.expect("a port");
    ask(&closed, 401, "{ __typename }").await;
    let call = anonymous(closed.addr, "POST", "/graphql").header("authorization", &format!("Bearer {TOKEN}"));
    let answer = call.json(json!({ "query": "{ __typename }" })).expect(200).await;
    assert_eq!(answer["data"]["__typename"], "Query");
}

#[tokio::test]
async fn faults_are_used_up() {
    let emulator = graphql::start(Config::default()).await.expect("a port is free");
    emulator.fault(Fault::Refused, 2);
    ask(&emulator, 400, "{ __typename }").await;
    ask(&emulator, 400, "{ __typename }").await;
    ask(&emulator, 200, "{ __typename }").await;
}

#[tokio::test]
async fn forms_without_a_preflight_are_refused() {
    let emulator = graphql::start(Config::default()).await.expect("a port is free");
    let call = anonymous(emulator.addr, "POST", "/graphql")
        .header("content-type", "multipart/form-data; boundary=x");
    let answer = call.body("--x--").expect(400).await;
    assert!(answer.to_string().contains("cross-site"), "{answer}");
}
