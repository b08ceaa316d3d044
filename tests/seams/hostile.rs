//! What a hostile adapter tries, and what becomes of it: a typed end, a
//! denial, or nothing; never a host that breaks or waits.

use std::time::{Duration, Instant};

use executor_runtime::limits::Limits;
use executor_runtime::{
    AdapterContext, AdapterError, CallError, Credential, CredentialMethod, Document, FaultKind, Location,
    MethodRule, Origin, Placement, Probe, Scope, Secret, Share, ToolCall, ToolOutcome,
};
use executor_upstreams::plain::{self, Answer, Routes, Upstream};
use serde_json::{Value, json};

use crate::adapter::reach;
use crate::fixture::{Ground, adapter};

/// Small enough that a test takes no patience, large enough that nothing
/// honest would reach it.
fn tight() -> Limits {
    Limits { wall: Duration::from_secs(5), fuel: 2_000_000_000, ..Limits::adapter_invoke() }
}

async fn act(scope: Scope, behaviour: &str, arguments: Value) -> Result<ToolOutcome, AdapterError> {
    act_within(tight(), scope, behaviour, arguments).await
}

async fn act_within(
    limits: Limits,
    scope: Scope,
    behaviour: &str,
    arguments: Value,
) -> Result<ToolOutcome, AdapterError> {
    let ground = Ground::new();
    let context = AdapterContext { limits: Some(limits), ..ground.context(scope) };
    let call = ToolCall {
        tool: behaviour.into(),
        binding: Vec::new(),
        arguments: arguments.to_string(),
        settings: "{}".into(),
        resume: None,
    };
    adapter("adapter_hostile").await.invoke(&Share::default(), context, call).await
}

async fn index(behaviour: &str, count: Option<u64>) -> Result<executor_runtime::Indexed, AdapterError> {
    let ground = Ground::new();
    let limits = Limits { memory_bytes: 512 * 1024 * 1024, fuel: 20_000_000_000, ..tight() };
    let context = AdapterContext {
        limits: Some(Limits { wall: Duration::from_secs(30), ..limits }),
        progress: Some(std::sync::Arc::new(|_, _, _| {})),
        ..ground.context(Scope::default())
    };
    let mut config = json!({ "behaviour": behaviour });
    if let Some(count) = count {
        config["count"] = count.into();
    }
    let adapter = adapter("adapter_hostile").await;
    adapter.index(&Share::default(), context, config.to_string(), "{}".into(), None, None).await
}

async fn ends(behaviour: &str, expect: &[FaultKind]) {
    adapter("adapter_hostile").await;
    let begun = Instant::now();
    match act(Scope::default(), behaviour, json!({})).await {
        Err(AdapterError::Broken(CallError::Guest(fault))) => {
            assert!(expect.contains(&fault.kind), "{behaviour}: {fault}");
            assert!(!fault.log.contains('\u{1b}'), "{behaviour}: its log is shown without controls");
        }
        other => panic!("{behaviour}: {other:?}"),
    }
    assert!(begun.elapsed() < Duration::from_secs(20), "{behaviour} took {:?}", begun.elapsed());
}

/// Every attempt of a behaviour, with what it got.
async fn attempts(scope: Scope, behaviour: &str, arguments: Value) -> Vec<Value> {
    reported(behaviour, act(scope, behaviour, arguments).await)
}

fn reported(behaviour: &str, outcome: Result<ToolOutcome, AdapterError>) -> Vec<Value> {
    match outcome {
        Ok(ToolOutcome::Done(response)) => {
            let report: Value = serde_json::from_str(&response.data).unwrap();
            report["attempts"].as_array().cloned().unwrap()
        }
        other => panic!("{behaviour}: {other:?}"),
    }
}

async fn gets_nothing(scope: Scope, behaviour: &str, arguments: Value) {
    let attempts = attempts(scope, behaviour, arguments).await;
    assert!(!attempts.is_empty(), "{behaviour} tried something");
    for attempt in attempts {
        assert_eq!(attempt["got"], Value::Null, "{behaviour}: {attempt}");
    }
}

