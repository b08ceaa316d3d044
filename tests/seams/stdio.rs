//! Local programs behind the adapter seam: what a program may do to its
//! callers, what an adapter may do to a program, and what is left of both.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use executor_runtime::limits::{FUEL_PER_SECOND, Limits};
use executor_runtime::{
    Adapter, AdapterContext, AdapterError, AdapterFailure, CallError, Capture, Identity, Local, LocalProgram,
    Runtime, Scope, Secret, Share, ToolCall, ToolOutcome,
};
use executor_store::Digest;
use executor_upstreams::program;
use serde_json::{Value, json};

use crate::fixture::{Ground, adapter, guest, launch, runtime};

/// The longest that something may take to be so.
const PATIENCE: Duration = Duration::from_secs(30);

/// One connection to an emulator of a test's own.
struct Bench {
    ground: Ground,
    share: Share,
    local: Local,
    settings: Value,
    scope: Scope,
}

impl Bench {
    fn new(name: &str, arguments: &[&str]) -> Self {
        let program = LocalProgram {
            program: program::path("stdio-emulator").to_str().unwrap().into(),
            arguments: arguments.iter().map(ToString::to_string).collect(),
            directory: None,
            environment: Vec::new(),
        };
        let key = format!("default/{name}/default/");
        let local = Local { key, program, counts: true };
        Self {
            ground: Ground::new(),
            share: Share::default(),
            local,
            settings: json!({}),
            scope: Scope::default(),
        }
    }

    /// One whose emulator misbehaves as its name says, and whose calls wait
    /// for 15 s.
    fn patient(name: &str) -> Self {
        let mut bench = Self::new(name, &[&format!("--{name}")]);
        bench.settings = json!({ "patience_ms": 15_000 });
        bench
    }

    fn context(&self) -> AdapterContext {
        AdapterContext { local: Some(self.local.clone()), ..self.ground.context(self.scope.clone()) }
    }

    async fn call_with(
        &self,
        adapter: &Adapter,
        tool: &str,
        arguments: Value,
    ) -> Result<Value, AdapterError> {
        let call = ToolCall {
            tool: tool.into(),
            binding: Vec::new(),
            arguments: arguments.to_string(),
            settings: self.settings.to_string(),
            resume: None,
        };
        match adapter.invoke(&self.share, self.context(), call).await? {
            ToolOutcome::Done(response) => Ok(serde_json::from_str(&response.data).unwrap()),
            outcome => panic!("{outcome:?}"),
        }
    }

    async fn call(&self, tool: &str, arguments: Value) -> Result<Value, AdapterError> {
        self.call_with(adapter("adapter_stdio").await.as_ref(), tool, arguments).await
    }

    async fn fails(&self, tool: &str, arguments: Value) -> AdapterFailure {
        match self.call(tool, arguments).await {
            Err(AdapterError::Failed(failure)) => failure,
            other => panic!("{other:?}"),
        }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        runtime().processes().end(&self.local.key);
    }
}

fn runs(pid: u64) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

