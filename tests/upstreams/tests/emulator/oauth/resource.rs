//! The protected resource.

use executor_upstreams::oauth::Script;
use serde_json::json;

use super::{me, signed_in, start, text};
use crate::client::{Reply, anonymous};
use executor_upstreams::oauth::Emulator;

async fn post_item(emulator: &Emulator, access: &str) -> Reply {
    let call = anonymous(emulator.addr, "POST", "/items").json(json!({ "name": "one" }));
    call.header("authorization", &format!("Bearer {access}")).send().await
}

#[tokio::test]
async fn without_a_token_comes_a_challenge() {
    let emulator = start(Script::default()).await;
    let reply = anonymous(emulator.addr, "GET", "/items").send().await;
    let metadata = format!("{}/.well-known/oauth-protected-resource", emulator.origin());
    let expect = format!("Bearer realm=\"emulator\", scope=\"items:read\", resource_metadata=\"{metadata}\"");
    assert_eq!((reply.status, reply.header("www-authenticate")), (401, Some(expect.as_str())));
    emulator.change(|script| script.protected.by_path = true);
    let reply = anonymous(emulator.addr, "GET", "/items").send().await;
    assert!(reply.header("www-authenticate").expect("a challenge").contains(&format!("{metadata}/items\"")));
    emulator.change(|script| {
        script.protected.names_metadata = false;
        script.protected.names_scope = false;
    });
    let reply = anonymous(emulator.addr, "GET", "/items").send().await;
    assert_eq!(reply.header("www-authenticate"), Some("Bearer realm=\"emulator\""));
    emulator.change(|script| {
        script.protected.challenge = Some("Bearer resource_metadata=\"file:///x\"".to_owned())
    });
    let reply = anonymous(emulator.addr, "GET", "/items").send().await;
    assert_eq!(reply.header("www-authenticate"), Some("Bearer resource_metadata=\"file:///x\""));
}

#[tokio::test]
async fn tokens_that_are_no_more_are_refused() {
    let emulator = start(Script::default()).await;
    let answer = signed_in(&emulator).await;
    let access = text(&answer, "access_token");
    let check = async |access: &str, why: &str| {
        let reply = me(&emulator, access).await;
        assert_eq!(reply.status, 401);
        assert!(reply.text().contains(why), "{}", reply.text());
        assert!(reply.header("www-authenticate").expect("a challenge").contains("error=\"invalid_token\""));
    };
    check("unknown", "is unknown").await;
    emulator.advance(3599);
    assert_eq!(me(&emulator, access).await.status, 200);
    emulator.advance(2);
    check(access, "has expired").await;
    let given = emulator.give_token(&["items:read"]);
    assert_eq!(me(&emulator, &given).await.status, 200);
    assert!(emulator.revoke(&given) && !emulator.revoke("unknown"));
    check(&given, "was revoked").await;
    let given = emulator.give_token(&[]);
    emulator.revoke_access();
    check(&given, "was revoked").await;
}

#[tokio::test]
async fn scopes_that_are_missing_are_named() {
    let emulator = start(Script::default()).await;
    let refused = post_item(&emulator, &emulator.give_token(&["items:read"])).await;
    assert_eq!(refused.status, 403);
    let challenge = refused.header("www-authenticate").expect("a challenge");
    assert!(challenge.contains("error=\"insufficient_scope\", scope=\"items:write\""), "{challenge}");
    assert!(emulator.items().is_empty());
    let writer = emulator.give_token(&["items:write"]);
    assert_eq!(post_item(&emulator, &writer).await.status, 201);
    assert_eq!(emulator.items(), ["one"]);
}
