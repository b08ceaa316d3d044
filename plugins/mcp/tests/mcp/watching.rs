//! Hearing that something changed.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use executor_mcp::seam::{Failure, Reply, World};
use executor_mcp::source;
use serde_json::{Value, json};

use crate::host::*;
use crate::support::*;

/// Runs a watch until it ends or the host ends it; none: the host did.
fn watch(host: &Host, config: &str) -> Option<Failure> {
    match catch_unwind(AssertUnwindSafe(|| source::run(config, "{}", host))) {
        Ok(result) => Some(result.unwrap_err()),
        Err(panic) if panic.is::<Ended>() => None,
        Err(panic) => resume_unwind(panic),
    }
}

fn told(what: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": format!("notifications/{what}")})
}

#[test]
fn a_modern_server_is_asked_for_what_it_tells() {
    let host = modern(|posted| {
        assert_eq!(posted.method(), "subscriptions/listen");
        assert_eq!(posted.header("mcp-method"), Some("subscriptions/listen"));
        let wanted =
            json!({"toolsListChanged": true, "promptsListChanged": false, "resourcesListChanged": false});
        assert_eq!(posted.body["params"]["notifications"], wanted);
        Said::events(vec![
            event(&told("subscriptions/acknowledged")),
            Piece::Silence(40_000),
            event(&told("tools/list_changed")),
            Piece::Text(": alive\n\n".to_owned()),
            event(&told("message")),
            Piece::Silence(100_000),
        ])
    })
    .ending_at(90_000);
    assert!(watch(&host, &config(URL)).is_none());
    assert_eq!(host.changes(), ["tools"]);
}

#[test]
fn an_older_server_is_listened_to_on_its_stream() {
    let host = legacy(|posted| {
        assert_eq!((posted.method(), posted.header("mcp-session-id")), ("GET", Some("s1")));
        assert_eq!(posted.header("accept"), Some("text/event-stream"));
        Said::events(vec![
            event(&told("tools/list_changed")),
            event(&told("prompts/list_changed")),
            event(&told("resources/list_changed")),
            event(&json!([told("tools/list_changed")])),
            Piece::Silence(100_000),
        ])
    })
    .ending_at(50_000);
    assert!(watch(&host, &config(URL)).is_none());
    assert_eq!(host.changes(), ["tools", "prompts", "resources", "tools"]);
}

#[test]
fn a_server_that_tells_nothing_is_looked_at_when_its_list_is_stale() {
    let quiet = |ttl: Value| {
        Host::serving(move |posted| match posted.method() {
            "server/discover" => {
                posted.result(json!({"supportedVersions": [MODERN], "capabilities": {"tools": {}}}))
            }
            "tools/list" => posted.result(json!({"tools": [], "ttlMs": ttl})),
            other => panic!("{other}"),
        })
    };
    let host = quiet(json!(300_000)).ending_at(1_000_000);
    assert!(watch(&host, &config(URL)).is_none());
    let changes = host.changes().len();
    assert!((2..=3).contains(&changes), "{changes}");
    assert_eq!(host.methods(), ["server/discover", "tools/list"]);
    // A list that is stale at once is looked at once a minute.
    let host = quiet(json!(1)).ending_at(600_000);
    assert!(watch(&host, &config(URL)).is_none());
    assert!((8..=10).contains(&host.changes().len()));
    // Without a word about it there is nothing to do.
    for ttl in [json!(0), json!(-5), json!("soon"), Value::Null] {
        let host = quiet(ttl).ending_at(86_400_000);
        assert!(watch(&host, &config(URL)).is_none());
        assert_eq!((host.changes().len(), host.methods().len()), (0, 2));
    }
}

#[test]
fn a_server_that_says_it_tells_and_has_no_stream_is_looked_at_too() {
    let host = legacy(|posted| match posted.method() {
        "GET" => Said::text(405, "text/plain", ""),
        _ => posted.result(json!({"tools": [], "ttlMs": 60_000})),
    })
    .ending_at(100_000);
    assert!(watch(&host, &config(URL)).is_none());
    assert_eq!(host.changes(), ["tools"]);
    let host = modern(|posted| match posted.method() {
        "subscriptions/listen" => posted.error(404, -32_601, "Method not found"),
        _ => posted.result(json!({"tools": []})),
    })
    .ending_at(86_400_000);
    assert!(watch(&host, &config(URL)).is_none());
    assert_eq!(host.methods(), ["server/discover", "subscriptions/listen", "tools/list"]);
}

