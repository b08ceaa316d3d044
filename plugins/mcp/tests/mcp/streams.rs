//! Streams of events: progress, silence, breaks, and the oldest transport.

use executor_mcp::seam::Failure;
use serde_json::{Value, json};

use crate::host::*;
use crate::support::*;

fn progress(token: &Value, done: u64) -> Piece {
    event(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
        "progressToken": token, "progress": done, "total": 10, "message": "row\u{1b}[2J"
    }}))
}

#[test]
fn an_answer_may_come_in_a_stream_however_it_is_cut() {
    let host = modern(|posted| {
        let whole = format!(
            ": hi\r\n\r\nid: 1\r\ndata: {{\"jsonrpc\":\"2.0\",\r\ndata: \"id\":\"{}\",\"result\":{}}}\r\n\r\n",
            posted.body["id"],
            text("3")
        );
        Said::events(whole.chars().map(|c| Piece::Text(c.to_string())).collect())
    });
    assert_eq!(data(invoke(&host, &call(&config(URL), &json!({})))), "3");
    // A stream that does not say that it is one.
    let host = modern(|posted| {
        let body = json!({"id": posted.body["id"], "result": text("3")});
        Said::text(200, "text/plain", &format!("event: message\ndata: {body}"))
    });
    assert_eq!(data(invoke(&host, &call(&config(URL), &json!({})))), "3");
}

#[test]
fn only_the_answer_to_the_request_is_its_answer() {
    let host = modern(|posted| {
        let other = json!({"jsonrpc": "2.0", "id": 1, "result": text("somebody else's")});
        Said::events(vec![event(&other), event(&json!([other, other])), posted.event(text("3"))])
    });
    assert_eq!(data(invoke(&host, &call(&config(URL), &json!({})))), "3");
    let host = modern(|_| Said::json(200, &json!({"jsonrpc": "2.0", "id": 1, "result": text("x")})));
    assert_eq!(invoke(&host, &call(&config(URL), &json!({}))).unwrap_err().code, "upstream-malformed");
    // A batch, as 2025-03-26 allowed it.
    let host = modern(|posted| {
        let log = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {}});
        Said::json(200, &json!([log, {"jsonrpc": "2.0", "id": posted.body["id"], "result": text("3")}]))
    });
    assert_eq!(data(invoke(&host, &call(&config(URL), &json!({})))), "3");
}

#[test]
fn progress_is_told_and_breaks_the_silence() {
    let host = modern(|posted| {
        let token = &posted.body["params"]["_meta"]["progressToken"];
        let mut body = Vec::new();
        for done in 0..4 {
            body.extend([Piece::Silence(100_000), progress(token, done)]);
        }
        body.push(progress(&json!(token.to_string()), 9));
        body.push(progress(&json!("another's"), 10));
        body.push(posted.event(text("3")));
        Said::events(body)
    });
    assert_eq!(data(invoke(&host, &call(&config(URL), &json!({})))), "3");
    let told = host.told();
    assert_eq!(told.len(), 5);
    assert_eq!(told[4], (9.0, Some(10.0), Some("row[2J".to_owned())));
    assert_eq!(host.elapsed_ms(), 400_000);
}

#[test]
fn progress_breaks_the_silence_on_every_way() {
    let told = |token: u64, done: u64| {
        json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
            "progressToken": token, "progress": done}})
    };
    // The oldest transport: ids are drawn by the host, the call's is the second.
    let host = Host::serving(move |posted| match (posted.verb.as_str(), posted.method()) {
        ("GET", _) => Said::events(vec![
            Piece::Text("event: endpoint\ndata: /m\n\n".to_owned()),
            event(&json!({"id": id(1), "result": initialized("2024-11-05")})),
            Piece::Silence(100_000),
            event(&told(id(2), 1)),
            Piece::Silence(100_000),
            event(&told(id(2), 2)),
            Piece::Silence(100_000),
            event(&json!({"id": id(2), "result": text("3")})),
        ]),
        _ => Said::accepted(),
    });
    let known = json!({"transport": "http", "url": URL, "sse": true}).to_string();
    assert_eq!(data(invoke(&host, &call(&known, &json!({})))), "3");
    assert_eq!((host.told().len(), host.elapsed_ms()), (2, 300_000));
    // A process, which says so to all of its calls; only their own counts.
    let own = std::sync::Arc::new(std::sync::Mutex::new(0));
    let seen = own.clone();
    let host = Host::running(move |request, output| match request["method"].as_str().unwrap_or_default() {
        "server/discover" => {
            output.result(request, json!({"supportedVersions": [MODERN], "capabilities": {}}))
        }
        "tools/call" => *seen.lock().unwrap() = request["id"].as_u64().unwrap(),
        _ => {}
    })
    .saying_at(100_000, move |output| output.say(&told(*own.lock().unwrap(), 1)))
    .saying_at(150_000, move |output| output.say(&told(7, 1)));
    let failure = invoke(&host, &call(STDIO, &json!({}))).unwrap_err();
    assert_eq!(failure.code, "outcome-unknown");
    assert_eq!(host.told().len(), 1);
    assert!((210_000..226_000).contains(&host.elapsed_ms()), "{}", host.elapsed_ms());
}

