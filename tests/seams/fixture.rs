//! What the suites stand on: one runtime with a cache that outlives a run,
//! and a bridge that tests script.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use executor_bundle::Bundled;
use executor_runtime::{
    Adapter, AdapterContext, BridgeHost, Call, GuardProgram, Identity, Launch, Output, Runtime, Sandbox,
    Scope, Settled,
};
use executor_store::{Cache, Digest, Home, Workspace, WorkspaceName};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

/// The runtime of this test binary.
pub(crate) fn runtime() -> &'static Runtime {
    static RUNTIME: std::sync::OnceLock<Runtime> = std::sync::OnceLock::new();
    RUNTIME.get_or_init(|| {
        let cache = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("compiled");
        Runtime::new(&cache, Some(launch(Duration::from_secs(600)))).expect("this machine runs the profile")
    })
}

/// How the tests run local programs.
pub(crate) fn launch(idle: Duration) -> Launch {
    let guard = GuardProgram { program: env!("CARGO_BIN_EXE_guard").into(), arguments: Vec::new() };
    let path = std::env::var_os("PATH").unwrap_or_default();
    Launch { guard, environment: vec![("PATH".into(), path)], directory: "/".into(), idle }
}

pub(crate) fn identity(bundled: Bundled) -> Identity {
    Identity { name: bundled.name.into(), digest: Digest::of(bundled.bytes).hex() }
}

/// The JavaScript engine that comes with the daemon.
pub(crate) async fn sandbox() -> &'static Sandbox {
    static SANDBOX: OnceCell<Sandbox> = OnceCell::const_new();
    let bundled = executor_bundle::QUICKJS;
    SANDBOX
        .get_or_init(|| async { runtime().sandbox(identity(bundled), bundled.bytes.into()).await.unwrap() })
        .await
}

/// A test component's bytes, as a third party's build leaves them.
pub(crate) fn guest(name: &str) -> Arc<[u8]> {
    let directory = std::env::var_os("EXECUTOR_GUESTS").map_or_else(
        || PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("../wasm32-wasip2/release"),
        PathBuf::from,
    );
    let path = directory.join(format!("{name}.wasm"));
    match std::fs::read(&path) {
        Ok(bytes) => bytes.into(),
        Err(error) => panic!("{} can't be read ({error}): run `make guests`", path.display()),
    }
}

/// A test component as an adapter.
pub(crate) async fn adapter(name: &'static str) -> Arc<Adapter> {
    type Cell = Arc<OnceCell<Arc<Adapter>>>;
    static ADAPTERS: Mutex<Option<HashMap<&str, Cell>>> = Mutex::new(None);
    let cell = ADAPTERS.lock().unwrap().get_or_insert_default().entry(name).or_default().clone();
    let load = || async {
        let bytes = guest(name);
        let identity = Identity { name: name.into(), digest: Digest::of(&bytes).hex() };
        Arc::new(runtime().adapter(identity, bytes).await.unwrap())
    };
    cell.get_or_init(load).await.clone()
}

/// A home of its own, for what an adapter may use.
pub(crate) struct Ground {
    pub(crate) workspace: Workspace,
    pub(crate) cache: Cache,
    _home: Home,
    _directory: tempfile::TempDir,
}

impl Ground {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::open(&directory.path().join("home")).unwrap();
        let name = WorkspaceName::parse("default").unwrap();
        let workspace = Workspace::open(&home, &name, 0).unwrap();
        let cache = Cache::open(&home.cache_directory().join("sled"));
        Self { workspace, cache, _home: home, _directory: directory }
    }

    pub(crate) fn context(&self, scope: Scope) -> AdapterContext {
        AdapterContext {
            scope,
            blobs: self.workspace.blobs(),
            cache: self.cache.clone(),
            session: "default/test/".into(),
            local: None,
            progress: None,
            changed: None,
            asker: None,
            limits: None,
        }
    }
}

/// A bridge whose tools are functions of the test, and which keeps what it saw.
#[derive(Default)]
pub(crate) struct Script {
    pub(crate) calls: Mutex<Vec<Call>>,
    pub(crate) delivered: Mutex<Vec<(u64, u64, Settled)>>,
    pub(crate) outputs: Mutex<Vec<Output>>,
}

impl BridgeHost for Script {
    fn call(&self, call: Call) -> BoxFuture<'static, Settled> {
        self.calls.lock().unwrap().push(call.clone());
        Box::pin(async move {
            let args: Value = serde_json::from_str(&call.args).unwrap_or_default();
            match call.path.last().map(String::as_str) {
                Some("echo") => Settled::Ok(call.args),
                Some("slow") => {
                    tokio::time::sleep(std::time::Duration::from_millis(args["ms"].as_u64().unwrap_or(20)))
                        .await;
                    Settled::Ok(args["value"].to_string())
                }
                Some("fail") => Settled::Failed(
                    json!({"code": "upstream-not-found", "message": "no such thing", "status": 404,
                        "retryable": false, "tool": call.path.join(".")})
                    .to_string(),
                ),
                Some("ask") => Settled::Waiting,
                Some("never") => std::future::pending().await,
                _ => Settled::Failed(json!({"code": "tool-not-found", "message": "unknown"}).to_string()),
            }
        })
    }

    fn delivered(&self, call: &Call, settled: &Settled, _: u64) {
        self.delivered.lock().unwrap().push((call.scope, call.ordinal, settled.clone()));
    }

    fn output(&self, output: Output) {
        self.outputs.lock().unwrap().push(output);
    }
}
