//! The adapter seam, against what a third party's plain `cargo build` makes
//! and against the adapter that comes with the daemon.

use std::sync::Arc;
use std::time::{Duration, Instant};

use executor_runtime::{
    AdapterContext, AdapterError, Answer as Said, Asker, Credential, CredentialMethod, Document, HostPort,
    Location, MethodRule, Origin, Placement, Probe, Scope, Secret, Share, Stopwatch, ToolCall, ToolOutcome,
    limits::Limits,
};
use executor_upstreams::plain::{self, Answer, Routes, Upstream};
use serde_json::{Value, json};

use crate::fixture::{Ground, adapter, identity, runtime};

/// A scope that reaches an upstream on loopback.
pub(crate) fn reach(upstream: &Upstream) -> Scope {
    reach_origin(upstream.origin())
}

/// A scope that reaches an origin on loopback.
pub(crate) fn reach_origin(origin: &str) -> Scope {
    let host = HostPort::parse(origin.trim_start_matches("http://")).unwrap();
    Scope::new("default/test".into(), vec![Origin::parse(origin).unwrap()], vec![host])
}

pub(crate) async fn invoke(
    name: &'static str,
    ground: &Ground,
    scope: Scope,
    tool: &str,
    arguments: Value,
    settings: Value,
) -> Result<ToolOutcome, AdapterError> {
    let call = ToolCall {
        tool: tool.into(),
        binding: tool.as_bytes().to_vec(),
        arguments: arguments.to_string(),
        settings: settings.to_string(),
        resume: None,
    };
    adapter(name).await.invoke(&Share::default(), ground.context(scope), call).await
}

#[tokio::test]
async fn a_plain_adapter_describes_indexes_and_answers() {
    let (ground, share) = (Ground::new(), Share::default());
    let plain = adapter("adapter_plain").await;
    let info = plain.describe(&share, ground.context(Scope::default())).await.unwrap();
    assert_eq!(info.kind, "plain");
    let indexed = plain
        .index(
            &share,
            ground.context(Scope::default()),
            "{}".into(),
            r#"{"base_url":"http://a.example"}"#.into(),
            None,
            None,
        )
        .await
        .unwrap();
    let names: Vec<&str> = indexed.staged.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["echo", "fetch", "write", "ask", "askWrite"]);

    let upstream =
        plain::start(Routes::new().on("GET", "/hello", Answer::text(200, "hello")).handler()).await.unwrap();
    let fetch = indexed.staged.tools.iter().find(|tool| tool.name == "fetch").unwrap();
    let call = ToolCall {
        tool: "fetch".into(),
        binding: fetch.binding.clone(),
        arguments: r#"{"path":"/hello"}"#.into(),
        settings: json!({ "base_url": upstream.origin() }).to_string(),
        resume: None,
    };
    let outcome = plain.invoke(&share, ground.context(reach(&upstream)), call).await.unwrap();
    let ToolOutcome::Done(response) = outcome else { panic!("{outcome:?}") };
    assert!(response.data.contains("hello"), "{}", response.data);
}

const DOCUMENT: &str = r#"{"openapi":"3.0.3","info":{"title":"Pets API","version":"2.1"},
    "servers":[{"url":"SERVER"}],"security":[{"key":[]}],
    "components":{"securitySchemes":{"key":{"type":"apiKey","in":"header","name":"X-Key"}}},
    "paths":{"/pets/{id}":{
        "get":{"operationId":"pets/get","parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string"}}],
            "responses":{"200":{"description":"","content":{"application/json":{"schema":{"type":"object"}}}}}},
        "delete":{"operationId":"pets/delete","parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string"}}],
            "responses":{"204":{"description":""}}}}}}"#;

#[tokio::test]
async fn openapi_goes_from_a_document_to_an_answer_with_its_key_placed_by_the_host() {
    let (ground, share) = (Ground::new(), Share::default());
    let upstream = plain::start(
        Routes::new()
            .on("GET", "/pets/a%2Fb", Answer::json(200, &json!({ "name": "Rex", "key": "secret-key-123" })))
            .on("DELETE", "/pets/7", Answer::new(204, &[], ""))
            .handler(),
    )
    .await
    .unwrap();
    let bundled = executor_bundle::OPENAPI;
    let openapi = runtime().adapter(identity(bundled), bundled.bytes.into()).await.unwrap();
    let document = Document {
        url: Some(format!("{}/openapi.json", upstream.origin())),
        media_type: Some("application/json".into()),
        body: DOCUMENT.replace("SERVER", upstream.origin()).into_bytes(),
    };
    let probe = Probe { status: Some(200), headers: Vec::new(), document: document.clone() };
    let detection = openapi.detect(&share, ground.context(Scope::default()), probe).await.unwrap().unwrap();
    assert!(detection.confidence >= 80 && detection.suggested_name.contains("pets"), "{detection:?}");
    let indexed = openapi
        .index(&share, ground.context(Scope::default()), detection.config, "{}".into(), Some(document), None)
        .await
        .unwrap();
    assert_eq!(indexed.staged.auth_methods.len(), 1);
    let tool = |name: &str| indexed.staged.tools.iter().find(|tool| tool.name == name).unwrap();
    let call = |name: &str, arguments: Value| ToolCall {
        tool: name.into(),
        binding: tool(name).binding.clone(),
        arguments: arguments.to_string(),
        settings: "{}".into(),
        resume: None,
    };

    let mut scope = reach(&upstream);
    scope.credential = Some(key_credential(&upstream));
    let outcome = openapi
        .invoke(&share, ground.context(scope), call("pets.get", json!({ "id": "a/b" })))
        .await
        .unwrap();
    let ToolOutcome::Done(response) = outcome else { panic!("{outcome:?}") };
    assert_eq!(response.data, r#"{"name":"Rex","key":"[redacted]"}"#, "an echoed secret is taken out");
    let sent = upstream.ledger.matching("GET", "/pets/a%2Fb");
    assert_eq!(sent[0].header("x-key"), Some("secret-key-123"));

    let refused = openapi
        .invoke(&share, ground.context(reach(&upstream)), call("pets.delete", json!({ "id": "7" })))
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("only reads"), "a read-only scope lets no DELETE out: {refused}");
    let mut scope = reach(&upstream);
    scope.methods = MethodRule::Any;
    let outcome = openapi
        .invoke(&share, ground.context(scope), call("pets.delete", json!({ "id": "7" })))
        .await
        .unwrap();
    assert!(matches!(outcome, ToolOutcome::Done(response) if response.data == "null"));
}