#[test]
fn silence_ends_a_call_and_progress_does_not_prolong_it_for_ever() {
    let silent = |_: &Posted| Said::events(vec![Piece::Silence(1_000_000)]);
    let host = legacy(silent);
    let failure = invoke(&host, &call(&config(URL), &json!({}))).unwrap_err();
    assert_eq!((failure.code.as_str(), failure.retryable), ("outcome-unknown", false));
    assert!((110_000..126_000).contains(&host.elapsed_ms()), "{}", host.elapsed_ms());
    let last = host.posted().pop().unwrap();
    assert_eq!(last.method(), "notifications/cancelled");
    let host = modern(silent);
    let failure = invoke(&host, &repeatable(&config(URL))).unwrap_err();
    assert_eq!((failure.code.as_str(), failure.retryable), ("upstream-timeout", true));
    assert_eq!(host.methods().last().unwrap(), "tools/call", "a closed stream is the cancellation");
    let host = modern(|posted| {
        let token = &posted.body["params"]["_meta"]["progressToken"];
        let body = (0..100).flat_map(|done| [Piece::Silence(50_000), progress(token, done)]);
        Said::events(body.collect())
    });
    invoke(&host, &call(&config(URL), &json!({}))).unwrap_err();
    assert!((600_000..660_000).contains(&host.elapsed_ms()), "{}", host.elapsed_ms());
}

#[test]
fn what_was_sent_and_not_answered_is_unknown_unless_it_may_be_sent_again() {
    let check = |said: fn() -> Said, repeated: &str| {
        let host = modern(move |_| said());
        let failure = invoke(&host, &call(&config(URL), &json!({}))).unwrap_err();
        assert_eq!((failure.code.as_str(), failure.retryable), ("outcome-unknown", false));
        assert_eq!(host.methods().len(), 2, "a write is never sent twice");
        let host = modern(move |_| said());
        let failure = invoke(&host, &repeatable(&config(URL))).unwrap_err();
        assert_eq!((failure.code.as_str(), failure.retryable), (repeated, true));
    };
    check(|| Said::events(vec![Piece::Broken]), "upstream-truncated");
    check(|| Said::events(Vec::new()), "connection-lost");
    check(|| Said::Failed(Failure::new("outcome-unknown", "lost")), "connection-lost");
    check(
        || Said::Failed(Failure { retryable: true, ..Failure::new("timeout", "late") }),
        "upstream-timeout",
    );
    check(|| Said::Hangs, "upstream-timeout");
    // What was never sent is known.
    let refused = Failure { retryable: true, ..Failure::new("connect-failed", "nobody there") };
    let host = modern(move |_| Said::Failed(refused.clone()));
    assert_eq!(invoke(&host, &call(&config(URL), &json!({}))).unwrap_err().code, "connect-failed");
}

