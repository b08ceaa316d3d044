//! The GraphQL adapter through the real host, against a GraphQL server.

use std::sync::Arc;

use executor_runtime::{
    Adapter, AdapterContext, AdapterError, AdapterFailure, Document, Indexed, MethodRule, Probe, Scope,
    Share, ToolCall, ToolOutcome,
};
use executor_upstreams::graphql::{self, Config, Emulator, Fault};
use serde_json::{Value, json};

use crate::adapter::reach_origin;
use crate::fixture::{Ground, identity, runtime};

struct Source {
    ground: Ground,
    adapter: Arc<Adapter>,
    emulator: Emulator,
    indexed: Indexed,
}

async fn adapter() -> Arc<Adapter> {
    let bundled = executor_bundle::GRAPHQL;
    Arc::new(runtime().adapter(identity(bundled), bundled.bytes.into()).await.unwrap())
}

fn scope(emulator: &Emulator, methods: MethodRule) -> Scope {
    let mut scope = reach_origin(emulator.origin());
    scope.methods = methods;
    scope
}

fn page(emulator: &Emulator) -> Document {
    let body = br#"{"errors":[{"message":"Must provide query string."}]}"#.to_vec();
    Document { url: Some(emulator.endpoint()), media_type: Some("application/json".into()), body }
}

async fn try_index(
    ground: &Ground,
    adapter: &Adapter,
    emulator: &Emulator,
) -> Result<Indexed, AdapterFailure> {
    let context = ground.context(scope(emulator, MethodRule::SafeOrPost));
    let indexed =
        adapter.index(&Share::default(), context, "{}".into(), "{}".into(), Some(page(emulator)), None).await;
    indexed.map_err(|error| match error {
        AdapterError::Failed(failure) => failure,
        AdapterError::Broken(broken) => panic!("{broken}"),
    })
}

async fn source(config: Config) -> Source {
    let (ground, adapter) = (Ground::new(), adapter().await);
    let emulator = graphql::start(config).await.unwrap();
    let indexed = try_index(&ground, &adapter, &emulator).await.unwrap();
    Source { ground, adapter, emulator, indexed }
}

impl Source {
    fn tools(&self) -> Vec<&str> {
        self.indexed.staged.tools.iter().map(|tool| tool.name.as_str()).collect()
    }

    async fn call_with(&self, scope: Scope, name: &str, arguments: Value) -> Result<Value, AdapterFailure> {
        let tool = self.indexed.staged.tools.iter().find(|tool| tool.name == name).unwrap();
        let call = ToolCall {
            tool: name.into(),
            binding: tool.binding.clone(),
            arguments: arguments.to_string(),
            settings: "{}".into(),
            resume: None,
        };
        let context: AdapterContext = self.ground.context(scope);
        match self.adapter.invoke(&Share::default(), context, call).await {
            Ok(ToolOutcome::Done(response)) => Ok(serde_json::from_str(&response.data).unwrap()),
            Err(AdapterError::Failed(failure)) => Err(failure),
            other => panic!("{other:?}"),
        }
    }

    async fn read(&self, name: &str, arguments: Value) -> Result<Value, AdapterFailure> {
        self.call_with(scope(&self.emulator, MethodRule::SafeOrPost), name, arguments).await
    }

    async fn write(&self, name: &str, arguments: Value) -> Result<Value, AdapterFailure> {
        self.call_with(scope(&self.emulator, MethodRule::Any), name, arguments).await
    }
}

