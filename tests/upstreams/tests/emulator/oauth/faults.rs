//! What goes wrong on demand.

use std::time::{Duration, Instant};

use executor_upstreams::oauth::browser;
use executor_upstreams::oauth::{Fault, FaultKind, Script};
use executor_upstreams::plain::Answer;
use tokio::time::timeout;

use super::{me, refresh, refused, signed_in, start, text};
use crate::client::{anonymous, parse};

#[tokio::test]
async fn a_fault_in_the_endpoints_stead_rotates_nothing() {
    let emulator = start(Script::default()).await;
    let first = signed_in(&emulator).await;
    let same = text(&first, "refresh_token");
    for (kind, status, holds) in [
        (FaultKind::status(500), 500, "asked to fail"),
        (FaultKind::retry_after(503, 2), 503, "{}"),
        (FaultKind::page(200), 200, "<!DOCTYPE html>"),
        (FaultKind::error(400, "invalid_client"), 400, "\"invalid_client\""),
        (FaultKind::error(200, "bad_verification_code"), 200, "\"bad_verification_code\""),
        (FaultKind::Instead(Answer::redirect(307, "http://127.0.0.1:9/")), 307, ""),
    ] {
        emulator.fault(Fault::token(kind));
        let reply = refresh(&emulator, same, &[]).send().await;
        assert_eq!(reply.status, status);
        assert!(reply.text().contains(holds), "{}", reply.text());
    }
    emulator.fault(Fault::token(FaultKind::retry_after(503, 2)));
    let reply = refresh(&emulator, same, &[]).send().await;
    assert_eq!(reply.header("retry-after"), Some("2"));
    emulator.fault(Fault::token(FaultKind::reset()));
    let (bytes, ended) = refresh(&emulator, same, &[]).raw().await;
    assert!(bytes.is_empty() && ended.is_err());
    refresh(&emulator, same, &[]).expect(200).await;
}

#[tokio::test]
async fn a_lost_answer_was_given() {
    let emulator = start(Script::default()).await;
    for kind in [FaultKind::Lost, FaultKind::Cut] {
        let first = signed_in(&emulator).await;
        emulator.fault(Fault::token(kind.clone()));
        let (bytes, ended) = refresh(&emulator, text(&first, "refresh_token"), &[]).raw().await;
        match kind {
            FaultKind::Lost => assert!(bytes.is_empty() && ended.is_err()),
            _ => assert!(bytes.starts_with(b"HTTP/1.1 200") && parse(&bytes).is_none()),
        }
        refused(refresh(&emulator, text(&first, "refresh_token"), &[]), 400, "invalid_grant").await;
        assert_eq!(me(&emulator, text(&first, "access_token")).await.status, 401);
    }
}

#[tokio::test]
async fn answers_are_slow_or_held_until_they_are_released() {
    let emulator = start(Script::default()).await;
    let answer = signed_in(&emulator).await;
    emulator.fault(Fault::token(FaultKind::Slow(Duration::from_millis(60))));
    let begun = Instant::now();
    let answer = refresh(&emulator, text(&answer, "refresh_token"), &[]).expect(200).await;
    assert!(begun.elapsed() >= Duration::from_millis(60));
    emulator.fault(Fault::token(FaultKind::Held).times(2));
    let mut held = Box::pin(refresh(&emulator, text(&answer, "refresh_token"), &[]).send());
    assert!(timeout(Duration::from_millis(50), &mut held).await.is_err());
    emulator.release();
    let answer = held.await.json();
    // What was released before does not release what is held later.
    let mut held = Box::pin(refresh(&emulator, text(&answer, "refresh_token"), &[]).send());
    assert!(timeout(Duration::from_millis(50), &mut held).await.is_err());
    emulator.release();
    assert_eq!(held.await.status, 200);
}

#[tokio::test]
async fn faults_take_the_requests_that_they_name() {
    let emulator = start(Script::default()).await;
    emulator.fault(Fault::new("GET", "/.well-known/**", FaultKind::status(502)).times(2));
    emulator.fault(Fault::new("*", "/limited", FaultKind::status(500)).always());
    for status in [502, 502, 200] {
        anonymous(emulator.addr, "GET", "/.well-known/oauth-authorization-server").expect(status).await;
    }
    anonymous(emulator.addr, "GET", "/limited").expect(500).await;
    anonymous(emulator.addr, "GET", "/limited").expect(500).await;
    emulator.clear_faults();
    anonymous(emulator.addr, "GET", "/limited").expect(429).await;
}

#[tokio::test]
async fn a_browser_carries_the_answer_to_the_client() {
    let emulator = start(Script::default()).await;
    // A client's own page: whatever it is asked for is echoed.
    let client = start(Script::default()).await;
    let challenge = super::challenge();
    let callback = format!("{}/echo", client.origin());
    let pairs = [
        ("response_type", "code"),
        ("client_id", executor_upstreams::oauth::PUBLIC_CLIENT),
        ("redirect_uri", callback.as_str()),
        ("state", "s"),
        ("code_challenge", challenge.as_str()),
        ("code_challenge_method", "S256"),
    ];
    let url = format!("{}/authorize?{}", emulator.origin(), super::encoded(&pairs));
    let page = browser::consent(&url).expect("the client's page");
    assert_eq!(page.status, 200);
    let arrived = &client.ledger.matching("GET", "/echo")[0];
    assert!(arrived.parameter("code").is_some() && arrived.parameter("state").as_deref() == Some("s"));
    let nowhere = browser::consent(&format!("{}/authorize", emulator.origin())).expect_err("no redirect");
    assert!(nowhere.to_string().contains("client_id is missing"), "{nowhere}");
    assert!(browser::open("https://127.0.0.1/").is_err());
}