#[test]
fn a_stream_of_an_older_server_is_gone_on_with() {
    let mut resumed = 0;
    let mut own = Value::Null;
    let host = legacy(move |posted| match posted.method() {
        "tools/call" => {
            own = posted.body["id"].clone();
            Said::events(vec![Piece::Text("id: e1\nretry: 2500\ndata:\n\n".to_owned()), Piece::Broken])
        }
        "GET" => {
            resumed += 1;
            assert_eq!(posted.header("last-event-id"), Some(if resumed < 3 { "e1" } else { "e2" }));
            assert_eq!(posted.header("mcp-session-id"), Some("s1"));
            match resumed {
                1 => Said::events(vec![Piece::Text("data: half of".to_owned())]),
                2 => Said::events(vec![Piece::Text(
                    "id: e2\ndata: {\"method\":\"notifications/message\"}\n\n".to_owned(),
                )]),
                _ => Said::events(vec![event(&json!({"id": own, "result": text("3")}))]),
            }
        }
        other => panic!("{other}"),
    });
    assert_eq!(data(invoke(&host, &call(&config(URL), &json!({})))), "3");
    assert_eq!(host.elapsed_ms(), UNHEARD_MS + 3 * 2_500);
}

#[test]
fn a_stream_is_gone_on_with_three_times_in_vain_and_never_where_it_has_no_ids() {
    let first = |posted: &Posted| {
        if posted.method() == "GET" {
            return Said::events(Vec::new());
        }
        Said::events(vec![Piece::Text("id: e1\ndata:\n\n".to_owned())])
    };
    let host = legacy(first);
    assert_eq!(invoke(&host, &call(&config(URL), &json!({}))).unwrap_err().code, "outcome-unknown");
    assert_eq!(host.methods().iter().filter(|method| *method == "GET").count(), 3);
    // Revision 2026-07-28 has no such thing, whatever ids it sends.
    let host = modern(first);
    invoke(&host, &call(&config(URL), &json!({}))).unwrap_err();
    assert_eq!(host.methods().len(), 2);
    let host = legacy(|_| Said::events(vec![Piece::Text(": nothing\n\n".to_owned())]));
    invoke(&host, &call(&config(URL), &json!({}))).unwrap_err();
    assert_eq!(host.methods().last().unwrap(), "tools/call");
    // Nor where the same event comes again and again.
    let again = |_: &Posted| Said::events(vec![Piece::Text("id: e1\ndata:\n\n".to_owned())]);
    let host = legacy(again);
    invoke(&host, &call(&config(URL), &json!({}))).unwrap_err();
    assert_eq!(host.methods().iter().filter(|method| *method == "GET").count(), 3);
    // A server that wants to be left alone for a year is left for half a minute.
    let host = legacy(|posted| match posted.method() {
        "GET" => Said::text(405, "text/plain", ""),
        _ => Said::events(vec![Piece::Text("id: 1\nretry: 31536000000\ndata:\n\n".to_owned())]),
    });
    invoke(&host, &call(&config(URL), &json!({}))).unwrap_err();
    assert_eq!(host.elapsed_ms(), UNHEARD_MS + 30_000);
}

#[test]
fn a_server_may_close_its_stream_as_often_as_it_says_something_new() {
    let closing = |answers_at: u32, retry: &'static str| {
        let (mut closed, mut own) = (0, Value::Null);
        legacy(move |posted| {
            if posted.method() == "tools/call" {
                own = posted.body["id"].clone();
            }
            closed += 1;
            if closed > answers_at {
                return Said::events(vec![event(&json!({"id": own, "result": text("3")}))]);
            }
            Said::events(vec![Piece::Text(format!("id: e{closed}\n{retry}data:\n\n"))])
        })
    };
    let host = closing(10, "retry: 1000\n");
    assert_eq!(data(invoke(&host, &call(&config(URL), &json!({})))), "3");
    assert_eq!(host.elapsed_ms(), UNHEARD_MS + 10_000);
    // It is silent all the same, and one that wants no pause is given one.
    let host = closing(u32::MAX, "retry: 0\n");
    assert_eq!(invoke(&host, &repeatable(&config(URL))).unwrap_err().code, "upstream-timeout");
    assert!((111_000..112_000).contains(&host.elapsed_ms()), "{}", host.elapsed_ms());
    assert!(host.methods().len() < 600);
}