#[tokio::test]
async fn an_endpoint_is_found_indexed_read_and_written() {
    let source = source(Config::default()).await;
    let probe = Probe { status: Some(400), headers: Vec::new(), document: page(&source.emulator) };
    let context = source.ground.context(scope(&source.emulator, MethodRule::SafeOrPost));
    let detection = source.adapter.detect(&Share::default(), context, probe).await.unwrap().unwrap();
    assert_eq!(detection.confidence, 95, "{detection:?}");
    assert_eq!(
        source.tools(),
        [
            "query.book",
            "query.books",
            "query.find",
            "query.item",
            "query.oldBook",
            "mutation.addBook",
            "mutation.removeBook",
            "mutation.keep"
        ]
    );
    assert!(source.indexed.staged.warnings.is_empty(), "{:?}", source.indexed.staged.warnings);

    let book = source.read("query.book", json!({ "id": 1 })).await.unwrap();
    assert_eq!(
        book,
        json!({ "id": "1", "title": "Emma", "genre": "NOVEL", "rating": null, "author": { "id": "a1" } })
    );
    let books = source.read("query.books", json!({ "genres": "FRAGMENT" })).await.unwrap();
    assert_eq!((&books["totalCount"], &books["nodes"][0]["title"]), (&json!(1), &json!("Sanditon")));
    let found = source.read("query.find", json!({ "text": "Emma" })).await.unwrap();
    assert_eq!(found[0]["title"], "Emma");
    assert_eq!(
        found[1],
        json!({ "__typename": "Voucher", "id": "v1", "Voucher_title": "Emma", "amount": 5 })
    );
    let item = source
        .read("query.item", json!({ "id": "2", "select": "... on Book { title author { name } }" }))
        .await;
    assert_eq!(item.unwrap(), json!({ "title": "Persuasion", "author": { "name": "Jane Austen" } }));

    let added =
        source.write("mutation.addBook", json!({ "input": { "title": "Lady Susan" } })).await.unwrap();
    assert_eq!((&added["book"]["id"], &added["userErrors"]), (&json!("4"), &json!([])));
    let refused = source.write("mutation.addBook", json!({ "input": { "title": "" } })).await.unwrap();
    assert_eq!(refused["userErrors"][0]["message"], "can't be blank");
    assert_eq!(
        source.write("mutation.removeBook", json!({ "by": { "title": "Emma" } })).await.unwrap(),
        json!(true)
    );
    assert_eq!(source.emulator.titles(), ["Persuasion", "Sanditon", "Lady Susan"]);
}

#[tokio::test]
async fn a_selection_with_a_fault_is_not_sent() {
    let source = source(Config::default()).await;
    source.emulator.ledger.clear();
    let failure =
        source.read("query.book", json!({ "id": "1", "select": "titel author" })).await.unwrap_err();
    assert_eq!(failure.code, "invalid-arguments");
    assert!(failure.message.contains("did you mean title?"), "{}", failure.message);
    assert!(failure.message.contains("say what of it, such as author { id }"), "{}", failure.message);
    assert_eq!(source.emulator.ledger.count(), 0);
}

#[tokio::test]
async fn a_read_sends_by_post_only_where_that_was_granted() {
    let source = source(Config::default()).await;
    source.emulator.ledger.clear();
    let scope = scope(&source.emulator, MethodRule::Safe);
    let failure = source.call_with(scope, "query.book", json!({ "id": "1" })).await.unwrap_err();
    assert_eq!(failure.code, "denied-method");
    assert_eq!(source.emulator.ledger.count(), 0);
}

#[tokio::test]
async fn files_go_from_the_host_to_the_server() {
    let source = source(Config::default()).await;
    let blobs = source.ground.workspace.blobs();
    let mut references = Vec::new();
    for text in ["the first", "the second\r\n--executor"] {
        let mut writer = blobs.create(None, None).unwrap();
        writer.append(text.as_bytes()).unwrap();
        references.push(writer.finish(0).await.unwrap().reference());
    }
    let files = json!([{ "$file": references[0], "name": "a.txt", "mediaType": "text/plain" }, { "$file": references[1] }]);
    let kept = source.write("mutation.keep", json!({ "files": files })).await.unwrap();
    assert_eq!(
        kept[0],
        json!({ "name": "a.txt", "mediaType": "text/plain", "bytes": 9, "text": "the first" })
    );
    assert_eq!(kept[1]["text"], "the second\r\n--executor");
    let failure =
        source.write("mutation.keep", json!({ "files": [{ "$file": "blob:00" }] })).await.unwrap_err();
    assert_eq!(failure.code, "not-found");
}