#[test]
fn a_stream_that_breaks_is_opened_again_ever_more_slowly() {
    let host = modern(|_| Said::events(vec![Piece::Broken]));
    let failure = watch(&host, &config(URL)).unwrap();
    assert!(failure.retryable, "{failure:?}");
    assert_eq!(host.methods().iter().filter(|method| *method == "subscriptions/listen").count(), 8);
    assert_eq!(host.elapsed_ms(), (1 + 2 + 4 + 8 + 16 + 32 + 60) * 1_000);
    assert_eq!(host.changes(), ["tools"; 7], "what changed meanwhile was not heard");
    // One that lives for a while each time is no failing one.
    let host = modern(|_| Said::events(vec![Piece::Silence(70_000)])).ending_at(3_600_000);
    assert!(watch(&host, &config(URL)).is_none());
    // Who is not let in does not knock for ever.
    let host = modern(|_| Said::text(401, "text/plain", ""));
    let failure = watch(&host, &config(URL)).unwrap();
    assert_eq!((failure.code.as_str(), host.elapsed_ms()), ("upstream-rejected", 0));
}

#[test]
fn a_session_that_ended_is_made_anew() {
    let host = legacy(|posted| match posted.header("mcp-session-id") {
        Some("s1") => Said::text(404, "text/plain", ""),
        _ => Said::events(vec![event(&told("tools/list_changed")), Piece::Silence(100_000)]),
    })
    .ending_at(50_000);
    assert!(watch(&host, &config(URL)).is_none());
    assert_eq!(host.changes(), ["tools"]);
    // Many a server says 400 to a GET of a session that it does not know.
    let host = legacy(|posted| match (posted.method(), posted.header("mcp-session-id")) {
        ("GET", Some("s1")) => Said::text(400, "text/plain", "Invalid or missing session ID"),
        (_, Some("s1")) => posted.error(404, -32_001, "Session not found"),
        ("tools/list", _) => posted.result(json!({"tools": []})),
        _ => Said::events(vec![event(&told("tools/list_changed")), Piece::Silence(100_000)]),
    })
    .ending_at(50_000);
    assert!(watch(&host, &config(URL)).is_none());
    assert_eq!(host.changes(), ["tools"]);
}