/// A server of 2024-11-05: a stream, and an endpoint to post to.
fn oldest(endpoint: &'static str, late: bool) -> Host {
    let pending: std::sync::Arc<std::sync::Mutex<Vec<Value>>> = std::sync::Arc::default();
    let _ = late;
    Host::serving(move |posted| {
        if posted.verb == "GET" {
            // The stream's answers are known before: ids are drawn in order.
            let mut body = vec![Piece::Text(format!("event: endpoint\ndata: {endpoint}\n\n"))];
            for answer in pending.lock().unwrap().drain(..) {
                body.push(event(&answer));
            }
            return Said::events(body);
        }
        if posted.url == URL {
            return Said::text(405, "text/plain", "Method Not Allowed");
        }
        let id = &posted.body["id"];
        let result = match posted.method() {
            "initialize" => initialized("2024-11-05"),
            "tools/call" => text("3"),
            _ => return Said::text(202, "text/plain", "Accepted"),
        };
        // Answered at once, which the adapter takes too.
        Said::json(200, &json!({"jsonrpc": "2.0", "id": id, "result": result}))
    })
}

#[test]
fn the_oldest_transport_is_found_and_remembered() {
    let host = oldest("/messages?sessionId=1", false);
    assert_eq!(data(invoke(&host, &call(&config(URL), &json!({})))), "3");
    let posted = host.posted();
    let seen: Vec<_> = posted.iter().map(|each| (each.method(), each.url.as_str())).collect();
    let messages = "https://api.example/messages?sessionId=1";
    assert_eq!(
        seen,
        [
            ("server/discover", URL),
            ("initialize", URL),
            ("GET", URL),
            ("GET", URL),
            ("initialize", messages),
            ("notifications/initialized", messages),
            ("tools/call", messages),
        ]
    );
    // A stream is a session, so the next call has its own, and looks for nothing.
    data(invoke(&host, &call(&config(URL), &json!({}))));
    assert_eq!(host.methods(), ["GET", "initialize", "notifications/initialized", "tools/call"]);
    let known = json!({"transport": "http", "url": URL, "sse": true}).to_string();
    let host = oldest("/messages?sessionId=1", false);
    data(invoke(&host, &call(&known, &json!({}))));
    assert_eq!(host.methods().len(), 4);
}

#[test]
fn an_endpoint_of_another_origin_gets_nothing() {
    for endpoint in ["https://evil.example/m", "//evil.example/m", "file:///x", ""] {
        let host = oldest(endpoint, false);
        let failure = invoke(&host, &call(&config(URL), &json!({}))).unwrap_err();
        assert_eq!(failure.status, Some(405), "{failure:?}");
        assert!(host.posted().iter().all(|posted| posted.url == URL));
    }
}

#[test]
fn answers_of_the_oldest_transport_come_on_its_stream() {
    let host = Host::serving(|posted| match (posted.verb.as_str(), posted.method()) {
        ("GET", _) => Said::events(vec![
            Piece::Text("event: endpoint\ndata: /m\n\n".to_owned()),
            // Ids are drawn by the host; the script knows the first two.
            event(&json!({"id": id(1), "result": initialized("2024-11-05")})),
            Piece::Silence(1_000),
            event(&json!({"id": 5, "method": "ping"})),
            event(&json!({"id": id(2), "result": text("3")})),
        ]),
        _ => Said::accepted(),
    });
    let known = json!({"transport": "http", "url": URL, "sse": true}).to_string();
    assert_eq!(data(invoke(&host, &call(&known, &json!({})))), "3");
    let methods = host.methods();
    assert_eq!(methods, ["GET", "initialize", "notifications/initialized", "tools/call", ""]);
}

/// The nth id that a call draws from the host.
fn id(nth: u64) -> u64 {
    (nth.wrapping_mul(0x9E37_79B9_7F4A_7C15) & ((1 << 53) - 1)).max(1)
}

#[test]
fn a_body_that_comes_slowly_is_no_silence() {
    let slow = |step: u64| {
        modern(move |posted| {
            let whole = json!({"id": posted.body["id"], "result": text("3")}).to_string();
            let mut body = Vec::new();
            for piece in whole.as_bytes().chunks(whole.len() / 4) {
                body.extend([Piece::Silence(step), Piece::Text(String::from_utf8(piece.to_vec()).unwrap())]);
            }
            Said::Http { status: 200, headers: Vec::new(), body }
        })
    };
    assert_eq!(data(invoke(&slow(100_000), &call(&config(URL), &json!({})))), "3");
    assert_eq!(invoke(&slow(200_000), &repeatable(&config(URL))).unwrap_err().code, "upstream-timeout");
}
