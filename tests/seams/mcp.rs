//! The MCP adapter through the real host, against servers of HTTP.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use executor_runtime::limits::Limits;
use executor_runtime::{
    Adapter, AdapterContext, AdapterError, AdapterFailure, Capture, Document, HostPort, Indexed, MethodRule,
    Origin, Probe, RequestRecord, Scope, Share, ToolCall, ToolOutcome,
};
use executor_upstreams::plain::{self, Answer, Request, Upstream};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::OnceCell;

use crate::adapter::reach;
use crate::fixture::{Ground, identity, runtime};

async fn adapter() -> &'static Adapter {
    static ADAPTER: OnceCell<Adapter> = OnceCell::const_new();
    let bundled = executor_bundle::MCP;
    ADAPTER
        .get_or_init(|| async { runtime().adapter(identity(bundled), bundled.bytes.into()).await.unwrap() })
        .await
}

fn scope(upstream: &Upstream, methods: MethodRule) -> Scope {
    let mut scope = reach(upstream);
    scope.methods = methods;
    scope
}

fn config(upstream: &Upstream) -> String {
    json!({"transport": "http", "url": format!("{}/mcp", upstream.origin())}).to_string()
}

async fn index(ground: &Ground, upstream: &Upstream) -> Result<Indexed, AdapterFailure> {
    let context = ground.context(scope(upstream, MethodRule::SafeOrPost));
    let indexed =
        adapter().await.index(&Share::default(), context, config(upstream), "{}".into(), None, None).await;
    indexed.map_err(|error| match error {
        AdapterError::Failed(failure) => failure,
        AdapterError::Broken(broken) => panic!("{broken}"),
    })
}

async fn invoke(
    ground: &Ground,
    upstream: &Upstream,
    indexed: &Indexed,
    tool: &str,
    arguments: Value,
) -> Result<Value, AdapterFailure> {
    let row = indexed.staged.tools.iter().find(|row| row.name == tool).unwrap();
    let call = ToolCall {
        tool: tool.into(),
        binding: row.binding.clone(),
        arguments: arguments.to_string(),
        settings: "{}".into(),
        resume: None,
    };
    let context = ground.context(scope(upstream, MethodRule::Any));
    match adapter().await.invoke(&Share::default(), context, call).await {
        Ok(ToolOutcome::Done(response)) => Ok(serde_json::from_str(&response.data).unwrap()),
        Err(AdapterError::Failed(failure)) => Err(failure),
        other => panic!("{other:?}"),
    }
}

fn asked(request: &Request<'_>) -> Value {
    serde_json::from_slice(request.body).unwrap_or_default()
}

fn result(asked: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": asked["id"], "result": result})
}

fn tools() -> Value {
    json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}}]})
}

/// A server of revision 2026-07-28, which answers calls by a stream.
fn modern(request: &Request<'_>) -> Answer {
    let asked = asked(request);
    if request
        .header("mcp-method")
        .is_none_or(|method| method != asked["method"].as_str().unwrap().as_bytes())
    {
        return Answer::text(400, "no Mcp-Method");
    }
    match asked["method"].as_str().unwrap() {
        "server/discover" => Answer::json(
            200,
            &result(
                &asked,
                json!({
                    "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
                    "serverInfo": {"name": "echo-server", "version": "1"},
                }),
            ),
        ),
        "tools/list" => Answer::json(200, &result(&asked, tools())),
        _ => {
            let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
                "progressToken": asked["params"]["_meta"]["progressToken"], "progress": 1}});
            let answer = result(&asked, json!({"structuredContent": asked["params"]["arguments"]}));
            let events = format!(": hi\n\ndata: {progress}\n\nevent: message\ndata: {answer}\n\n");
            Answer::new(200, &[("content-type", "text/event-stream")], events)
                .dripping(40, Duration::from_millis(2))
        }
    }
}

/// An older server, whose sessions a test ends by their number.
fn legacy(request: &Request<'_>) -> Answer {
    let asked = asked(request);
    match asked["method"].as_str() {
        Some("initialize") => {
            let greeting = json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "old"}});
            let body = result(&asked, greeting).to_string();
            Answer::new(200, &[("content-type", "application/json"), ("mcp-session-id", "s1")], body)
                .after(Duration::from_millis(100))
        }
        _ if request.header("mcp-session-id") != Some(b"s1") => Answer::text(400, "no session"),
        Some("notifications/initialized") => Answer::new(202, &[], ""),
        Some("tools/list") => Answer::json(200, &result(&asked, tools())),
        _ => Answer::json(200, &result(&asked, json!({"structuredContent": asked["params"]["arguments"]}))),
    }
}

