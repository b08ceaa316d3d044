//! Which era a server is of, sessions, and what is agreed on once.

use executor_mcp::seam::Failure;
use serde_json::json;

use crate::host::*;
use crate::support::*;

fn add(posted: &Posted) -> Said {
    assert_eq!(posted.body["params"]["name"], "add");
    posted.result(text("3"))
}

#[test]
fn a_modern_server_is_asked_once_and_told_all_with_each_request() {
    let host = modern(add);
    assert_eq!(data(invoke(&host, &call(&config(URL), &json!({"a": 1, "b": 2})))), "3");
    let posted = host.posted();
    let asked = posted.last().unwrap();
    assert_eq!(asked.header("mcp-protocol-version"), Some(MODERN));
    assert_eq!(asked.header("mcp-method"), Some("tools/call"));
    assert_eq!(asked.header("mcp-name"), Some("add"));
    assert_eq!(asked.header("accept"), Some("application/json, text/event-stream"));
    assert_eq!(asked.header("mcp-session-id"), None);
    let meta = &asked.body["params"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], MODERN);
    assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "executor");
    assert!(meta["io.modelcontextprotocol/clientCapabilities"]["elicitation"]["url"].is_object());
    assert_eq!(meta["progressToken"], asked.body["id"]);
    assert_eq!(asked.body["params"]["arguments"], json!({"a": 1, "b": 2}));
    let methods: Vec<_> = posted.iter().map(Posted::method).collect();
    assert_eq!(methods, ["server/discover", "tools/call"]);
    assert_ne!(posted[0].body["id"], posted[1].body["id"]);
    // The next call of the connection asks for nothing but its answer.
    data(invoke(&host, &call(&config(URL), &json!({}))));
    assert_eq!(host.methods(), ["tools/call"]);
}

#[test]
fn an_era_that_was_found_out_when_the_source_was_added_is_not_probed() {
    let host = modern(add);
    let modern_config = json!({"transport": "http", "url": URL, "era": "modern"}).to_string();
    data(invoke(&host, &call(&modern_config, &json!({}))));
    assert_eq!(host.methods(), ["tools/call"]);
    let host = legacy(add);
    let legacy_config = json!({"transport": "http", "url": URL, "era": "legacy"}).to_string();
    data(invoke(&host, &call(&legacy_config, &json!({}))));
    assert_eq!(host.methods(), ["initialize", "notifications/initialized", "tools/call"]);
}

#[test]
fn an_older_server_is_greeted_once_and_its_session_shared() {
    let host = legacy(add);
    data(invoke(&host, &call(&config(URL), &json!({}))));
    let posted = host.posted();
    let methods: Vec<_> = posted.iter().map(Posted::method).collect();
    assert_eq!(methods, ["server/discover", "initialize", "notifications/initialized", "tools/call"]);
    assert_eq!(posted[1].body["params"]["protocolVersion"], LEGACY);
    assert_eq!(posted[1].header("mcp-session-id"), None);
    for later in &posted[2..] {
        assert_eq!(later.header("mcp-session-id"), Some("s1"));
        assert_eq!(later.header("mcp-protocol-version"), Some(LEGACY));
        assert_eq!(later.header("mcp-method"), None);
    }
    data(invoke(&host, &call(&config(URL), &json!({}))));
    assert_eq!(host.methods(), ["tools/call"]);
    // Losing the session costs time alone.
    host.lose_session();
    data(invoke(&host, &call(&config(URL), &json!({}))));
    assert_eq!(host.methods().len(), 4);
}

#[test]
fn anything_but_a_modern_answer_leads_to_initialize() {
    let check = |probe: fn(&Posted) -> Said| {
        let host = Host::serving(move |posted| match posted.method() {
            "server/discover" => probe(posted),
            "initialize" => posted.result(initialized("2025-03-26")),
            "notifications/initialized" => Said::accepted(),
            _ => add(posted),
        });
        assert_eq!(data(invoke(&host, &call(&config(URL), &json!({})))), "3");
        let posted = host.posted();
        let last = posted.last().unwrap();
        assert_eq!(last.header("mcp-protocol-version"), None, "2025-03-26 has no such header");
        host.elapsed_ms()
    };
    check(|posted| posted.error(200, -32_601, "Method not found"));
    check(|posted| posted.error(400, -32_602, "Invalid request parameters"));
    check(|posted| posted.result(json!({})));
    check(|_| Said::text(404, "text/plain", "Not Found"));
    check(|_| Said::text(500, "text/html", "<h1>oops</h1>"));
    check(|_| Said::text(200, "text/html", "<h1>hello</h1>"));
    check(|_| Said::accepted());
    check(|_| Said::Failed(Failure::new("outcome-unknown", "the connection was lost")));
    let waited = check(|_| Said::Hangs);
    assert_eq!(waited, 10_000);
}

