//! The HTTP API as other programs meet it: who may do what, lists, keys,
//! events, and what a source was made of.

use serde_json::{Value, json};

use crate::daemon::{Daemon, TOKEN, emulator};
use crate::wire::{Wire, next_event};

const RUN: &str = "/v1/workspaces/default/executions";

fn new_token(daemon: &Daemon, body: &Value) -> String {
    let added = Wire::owner(daemon).post("/v1/tokens", body);
    assert_eq!(added.status, 201, "{added:?}");
    added.json()["secret"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_may_do_what_it_was_made_for_and_nothing_else() {
    let (daemon, emulator) = (Daemon::start(), emulator().await);
    daemon.add_github(&emulator);
    let secret = new_token(&daemon, &json!({"name": "claude", "toolkit": ["github.issues.*", "github.zen"]}));
    let client = Wire::with(&daemon, Some(&secret));

    let page = client.get("/v1/workspaces/default/tools?limit=500").json();
    let total = page["total"].as_u64().unwrap();
    assert!(total > 10 && total < 200, "{total} tools of 1,223 are in the toolkit");
    assert_eq!(client.get("/v1/workspaces/default/tools/github.repos.get").refused(404), "tool-not-found");
    let outside = client.post(
        "/v1/workspaces/default/tools/github.repos.get/call",
        &json!({"args": {"owner": "octocat", "repo": "hello-world"}}),
    );
    assert_eq!(outside.json()["error"]["code"], "denied", "{outside:?}");
    let program = "return await tools.github.repos.get({owner: 'octocat', repo: 'hello-world'}, {raw: true})";
    let run = client.post(RUN, &json!({"code": program})).json();
    assert_eq!(run["result"]["error"]["code"], "denied", "{run}");
    assert!(emulator.ledger.matching("GET", "/repos/octocat/hello-world").is_empty());

    for (method, path) in [
        ("GET", "/v1/tokens"),
        ("GET", "/v1/workspaces/default/audit"),
        ("GET", "/v1/workspaces/default/connections"),
        ("POST", "/v1/workspaces/default/policies"),
        ("DELETE", "/v1/workspaces/default/sources/github"),
        ("POST", "/v1/shutdown"),
        ("GET", "/v1/events"),
        ("POST", "/v1/events/tickets"),
    ] {
        assert_eq!(client.send(method, path, &[], None).refused(403), "not-allowed", "{method} {path}");
    }

    let owners = Wire::owner(&daemon).post(RUN, &json!({"code": "return 'of the owner'"})).json();
    let theirs = format!("{RUN}/{}", owners["id"].as_str().unwrap());
    assert_eq!(client.get(&theirs).refused(404), "not-found");
    assert_eq!(client.send("POST", &format!("{theirs}/rerun"), &[], None).refused(404), "not-found");
    let listed = client.get(RUN).json();
    assert!(listed["items"].as_array().unwrap().iter().all(|item| item["client"] == "claude"), "{listed}");

    let written = client.post(
        RUN,
        &json!({"code": "return await tools.github.issues.create({owner: 'octocat', repo: 'hello-world', body: {title: 'x'}})"}),
    );
    assert_eq!(written.status, 202, "{written:?}");
    let id = written.json()["id"].as_str().unwrap().to_owned();
    let accept = json!({"action": "accept"});
    assert_eq!(client.post(&format!("{RUN}/{id}/resume"), &accept).refused(403), "approval-not-yours");
    let accepted = Wire::owner(&daemon).post(&format!("{RUN}/{id}/resume"), &accept);
    assert_eq!(accepted.json()["status"], "completed", "{accepted:?}");
    assert_eq!(accepted.json()["client"], "claude", "what it did is done in its own name");

    daemon.run(&["tokens", "revoke", "claude"]).ok();
    assert_eq!(client.get("/v1/workspaces/default/tools").refused(401), "unauthorized");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_does_it_once() {
    let daemon = Daemon::start();
    let owner = Wire::owner(&daemon);
    let keyed = |path: &str, key: &str, body: Value| {
        owner.send("POST", path, &[("idempotency-key", key)], Some(&body))
    };
    let code = json!({"code": "return Math.random()"});
    let (first, second) = (keyed(RUN, "a", code.clone()), keyed(RUN, "a", code.clone()));
    assert_eq!(first.json()["id"], second.json()["id"]);
    assert_eq!(first.json()["result"], second.json()["result"]);
    assert_ne!(keyed(RUN, "b", code).json()["id"], first.json()["id"]);
    assert_eq!(keyed(RUN, "a", json!({"code": "return 2"})).refused(422), "idempotency-key-reused");
    assert_eq!(keyed(RUN, "", json!({"code": "return 2"})).refused(400), "invalid-request");

    let policies = "/v1/workspaces/default/policies";
    let rule = json!({"pattern": "github.*", "action": "block"});
    let (first, second) = (keyed(policies, "p", rule.clone()), keyed(policies, "p", rule));
    assert_eq!((first.status, first.json()["id"].clone()), (201, second.json()["id"].clone()));
    assert_eq!(owner.get(policies).json()["items"].as_array().unwrap().len(), 1);

    let token = json!({"name": "x"});
    assert!(keyed("/v1/tokens", "t", token.clone()).json()["secret"].is_string());
    let again = keyed("/v1/tokens", "t", token.clone());
    assert_eq!((again.status, again.json()["secret"].is_null()), (201, true), "a secret is shown once");
    assert_eq!(owner.post("/v1/tokens", &token).refused(409), "token-exists");
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_page_and_events_are_told() {
    let daemon = Daemon::start();
    let owner = Wire::owner(&daemon);
    let ticket = owner.send("POST", "/v1/events/tickets", &[], None).json();
    let ticket = ticket["ticket"].as_str().unwrap();
    let nobody = Wire::with(&daemon, None);
    let stream = format!("/v1/events?workspace=default&ticket={ticket}");
    let (head, mut events) = nobody.events(&stream);
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("text/event-stream"), "{head}");
    assert_eq!(nobody.get(&stream).refused(401), "unauthorized", "a ticket is good once");

    for number in 0..5 {
        owner.post(RUN, &json!({"code": format!("return {number}")}));
    }
    for _ in 0..5 {
        assert_eq!(next_event(&mut events).0, "execution.running");
        let (kind, event) = next_event(&mut events);
        assert_eq!((kind.as_str(), event["workspace"].as_str()), ("execution.completed", Some("default")));
        assert_eq!(event["about"]["client"], "http");
    }

    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = owner.get(&format!("{RUN}?limit=2{cursor}")).json();
        seen.extend(page["items"].as_array().unwrap().iter().map(|item| item["id"].to_string()));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen.len(), 5);
    assert!(seen.is_sorted_by(|a, b| a > b), "newest first, each once: {seen:?}");
    assert_eq!(owner.get(&format!("{RUN}?cursor=nonsense")).refused(400), "invalid-request");
    assert_eq!(owner.get(&format!("{RUN}?status=nonsense")).refused(400), "invalid-request");
    assert_eq!(owner.get(&format!("{RUN}?limit=x")).refused(400), "invalid-request");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_shows_all_that_it_was_made_of() {
    let (daemon, emulator) = (Daemon::start(), emulator().await);
    daemon.add_github(&emulator);
    let owner = Wire::owner(&daemon);
    let base = "/v1/workspaces/default/sources/github";
    let inspection = owner.get(&format!("{base}/inspection?limit=3")).json();
    assert_eq!(inspection["adapter"]["name"], "openapi", "{inspection}");
    assert_eq!(inspection["tools"]["items"].as_array().unwrap().len(), 3);
    assert!(inspection["tools"]["next_cursor"].is_string());
    assert_eq!(inspection["source"]["tool_count"], 1223);

    let document = owner.get(&format!("{base}/document"));
    assert_eq!(document.body.len() as u64, inspection["document"]["size_bytes"].as_u64().unwrap());
    let head = document.head.to_ascii_lowercase();
    assert!(head.contains("content-disposition: attachment") && head.contains("nosniff"), "{head}");

    let definitions = owner.get(&format!("{base}/definitions?limit=2")).json();
    let cursor = definitions["next_cursor"].as_str().unwrap();
    let more = owner.get(&format!("{base}/definitions?limit=2&cursor={cursor}")).json();
    assert_ne!(definitions["items"][0]["name"], more["items"][0]["name"]);
    assert!(more["items"][0]["schema"].is_object(), "{more}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_connects_a_source_on_a_page_and_who_asked_sees_nothing() {
    let (daemon, emulator) = (Daemon::start(), emulator().await);
    daemon.add_github(&emulator);
    daemon.run(&["connections", "remove", "github"]).ok();
    let secret = new_token(&daemon, &json!({"name": "agent"}));
    let agent = Wire::with(&daemon, Some(&secret));
    let asked = agent.post("/v1/workspaces/default/handoffs", &json!({"source": "github"}));
    assert_eq!(asked.status, 201, "{asked:?}");
    let url = asked.json()["url"].as_str().unwrap().to_owned();
    let (origin, path) = url.split_at(url.find("/handoff/").unwrap());
    let nobody = Wire::with(&daemon, None);
    let page = nobody.get(path);
    let html = String::from_utf8(page.body.clone()).unwrap();
    assert!(html.contains("<b>agent</b> asks you to connect <b>github</b>"), "{html}");
    assert!(html.contains(emulator.origin()) && html.contains("type=\"password\""), "{html}");
    let head = page.head.to_ascii_lowercase();
    assert!(head.contains("no-store") && head.contains("frame-ancestors 'none'"), "{head}");

    let value = json!({"token": TOKEN});
    let elsewhere = nobody.send("POST", path, &[("origin", "http://evil.test")], Some(&value));
    assert_eq!(elsewhere.refused(403), "origin-denied");
    assert!(nobody.send("POST", path, &[("origin", origin)], Some(&json!({}))).status >= 400);
    assert_eq!(nobody.get(path).status, 200, "a mistake spends nothing");
    let done = nobody.send("POST", path, &[("origin", origin)], Some(&value));
    assert_eq!(done.status, 200, "{done:?}");
    assert_eq!(nobody.get(path).status, 404, "a link is good once");
    assert_eq!(nobody.send("POST", path, &[("origin", origin)], Some(&value)).status, 404);
    let login =
        agent.post(RUN, &json!({"code": "return (await tools.github.users.getAuthenticated({})).login"}));
    assert_eq!(login.json()["result"], "octocat", "{login:?}");
    let audit = daemon.run(&["audit", "search", "connection.add"]).ok();
    assert!(audit.contains("agent (hand-off page)") && !audit.contains(TOKEN), "{audit}");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_site_reaches_nothing() {
    let daemon = Daemon::start();
    let owner = Wire::owner(&daemon);
    let code = json!({"code": "return 1"});
    for headers in [
        [("host", "evil.test:4788"), ("accept", "*/*")],
        [("origin", "http://evil.test"), ("accept", "*/*")],
        [("origin", "null"), ("accept", "*/*")],
        [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")],
        [("sec-fetch-site", "same-site"), ("sec-fetch-mode", "cors")],
    ] {
        let refused = owner.send("POST", RUN, &headers, Some(&code));
        assert_eq!(refused.status, 403, "{headers:?} {refused:?}");
    }
    let preflight = owner.send("OPTIONS", RUN, &[("origin", "http://evil.test")], None);
    assert!(!preflight.head.to_ascii_lowercase().contains("access-control-allow"), "{preflight:?}");
    assert!(owner.get(RUN).json()["items"].as_array().unwrap().is_empty());
    let page = owner.get(RUN);
    assert!(page.head.to_ascii_lowercase().contains("x-frame-options: deny"), "{}", page.head);
}
