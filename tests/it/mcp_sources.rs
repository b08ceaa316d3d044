//! MCP servers behind URLs as sources: what is told of them before and after
//! they are added, what asks, and what a change of theirs brings about.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use executor_upstreams::plain::{self, Answer, Request, Upstream};
use serde_json::{Value, json};

use crate::daemon::Daemon;

const PATIENCE: Duration = Duration::from_secs(60);

/// An older server with so many tools, a prompt and a resource, whose stream
/// says that its tools have changed whenever it is opened, and ends.
fn server(tools: Arc<AtomicUsize>) -> impl Fn(&Request<'_>) -> Answer + Send + Sync + 'static {
    move |request| {
        let asked: Value = serde_json::from_slice(request.body).unwrap_or_default();
        let result = |result: Value| {
            Answer::json(200, &json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}))
        };
        if request.method == "GET" {
            let told = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
            return Answer::new(200, &[("content-type", "text/event-stream")], format!("data: {told}\n\n"));
        }
        match asked["method"].as_str().unwrap_or_default() {
            "initialize" => result(json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {"listChanged": true}, "prompts": {}, "resources": {}},
                "serverInfo": {"name": "library-server", "title": "Library", "version": "1"},
            })),
            "notifications/initialized" => Answer::new(202, &[], ""),
            "tools/list" => {
                let names = (0..tools.load(Ordering::Relaxed)).map(|number| {
                    json!({"name": format!("t{number}"), "inputSchema": {"type": "object"},
                        "annotations": {"readOnlyHint": true}})
                });
                result(json!({"tools": names.collect::<Vec<_>>()}))
            }
            "prompts/list" => result(json!({"prompts": [{"name": "review"}]})),
            "prompts/get" => {
                result(json!({"messages": [{"role": "user", "content": {"type": "text", "text": "Look."}}]}))
            }
            "resources/read" => {
                result(json!({"contents": [{"uri": asked["params"]["uri"], "text": "a page"}]}))
            }
            "tools/call" => result(json!({"content": [{"type": "text", "text": "done"}]})),
            _ => Answer::json(
                400,
                &json!({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "no such method"}}),
            ),
        }
    }
}

fn run(daemon: &Daemon, upstream: &Upstream, command: &[&str], more: &[&str]) -> Value {
    let url = format!("{}/mcp", upstream.origin());
    let host = upstream.origin().trim_start_matches("http://");
    daemon.run(&[command, &[&url, "--allow-host", host, "--json"], more].concat()).json()
}

fn refreshes(daemon: &Daemon) -> usize {
    let records = daemon.run(&["audit", "search", "--json", "--what", "source.refresh"]).json();
    records["items"].as_array().unwrap().len()
}

fn listed(upstream: &Upstream) -> usize {
    let asked = upstream.ledger.matching("POST", "/mcp");
    asked.iter().filter(|entry| entry.json().is_some_and(|body| body["method"] == "tools/list")).count()
}

#[track_caller]
fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what} never came to be");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_told_of_a_server_has_one_shape() {
    let daemon = Daemon::start();
    let upstream = plain::start(server(Arc::new(AtomicUsize::new(1)))).await.unwrap();
    let found = run(&daemon, &upstream, &["sources", "detect"], &[])["items"][0].clone();
    assert_eq!((&found["kind"], &found["title"]), (&json!("mcp"), &json!("Library")), "{found}");
    assert_eq!(
        (&found["transport"], &found["protocol"], &found["auth"]),
        (&json!("streamable-http"), &json!("2025-06-18"), &json!([])),
        "{found}"
    );
    let added = run(&daemon, &upstream, &["sources", "add"], &["--name", "library"]);
    let source = &added["source"];
    assert_eq!(
        (&source["transport"], &source["protocol"]),
        (&json!("streamable-http"), &json!("2025-06-18")),
        "{added}"
    );
    let shown = daemon.run(&["sources", "show", "library"]).ok();
    assert!(shown.contains("streamable-http") && shown.contains("2025-06-18"), "{shown}");

    let locked = plain::start(|request: &Request<'_>| {
        if request.path == "/.well-known/oauth-protected-resource/mcp" {
            return Answer::json(200, &json!({"authorization_servers": ["https://login.example.com"]}));
        }
        Answer::new(401, &[("www-authenticate", "Bearer scope=\"books\"")], "")
    })
    .await
    .unwrap();
    let found = run(&daemon, &locked, &["sources", "detect"], &[])["items"][0].clone();
    let ways = json!([
        {"kind": "oauth2", "label": "Sign in (OAuth) at https://login.example.com, for books"},
        {"kind": "http-bearer", "label": "Bearer token"},
    ]);
    assert_eq!((&found["kind"], &found["auth"]), (&json!("mcp"), &ways), "{found}");
    assert_eq!(found.get("transport"), None, "it says nothing before one has signed in: {found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn prompts_and_resources_read_whoever_serves_them_and_tools_ask() {
    let daemon = Daemon::start();
    let upstream = plain::start(server(Arc::new(AtomicUsize::new(1)))).await.unwrap();
    run(&daemon, &upstream, &["sources", "add"], &["--name", "library"]);
    let (exit, view) = daemon.execute(
        "const prompt = await tools.library.prompts.review({});
         const page = await tools.library.resources.read({ uri: 'book://1' });
         return [prompt.messages[0].content.text, page.contents[0].text]",
    );
    assert_eq!((exit, &view["result"]), (0, &json!(["Look.", "a page"])), "{view}");
    let (exit, view) = daemon.execute("return await tools.library.t0({})");
    assert_eq!(exit, 3, "its hint is its own word: {view}");
    assert!(
        upstream
            .ledger
            .entries()
            .iter()
            .all(|entry| !entry.json().is_some_and(|body| body["method"] == "tools/call")),
        "and nothing of it was sent"
    );
    daemon.run(&["policies", "add", "library.resources.*", "block"]).ok();
    let (exit, view) = daemon.execute("return await tools.library.resources.read({ uri: 'book://1' })");
    assert_eq!(exit, 4, "a policy is stronger: {view}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_says_it_changed_and_did_not_is_no_event() {
    let daemon = Daemon::start();
    let tools = Arc::new(AtomicUsize::new(2));
    let upstream = plain::start(server(tools.clone())).await.unwrap();
    let added = run(&daemon, &upstream, &["sources", "add"], &["--name", "library", "--trusted"]);
    let refreshed = added["source"]["refreshed_at"].clone();
    let before = listed(&upstream);
    let (exit, view) = daemon.execute("return await tools.library.t0({})");
    assert_eq!(exit, 0, "{view}");
    until("two lists after what it said", || listed(&upstream) >= before + 2);
    // The second was begun once the first was over with.
    assert_eq!(refreshes(&daemon), 0, "what is the same is no event");
    let shown = daemon.run(&["sources", "show", "library", "--json"]).json();
    assert_eq!(shown["refreshed_at"], refreshed, "and swaps nothing: {shown}");

    tools.store(3, Ordering::Relaxed);
    until("the third tool", || {
        let found = daemon.run(&["tools", "list", "--source", "library", "--json"]).json();
        found["items"].as_array().unwrap().iter().any(|tool| tool["path"] == "library.t2")
    });
    until("its record", || refreshes(&daemon) == 1);
}