fn methods(upstream: &Upstream) -> Vec<String> {
    let entries = upstream.ledger.entries();
    let method = |body: Value| body["method"].as_str().map(str::to_owned);
    entries.iter().filter_map(|entry| entry.json().and_then(method)).collect()
}

#[tokio::test]
async fn what_a_person_is_shown_is_the_call_and_not_the_greeting() {
    for server in [modern as fn(&Request<'_>) -> Answer, legacy] {
        let (ground, upstream) = (Ground::new(), plain::start(server).await.unwrap());
        let indexed = index(&ground, &upstream).await.unwrap();
        upstream.ledger.clear();
        let call = ToolCall {
            tool: "echo".into(),
            binding: indexed.staged.tools[0].binding.clone(),
            arguments: r#"{"said":"shown"}"#.into(),
            settings: "{}".into(),
            resume: None,
        };
        // Nothing is remembered of the server there.
        let fresh = Ground::new();
        let mut shown = scope(&upstream, MethodRule::Any);
        shown.capture = Capture::All;
        let _ = adapter().await.invoke(&Share::default(), fresh.context(shown.clone()), call).await;
        let body = shown.captured().unwrap().body.unwrap();
        assert!(body.contains("tools/call") && body.contains("shown"), "{body}");
        assert_eq!(upstream.ledger.count(), 0, "and nothing was sent");
    }
}

#[tokio::test]
async fn a_modern_server_is_found_listed_and_called() {
    let (ground, upstream) = (Ground::new(), plain::start(modern).await.unwrap());
    let url = Some(format!("{}/mcp", upstream.origin()));
    let document = Document { url, media_type: None, body: Vec::new() };
    let probe = Probe { status: Some(405), headers: Vec::new(), document };
    let context = ground.context(scope(&upstream, MethodRule::SafeOrPost));
    let detection = adapter().await.detect(&Share::default(), context, probe).await.unwrap().unwrap();
    assert_eq!((detection.confidence, detection.suggested_name.as_str()), (95, "echo"));
    let indexed = index(&ground, &upstream).await.unwrap();
    assert_eq!(indexed.title.as_deref(), Some("echo-server"));
    upstream.ledger.clear();
    for turn in 0..3 {
        let said = invoke(&ground, &upstream, &indexed, "echo", json!({"turn": turn})).await.unwrap();
        assert_eq!(said, json!({"turn": turn}));
    }
    assert_eq!(methods(&upstream), ["server/discover", "tools/call", "tools/call", "tools/call"]);
}

#[tokio::test]
async fn calls_at_the_same_time_share_one_session() {
    let (ground, upstream) = (Ground::new(), plain::start(legacy).await.unwrap());
    let indexed = index(&ground, &upstream).await.unwrap();
    upstream.ledger.clear();
    let calls = (0..16).map(|turn| invoke(&ground, &upstream, &indexed, "echo", json!({"turn": turn})));
    for (turn, said) in futures::future::join_all(calls).await.into_iter().enumerate() {
        assert_eq!(said.unwrap(), json!({"turn": turn}));
    }
    let methods = methods(&upstream);
    assert_eq!(methods.iter().filter(|method| *method == "initialize").count(), 1, "{methods:?}");
}

/// An older server that answers no call.
fn waiting(request: &Request<'_>) -> Answer {
    if asked(request)["method"] == "tools/call" { Answer::silence() } else { legacy(request) }
}

/// Begins a call, with this much time of its own, and goes away after some.
async fn give_up(ground: &Ground, binding: Vec<u8>, mut scope: Scope, wall: Duration) -> Vec<RequestRecord> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let records = seen.clone();
    scope.observer = Some(Arc::new(move |record| records.lock().unwrap().push(record)));
    let limits = Some(Limits { wall, ..Limits::adapter_invoke() });
    let context = AdapterContext { limits, ..ground.context(scope) };
    let (tool, arguments, settings) = ("echo".into(), "{}".into(), "{}".into());
    let call = ToolCall { tool, binding, arguments, settings, resume: None };
    let share = Share::default();
    let calling = adapter().await.invoke(&share, context, call);
    let _ = tokio::time::timeout(Duration::from_millis(3_000), calling).await;
    std::mem::take(&mut *seen.lock().unwrap())
}

