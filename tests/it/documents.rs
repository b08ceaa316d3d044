//! What people try to add as a source.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use executor_upstreams::plain::{self, Answer, Request, Routes};
use serde_json::json;

use crate::daemon::Daemon;
use crate::wire::Wire;

#[track_caller]
fn refused(daemon: &Daemon, name: &str, content: &[u8], expect: &[&str]) {
    let path = daemon.home().join(name);
    fs::write(&path, content).unwrap();
    let said = daemon.run(&["sources", "add", path.to_str().unwrap()]).fails(1);
    for word in expect {
        assert!(said.contains(word), "{name}: {word} is missing in {said}");
    }
    assert!(said.contains("hint:"), "{name}: it says what to do: {said}");
}

#[test]
fn what_is_no_description_is_named() {
    let daemon = Daemon::start();
    refused(&daemon, "page.html", b"<!doctype html><html><title>Sign in</title>", &["HTML"]);
    refused(&daemon, "empty.json", b"", &["empty"]);
    refused(&daemon, "cut.json", br#"{"openapi":"3.0.3","info":{"title":"x""#, &["line"]);
    refused(
        &daemon,
        "future.json",
        br#"{"openapi":"9.9.9","info":{"title":"x","version":"1"},"paths":{}}"#,
        &["9.9"],
    );
    refused(&daemon, "noise.bin", &[0xff; 2000], &["no adapter"]);
    let list = daemon.run(&["sources", "list", "--json"]).json();
    assert_eq!(list["items"], serde_json::json!([]), "nothing is left of them");
}

#[test]
fn a_document_that_is_too_large_is_refused_by_size() {
    let daemon = Daemon::start();
    let path = daemon.home().join("huge.json");
    let mut huge = br#"{"openapi":"3.0.3","info":{"title":"x","version":"1"},"paths":{},"x":""#.to_vec();
    huge.resize(100 * 1024 * 1024, b'a');
    huge.extend_from_slice(b"\"}");
    fs::write(&path, huge).unwrap();
    let said = daemon.run(&["sources", "add", path.to_str().unwrap()]).fails(1);
    assert!(said.contains("MiB"), "{said}");
}

#[test]
fn cycles_and_bombs_end() {
    let daemon = Daemon::start();
    let cyclic = br##"{"openapi":"3.0.3","info":{"title":"Cyclic","version":"1"},"servers":[{"url":"https://a.example"}],
        "paths":{"/x":{"post":{"operationId":"x/make","requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/A"}}}},
        "responses":{"200":{"description":"","content":{"application/json":{"schema":{"$ref":"#/components/schemas/A"}}}}}}}},
        "components":{"schemas":{"A":{"allOf":[{"$ref":"#/components/schemas/B"}]},"B":{"type":"object","properties":{"a":{"$ref":"#/components/schemas/A"}}}}}}"##;
    let path = daemon.home().join("cyclic.json");
    fs::write(&path, cyclic).unwrap();
    let added = daemon.run(&["sources", "add", path.to_str().unwrap(), "--json"]).json();
    assert_eq!(added["source"]["tool_count"], 1, "{added}");
    daemon.run(&["tools", "describe", "cyclic.x.make"]).ok();

    let mut bomb = String::from("a: &a [x,x,x,x,x,x,x,x,x]\n");
    for level in 1..12_u8 {
        let (now, before) = (char::from(b'a' + level), char::from(b'a' + level - 1));
        bomb.push_str(&format!("{now}: &{now} [{}]\n", vec![format!("*{before}"); 9].join(",")));
    }
    refused(&daemon, "bomb.yaml", bomb.as_bytes(), &[]);
    let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    refused(&daemon, "deep.json", deep.as_bytes(), &[]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_is_asked_for_again_where_its_person_said_and_the_key_of_that_is_shown_to_nobody() {
    let daemon = Daemon::start();
    let signature = AtomicUsize::new(0);
    let upstream = plain::start(move |request: &Request<'_>| match request.path {
        "/release" if request.query == "key=swordfish" => {
            let next = signature.fetch_add(1, Ordering::SeqCst) + 1;
            Answer::redirect(302, &format!("/signed?signature={next}"))
        }
        "/signed" if request.query == format!("signature={}", signature.fetch_add(1, Ordering::SeqCst)) => {
            let operation =
                json!({"operationId": "orders/list", "responses": {"200": {"description": "ok"}}});
            let document = json!({
                "openapi": "3.0.3", "info": {"title": "Shop", "version": "1"},
                "servers": [{"url": "/"}], "paths": {"/orders": {"get": operation}},
            });
            Answer::json(200, &document)
        }
        _ => Answer::text(403, "this link has expired"),
    })
    .await
    .unwrap();
    let host = upstream.origin().trim_start_matches("http://");
    let url = format!("{}/release?key=swordfish", upstream.origin());
    let added =
        daemon.run(&["sources", "add", &url, "--name", "shop", "--allow-host", host, "--json"]).json();
    let refreshed = daemon.run(&["sources", "refresh", "shop", "--json"]).json();
    let shown = daemon.run(&["sources", "show", "shop", "--json"]).json();
    let inspected = Wire::owner(&daemon).get("/v1/workspaces/default/sources/shop/inspection").json();
    let audit = daemon.run(&["audit", "search", "source", "--json"]).json();
    for said in [&added, &refreshed, &shown, &inspected, &audit] {
        assert!(!said.to_string().contains("swordfish") && !said.to_string().contains("signature"), "{said}");
    }
    let expect = format!("{}/release?…", upstream.origin());
    assert_eq!((&shown["document_url"], &inspected["document"]["url"]), (&json!(expect), &json!(expect)));
    assert_eq!(
        upstream.ledger.matching("GET", "/release").len(),
        2,
        "the link that had expired was not asked"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn urls_are_fetched_within_bounds() {
    let daemon = Daemon::start();
    let routes = Routes::new()
        .on(
            "GET",
            "/login",
            Answer::new(200, &[("content-type", "text/html")], "<html><form>password</form></html>"),
        )
        .on("GET", "/secret", Answer::text(401, "who are you"))
        .on("GET", "/loop", Answer::redirect(302, "/loop"))
        .on("GET", "/metadata", Answer::redirect(302, "http://169.254.169.254/latest"));
    let upstream = plain::start(routes.handler()).await.unwrap();
    let host = upstream.origin().trim_start_matches("http://").to_owned();
    let add = |path: &str, allow: bool| {
        let url = format!("{}{path}", upstream.origin());
        let mut arguments = vec!["sources", "add", &url];
        if allow {
            arguments.extend(["--allow-host", &host]);
        }
        daemon.run(&arguments).fails(if allow { 1 } else { 4 })
    };
    let said = add("/login", false);
    assert!(said.contains("loopback") && said.contains("--allow-host"), "{said}");
    assert!(add("/login", true).contains("HTML"));
    assert!(add("/secret", true).contains("401"));
    assert!(add("/loop", true).contains("redirects"));
    let url = format!("{}/metadata", upstream.origin());
    let said = daemon.run(&["sources", "add", &url, "--allow-host", &host]).fails(4);
    assert!(said.contains("169.254.169.254"), "{said}");
    let said = daemon.run(&["sources", "add", "https://user:password@a.example/openapi.json"]);
    assert_ne!(said.code(), 0);
    assert!(!said.stderr.contains("user:password"), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn references_are_read_from_the_documents_own_origin_and_from_those_that_were_named() {
    let daemon = Daemon::start();
    let schemas = r#"{"Thing":{"type":"object","properties":{"colour":{"enum":["red","blue"]}},"required":["colour"]}}"#;
    let elsewhere =
        plain::start(Routes::new().on("GET", "/shared.json", json_answer(schemas)).handler()).await.unwrap();
    let document = format!(
        r##"{{"openapi":"3.0.3","info":{{"title":"Split","version":"1"}},"paths":{{
            "/near":{{"post":{{"operationId":"near","requestBody":{{"content":{{"application/json":{{"schema":{{"$ref":"schemas.json#/Thing"}}}}}}}},"responses":{{"200":{{"description":"ok"}}}}}}}},
            "/far":{{"post":{{"operationId":"far","requestBody":{{"content":{{"application/json":{{"schema":{{"$ref":"{}/shared.json#/Thing"}}}}}}}},"responses":{{"200":{{"description":"ok"}}}}}}}}}}}}"##,
        elsewhere.origin()
    );
    let routes = Routes::new().on("GET", "/api/openapi.json", json_answer(&document)).on(
        "GET",
        "/api/schemas.json",
        json_answer(schemas),
    );
    let upstream = plain::start(routes.handler()).await.unwrap();
    let hosts = [&upstream, &elsewhere].map(|one| one.origin().trim_start_matches("http://").to_owned());
    let add = |name: &str, more: &[&str]| {
        let url = format!("{}/api/openapi.json", upstream.origin());
        let allowed = ["--allow-host", &hosts[0], "--allow-host", &hosts[1]];
        daemon.run(&[&["sources", "add", &url, "--name", name][..], &allowed, more].concat()).ok();
        daemon.run(&["sources", "show", name, "--json"]).json()["warnings"].to_string()
    };
    let near = add("own", &[]);
    assert!(near.contains("reference_origins") && !near.contains("schemas.json"), "{near}");
    assert!(
        daemon.run(&["tools", "describe", "own.near.near"]).ok().contains("red"),
        "its own reference was read"
    );
    let named = format!("reference_origins=[\"{}\"]", elsewhere.origin());
    let far = add("named", &["--set", &named]);
    assert!(!far.contains("reference_origins"), "{far}");
    assert!(daemon.run(&["tools", "describe", "named.far.far"]).ok().contains("red"), "{far}");
}

fn json_answer(text: &str) -> Answer {
    Answer::new(200, &[("content-type", "application/json")], text)
}
