//! What is the same for every operation: tokens, pages, tags, encodings.

use std::io::Read as _;

use executor_upstreams::github::{self, Config, TOKEN};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::client::{anonymous, call};

const ISSUES: &str = "/repos/octocat/hello-world/issues";

#[tokio::test]
async fn tokens_are_checked() {
    let emulator = github::start(Config::default()).await.expect("a port is free");
    let addr = emulator.addr;
    let user = call(addr, "GET", "/user").expect(200).await;
    assert_eq!(user["login"], "octocat");
    let refused = anonymous(addr, "GET", "/user").header("authorization", "Bearer wrong").expect(401).await;
    assert_eq!(refused["message"], "Bad credentials");
    assert_eq!(refused["status"], "401");
    anonymous(addr, "GET", "/zen").header("authorization", "Bearer wrong").expect(401).await;
    anonymous(addr, "GET", "/user").expect(401).await;
    anonymous(addr, "GET", "/users/octocat").expect(200).await;
    emulator.revoke_token(TOKEN);
    call(addr, "GET", "/user").expect(401).await;
    emulator.allow_token(TOKEN, "hubot");
    assert_eq!(call(addr, "GET", "/user").expect(200).await["login"], "hubot");
}

#[tokio::test]
async fn a_token_may_be_required() {
    let config = Config { require_token: true, ..Config::default() };
    let emulator = github::start(config).await.expect("a port is free");
    let refused = anonymous(emulator.addr, "GET", "/users/octocat").expect(401).await;
    assert_eq!(refused["message"], "Requires authentication");
    call(emulator.addr, "GET", "/users/octocat").expect(200).await;
}

#[tokio::test]
async fn pages_are_linked_both_ways_to_the_end() {
    let emulator = github::start(Config::default()).await.expect("a port is free");
    let origin = emulator.origin().to_owned();
    let mut target = format!("{ISSUES}?state=all&per_page=20");
    let mut numbers = Vec::new();
    let mut pages = 0;
    loop {
        let reply = call(emulator.addr, "GET", &target).send().await;
        let page = reply.json();
        numbers.extend(page.as_array().expect("a list").iter().map(|one| one["number"].as_u64()));
        pages += 1;
        let link = reply.header("link").expect("there is more than one page").to_owned();
        assert_eq!(link.contains("rel=\"prev\""), pages > 1);
        let next = link.split(", ").find(|one| one.ends_with("rel=\"next\""));
        let Some(next) = next else { break };
        let url = next.trim_start_matches('<').split('>').next().expect("a URL");
        target = url.strip_prefix(&origin).expect("the emulator's own origin").to_owned();
    }
    assert_eq!(pages, 3);
    let expected: Vec<_> = (1..=47).rev().map(Some).collect();
    assert_eq!(numbers, expected);
    let beyond = call(emulator.addr, "GET", &format!("{ISSUES}?page=99")).send().await;
    assert_eq!(beyond.json(), json!([]));
    let short = call(emulator.addr, "GET", "/user/repos").send().await;
    assert_eq!(short.header("link"), None);
}

#[tokio::test]
async fn rates_are_counted_down_and_enforced() {
    let config = Config { rate_limit: 2, ..Config::default() };
    let emulator = github::start(config).await.expect("a port is free");
    let addr = emulator.addr;
    let first = call(addr, "GET", "/user").send().await;
    assert_eq!(first.header("x-ratelimit-limit"), Some("2"));
    assert_eq!(first.header("x-ratelimit-remaining"), Some("1"));
    call(addr, "GET", "/user").expect(200).await;
    let over = call(addr, "GET", "/user").send().await;
    assert_eq!(over.status, 403);
    assert_eq!(over.header("x-ratelimit-remaining"), Some("0"));
    assert!(over.text().contains("API rate limit exceeded"));
    let rate = anonymous(addr, "GET", "/rate_limit").expect(200).await;
    assert_eq!(rate["resources"]["core"]["remaining"], 2);
    anonymous(addr, "GET", "/users/octocat").expect(200).await;
}

#[tokio::test]
async fn unchanged_answers_are_304_and_changed_ones_not() {
    let emulator = github::start(Config::default()).await.expect("a port is free");
    let addr = emulator.addr;
    let one = format!("{ISSUES}/1");
    let tag = call(addr, "GET", &one).send().await.header("etag").map(str::to_owned).expect("a tag");
    let again = call(addr, "GET", &one).header("if-none-match", &tag).send().await;
    assert_eq!((again.status, again.body.len()), (304, 0));
    call(addr, "PATCH", &one).json(json!({ "title": "Other" })).expect(200).await;
    let changed = call(addr, "GET", &one).header("if-none-match", &tag).send().await;
    assert_eq!(changed.status, 200);
}