#[tokio::test]
async fn an_older_server_is_told_that_a_call_was_given_up_and_nobody_else_is() {
    // The first call of a session waits a second for a watch, and none is here.
    for wall in [Duration::from_secs(60), Duration::from_millis(2_000)] {
        let (ground, upstream) = (Ground::new(), plain::start(waiting).await.unwrap());
        let indexed = index(&ground, &upstream).await.unwrap();
        upstream.ledger.clear();
        let binding = indexed.staged.tools[0].binding.clone();
        let records = give_up(&ground, binding, scope(&upstream, MethodRule::SafeOrPost), wall).await;
        let told = |method: &str| {
            let entries = upstream.ledger.entries();
            entries.into_iter().find(|entry| entry.json().is_some_and(|body| body["method"] == method))
        };
        let mut cancelled = None;
        for _ in 0..200 {
            cancelled = cancelled.or_else(|| told("notifications/cancelled"));
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let (call, cancelled) = (told("tools/call").unwrap(), cancelled.expect("it was told"));
        assert_eq!(cancelled.json().unwrap()["params"]["requestId"], call.json().unwrap()["id"]);
        assert_eq!(cancelled.header("mcp-session-id"), Some("s1"));
        assert_eq!(cancelled.header("mcp-protocol-version"), Some("2025-06-18"));
        let count = methods(&upstream).iter().filter(|method| *method == "notifications/cancelled").count();
        assert_eq!(count, 1, "{wall:?}");
        let unheard = records.iter().filter(|record| record.error == Some("unheard")).count();
        assert_eq!(unheard, 1, "it is on record with the requests of its call: {records:?}");
    }
    // A call that was answered leaves nothing behind.
    let (ground, upstream) = (Ground::new(), plain::start(legacy).await.unwrap());
    let indexed = index(&ground, &upstream).await.unwrap();
    invoke(&ground, &upstream, &indexed, "echo", json!({})).await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!methods(&upstream).contains(&"notifications/cancelled".to_owned()));
}

#[tokio::test]
async fn to_a_modern_server_the_closed_stream_says_that_a_call_was_given_up() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 16 * 1024];
        let mut read = stream.read(&mut request).await.unwrap();
        while !request[..read].ends_with(b"}") {
            read += stream.read(&mut request[read..]).await.unwrap();
        }
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n: begun\n\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        // Nothing more comes but the end.
        let end = stream.read(&mut request).await;
        (matches!(end, Ok(0) | Err(_)), tokio::time::timeout(Duration::from_secs(1), listener.accept()).await)
    });
    let binding = json!({
        "endpoint": {"transport": "http", "url": format!("http://{address}/mcp"), "era": "modern"},
        "what": "tool", "name": "echo", "repeatable": false,
    });
    let upstream = plain::start(modern).await.unwrap();
    let mut scope = scope(&upstream, MethodRule::Any);
    scope.origins = vec![Origin::parse(&format!("http://{address}")).unwrap()];
    scope.allowed_hosts = vec![HostPort::parse(&address.to_string()).unwrap()];
    let ground = Ground::new();
    give_up(&ground, binding.to_string().into_bytes(), scope, Duration::from_secs(60)).await;
    let (closed, later) = serving.await.unwrap();
    assert!(closed && later.is_err(), "the stream is closed, and nothing else is said");
}

#[tokio::test]
async fn a_server_that_wants_a_sign_in_has_no_tools_yet() {
    let locked = |_: &Request<'_>| Answer::new(401, &[("www-authenticate", "Bearer scope=\"a\"")], "");
    let (ground, upstream) = (Ground::new(), plain::start(locked).await.unwrap());
    let indexed = index(&ground, &upstream).await.unwrap();
    assert!(indexed.staged.tools.is_empty());
    assert_eq!(indexed.staged.warnings[0].code, "sign-in-needed");
    assert!(indexed.meta.unwrap().contains("\"sign_in\":true"));
}