#[test]
fn a_modern_error_is_no_reason_to_go_back() {
    let host = Host::serving(|posted| match posted.method() {
        "server/discover" => posted.error(400, -32_021, "Missing required client capability"),
        _ => add(posted),
    });
    data(invoke(&host, &call(&config(URL), &json!({}))));
    assert_eq!(host.methods(), ["server/discover", "tools/call"]);
    // One that names what it speaks is taken at its word.
    let offering = |versions: serde_json::Value| {
        Host::serving(move |posted| match posted.method() {
            "server/discover" => {
                let error = json!({"code": -32022, "message": "no", "data": {"supported": versions}});
                Said::json(400, &json!({"jsonrpc": "2.0", "id": posted.body["id"], "error": error}))
            }
            "initialize" => posted.result(initialized(LEGACY)),
            "notifications/initialized" => Said::accepted(),
            _ => add(posted),
        })
    };
    let host = offering(json!(["2025-11-25"]));
    data(invoke(&host, &call(&config(URL), &json!({}))));
    assert_eq!(host.methods()[1], "initialize");
    let host = offering(json!(["2031-01-01"]));
    let failure = invoke(&host, &call(&config(URL), &json!({}))).unwrap_err();
    assert_eq!(failure.code, "protocol-unsupported");
    assert!(failure.message.contains("2031-01-01"), "{}", failure.message);
    assert_eq!(host.methods(), ["server/discover"]);
}

#[test]
fn a_version_that_is_not_spoken_ends_the_greeting() {
    let host = Host::serving(|posted| match posted.method() {
        "initialize" => posted.result(initialized("1999-01-01\u{1b}[31m")),
        _ => posted.error(400, -32_601, "no"),
    });
    let failure = invoke(&host, &call(&config(URL), &json!({}))).unwrap_err();
    assert_eq!(failure.code, "protocol-unsupported");
    assert!(!failure.message.contains('\u{1b}') && failure.message.contains("1999-01-01"));
    assert!(host.session().is_empty(), "nothing is kept of a greeting that failed");
}

#[test]
fn a_lost_session_is_made_anew_once_and_the_call_sent_once_more() {
    let mut live = "s1";
    let host = legacy(move |posted| {
        if posted.header("mcp-session-id") != Some(live) {
            return posted.error(404, -32_001, "Session not found");
        }
        live = "s2";
        posted.result(text("3"))
    });
    data(invoke(&host, &call(&config(URL), &json!({}))));
    host.posted();
    // The server has forgotten s1 since.
    data(invoke(&host, &call(&config(URL), &json!({}))));
    assert_eq!(
        host.methods(),
        ["tools/call", "server/discover", "initialize", "notifications/initialized", "tools/call"]
    );
    // The reference servers say 400 where the specification wants 404.
    let host = legacy(|posted| match posted.header("mcp-session-id") {
        Some("s1") => posted.error(400, -32_000, "Bad Request: No valid session ID provided"),
        _ => posted.result(text("3")),
    });
    assert_eq!(data(invoke(&host, &call(&config(URL), &json!({})))), "3");
    // One whose sessions are those of who began them refuses those of others.
    let host = legacy(|posted| match posted.header("mcp-session-id") {
        Some("s1") => posted.error(403, -32_000, "Forbidden: another user initiated the session."),
        _ => posted.result(text("3")),
    });
    assert_eq!(data(invoke(&host, &call(&config(URL), &json!({})))), "3");
    // What is refused for another reason is no matter of the session.
    let scope = r#"Bearer error="insufficient_scope", scope="session:write""#;
    let check = |said: fn(&Posted) -> Said| {
        let host = legacy(move |posted| said(posted).with("www-authenticate", scope));
        assert_eq!(invoke(&host, &call(&config(URL), &json!({}))).unwrap_err().code, "upstream-rejected");
        assert_eq!(host.methods().iter().filter(|method| *method == "tools/call").count(), 1);
    };
    check(|posted| posted.error(403, -32_000, "this session lacks a scope"));
    let host = legacy(|posted| posted.error(403, -32_000, "not for you"));
    assert_eq!(invoke(&host, &call(&config(URL), &json!({}))).unwrap_err().code, "upstream-rejected");
    assert_eq!(host.methods().len(), 4);
    // One that loses each session at once is not asked for ever.
    let host = legacy(|posted| posted.error(404, -32_001, "Session not found"));
    let failure = invoke(&host, &call(&config(URL), &json!({}))).unwrap_err();
    assert_eq!((failure.code.as_str(), failure.retryable), ("connection-lost", true));
    assert_eq!(host.methods().iter().filter(|method| *method == "tools/call").count(), 2);
}