async fn until(is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "it never came to be");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_is_indexed_and_a_thousand_calls_at_a_time_get_their_own_answers() {
    let bench = Arc::new(Bench::new("interleaved", &["--shuffle", "--banner", "--bom", "--crlf"]));
    let lines = adapter("adapter_stdio").await;
    let config = r#"{"transport":"stdio"}"#;
    let indexed =
        lines.index(&bench.share, bench.context(), config.into(), "{}".into(), None, None).await.unwrap();
    let names: Vec<&str> = indexed.staged.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(indexed.title.as_deref(), Some("Emulator"));
    assert!(names.starts_with(&["tools", "echo"]) && names.ends_with(&["act"]), "{names:?}");

    let calls = (0..1_000).map(|number| {
        let bench = bench.clone();
        tokio::spawn(async move {
            let text = format!("call {number}");
            let answer = bench.call("echo", json!({ "text": text })).await.unwrap();
            assert_eq!(answer["text"], text);
            (answer["pid"].as_u64().unwrap(), answer["generation"].clone())
        })
    });
    let mut answers = futures::future::join_all(calls).await;
    let first = answers.pop().unwrap().unwrap();
    for answer in answers {
        assert_eq!(answer.unwrap(), first, "one process answers all");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_of_twenty_megabytes_arrives() {
    let bench = Bench::new("long", &[]);
    let answer = bench.call("line", json!({ "bytes": 20 << 20 })).await.unwrap();
    assert_eq!(answer["text"].as_str().unwrap().len(), 20 << 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_gets_what_its_connection_gives_and_nothing_of_the_daemon() {
    let mut bench = Bench::new("about", &["--mark", "two words"]);
    bench.local.program.directory = Some("/tmp".into());
    bench.local.program.environment =
        vec![("KEY".into(), Secret::new("canary-key-1".into())), ("MODE".into(), Secret::new("fast".into()))];
    let about = bench.call("about", json!({})).await.unwrap();
    assert_eq!(about["arguments"], json!(["--mark", "two words"]));
    assert_eq!(about["directory"], "/tmp");
    let names: Vec<&String> = about["environment"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["KEY", "MODE", "PATH"], "the environment of the tests stays out");
    assert_eq!(about["environment"]["KEY"], "[redacted]", "what it echoes is taken out");
    assert_eq!(about["environment"]["MODE"], "fast", "what is short is not looked for");
    assert_eq!(about["descriptors"], json!([0, 1, 2]));
    assert_eq!(about["terminal"], false);
    assert_eq!(about["group"], about["pid"], "it leads a group of its own");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_dies_under_a_call_says_why_and_is_started_again() {
    let bench = Bench::new("dying", &[]);
    let before = bench.call("echo", json!({ "text": "a" })).await.unwrap();
    let failure = bench.fails("die", json!({ "status": 7 })).await;
    assert_eq!(failure.code, "process-failed");
    assert!(failure.retryable);
    let said = "ended with status 7; it wrote last: the emulator dies as it was asked";
    assert!(failure.message.ends_with(said), "{failure}");
    let details: Value = serde_json::from_str(failure.details.as_deref().unwrap()).unwrap();
    assert_eq!(details, json!({ "status": 7, "stderr": "the emulator dies as it was asked" }));
    let after = bench.call("echo", json!({ "text": "b" })).await.unwrap();
    assert_ne!(before["pid"], after["pid"]);
    assert_ne!(before["generation"], after["generation"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_keeps_dying_is_left_alone() {
    let bench = Bench::new("restless", &["--die"]);
    let begun = Instant::now();
    for _ in 0..5 {
        let failure = bench.fails("echo", json!({})).await;
        assert!(failure.message.contains("status 3; it wrote last: the emulator has no key"), "{failure}");
    }
    assert!(begun.elapsed() > Duration::from_millis(1_500), "each start waits longer than the one before");
    let begun = Instant::now();
    let failure = bench.fails("echo", json!({})).await;
    assert!(failure.message.contains("is not started again for a minute"), "{failure}");
    assert!(begun.elapsed() < Duration::from_secs(1), "it is not started");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_can_not_be_started_is_named() {
    let mut bench = Bench::new("missing", &[]);
    bench.local.program.program = "no-such-program-here".into();
    let failure = bench.fails("echo", json!({})).await;
    assert_eq!(failure.code, "process-failed");
    assert!(failure.message.starts_with("there is no program no-such-program-here in /"), "{failure}");
    let script = bench.ground.workspace.directory().join("script");
    std::fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    bench.local.program.program = script.to_str().unwrap().into();
    assert!(bench.fails("echo", json!({})).await.message.ends_with("script is not executable"));
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let failure = bench.fails("echo", json!({})).await;
    assert!(failure.message.contains("status 127") && failure.message.contains("can't be run"), "{failure}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_a_program_is_left_when_it_is_ended() {
    let bench = Bench::new("family", &["--stubborn"]);
    let answer = bench.call("spawn", json!({})).await.unwrap();
    let about = bench.call("about", json!({})).await.unwrap();
    let mut family: Vec<u64> = answer["pids"].as_array().unwrap().iter().filter_map(Value::as_u64).collect();
    family.push(about["pid"].as_u64().unwrap());
    assert_eq!(family.len(), 4);
    assert!(family.iter().all(|pid| runs(*pid)));
    let begun = Instant::now();
    runtime().processes().end(&bench.local.key);
    until(|| !family.iter().any(|pid| runs(*pid))).await;
    assert!(begun.elapsed() > Duration::from_millis(1_900), "it was asked to end first");

    let bench = Bench::new("orphans", &[]);
    let answer = bench.call("spawn", json!({})).await.unwrap();
    bench.fails("die", json!({ "status": 1 })).await;
    let orphans: Vec<u64> = answer["pids"].as_array().unwrap().iter().filter_map(Value::as_u64).collect();
    assert!(!orphans.iter().any(|pid| runs(*pid)), "its end is theirs");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_nobody_calls_is_ended_and_started_when_it_is_needed() {
    let cache = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("compiled");
    let runtime = Runtime::new(&cache, Some(launch(Duration::from_millis(300)))).unwrap();
    let bytes = guest("adapter_stdio");
    let identity = Identity { name: "adapter_stdio".into(), digest: Digest::of(&bytes).hex() };
    let lines = runtime.adapter(identity, bytes).await.unwrap();
    let bench = Bench::new("idle", &[]);
    let first = bench.call_with(&lines, "echo", json!({})).await.unwrap();
    let again = bench.call_with(&lines, "echo", json!({})).await.unwrap();
    assert_eq!(first["pid"], again["pid"]);
    until(|| !runs(first["pid"].as_u64().unwrap())).await;
    for _ in 0..6 {
        let later = bench.call_with(&lines, "echo", json!({})).await.unwrap();
        assert_ne!(first["pid"], later["pid"]);
        until(|| !runs(later["pid"].as_u64().unwrap())).await;
    }
    runtime.processes().close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_deaf_or_endless_program_holds_up_nobody_else() {
    let silent = Arc::new(Bench::patient("silent"));
    let deaf = Arc::new(Bench::patient("deaf"));
    let endless = Arc::new(Bench::patient("endless"));
    let mut stuck = Vec::new();
    for bench in [&silent, &deaf] {
        for _ in 0..20 {
            let bench = bench.clone();
            stuck.push(tokio::spawn(async move { bench.fails("echo", json!({})).await.code }));
        }
    }
    let hearing = endless.clone();
    let heard = tokio::spawn(async move { hearing.call("echo", json!({ "text": "a" })).await });
    let lively = Bench::new("lively", &[]);
    let begun = Instant::now();
    for _ in 0..20 {
        lively.call("echo", json!({})).await.unwrap();
    }
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    for code in futures::future::join_all(stuck).await {
        assert_eq!(code.unwrap(), "timeout");
    }
    let heard = heard.await.unwrap();
    assert_eq!(heard.unwrap()["text"], "a", "its answer is found in the noise");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_adapter_that_floods_meets_bounds() {
    let bench = Bench::new("hostile", &[]);
    let flood = bench.call("act", json!({ "behaviour": "attach_flood" })).await.unwrap();
    assert_eq!(flood, json!({ "held": 16, "code": "denied", "again": true }));
    let flood = bench.call("act", json!({ "behaviour": "claim_flood" })).await.unwrap();
    assert_eq!(flood, json!({ "claimed": 50_000, "twice": false, "long": false }));
    let claim = json!({ "behaviour": "claim", "key": "flood-49998" });
    assert_eq!(
        bench.call("act", claim).await.unwrap(),
        json!({ "first": false }),
        "claims are the process's"
    );
    let claim = json!({ "behaviour": "claim", "key": "another" });
    assert_eq!(bench.call("act", claim).await.unwrap(), json!({ "first": true }));
    let lazy = bench.call("act", json!({ "behaviour": "never_read" })).await.unwrap();
    assert_eq!(lazy["codes"], json!(["lines-lost"]));
    assert!(lazy["lines"].as_u64().is_some_and(|lines| (1..=3).contains(&lines)), "{lazy}");
    for line in ["a\nb", "a\rb", "\n"] {
        let failure = bench.fails("act", json!({ "behaviour": "write", "line": line })).await;
        assert_eq!(failure.code, "invalid-request", "{failure}");
    }
    bench.call("echo", json!({})).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_is_reached_by_its_own_calls_alone_and_not_while_they_are_looked_at() {
    let ground = Ground::new();
    let call = ToolCall {
        tool: "echo".into(),
        binding: Vec::new(),
        arguments: "{}".into(),
        settings: "{}".into(),
        resume: None,
    };
    let lines = adapter("adapter_stdio").await;
    let error = lines.invoke(&Share::default(), ground.context(Scope::default()), call).await.unwrap_err();
    assert!(matches!(&error, AdapterError::Failed(failure) if failure.code == "denied"), "{error:?}");

    for capture in [Capture::All, Capture::Unsafe] {
        let mut bench = Bench::new("looked-at", &[]);
        bench.scope.capture = capture;
        assert_eq!(bench.fails("echo", json!({})).await.code, "captured");
    }
    let mut bench = Bench::new("recorded", &[]);
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let records = seen.clone();
    bench.scope.observer = Some(Arc::new(move |record| records.lock().unwrap().push(record)));
    bench.call("echo", json!({})).await.unwrap();
    let seen = seen.lock().unwrap();
    let told: Vec<(&str, &str)> =
        seen.iter().map(|record| (record.method.as_str(), record.origin.as_str())).collect();
    assert_eq!(told, [("WRITE", "stdio")], "a line that left is on record as a request is");
}

/// What the program was told once a call that leaves a farewell was over: the
/// call is given so long, and so much CPU.
async fn farewell(
    bench: &Bench,
    scope: &Scope,
    then: &str,
    patience: Duration,
    limits: Limits,
) -> Vec<Value> {
    let arguments = json!({"behaviour": "farewell", "then": then, "line": r#"{"do":"note","text":"bye"}"#});
    let context = AdapterContext { limits: Some(limits), scope: scope.clone(), ..bench.context() };
    let call = ToolCall {
        tool: "act".into(),
        binding: Vec::new(),
        arguments: arguments.to_string(),
        settings: "{}".into(),
        resume: None,
    };
    let lines = adapter("adapter_stdio").await;
    // Past its patience its caller goes away.
    let _ = tokio::time::timeout(patience, lines.invoke(&bench.share, context, call)).await;
    let notes = bench.call("notes", json!({})).await.unwrap();
    notes["notes"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_farewell_is_said_where_the_adapter_can_not_and_nowhere_else() {
    let usual = Limits::adapter_invoke;
    let brief = || Limits { fuel: FUEL_PER_SECOND / 10, ..usual() };
    let hurried = || Limits { wall: Duration::from_millis(500), ..usual() };
    let soon = Duration::from_millis(700);
    let check = async |then: &str, patience: Duration, limits: Limits, expect: &[&str]| {
        let bench = Bench::new(&format!("farewell-{then}"), &[]);
        // The program is there, and whatever it hears is the farewell.
        bench.call("echo", json!({})).await.unwrap();
        let notes = farewell(&bench, &bench.scope, then, patience, limits).await;
        assert_eq!(notes, expect, "{then}");
    };
    check("wait", soon, usual(), &["bye"]).await;
    check("replace", soon, usual(), &["later"]).await;
    check("let go", soon, usual(), &["bye"]).await;
    check("wait", PATIENCE, hurried(), &["bye"]).await;
    check("spin", PATIENCE, brief(), &["bye"]).await;
    check("panic", PATIENCE, usual(), &["bye"]).await;
    check("return", PATIENCE, usual(), &[]).await;
    check("take back", soon, usual(), &[]).await;

    let bench = Bench::new("farewell-long", &[]);
    for line in ["a\nb".to_owned(), "x".repeat(65 * 1024)] {
        let failure = bench.fails("act", json!({"behaviour": "farewell", "line": line})).await;
        assert_eq!(failure.code, "invalid-request", "{failure}");
    }
    let mut shown = Scope::default();
    shown.capture = Capture::All;
    let notes = farewell(&bench, &shown, "panic", PATIENCE, usual()).await;
    assert!(notes.is_empty(), "nothing is said for a call that is only looked at: {notes:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_farewell_is_on_record_as_a_request_that_nobody_waited_for() {
    let bench = Bench::new("farewell-recorded", &[]);
    bench.call("echo", json!({})).await.unwrap();
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let records = seen.clone();
    let mut scope = Scope::default();
    scope.observer = Some(Arc::new(move |record| records.lock().unwrap().push(record)));
    farewell(&bench, &scope, "wait", Duration::from_millis(300), Limits::adapter_invoke()).await;
    let seen = seen.lock().unwrap();
    let told: Vec<_> = seen.iter().map(|record| (record.method.as_str(), record.error)).collect();
    assert_eq!(told, [("WRITE", Some("unheard"))]);
}

/// A watch with a second of CPU, and how often it said that something changed.
async fn watch(bench: &Bench) -> (Result<(), AdapterError>, usize) {
    watch_for(bench, PATIENCE).await
}

async fn watch_for(bench: &Bench, wall: Duration) -> (Result<(), AdapterError>, usize) {
    let told = Arc::new(AtomicUsize::new(0));
    let counted = told.clone();
    let context = AdapterContext {
        changed: Some(Arc::new(move |what| {
            assert_eq!(what, "tools");
            counted.fetch_add(1, Ordering::Relaxed);
        })),
        limits: Some(Limits { fuel: FUEL_PER_SECOND, wall, ..Limits::adapter_watch() }),
        ..bench.context()
    };
    let lines = adapter("adapter_stdio").await;
    let settings = bench.settings.to_string();
    let (result, _) = lines.watch(&bench.share, context, "{}".into(), settings).await;
    (result, told.load(Ordering::Relaxed))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_hears_what_a_program_tells_until_that_ends() {
    assert!(!adapter("adapter_plain").await.watches(), "an adapter without that export is one as before");
    assert!(adapter("adapter_stdio").await.watches());
    let bench = Arc::new(Bench::new("watched", &[]));
    bench.call("echo", json!({})).await.unwrap();
    let watched = bench.clone();
    let watching = tokio::spawn(async move { watch(&watched).await });
    // It may take a moment until it is attached; what is told before is lost.
    for _ in 0..50 {
        bench.call("change", json!({ "times": 2 })).await.unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    bench.fails("die", json!({})).await;
    let (result, told) = watching.await.unwrap();
    assert!(matches!(&result, Err(AdapterError::Failed(failure)) if failure.code == "process-failed"));
    assert!((50..=100).contains(&told), "{told}");
    let outside = bench.call("act", json!({ "behaviour": "change" })).await;
    assert!(outside.is_ok(), "a call says so too, and nobody listens");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_that_breaks_spins_or_floods_has_a_typed_end() {
    let kind = async |behaviour: &str| {
        let mut bench = Bench::new("watches", &[]);
        bench.settings = json!({ "watch": behaviour });
        match watch(&bench).await {
            (Err(AdapterError::Broken(CallError::Guest(fault))), _) => fault.kind.code().to_owned(),
            (Err(AdapterError::Failed(failure)), _) => failure.code,
            (result, _) => panic!("{result:?}"),
        }
    };
    assert_eq!(kind("spin").await, "out-of-fuel");
    assert_eq!(kind("panic").await, "trap");
    assert_eq!(kind("nothing").await, "watch-failed");
    let mut bench = Bench::new("floods", &[]);
    bench.settings = json!({ "watch": "flood" });
    let (_, told) = watch_for(&bench, Duration::from_secs(2)).await;
    assert!((1..=100).contains(&told), "each change takes its time: {told}");
}