fn key_credential(upstream: &Upstream) -> Credential {
    let secret = Secret::new("secret-key-123".into());
    Credential {
        connection: "default".into(),
        origins: vec![Origin::parse(upstream.origin()).unwrap()],
        methods: vec![CredentialMethod {
            id: "key".into(),
            placements: vec![Placement {
                location: Location::Header,
                name: "X-Key".into(),
                value: secret.clone(),
            }],
            signing: None,
        }],
        default_methods: vec!["key".into()],
        secrets: vec![secret],
        ..Credential::default()
    }
}

#[tokio::test]
async fn twenty_calls_at_a_time_get_their_own_answers() {
    let ground = Arc::new(Ground::new());
    let calls = (0..20).map(|number| {
        let ground = ground.clone();
        async move {
            let arguments = json!({ "number": number });
            let outcome =
                invoke("adapter_plain", &ground, Scope::default(), "echo", arguments.clone(), json!({}))
                    .await;
            let ToolOutcome::Done(response) = outcome.unwrap() else { panic!("echo answers") };
            assert!(response.data.contains(&number.to_string()), "{}", response.data);
        }
    });
    futures::future::join_all(calls).await;
}

/// What a call of `ask` that asks so many times answers; each question is
/// answered after a while.
async fn asked_meanwhile(times: u64, after: Duration, answers: Vec<Said>) -> Result<Value, AdapterError> {
    let ground = Ground::new();
    let call = ToolCall {
        tool: "ask".into(),
        binding: Vec::new(),
        arguments: json!({ "meanwhile": times }).to_string(),
        settings: "{}".into(),
        resume: None,
    };
    let (asker, mut questions) = Asker::new(Stopwatch::default());
    let limits = Limits { wall: Duration::from_secs(1), ..Limits::adapter_invoke() };
    let context =
        AdapterContext { asker: Some(asker), limits: Some(limits), ..ground.context(Scope::default()) };
    let people = async {
        for answer in answers {
            let asked = questions.recv().await.expect("it asks");
            assert_eq!(asked.question.message, "Which title?");
            tokio::time::sleep(after).await;
            asked.reply.send(Ok(answer)).expect("it waits");
        }
    };
    let (adapter, share) = (adapter("adapter_plain").await, Share::default());
    let (outcome, ()) = tokio::join!(adapter.invoke(&share, context, call), people);
    let ToolOutcome::Done(done) = outcome? else { panic!("it does not pause") };
    Ok(serde_json::from_str(&done.data).expect("JSON"))
}

#[tokio::test]
async fn a_call_asks_meanwhile_and_the_time_of_people_is_not_its_own() {
    let begun = Instant::now();
    let answers = vec![Said::Accepted(r#"{"title":"a"}"#.into()), Said::Declined, Said::Cancelled];
    let said = asked_meanwhile(3, Duration::from_millis(700), answers).await.unwrap();
    assert_eq!(said, json!([{ "title": "a" }, "declined", "cancelled"]));
    assert!(begun.elapsed() > Duration::from_secs(2), "twice its second");
}

#[tokio::test]
async fn a_call_asks_only_so_often_and_nobody_where_nobody_is() {
    let said = asked_meanwhile(18, Duration::ZERO, vec![Said::Declined; 16]).await.unwrap();
    assert_eq!(said[15], "declined");
    assert_eq!((&said[16], &said[17]), (&json!({ "no": "question-refused" }), &said[16]), "{said}");
    let arguments = json!({ "meanwhile": 1 });
    let ground = Ground::new();
    let outcome = invoke("adapter_plain", &ground, Scope::default(), "ask", arguments, json!({})).await;
    let ToolOutcome::Done(done) = outcome.unwrap() else { panic!("it does not pause") };
    assert_eq!(done.data, r#"["cancelled"]"#);
}