#[test]
fn a_server_that_became_another_is_found_out() {
    // It was modern when the source was added, and is an older one now.
    let host = legacy(|posted| match posted.header("mcp-session-id") {
        Some(_) => posted.result(text("3")),
        None => posted.error(400, -32_000, "Bad Request: Server not initialized"),
    });
    let modern_config = json!({"transport": "http", "url": URL, "era": "modern"}).to_string();
    assert_eq!(data(invoke(&host, &call(&modern_config, &json!({})))), "3");
    // And the other way round.
    let host = modern(|posted| match posted.method() {
        "initialize" => posted.error(400, -32_022, "Unsupported protocol version"),
        _ => posted.result(text("3")),
    });
    let legacy_config = json!({"transport": "http", "url": URL, "era": "legacy"}).to_string();
    assert_eq!(data(invoke(&host, &call(&legacy_config, &json!({})))), "3");
}

#[test]
fn an_error_of_a_server_that_is_as_it_was_is_the_answer() {
    let config = json!({"transport": "http", "url": URL, "era": "modern"}).to_string();
    let check = |said: fn(&Posted) -> Said, code: &str| {
        let host = modern(said);
        let failure = invoke(&host, &call(&config, &json!({}))).unwrap_err();
        assert_eq!((failure.code.as_str(), failure.status), (code, Some(400)));
        assert_eq!(host.methods(), ["tools/call", "server/discover"], "a write is sent once");
    };
    check(|posted| posted.error(400, -32_000, "saved, but not told"), "upstream-error");
    check(|_| Said::text(400, "text/plain", "no"), "upstream-error");
    // Nor is it sent to one that can't be asked any more.
    let mut first = true;
    let host = Host::serving(move |posted| match std::mem::take(&mut first) {
        true => posted.error(400, -32_000, "saved, but not told"),
        false => Said::Failed(Failure::new("connect-failed", "nobody there")),
    });
    let failure = invoke(&host, &call(&config, &json!({}))).unwrap_err();
    assert!(failure.message.contains("saved, but not told"), "{failure:?}");
}

#[test]
fn what_others_agreed_on_is_forgotten_too_once_the_server_went_back() {
    use executor_mcp::seam::World;
    let host = legacy(|posted| match posted.header("mcp-session-id") {
        Some(_) => posted.result(text("3")),
        None => posted.error(400, -32_000, "Bad Request: Server not initialized"),
    });
    data(invoke(&host, &call(&config(URL), &json!({}))));
    let (key, _) = agreed(&host);
    host.lose_session();
    // A watch found a modern server, and the source's config says so as well.
    let modern = json!({"ready": {"era": "modern", "version": MODERN, "offers": null}}).to_string();
    assert!(host.swap(&key, None, Some(modern.as_bytes())));
    let known = json!({"transport": "http", "url": URL, "era": "modern"}).to_string();
    assert_eq!(data(invoke(&host, &call(&known, &json!({})))), "3");
    assert_eq!(agreed(&host).1["ready"]["era"], "legacy");
    // What somebody else has found out meanwhile is used.
    host.posted();
    assert_eq!(data(invoke(&host, &call(&known, &json!({})))), "3");
    assert_eq!(host.methods(), ["tools/call", "tools/call"]);
}

