//! The switches over HTTP.

use executor_upstreams::github::{self, Config};
use serde_json::json;

use crate::client::{anonymous, call};

#[tokio::test]
async fn faults_and_the_ledger_are_reached_over_http() {
    let emulator = github::start(Config::default()).await.expect("a port is free");
    let addr = emulator.addr;
    let fault = json!({ "path": "/zen", "kind": { "too-many-requests": { "retry_after_seconds": 1 } } });
    anonymous(addr, "POST", "/_emulator/faults").json(fault).expect(204).await;
    let waiting = anonymous(addr, "GET", "/_emulator/faults").expect(200).await;
    assert_eq!(waiting[0]["times"], 1);
    anonymous(addr, "GET", "/zen").expect(429).await;
    let ledger = anonymous(addr, "GET", "/_emulator/ledger").expect(200).await;
    assert_eq!(ledger["count"], 1);
    assert_eq!(ledger["entries"][0]["path"], "/zen");
    anonymous(addr, "DELETE", "/_emulator/ledger").expect(204).await;
    let ledger = anonymous(addr, "GET", "/_emulator/ledger").expect(200).await;
    assert_eq!(ledger["entries"], json!([]));
    let all = json!({ "path": "/**", "kind": "reset", "times": 4294967295u32 });
    anonymous(addr, "POST", "/_emulator/faults").json(all).expect(204).await;
    anonymous(addr, "DELETE", "/_emulator/faults").expect(204).await;
    assert_eq!(anonymous(addr, "GET", "/zen").send().await.status, 200);
}

#[tokio::test]
async fn switches_say_what_they_do_not_take() {
    let emulator = github::start(Config::default()).await.expect("a port is free");
    let fault = json!({ "path": "/zen", "kind": "explode" });
    let refused = anonymous(emulator.addr, "POST", "/_emulator/faults").json(fault).expect(400).await;
    assert!(refused["message"].as_str().is_some_and(|text| text.contains("explode")));
    anonymous(emulator.addr, "GET", "/_emulator/nothing").expect(404).await;
    assert_eq!(emulator.ledger.count(), 0);
}

#[tokio::test]
async fn tokens_come_and_go_over_http() {
    let emulator = github::start(Config::default()).await.expect("a port is free");
    let addr = emulator.addr;
    let token = json!({ "token": "other", "login": "hubot" });
    anonymous(addr, "POST", "/_emulator/tokens").json(token.clone()).expect(204).await;
    let user = || anonymous(addr, "GET", "/user").header("authorization", "Bearer other");
    assert_eq!(user().expect(200).await["login"], "hubot");
    anonymous(addr, "DELETE", "/_emulator/tokens").json(token).expect(204).await;
    user().expect(401).await;
    call(addr, "GET", "/user").expect(200).await;
}