#[test]
fn a_process_is_listened_to_beside_its_calls() {
    let host = Host::running(|request, output| match request["method"].as_str().unwrap_or_default() {
        "server/discover" => output.error(request, -32_601),
        "initialize" => output.result(request, initialized(LEGACY)),
        "notifications/initialized" => {
            output.lines.push("banner".to_owned());
            output.say(&told("tools/list_changed"));
            output.say(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
            output.say(&json!({"jsonrpc": "2.0", "id": 2, "method": "elicitation/create", "params": {"message": "?"}}));
        }
        _ => {}
    })
    .ending_at(60_000);
    assert!(watch(&host, STDIO).is_none());
    assert_eq!(host.changes(), ["tools"]);
    let answers: Vec<Value> =
        host.written().into_iter().filter(|message| message.get("method").is_none()).collect();
    assert_eq!(answers[0]["result"], json!({}));
    assert_eq!(answers[1]["result"], json!({"action": "cancel"}), "nobody else took it");
    let host = Host::running(|request, output| match request["method"].as_str().unwrap_or_default() {
        "server/discover" => output.result(
            request,
            json!({"supportedVersions": [MODERN], "capabilities": {"tools": {"listChanged": true}}}),
        ),
        "subscriptions/listen" => output.say(&told("tools/list_changed")),
        _ => {}
    })
    .ending_at(60_000);
    assert!(watch(&host, STDIO).is_none());
    assert_eq!(
        (host.changes(), host.written_methods()),
        (vec!["tools".to_owned()], vec!["server/discover".to_owned(), "subscriptions/listen".to_owned()])
    );
    assert_eq!(host.farewell().0.unwrap()["method"], "notifications/cancelled", "the process goes on");
}

#[test]
fn a_subscription_that_a_process_ends_is_made_again() {
    let mut listens = 0;
    let host = Host::running(move |request, output| match request["method"].as_str().unwrap_or_default() {
        "server/discover" => output.result(
            request,
            json!({"supportedVersions": [MODERN], "capabilities": {"tools": {"listChanged": true}}}),
        ),
        "subscriptions/listen" => {
            listens += 1;
            let ends = |id: &Value| {
                json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
            };
            // Another's, and none that can be read, end nothing.
            output.say(&ends(&json!(1)));
            output.say(&ends(&Value::Null));
            match listens {
                1 => output.say(&ends(&request["id"])),
                _ => output.say(&told("tools/list_changed")),
            }
        }
        _ => {}
    })
    .ending_at(60_000);
    assert!(watch(&host, STDIO).is_none());
    assert_eq!(host.changes(), ["tools", "tools"], "nobody heard what changed between the two");
    let methods = host.written_methods();
    assert_eq!(methods.iter().filter(|method| *method == "subscriptions/listen").count(), 2, "{methods:?}");
}

#[test]
fn the_stream_of_the_oldest_transport_is_its_watch() {
    let host = Host::serving(|posted| match (posted.verb.as_str(), posted.method()) {
        ("GET", _) => Said::events(vec![
            Piece::Text("event: endpoint\ndata: /m\n\n".to_owned()),
            Piece::Silence(1_000),
            event(&told("tools/list_changed")),
            event(&json!({"jsonrpc": "2.0", "id": 9, "method": "ping"})),
            Piece::Silence(100_000),
        ]),
        (_, "initialize") => posted.result(initialized("2024-11-05")),
        _ => Said::accepted(),
    })
    .ending_at(50_000);
    let known = json!({"transport": "http", "url": URL, "sse": true}).to_string();
    assert!(watch(&host, &known).is_none());
    assert_eq!(host.changes(), ["tools"]);
    assert_eq!(host.posted().pop().unwrap().body["result"], json!({}));
}

/// What a server asks by itself, and how many milliseconds of nothing follow.
fn asking(requests: Vec<Value>) -> Host {
    legacy(move |posted| match posted.method() {
        "GET" => {
            let mut body: Vec<Piece> = requests.iter().map(event).collect();
            body.push(Piece::Silence(1_000_000));
            Said::events(body)
        }
        "tools/call" => Said::events(vec![Piece::Silence(2_000), posted.event(text("done"))]),
        _ => Said::accepted(),
    })
}

fn question(id: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": {"message": "Which?"}})
}

/// What the server was told in answer to what it asked.
fn answers(host: &Host) -> Vec<Value> {
    let posted = host.posted().into_iter();
    posted
        .filter(|posted| posted.verb == "POST" && posted.method().is_empty())
        .inspect(|posted| assert_eq!(posted.header("mcp-session-id"), Some("s1")))
        .map(|posted| posted.body)
        .collect()
}

#[test]
fn what_an_older_server_asks_on_its_stream_is_answered() {
    let host = asking(vec![
        json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}),
        question("q"),
        json!({"jsonrpc": "2.0", "id": 2, "method": "roots/list"}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "sampling/createMessage", "params": {}}),
    ])
    .ending_at(2_000);
    assert!(watch(&host, &config(URL)).is_none());
    let found = answers(&host);
    assert_eq!(found[0], json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    assert_eq!((&found[1]["id"], &found[1]["result"]), (&json!(2), &json!({"roots": []})));
    assert_eq!((&found[2]["id"], &found[2]["error"]["code"]), (&json!(3), &json!(-32601)));
    assert_eq!(found.len(), 3, "the question waits for a call");
    // None came.
    let host = asking(vec![question("q")]).ending_at(10_000);
    assert!(watch(&host, &config(URL)).is_none());
    assert_eq!(answers(&host), [json!({"jsonrpc": "2.0", "id": "q", "result": {"action": "cancel"}})]);
    assert!(host.session().iter().all(|(key, _)| !key.starts_with("strays:")), "{:?}", host.session());
    // Nor is a server of revision 2026-07-28 answered, which asks in another way.
    let host = modern(move |_| Said::events(vec![event(&question("q")), Piece::Silence(100_000)]));
    assert!(watch(&host.clone().ending_at(10_000), &config(URL)).is_none());
    assert_eq!(host.methods(), ["server/discover", "subscriptions/listen"]);
}