#[test]
fn two_first_calls_greet_once() {
    let host = Host::serving(|posted| match posted.method() {
        "server/discover" => posted.error(400, -32_601, "no"),
        "initialize" => {
            std::thread::sleep(std::time::Duration::from_millis(60));
            posted.result(initialized(LEGACY)).with("mcp-session-id", "only")
        }
        "notifications/initialized" => Said::accepted(),
        _ => {
            assert_eq!(posted.header("mcp-session-id"), Some("only"));
            posted.result(text("3"))
        }
    })
    .in_real_time();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| data(invoke(&host, &call(&config(URL), &json!({})))));
        }
    });
    let methods = host.methods();
    assert_eq!(methods.iter().filter(|method| *method == "initialize").count(), 1);
    assert_eq!(methods.iter().filter(|method| *method == "tools/call").count(), 8);
}

#[test]
fn who_died_while_it_greeted_is_not_waited_for_long() {
    use executor_mcp::seam::World;
    let host = legacy(add);
    data(invoke(&host, &call(&config(URL), &json!({}))));
    let (key, _) = agreed(&host);
    host.lose_session();
    let dead = json!({"greeting": {"at_ms": host.now_ms(), "by": 1}}).to_string();
    assert!(host.swap(&key, None, Some(dead.as_bytes())));
    assert_eq!(data(invoke(&host, &call(&config(URL), &json!({})))), "3");
    let waited = host.elapsed_ms() - 2 * UNHEARD_MS;
    assert!((15_000..16_000).contains(&waited), "{waited}");
    // A claim of the future, by a clock that was put back, is no claim.
    host.lose_session();
    let future = json!({"greeting": {"at_ms": host.now_ms() + 1_000_000, "by": 1}}).to_string();
    assert!(host.swap(&key, None, Some(future.as_bytes())));
    data(invoke(&host, &call(&config(URL), &json!({}))));
    assert_eq!(host.elapsed_ms() - 3 * UNHEARD_MS, waited);
}

#[test]
fn a_host_that_keeps_nothing_costs_time_alone() {
    let host = legacy(add).forgetful();
    for _ in 0..2 {
        assert_eq!(data(invoke(&host, &call(&config(URL), &json!({})))), "3");
        assert_eq!(host.methods().len(), 4);
    }
}

#[test]
fn a_preview_shows_the_call_and_not_the_greeting() {
    let captured = || Said::Failed(Failure::new("captured", "the request is shown, not sent"));
    let host = Host::serving(move |_| captured());
    let failure = invoke(&host, &call(&config(URL), &json!({"a": 1}))).unwrap_err();
    assert_eq!(failure.code, "captured");
    assert_eq!(host.methods().last().unwrap(), "tools/call");
    assert!(host.session().is_empty());
    let shown = executor_mcp::seam::Call {
        meta: Some(r#"{"preview":true}"#.to_owned()),
        ..call(&config(URL), &json!({"a": 1}))
    };
    assert_eq!(invoke(&host, &shown).unwrap_err().code, "captured");
    assert_eq!(host.methods(), ["tools/call"]);
}

#[test]
fn redirects_that_keep_the_method_are_followed_within_the_origin() {
    let host = Host::serving(|posted| {
        if posted.url == URL {
            return Said::text(307, "text/plain", "").with("location", "/mcp/");
        }
        match posted.method() {
            "server/discover" => posted.result(json!({"supportedVersions": [MODERN], "capabilities": {}})),
            _ => add(posted),
        }
    });
    assert_eq!(data(invoke(&host, &call(&config(URL), &json!({})))), "3");
    for (status, location) in
        [(308, "https://evil.example/mcp"), (302, "/login"), (307, "http://api.example/mcp")]
    {
        let host = modern(move |_| Said::text(status, "text/plain", "").with("location", location));
        let failure = invoke(&host, &call(&config(URL), &json!({}))).unwrap_err();
        assert_eq!((failure.code.as_str(), failure.status), ("upstream-redirected", Some(status)));
        assert!(host.posted().iter().all(|posted| posted.url == URL));
    }
    let host = Host::serving(|_| Said::text(307, "text/plain", "").with("location", URL));
    assert_eq!(invoke(&host, &call(&config(URL), &json!({}))).unwrap_err().code, "too-many-redirects");
}
