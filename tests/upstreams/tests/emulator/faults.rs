//! What goes wrong on demand.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::time::{Duration, Instant};

use executor_upstreams::github::{self, Config, Emulator, Fault, FaultKind, TOKEN};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::client::{Reply, call, parse};

async fn with(kind: FaultKind) -> Emulator {
    let emulator = github::start(Config::default()).await.expect("a port is free");
    emulator.fault(Fault::new("GET", "/user", kind));
    emulator
}

async fn reply_to(kind: FaultKind) -> Reply {
    let emulator = with(kind).await;
    let reply = call(emulator.addr, "GET", "/user").send().await;
    // It takes one request and no more.
    call(emulator.addr, "GET", "/user").expect(200).await;
    reply
}

#[tokio::test]
async fn statuses_come_with_their_headers() {
    let reply = reply_to(FaultKind::TooManyRequests { retry_after_seconds: 7 }).await;
    assert_eq!((reply.status, reply.header("retry-after")), (429, Some("7")));
    let reply = reply_to(FaultKind::RateLimitExceeded { reset_after_seconds: 60 }).await;
    assert_eq!((reply.status, reply.header("x-ratelimit-remaining")), (403, Some("0")));
    let reply = reply_to(FaultKind::BadCredentials).await;
    assert_eq!((reply.status, reply.json()["status"].as_str()), (401, Some("401")));
    assert_eq!(reply_to(FaultKind::Forbidden).await.status, 403);
    let reply = reply_to(FaultKind::ServerError).await;
    assert_eq!((reply.status, reply.json()["message"].as_str()), (500, Some("Server Error")));
    let reply = reply_to(FaultKind::BadGatewayPage).await;
    assert_eq!((reply.status, reply.header("content-type")), (502, Some("text/html")));
    let location = "http://other.example/x?y=1";
    let kind = FaultKind::Redirect { status: 302, location: location.to_owned() };
    let reply = reply_to(kind).await;
    assert_eq!((reply.status, reply.header("location")), (302, Some(location)));
    let headers = BTreeMap::from([("x-a".to_owned(), "b".to_owned())]);
    let reply = reply_to(FaultKind::Answer { status: 418, headers, body: "tea".to_owned() }).await;
    assert_eq!((reply.status, reply.header("x-a"), reply.text().as_str()), (418, Some("b"), "tea"));
}

#[tokio::test]
async fn the_authorization_is_echoed() {
    let reply = reply_to(FaultKind::EchoAuthorization).await;
    let sent = format!("Bearer {TOKEN}");
    assert_eq!(reply.header("x-echo-authorization"), Some(sent.as_str()));
    assert_eq!(reply.json()["authorization"], sent);
}

#[tokio::test]
async fn a_fault_in_the_operations_stead_changes_nothing() {
    let emulator = github::start(Config::default()).await.expect("a port is free");
    let star = "/user/starred/octocat/hello-world";
    emulator.fault(Fault::new("PUT", "/user/starred/**", FaultKind::ServerError).times(2));
    call(emulator.addr, "PUT", star).expect(500).await;
    call(emulator.addr, "PUT", star).expect(500).await;
    call(emulator.addr, "GET", star).expect(404).await;
    call(emulator.addr, "PUT", star).expect(204).await;
    assert_eq!(emulator.ledger.matching("PUT", star).len(), 3);
}

#[tokio::test]
async fn a_spoiled_answer_was_an_operation() {
    let emulator = github::start(Config::default()).await.expect("a port is free");
    let star = "/user/starred/octocat/hello-world";
    emulator.fault(Fault::new("PUT", star, FaultKind::SlowHeaders { delay_ms: 60 }));
    let begun = Instant::now();
    call(emulator.addr, "PUT", star).expect(204).await;
    assert!(begun.elapsed() >= Duration::from_millis(60));
    call(emulator.addr, "GET", star).expect(204).await;
}

#[tokio::test]
async fn slow_bodies_arrive_piece_by_piece() {
    let emulator = with(FaultKind::SlowBody { delay_ms: 30, pieces: 4 }).await;
    let begun = Instant::now();
    let slow = call(emulator.addr, "GET", "/user").send().await;
    assert!(begun.elapsed() >= Duration::from_millis(90));
    let whole = call(emulator.addr, "GET", "/user").send().await;
    assert_eq!(slow.text(), whole.text());
}

#[tokio::test]
async fn truncated_bodies_end_in_order_and_too_early() {
    let emulator = with(FaultKind::TruncatedBody).await;
    let (bytes, ended) = call(emulator.addr, "GET", "/user").raw().await;
    ended.expect("the connection ends in order");
    assert!(parse(&bytes).is_none());
    let text = String::from_utf8_lossy(&bytes);
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.1 200"));
    let whole = call(emulator.addr, "GET", "/user").send().await.text();
    assert_eq!(body, &whole[..whole.len() / 2]);
    assert!(head.contains(&format!("content-length: {}", whole.len())));
}

#[tokio::test]
async fn connections_are_reset() {
    let emulator = with(FaultKind::Reset).await;
    let (bytes, ended) = call(emulator.addr, "GET", "/user").raw().await;
    let kind = ended.expect_err("a reset").kind();
    assert_eq!((bytes.len(), kind), (0, std::io::ErrorKind::ConnectionReset));
    let emulator = with(FaultKind::ResetMidBody).await;
    let (bytes, ended) = call(emulator.addr, "GET", "/user").raw().await;
    assert_eq!(ended.expect_err("a reset").kind(), std::io::ErrorKind::ConnectionReset);
    assert!(bytes.starts_with(b"HTTP/1.1 200"));
    assert!(parse(&bytes).is_none());
}

#[tokio::test]
async fn some_bodies_never_end() {
    for (kind, least_bytes) in [(FaultKind::EndlessBody, 8 * 1024 * 1024), (FaultKind::StalledBody, 100)] {
        let emulator = with(kind).await;
        let mut stream = TcpStream::connect(emulator.addr).await.expect("it listens");
        stream.write_all(b"GET /user HTTP/1.1\r\nhost: h\r\n\r\n").await.expect("it reads");
        let mut read = 0;
        let mut buffer = vec![0; 64 * 1024];
        while read < least_bytes {
            let count = stream.read(&mut buffer).await.expect("it goes on");
            assert!(count > 0);
            read += count;
        }
    }
    let emulator = with(FaultKind::StalledBody).await;
    let stalled = call(emulator.addr, "GET", "/user").raw();
    assert!(timeout(Duration::from_millis(100), stalled).await.is_err());
}

#[tokio::test]
async fn a_bomb_expands() {
    let reply = reply_to(FaultKind::GzipBomb { bytes: 32 << 20 }).await;
    assert_eq!(reply.header("content-encoding"), Some("gzip"));
    assert!(reply.body.len() < 64 * 1024, "{} bytes", reply.body.len());
    let mut decoder = flate2::read::GzDecoder::new(&reply.body[..]);
    let expanded = std::io::copy(&mut decoder.by_ref(), &mut std::io::sink()).expect("gzip");
    assert_eq!(expanded, (32 << 20) + 2);
}

#[tokio::test]
async fn broken_json_is_whole_as_http() {
    let reply = reply_to(FaultKind::InvalidJson).await;
    assert_eq!(reply.status, 200);
    assert!(serde_json::from_slice::<serde_json::Value>(&reply.body).is_err());
}
