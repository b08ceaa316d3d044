//! The device flow.

use executor_upstreams::oauth::{PUBLIC_CLIENT, Poll, Script};
use serde_json::Value;

use super::{me, post, refused, start, text, token};
use crate::client::{Call, anonymous};
use executor_upstreams::oauth::Emulator;

const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

async fn begin(emulator: &Emulator) -> Value {
    let pairs = [("client_id", PUBLIC_CLIENT), ("scope", "device:read")];
    post(emulator, "/device_authorization", &pairs).expect(200).await
}

fn ask(emulator: &Emulator, begun: &Value) -> Call {
    let code = text(begun, "device_code");
    token(emulator, &[("grant_type", GRANT), ("client_id", PUBLIC_CLIENT), ("device_code", code)])
}

#[tokio::test]
async fn a_device_waits_for_its_person() {
    let emulator = start(Script::default()).await;
    let begun = begin(&emulator).await;
    assert_eq!((begun["interval"].as_i64(), begun["expires_in"].as_i64()), (Some(1), Some(600)));
    let complete = format!("{}?user_code={}", text(&begun, "verification_uri"), text(&begun, "user_code"));
    assert_eq!(text(&begun, "verification_uri_complete"), complete);
    refused(ask(&emulator, &begun), 400, "authorization_pending").await;
    assert!(emulator.approve_device(text(&begun, "user_code")));
    let answer = ask(&emulator, &begun).expect(200).await;
    let who = me(&emulator, text(&answer, "access_token")).await.json();
    assert_eq!((text(&who, "grant"), &who["scopes"][0]), ("device_code", &"device:read".into()));
    refused(ask(&emulator, &begun), 400, "invalid_grant").await;
    assert!(!emulator.approve_device("NO-SUCH"));
}

#[tokio::test]
async fn a_device_is_refused() {
    let emulator = start(Script::default()).await;
    let begun = begin(&emulator).await;
    assert!(emulator.deny_device(text(&begun, "user_code")));
    refused(ask(&emulator, &begun), 400, "access_denied").await;
    let begun = begin(&emulator).await;
    emulator.advance(601);
    refused(ask(&emulator, &begun), 400, "expired_token").await;
    let bad = post(&emulator, "/device_authorization", &[("client_id", "nobody")]);
    refused(bad, 401, "invalid_client").await;
    let bad = [("client_id", PUBLIC_CLIENT), ("scope", "unknown")];
    refused(post(&emulator, "/device_authorization", &bad), 400, "invalid_scope").await;
}

#[tokio::test]
async fn polls_are_answered_from_the_script_first() {
    let emulator = start(Script::default()).await;
    emulator.change(|script| {
        script.devices.polls.extend([
            Poll::Pending,
            Poll::SlowDown,
            Poll::Denied,
            Poll::Expired,
            Poll::Approved,
        ]);
        script.devices.interval_s = None;
        script.devices.complete = false;
    });
    let begun = begin(&emulator).await;
    assert_eq!((begun.get("interval"), begun.get("verification_uri_complete")), (None, None));
    for error in ["authorization_pending", "slow_down", "access_denied", "expired_token"] {
        refused(ask(&emulator, &begun), 400, error).await;
    }
    ask(&emulator, &begun).expect(200).await;
}

#[tokio::test]
async fn who_asks_too_often_is_slowed_down() {
    let emulator = start(Script::default().with(|script| {
        script.devices.enforces_interval = true;
        script.devices.interval_s = Some(10);
    }))
    .await;
    let begun = begin(&emulator).await;
    refused(ask(&emulator, &begun), 400, "authorization_pending").await;
    refused(ask(&emulator, &begun), 400, "slow_down").await;
    // Ten seconds were enough before; now it takes fifteen.
    emulator.advance(11);
    refused(ask(&emulator, &begun), 400, "slow_down").await;
    emulator.advance(21);
    refused(ask(&emulator, &begun), 400, "authorization_pending").await;
}

#[tokio::test]
async fn a_page_asks_the_person() {
    let emulator = start(Script::default()).await;
    let begun = begin(&emulator).await;
    let page = anonymous(emulator.addr, "GET", "/device").send().await;
    assert!(page.text().contains("name=user_code"));
    let answer =
        |user_code, answer| post(&emulator, "/device", &[("user_code", user_code), ("answer", answer)]);
    refused(answer("NO-SUCH", "yes"), 400, "invalid_request").await;
    assert_eq!(answer(text(&begun, "user_code"), "yes").send().await.status, 200);
    ask(&emulator, &begun).expect(200).await;
}