#[test]
fn who_says_that_it_tells_nothing_may_ask() {
    let host = Host::serving(|posted| match posted.method() {
        "server/discover" => posted.error(400, -32_000, "Bad Request: Server not initialized"),
        "initialize" => posted
            .result(json!({
                "protocolVersion": LEGACY, "capabilities": {"tools": {}}, "serverInfo": {"name": "old"},
            }))
            .with("Mcp-Session-Id", "s1"),
        "GET" => Said::events(vec![event(&question("q")), Piece::Silence(1_000_000)]),
        _ => Said::accepted(),
    })
    .ending_at(10_000);
    assert!(watch(&host, &config(URL)).is_none());
    assert_eq!(answers(&host), [json!({"jsonrpc": "2.0", "id": "q", "result": {"action": "cancel"}})]);
}

#[test]
fn a_question_on_the_stream_is_taken_by_a_call_of_its_session() {
    let asked = || {
        let host = asking(vec![question("q")]).ending_at(1_000);
        assert!(watch(&host, &config(URL)).is_none());
        assert!(answers(&host).is_empty());
        host.ending_at(u64::MAX).replying(&[Reply::Accepted(r#"{"n":1}"#.to_owned())])
    };
    let host = asked();
    assert_eq!(data(invoke(&host, &call(&config(URL), &json!({})))), "done");
    assert_eq!(host.asked()[0].message, "Which?");
    let expected = json!({"action": "accept", "content": {"n": 1}});
    assert_eq!(answers(&host), [json!({"jsonrpc": "2.0", "id": "q", "result": expected})]);
    // Once, though another call is under way.
    assert_eq!(data(invoke(&host, &call(&config(URL), &json!({})))), "done");
    assert_eq!(host.asked().len(), 1);
    // Who put it down and was ended long ago has a server that waits no more.
    let host = asked();
    host.sleep_ms(10_000);
    assert_eq!(data(invoke(&host, &call(&config(URL), &json!({})))), "done");
    assert!(host.asked().is_empty());
    // A question of another session is for its own calls.
    let host = asked();
    let (key, mut other) = agreed(&host);
    let held = host.recall(&key).unwrap();
    other["ready"]["session"] = json!("s9");
    assert!(host.swap(&key, Some(&held), Some(other.to_string().as_bytes())));
    assert_eq!(data(invoke(&host, &call(&config(URL), &json!({})))), "done");
    assert!(host.asked().is_empty());
}

#[test]
fn a_call_waits_for_who_is_about_to_listen_and_not_for_ever() {
    let took = |host: &Host| {
        let begun = host.elapsed_ms();
        assert_eq!(data(invoke(host, &call(&config(URL), &json!({})))), "done");
        host.elapsed_ms() - begun
    };
    // The call itself takes two seconds. Nobody listens: that is found out once.
    let host = asking(Vec::new());
    assert_eq!((took(&host), took(&host)), (2_000 + UNHEARD_MS, 2_000));
    // Somebody does, as long as it shows it.
    assert!(watch(&host.clone().ending_at(host.elapsed_ms() + 30_000), &config(URL)).is_none());
    let host = host.ending_at(u64::MAX);
    assert_eq!((took(&host), took(&host)), (2_000, 2_000));
    host.sleep_ms(8_000);
    assert_eq!(took(&host), 2_000 + UNHEARD_MS);
    // There is no such stream.
    let host = legacy(|posted| match posted.method() {
        "GET" => Said::text(405, "text/plain", ""),
        "tools/list" => posted.result(json!({"tools": []})),
        _ => Said::events(vec![Piece::Silence(2_000), posted.event(text("done"))]),
    });
    assert!(watch(&host.clone().ending_at(1), &config(URL)).is_none());
    let host = host.ending_at(u64::MAX);
    assert_eq!(took(&host), 2_000);
}

#[test]
fn a_flood_of_questions_is_answered_though_no_call_takes_them() {
    let mut many: Vec<Value> = (0..40).map(|n| question(&format!("q{n}"))).collect();
    many.push(
        json!({"id": "long", "method": "elicitation/create", "params": {"message": "x".repeat(20_000)}}),
    );
    let host = asking(many).ending_at(10_000);
    assert!(watch(&host, &config(URL)).is_none());
    let found = answers(&host);
    assert_eq!(found.len(), 41);
    assert!(found.iter().all(|answer| answer["result"] == json!({"action": "cancel"})));
}