#[tokio::test]
async fn servers_that_limit_depth_or_refuse_introspection() {
    let limited = source(Config { depth: Some(10), ..Config::default() }).await;
    assert_eq!(limited.tools().len(), 8);
    assert!(limited.indexed.staged.warnings.iter().any(|warning| warning.code == "introspection-limited"));

    let (ground, adapter) = (Ground::new(), adapter().await);
    let check = async |config: Config, code: &str| {
        let emulator = graphql::start(config).await.unwrap();
        let failure = try_index(&ground, &adapter, &emulator).await.err().unwrap();
        assert_eq!(failure.code, code, "{}", failure.message);
        assert!(failure.message.contains("base_url"), "{}", failure.message);
    };
    check(Config { introspection_off: true, ..Config::default() }, "introspection-disabled").await;
    let locked = source(Config { require_token: true, ..Config::default() }).await;
    assert!(
        locked.tools().is_empty() && locked.indexed.meta.as_deref().unwrap().contains("\"sign_in\":true")
    );
    assert_eq!(locked.indexed.staged.warnings[0].code, "sign-in-needed");

    let emulator = graphql::start(Config::default()).await.unwrap();
    let denied = adapter
        .index(
            &Share::default(),
            ground.context(Scope::default()),
            "{}".into(),
            "{}".into(),
            Some(page(&emulator)),
            None,
        )
        .await
        .err()
        .unwrap();
    assert!(denied.to_string().contains("add the schema as a file"), "{denied}");
    assert_eq!(emulator.ledger.count(), 0);
}

#[tokio::test]
async fn faults_of_a_server_are_told_apart() {
    let source = source(Config::default()).await;
    let check = async |fault: Fault, code: &str| {
        source.emulator.fault(fault, 1);
        let failure = source.read("query.book", json!({ "id": "1" })).await.unwrap_err();
        assert_eq!(failure.code, code, "{fault:?}: {}", failure.message);
        failure
    };
    let partial = check(Fault::Partial, "upstream-partial").await;
    let details: Value = serde_json::from_str(partial.details.as_deref().unwrap()).unwrap();
    assert_eq!(
        (&details["data"]["title"], &details["errors"][0]["path"][1]),
        (&json!("Emma"), &json!("rating"))
    );
    check(Fault::Refused, "upstream-invalid").await;
    check(Fault::Errors, "upstream-not-found").await;
    assert!(check(Fault::Throttled, "upstream-rate-limited").await.retryable);
    check(Fault::ServerPage, "upstream-failed").await;
    check(Fault::LoginPage, "upstream-malformed").await;
    check(Fault::BrokenJson, "upstream-malformed").await;
    check(Fault::Huge(40 << 20), "upstream-too-large").await;
    check(Fault::Reset, "connection-lost").await;
    assert!(source.read("query.book", json!({ "id": "1" })).await.is_ok());
}

#[tokio::test]
async fn github_is_indexed_within_bounds() {
    let Some(root) = std::env::var_os("EXECUTOR_FIXTURES") else {
        println!("skipped: EXECUTOR_FIXTURES is not set");
        return;
    };
    let path = std::path::Path::new(&root).join("octokit-graphql-schema");
    let (ground, adapter) = (Ground::new(), adapter().await);
    for (name, tools) in [("schema.graphql", 278), ("schema.json", 272)] {
        let Ok(body) = std::fs::read(path.join(name)) else {
            println!("skipped: {name} is not there");
            return;
        };
        let document = Document { url: None, media_type: None, body };
        let begun = std::time::Instant::now();
        let settings = r#"{"base_url":"https://api.github.com/graphql"}"#;
        let indexed = adapter
            .index(
                &Share::default(),
                ground.context(Scope::default()),
                "{}".into(),
                settings.into(),
                Some(document),
                None,
            )
            .await
            .unwrap();
        println!(
            "{name}: {} tools in {:?}, {:?}",
            indexed.staged.tools.len(),
            begun.elapsed(),
            indexed.usage
        );
        assert_eq!(indexed.staged.tools.len(), tools);
        // The SDL that GitHub publishes has two fields twice.
        let twice = |text: &str| text.contains("repositoryDeployKeySetting");
        let faults = indexed.staged.warnings.iter().filter(|warning| !twice(&warning.message));
        assert_eq!(faults.count(), 0, "{:?}", indexed.staged.warnings);
    }
}
