//! The plain upstream.

use std::time::{Duration, Instant};

use executor_upstreams::ledger::Keep;
use executor_upstreams::plain::{self, Answer, Config, Routes, Upstream};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::client::{anonymous, parse};

async fn upstream(path: &str, answer: Answer) -> Upstream {
    plain::start(Routes::new().on("*", path, answer).handler()).await.expect("a port is free")
}

#[tokio::test]
async fn a_handler_sees_the_request_and_the_ledger_keeps_it() {
    let upstream = plain::start(|request| {
        let body = String::from_utf8_lossy(request.body).into_owned();
        let accept = request.header("ACCEPT").map(|value| String::from_utf8_lossy(value).into_owned());
        let seen =
            json!({ "method": request.method, "query": request.query, "body": body, "accept": accept });
        Answer::json(200, &seen)
    });
    let upstream = upstream.await.expect("a port is free");
    let put = anonymous(upstream.addr, "PUT", "/a?b=c").header("Accept", "*/*").body("text");
    let seen = put.expect(200).await;
    assert_eq!(seen, json!({ "method": "PUT", "query": "b=c", "body": "text", "accept": "*/*" }));
    let entry = &upstream.ledger.matching("PUT", "/a")[0];
    assert_eq!((&entry.body[..], entry.header("accept")), (&b"text"[..], Some("*/*")));
}

#[tokio::test]
async fn requests_follow_one_another_on_a_connection() {
    let upstream = upstream("/a", Answer::text(200, "hello")).await;
    let mut stream = TcpStream::connect(upstream.addr).await.expect("it listens");
    let requests = "HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n\
        POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n\
        GET /b HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    // In small writes, so that no request arrives in one.
    for piece in requests.as_bytes().chunks(7) {
        stream.write_all(piece).await.expect("it reads");
        tokio::task::yield_now().await;
    }
    let mut all = String::new();
    stream.read_to_string(&mut all).await.expect("it answers");
    assert_eq!(all.matches("HTTP/1.1 200 OK").count(), 2);
    assert_eq!(all.matches("hello").count(), 1);
    assert!(all.ends_with("no such route"));
    let bodies: Vec<_> = upstream.ledger.entries().iter().map(|one| one.body.clone()).collect();
    assert_eq!(bodies, ["", "abc", ""]);
}

#[tokio::test]
async fn redirects_and_floods_of_headers() {
    let routes = Routes::new().on("GET", "/go", Answer::redirect(307, "http://other.example/")).on(
        "GET",
        "/flood",
        Answer::headers_flood(100_000),
    );
    let upstream = plain::start(routes.handler()).await.expect("a port is free");
    let go = anonymous(upstream.addr, "GET", "/go").send().await;
    assert_eq!((go.status, go.header("location")), (307, Some("http://other.example/")));
    let flood = anonymous(upstream.addr, "GET", "/flood").send().await;
    assert_eq!(flood.headers.len(), 100_002);
    assert_eq!(flood.header("x-flood-99999"), Some("99999"));
    assert_eq!(flood.text(), "{}");
}

#[tokio::test]
async fn huge_and_endless_bodies_stream() {
    let huge = upstream("/", Answer::filled(50_000_001)).await;
    assert_eq!(anonymous(huge.addr, "GET", "/").send().await.body.len(), 50_000_001);
    let endless = upstream("/", Answer::endless()).await;
    let mut stream = TcpStream::connect(endless.addr).await.expect("it listens");
    stream.write_all(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n").await.expect("it reads");
    let mut taken = vec![0; 20_000_000];
    stream.read_exact(&mut taken).await.expect("it goes on");
}

#[tokio::test]
async fn slow_answers_wait() {
    let answer = Answer::text(200, "0123456789");
    let late = upstream("/", answer.clone().after(Duration::from_millis(50))).await;
    let begun = Instant::now();
    assert_eq!(anonymous(late.addr, "GET", "/").send().await.text(), "0123456789");
    assert!(begun.elapsed() >= Duration::from_millis(50));
    let drip = upstream("/", answer.dripping(20, Duration::from_millis(10))).await;
    let begun = Instant::now();
    assert_eq!(anonymous(drip.addr, "GET", "/").send().await.text(), "0123456789");
    assert!(begun.elapsed() >= Duration::from_millis(40));
}

#[tokio::test]
async fn answers_break_where_they_are_told_to() {
    let answer = Answer::text(200, "0123456789");
    let cut = upstream("/", answer.clone().cut_after(4)).await;
    let (bytes, ended) = anonymous(cut.addr, "GET", "/").raw().await;
    ended.expect("the connection ends in order");
    assert!(bytes.ends_with(b"\r\n\r\n0123") && parse(&bytes).is_none());
    let reset = upstream("/", answer.reset_after(4)).await;
    let (bytes, ended) = anonymous(reset.addr, "GET", "/").raw().await;
    assert_eq!(ended.expect_err("a reset").kind(), std::io::ErrorKind::ConnectionReset);
    assert!(bytes.ends_with(b"\r\n\r\n0123"));
    let reset = upstream("/", Answer::reset()).await;
    let (bytes, ended) = anonymous(reset.addr, "GET", "/").raw().await;
    assert!(bytes.is_empty() && ended.is_err());
    let silent = upstream("/", Answer::silence()).await;
    let call = anonymous(silent.addr, "GET", "/").raw();
    assert!(timeout(Duration::from_millis(50), call).await.is_err());
    let raw = upstream("/", Answer::raw("HTTP/1.1 200 OK\r\nbad header\r\n\r\n")).await;
    let (bytes, _) = anonymous(raw.addr, "GET", "/").raw().await;
    assert!(bytes.ends_with(b"bad header\r\n\r\n"));
}

#[tokio::test]
async fn what_is_no_http_is_refused() {
    let upstream = upstream("/", Answer::text(200, "")).await;
    for (sent, status) in [
        ("nonsense\r\n\r\n".to_owned(), 400),
        (format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(300)), 431),
        ("PUT / HTTP/1.1\r\ncontent-length: 999999999999\r\n\r\n".to_owned(), 413),
        ("PUT / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n".to_owned(), 400),
    ] {
        let mut stream = TcpStream::connect(upstream.addr).await.expect("it listens");
        stream.write_all(sent.as_bytes()).await.expect("it reads");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.expect("it answers");
        assert_eq!(parse(&answer).map(|reply| reply.status), Some(status));
    }
    assert_eq!(upstream.ledger.count(), 0);
}

#[tokio::test]
async fn a_counting_ledger_counts() {
    let config = Config { keep: Keep::Count, ..Config::default() };
    let handler = Routes::new().on("GET", "/", Answer::text(200, "")).handler();
    let upstream = plain::start_with(config, handler).await.expect("a port is free");
    anonymous(upstream.addr, "GET", "/").send().await;
    assert_eq!((upstream.ledger.count(), upstream.ledger.entries().len()), (1, 0));
}

#[test]
fn a_blocked_runtime_does_not_block_the_upstream() {
    use std::io::{Read as _, Write as _};
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let upstream = upstream("/", Answer::text(200, "hello")).await;
        let mut stream = std::net::TcpStream::connect(upstream.addr).expect("it listens");
        stream.write_all(b"GET / HTTP/1.1\r\nconnection: close\r\n\r\n").expect("it reads");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("it answers");
        assert!(text.ends_with("hello"));
    });
}