async fn upstream() -> Upstream {
    plain::start(
        Routes::new()
            .on("GET", "/", Answer::text(200, "fine"))
            .on("POST", "/", Answer::text(200, "changed"))
            .on("DELETE", "/", Answer::text(200, "gone"))
            .handler(),
    )
    .await
    .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn exhaustion_has_a_typed_end() {
    ends("loop_forever", &[FaultKind::OutOfFuel, FaultKind::Timeout]).await;
    ends("sleep_forever", &[FaultKind::Timeout]).await;
    ends("eat_memory", &[FaultKind::OutOfMemory]).await;
    ends("recurse", &[FaultKind::Trap]).await;
    ends("flood_stdout", &[FaultKind::OutOfFuel, FaultKind::Timeout]).await;
    ends("flood_stderr", &[FaultKind::OutOfFuel, FaultKind::Timeout]).await;
    ends("panic", &[FaultKind::Trap]).await;
    ends("abort", &[FaultKind::Trap]).await;
    ends("exit_success", &[FaultKind::Trap]).await;
    ends("exit_failure", &[FaultKind::Trap]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn there_is_nothing_to_read_and_nowhere_to_go() {
    for behaviour in
        ["read_environment", "read_arguments", "read_stdin", "read_files", "write_files", "open_blobs"]
    {
        gets_nothing(Scope::default(), behaviour, json!({})).await;
    }
    gets_nothing(Scope::default(), "sink_outside_index", json!({})).await;
    let upstream = upstream().await;
    let address = upstream.origin().trim_start_matches("http://").to_owned();
    gets_nothing(Scope::default(), "open_sockets", json!({ "url": address })).await;
    assert_eq!(upstream.ledger.count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_sends_no_write_in_any_spelling() {
    let upstream = upstream().await;
    let url = json!({ "url": format!("{}/", upstream.origin()) });
    for behaviour in ["read_only_post", "read_only_delete"] {
        gets_nothing(reach(&upstream), behaviour, url.clone()).await;
    }
    attempts(reach(&upstream), "read_only_methods", url).await;
    for entry in upstream.ledger.entries() {
        assert!(["GET", "HEAD", "OPTIONS"].contains(&entry.method.as_str()), "{} left", entry.method);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_go_to_granted_origins_alone() {
    let (granted, other) = (upstream().await, upstream().await);
    let port = other.origin().rsplit(':').next().unwrap().parse::<u16>().unwrap();
    let arguments = json!({ "url": format!("{}/", other.origin()), "port": port });
    for behaviour in
        ["other_origin", "metadata_address", "loopback_addresses", "private_addresses", "userinfo_urls"]
    {
        gets_nothing(reach(&granted), behaviour, arguments.clone()).await;
    }
    attempts(reach(&granted), "odd_urls", arguments).await;
    assert_eq!(other.ledger.count(), 0, "{:?}", other.ledger.entries());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_origin_is_not_an_address() {
    let upstream = upstream().await;
    let origin = Origin::parse(upstream.origin()).unwrap();
    let ungranted = Scope::new("default/test".into(), vec![origin], Vec::new());
    gets_nothing(ungranted, "get", json!({ "url": format!("{}/", upstream.origin()) })).await;
    assert_eq!(upstream.ledger.count(), 0, "loopback wants a grant of its own");
    let attempts =
        attempts(reach(&upstream), "get", json!({ "url": format!("{}/", upstream.origin()) })).await;
    assert_ne!(attempts[0]["got"], Value::Null, "with the grant it goes through: {attempts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_that_are_the_hosts_stay_the_hosts() {
    let upstream = upstream().await;
    let url = json!({ "url": format!("{}/", upstream.origin()) });
    for behaviour in ["own_credentials", "framing_headers", "crlf_headers", "crlf_request", "unknown_auth"] {
        attempts(reach(&upstream), behaviour, url.clone()).await;
    }
    let host = upstream.origin().trim_start_matches("http://");
    for entry in upstream.ledger.entries() {
        assert_eq!(entry.header("host"), Some(host), "{:?}", entry.headers);
        for header in ["authorization", "proxy-authorization", "transfer-encoding", "x-injected", "injected"]
        {
            assert_eq!(entry.header(header), None, "{:?}", entry.headers);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cookie_of_the_credential_is_not_displaced() {
    let upstream = upstream().await;
    let placement =
        Placement { location: Location::Cookie, name: "session".into(), value: Secret::new("real".into()) };
    let method = CredentialMethod { id: "cookie".into(), placements: vec![placement], signing: None };
    let mut scope = reach(&upstream);
    scope.credential = Some(Credential {
        connection: "default".into(),
        origins: scope.origins.clone(),
        methods: vec![method],
        default_methods: vec!["cookie".into()],
        ..Credential::default()
    });
    attempts(scope, "own_credentials", json!({ "url": format!("{}/", upstream.origin()) })).await;
    let entries = upstream.ledger.entries();
    assert!(!entries.is_empty());
    for entry in entries {
        assert_eq!(entry.header("cookie"), Some("session=real"), "{:?}", entry.headers);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_is_nowhere_in_a_guests_memory() {
    let secret = "canary-in-memory-71c9";
    let echo = |request: &plain::Request<'_>| {
        let sent = request.header("authorization").map(String::from_utf8_lossy).unwrap_or_default();
        Answer::new(200, &[("x-echo", &*sent)], format!("DELIVERED: {sent}"))
    };
    let upstream = plain::start(echo).await.unwrap();
    let value = Secret::new(format!("Bearer {secret}"));
    let placement = Placement { location: Location::Header, name: "Authorization".into(), value };
    let method = CredentialMethod { id: "bearer".into(), placements: vec![placement], signing: None };
    let mut scope = reach(&upstream);
    scope.credential = Some(Credential {
        origins: scope.origins.clone(),
        methods: vec![method],
        default_methods: vec!["bearer".into()],
        secrets: vec![Secret::new(secret.into())],
        ..Credential::default()
    });
    let arguments = json!({ "url": format!("{}/", upstream.origin()),
        "needle": secret.chars().rev().collect::<String>() });
    let report = attempts(scope, "search_memory", arguments).await;
    let sent = &upstream.ledger.entries()[0];
    assert_eq!(sent.header("authorization"), Some(format!("Bearer {secret}").as_str()));
    assert_eq!(report[0]["found"], 0, "{report:?}");
    assert!(report[0]["delivered"].as_u64() > Some(0), "the search finds what is there: {report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_call_makes_a_bounded_number_of_requests() {
    let upstream = upstream().await;
    let _ = act(
        reach(&upstream),
        "many_requests",
        json!({ "url": format!("{}/", upstream.origin()), "count": 5_000 }),
    )
    .await;
    assert!(upstream.ledger.count() <= 1_000, "{} requests left", upstream.ledger.count());
}

#[tokio::test(flavor = "multi_thread")]
async fn handles_sessions_and_questions_are_bounded() {
    for behaviour in
        ["hold_blobs", "session_keys", "session_value", "session_key_long", "progress_flood", "ask_flood"]
    {
        let begun = Instant::now();
        let _ = act(Scope::default(), behaviour, json!({})).await;
        assert!(begun.elapsed() < Duration::from_secs(20), "{behaviour} took {:?}", begun.elapsed());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_call_keeps_is_bounded_whichever_way_it_comes() {
    let routes = Routes::new().on("GET", "/", Answer::filled(300 * 1024));
    let upstream = plain::start(routes.handler()).await.unwrap();
    let arguments = json!({ "url": format!("{}/", upstream.origin()), "count": 8 });
    for (behaviour, kept) in [("keep_answers", "number 3"), ("grow_blob", "MiB 1")] {
        let limits = Limits { kept_bytes: 1024 * 1024, ..tight() };
        let outcome = act_within(limits, reach(&upstream), behaviour, arguments.clone()).await;
        let attempts = reported(behaviour, outcome);
        let [attempt] = attempts.as_slice() else { panic!("{attempts:?}") };
        let denied = attempt["denied"].as_str().unwrap_or_default();
        assert!(denied.starts_with("too-large: one call keeps at most 1048576"), "{behaviour}: {attempt}");
        assert_eq!(attempt["what"], kept, "{behaviour}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_in_an_answer_is_the_adapters_failure() {
    for behaviour in ["data_not_json", "data_empty"] {
        match act(Scope::default(), behaviour, json!({})).await {
            Err(AdapterError::Failed(failure)) => {
                assert_eq!(failure.code, "adapter-garbage", "{behaviour}: {failure}")
            }
            other => panic!("{behaviour}: {other:?}"),
        }
    }
    for behaviour in ["data_huge", "data_deep", "failure_huge", "pause_million", "pause_huge_state"] {
        let begun = Instant::now();
        let _ = act(Scope::default(), behaviour, json!({})).await;
        assert!(begun.elapsed() < Duration::from_secs(20), "{behaviour} took {:?}", begun.elapsed());
    }
    match act(Scope::default(), "failure_garbage", json!({})).await {
        Err(AdapterError::Failed(failure)) => {
            assert!(
                !failure.message.chars().any(|character| character.is_control() && character != '\n'),
                "{failure:?}"
            );
            assert!(!failure.code.contains('\u{1b}'), "{failure:?}");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_index_puts_is_sane_or_refused() {
    for (behaviour, count) in [
        ("schemas_not_json", None),
        ("schema_remote_refs", None),
        ("schema_refs_dangling", None),
        ("schema_deep", None),
        ("schema_wide", None),
        ("schema_patterns", None),
        ("names_garbage", None),
        ("name_long", None),
        ("names_twice", None),
        ("text_garbage", None),
        ("description_long", Some(5_000_000)),
        ("binding_large", Some(5_000_000)),
        ("tools_many", Some(60_000)),
        ("definitions_many", Some(120_000)),
        ("definitions_garbage", None),
        ("auth_garbage", None),
        ("auth_undefined", None),
        ("warn_flood", Some(10_000)),
        ("summary_garbage", None),
    ] {
        let indexed = match index(behaviour, count).await {
            Ok(indexed) => indexed,
            Err(AdapterError::Failed(_) | AdapterError::Broken(CallError::Guest(_))) => continue,
            Err(error) => panic!("{behaviour}: {error:?}"),
        };
        let staged = &indexed.staged;
        assert!(staged.tools.len() <= 50_000 && staged.warnings.len() <= 2_000, "{behaviour}");
        for tool in &staged.tools {
            assert!(
                tool.name.len() <= 512 && !tool.name.contains(char::is_control),
                "{behaviour}: {:?}",
                tool.name
            );
            assert!(!tool.description.contains('\u{1b}'), "{behaviour}: {:?}", tool.description);
            assert!(serde_json::from_str::<Value>(&tool.input_schema).is_ok(), "{behaviour}");
            assert!(tool.binding.len() <= 1024 * 1024, "{behaviour}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_fails_leaves_nothing() {
    assert!(index("put_then_fail", None).await.is_err());
    assert!(index("put_then_panic", None).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn detect_is_bounded_and_its_boasts_are_clamped() {
    let ground = Ground::new();
    let hostile = adapter("adapter_hostile").await;
    let detect = async |behaviour: &str| {
        let body = json!({ "behaviour": behaviour }).to_string().into_bytes();
        let document = Document { url: None, media_type: None, body };
        let probe = Probe { status: None, headers: Vec::new(), document };
        let context = AdapterContext { limits: Some(tight()), ..ground.context(Scope::default()) };
        hostile.detect(&Share::default(), context, probe).await
    };
    let boast = detect("detect_boast").await.unwrap().unwrap();
    assert!(boast.confidence <= 100);
    assert!(matches!(detect("loop_forever").await, Err(AdapterError::Broken(_))));
}

/// The scope of a write, for completeness: what is granted does leave.
#[tokio::test(flavor = "multi_thread")]
async fn a_granted_write_leaves() {
    let upstream = upstream().await;
    let mut scope = reach(&upstream);
    scope.methods = MethodRule::Any;
    let attempts =
        attempts(scope, "read_only_post", json!({ "url": format!("{}/", upstream.origin()) })).await;
    assert_ne!(attempts[0]["got"], Value::Null, "{attempts:?}");
    assert_eq!(upstream.ledger.matching("POST", "/").len(), 1);
}