#[tokio::test]
async fn bodies_are_compressed_where_that_is_taken() {
    let emulator = github::start(Config::default()).await.expect("a port is free");
    let plain = call(emulator.addr, "GET", "/user").send().await;
    assert_eq!(plain.header("content-encoding"), None);
    let packed = call(emulator.addr, "GET", "/user").header("accept-encoding", "gzip").send().await;
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    let mut text = String::new();
    flate2::read::GzDecoder::new(&packed.body[..]).read_to_string(&mut text).expect("gzip");
    assert_eq!(text, plain.text());
}

#[tokio::test]
async fn the_document_is_served_unchanged() {
    let document = br#"{ "openapi":"3.0.3" , "x": [1,  2] }"#.repeat(100);
    let config = Config { document: Some(document.clone().into()), require_token: true, ..Config::default() };
    let emulator = github::start(config).await.expect("a port is free");
    let reply = anonymous(emulator.addr, "GET", "/openapi.json").send().await;
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(reply.body, document);
    let packed =
        anonymous(emulator.addr, "GET", "/openapi.json").header("accept-encoding", "gzip").send().await;
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(&packed.body[..]).read_to_end(&mut bytes).expect("gzip");
    assert_eq!(bytes, document);
    let tag = packed.header("etag").expect("a tag").to_owned();
    let again = anonymous(emulator.addr, "GET", "/openapi.json").header("if-none-match", &tag).send().await;
    assert_eq!(again.status, 304);
    let without = github::start(Config::default()).await.expect("a port is free");
    anonymous(without.addr, "GET", "/openapi.json").expect(404).await;
}

#[tokio::test]
async fn some_answers_are_text() {
    let emulator = github::start(Config::default()).await.expect("a port is free");
    let zen = call(emulator.addr, "GET", "/zen").send().await;
    assert_eq!(zen.header("content-type"), Some("text/plain;charset=utf-8"));
    assert!(!zen.text().is_empty());
    let cat = call(emulator.addr, "GET", "/octocat?s=Hello%20there").send().await;
    assert_eq!(cat.header("content-type"), Some("application/octocat-stream"));
    assert!(cat.text().contains("Hello there"));
}

#[tokio::test]
async fn the_ledger_says_what_arrived_and_over_which_connection() {
    let emulator = github::start(Config::default()).await.expect("a port is free");
    let mut stream = TcpStream::connect(emulator.addr).await.expect("it listens");
    let two = "POST /gists?a=%20b HTTP/1.1\r\nHost: h\r\nX-Two: 1\r\nX-Two: 2\r\nTransfer-Encoding: chunked\r\n\r\n\
        3\r\nabc\r\n0\r\n\r\nGET /zen HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    stream.write_all(two.as_bytes()).await.expect("it reads");
    stream.read_to_end(&mut Vec::new()).await.expect("it answers");
    anonymous(emulator.addr, "GET", "/zen").send().await;
    let entries = emulator.ledger.entries();
    let seen: Vec<_> = entries.iter().map(|one| (one.sequence, one.connection, one.path.as_str())).collect();
    assert_eq!(seen, [(1, 1, "/gists"), (2, 1, "/zen"), (3, 2, "/zen")]);
    assert_eq!(&entries[0].body[..], b"abc");
    assert_eq!(entries[0].query, "a=%20b");
    let twice = entries[0].headers.iter().filter(|(name, _)| name == "x-two").count();
    assert_eq!(twice, 2);
}

#[tokio::test]
async fn dropping_an_emulator_ends_it() {
    let emulator = github::start(Config::default()).await.expect("a port is free");
    let addr = emulator.addr;
    let mut held = TcpStream::connect(addr).await.expect("it listens");
    held.write_all(b"GET /zen HTTP/1.1\r\nHost: h\r\n\r\n").await.expect("it reads");
    let mut answer = [0; 16];
    held.read_exact(&mut answer).await.expect("it answers");
    drop(emulator);
    let mut rest = Vec::new();
    let _ = held.read_to_end(&mut rest).await;
    assert!(TcpStream::connect(addr).await.is_err());
}
