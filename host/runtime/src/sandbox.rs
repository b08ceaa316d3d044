//! Runs programs in a JavaScript engine component: `executor:sandbox/engine`.

use std::sync::Arc;

use executor_bindings::sandbox::exports::executor::sandbox::engine;
use executor_bindings::sandbox::{Sandbox as Bindings, SandboxPre};
use executor_telemetry::spans::names;
use wasmtime::Engine;
use wasmtime::component::{HasSelf, Linker};

use crate::artifact::World;
use crate::bridge::{Bridge, BridgeEnd, BridgeHost, History, Inputs};
use crate::component::{Identity, LoadError, Loader, prepare_error};
use crate::fault::CallError;
use crate::guest::{self, Guest, Instantiating, Meter, Usage};
use crate::limits::Limits;
use crate::share::Share;

/// A compiled program.
#[derive(Debug, Clone)]
pub struct Module {
    /// The name that stands in stack traces.
    pub specifier: String,
    /// JavaScript.
    pub source: String,
    /// Its source map, JSON.
    pub source_map: Option<String>,
}

/// One run of a program.
pub struct RunRequest {
    /// What to run.
    pub module: Module,
    /// Its input, JSON.
    pub input: String,
    /// What an earlier run saw; empty for the first.
    pub history: History,
    /// The bounds of this run.
    pub limits: Limits,
}

/// A program's own error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// A stable code: `error`, `syntax`, `tool-error`, `out-of-memory`, …
    pub code: String,
    /// The error's class and message.
    pub message: String,
    /// The author's own frames.
    pub stack: Option<String>,
    /// More, JSON.
    pub details: Option<String>,
}

/// How a run ended.
#[derive(Debug)]
pub enum RunEnd {
    /// With a result, JSON.
    Completed(String),
    /// With an error of the program.
    Failed(Failure),
    /// It waits for a person; run it again with its history.
    Suspended(Inputs),
    /// It does not do what its history says.
    Diverged {
        /// What the history says.
        recorded: String,
        /// What the program did.
        found: String,
    },
    /// The guest or the host broke.
    Broken(CallError),
}

/// A run's end and its cost.
#[derive(Debug)]
pub struct Run {
    /// How it ended.
    pub end: RunEnd,
    /// What it cost.
    pub usage: Usage,
}

/// A JavaScript engine, ready to be instantiated.
pub struct Sandbox {
    identity: Identity,
    engine: Engine,
    meter: Arc<Meter>,
    pre: SandboxPre<Guest<Bridge>>,
}

impl Sandbox {
    pub(crate) async fn load(
        loader: &Loader,
        identity: Identity,
        bytes: Arc<[u8]>,
    ) -> Result<Self, LoadError> {
        let engine = loader.engines.pooled().clone();
        let component = loader.component(&engine, &identity, World::Sandbox, bytes).await?;
        let pre = linker(&engine)
            .and_then(|linker| linker.instantiate_pre(&component))
            .and_then(SandboxPre::new)
            .map_err(|source| prepare_error(&identity, source))?;
        Ok(Self { meter: Meter::new(&identity.name), identity, engine, pre })
    }

    /// The engine that runs: its digest is pinned by executions that wait.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Runs a program in a fresh instance.
    ///
    /// Dropping the future ends the guest and cancels its calls.
    pub async fn run(&self, share: &Share, request: RunRequest, host: Arc<dyn BridgeHost>) -> Run {
        let trace = host.trace();
        let place = share.sandbox(&trace).await;
        let RunRequest { module, input, history, limits } = request;
        let clock = host.clock();
        let bridge = Bridge::new(host, history, &limits);
        let calls = bridge.calls();
        let mut store = guest::store(&self.engine, &limits, &self.meter, bridge);
        let module = engine::Module {
            specifier: module.specifier,
            source: module.source,
            source_map: module.source_map,
        };
        let mut running = None;
        let (result, usage) =
            guest::call(&self.identity.name, &limits, clock.as_ref(), &mut store, async |store| {
                let making = Instantiating::begin(&self.meter, &trace);
                let instance: Bindings = self.pre.instantiate_async(&mut *store).await?;
                making.done();
                running = Some(trace.span(names::RUN));
                calls.beside(instance.executor_sandbox_engine().call_run(&mut *store, &module, &input)).await
            })
            .await;
        calls.clear();
        if let (Some(span), Err(CallError::Guest(fault))) = (&running, &result)
            && store.data().seam.ended.is_none()
        {
            span.fail(fault.kind.code());
        }
        drop(running);
        let end = match store.data_mut().seam.ended.take() {
            Some(BridgeEnd::Suspended) => {
                RunEnd::Suspended(std::mem::take(&mut store.data_mut().seam.inputs))
            }
            Some(BridgeEnd::Diverged { recorded, found }) => RunEnd::Diverged { recorded, found },
            None => self.end(result, store.data().memory_denied(), &limits),
        };
        guest::retire(store, place);
        Run { end, usage }
    }

    fn end(
        &self,
        result: Result<Result<String, engine::Failure>, CallError>,
        memory_denied: bool,
        limits: &Limits,
    ) -> RunEnd {
        match result {
            Ok(Ok(json)) if json.len() > limits.result_bytes => RunEnd::Failed(Failure {
                code: "too-large".into(),
                message: format!(
                    "the result has {} bytes; at most {} are taken: return less, or emit() parts",
                    json.len(),
                    limits.result_bytes
                ),
                stack: None,
                details: None,
            }),
            Ok(Ok(json)) => RunEnd::Completed(json),
            Ok(Err(failure)) => RunEnd::Failed(Failure {
                code: if memory_denied && failure.message.contains("memory") {
                    "out-of-memory".into()
                } else {
                    failure.code
                },
                message: failure.message,
                stack: failure.stack,
                details: failure.details,
            }),
            Err(error) => RunEnd::Broken(error),
        }
    }
}

/// The host as a sandbox sees it: the bridge and nothing else.
fn linker(engine: &Engine) -> wasmtime::Result<Linker<Guest<Bridge>>> {
    let mut linker = Linker::new(engine);
    executor_bindings::sandbox::executor::sandbox::bridge::add_to_linker::<_, HasSelf<_>>(
        &mut linker,
        |guest| guest,
    )?;
    crate::wasi::add_to_linker(&mut linker)?;
    Ok(linker)
}
