//! Hearing that something changed.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use executor_mcp::seam::Failure;
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
    assert!(host.changes().is_empty());
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
    assert_eq!(host.changes(), ["tools"]);
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