#[tokio::test]
async fn ten_thousand_tools_and_a_large_answer_stay_within_bounds() {
    let many = |request: &Request<'_>| {
        let asked = asked(request);
        match asked["method"].as_str() {
            Some("server/discover") => Answer::json(
                200,
                &result(&asked, json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})),
            ),
            Some("tools/list") => {
                let tool = |n: u32| json!({"name": format!("t{n}"), "description": "x".repeat(200), "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}}});
                Answer::json(
                    200,
                    &result(&asked, json!({"tools": (0..10_000).map(tool).collect::<Vec<_>>()})),
                )
            }
            _ => Answer::json(
                200,
                &result(&asked, json!({"content": [{"type": "text", "text": "y".repeat(20 << 20)}]})),
            ),
        }
    };
    let (ground, upstream) = (Ground::new(), plain::start(many).await.unwrap());
    let begun = std::time::Instant::now();
    let indexed = index(&ground, &upstream).await.unwrap();
    println!("10,000 tools in {:?}, {:?}", begun.elapsed(), indexed.usage);
    assert_eq!(indexed.staged.tools.len(), 10_000);
    let said = invoke(&ground, &upstream, &indexed, "t7", json!({})).await.unwrap();
    assert_eq!((&said["mediaType"], &said["size"]), (&json!("text/plain"), &json!(20 << 20)));
}

/// How a test's server writes an answer.
#[derive(Clone, Copy, Debug)]
enum Form {
    Text,
    Blocks,
    Structured,
    Failed,
}

/// A server whose tool answers with so many bytes in that form.
fn large(form: Form, as_events: bool, bytes: usize) -> impl Fn(&Request<'_>) -> Answer + Send + Sync {
    move |request| {
        let asked = asked(request);
        if asked["method"] != "tools/call" {
            return modern(request);
        }
        // Quotes are written with a backslash, so that the value is half as long.
        let said = "\"".repeat(bytes / 2);
        let text = json!([{"type": "text", "text": said}]);
        let answer = match form {
            Form::Text => json!({"content": text}),
            Form::Blocks => json!({"content": [text[0], {"type": "text", "text": ""}]}),
            Form::Structured => json!({"structuredContent": {"said": said}, "content": []}),
            Form::Failed => json!({"isError": true, "structuredContent": {"said": said}, "content": []}),
        };
        let answer = result(&asked, answer);
        if as_events {
            Answer::new(200, &[("content-type", "text/event-stream")], format!("data: {answer}\n\n"))
        } else {
            Answer::json(200, &answer)
        }
    }
}

async fn call_large(form: Form, as_events: bool, bytes: usize) -> Result<Value, AdapterFailure> {
    let (ground, upstream) = (Ground::new(), plain::start(large(form, as_events, bytes)).await.unwrap());
    let indexed = index(&ground, &upstream).await.unwrap();
    invoke(&ground, &upstream, &indexed, "echo", json!({})).await
}

#[tokio::test]
async fn an_answer_as_large_as_is_taken_fits_and_a_larger_one_is_said_to_be_too_large() {
    const LARGEST: usize = 24 << 20;
    let all = [
        (Form::Text, false),
        (Form::Text, true),
        (Form::Blocks, true),
        (Form::Structured, true),
        (Form::Failed, true),
    ];
    for (form, as_events) in all {
        let said = call_large(form, as_events, LARGEST - 1_000).await;
        let said = said.unwrap_or_else(|failure| panic!("{form:?} {as_events}: {failure:?}"));
        assert!(said["size"].as_u64().unwrap() > 11 << 20, "{said}");
    }
    for as_events in [false, true] {
        let failure = call_large(Form::Text, as_events, LARGEST + (1 << 20)).await.unwrap_err();
        assert_eq!(failure.code, "upstream-too-large", "{as_events}: {failure:?}");
    }
}

#[tokio::test]
async fn a_connection_that_breaks_leaves_a_write_unknown() {
    let breaking = |request: &Request<'_>| {
        let asked = asked(request);
        match asked["method"].as_str() {
            Some("tools/call") => Answer::json(200, &json!({})).reset_after(1),
            Some("tools/list") => Answer::json(
                200,
                &result(
                    &asked,
                    json!({"tools": [
                        {"name": "read", "inputSchema": {}, "annotations": {"readOnlyHint": true}},
                        {"name": "write", "inputSchema": {}},
                    ]}),
                ),
            ),
            _ => modern(request),
        }
    };
    let (ground, upstream) = (Ground::new(), plain::start(breaking).await.unwrap());
    let indexed = index(&ground, &upstream).await.unwrap();
    upstream.ledger.clear();
    let failure = invoke(&ground, &upstream, &indexed, "write", json!({})).await.unwrap_err();
    assert_eq!((failure.code.as_str(), failure.retryable), ("outcome-unknown", false));
    assert_eq!(methods(&upstream), ["server/discover", "tools/call"], "it is sent once");
    let failure = invoke(&ground, &upstream, &indexed, "read", json!({})).await.unwrap_err();
    assert!(failure.retryable, "a read may be tried again: {failure:?}");
}
