//! Calls source adapters: `executor:adapter/source`.

mod watch;

use std::sync::Arc;

use executor_bindings::adapter::exports::executor::adapter::source;
use executor_bindings::adapter::{SourceAdapter as Bindings, SourceAdapterPre};
use executor_bindings::watch::WatchingPre;
use executor_store::{Blobs, Cache, Staged};
use executor_telemetry::Root;
use executor_telemetry::spans::names;
use tokio::sync::OwnedSemaphorePermit;
use wasmtime::Engine;
use wasmtime::component::Linker;

use crate::artifact::World;
use crate::asker::Asker;
use crate::component::{Identity, LoadError, Loader, prepare_error};
use crate::egress::{Capture, Egress, Scope};
use crate::fault::CallError;
use crate::guest::{self, Guest, Instantiating, Meter, Usage};
use crate::limits::Limits;
use crate::pause::{Pause, Resumption};
use crate::processes::{Local, Processes};
use crate::seams::{self, AdapterSeam};
use crate::share::Share;

/// `call.meta` of a call that is only looked at.
const PREVIEW: &str = r#"{"preview":true}"#;

/// Tells how far an index is: done, total, what.
pub type Progress = Arc<dyn Fn(u64, Option<u64>, &str) + Send + Sync>;

/// Hears from a watch that its source changed: what of it.
pub type Changed = Arc<dyn Fn(&str) + Send + Sync>;

/// What one adapter call may use.
#[derive(Clone)]
pub struct AdapterContext {
    /// Where requests may go, and what is placed into them.
    pub scope: Scope,
    /// Where large bodies go.
    pub blobs: Blobs,
    /// Where sessions are kept.
    pub cache: Cache,
    /// Whose session: workspace, source, connection.
    pub session: String,
    /// The local program that it may speak to.
    pub local: Option<Local>,
    /// Hears of an index's progress.
    pub progress: Option<Progress>,
    /// Hears what a watch tells.
    pub changed: Option<Changed>,
    /// What a tool call asks a person through; none: nobody is asked.
    pub asker: Option<Asker>,
    /// The bounds of the call; those of its kind where none are given.
    pub limits: Option<Limits>,
}

/// An adapter's own answer that something can't be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct AdapterFailure {
    /// A stable code.
    pub code: String,
    /// What went wrong.
    pub message: String,
    /// The upstream's status.
    pub status: Option<u16>,
    /// Whether the same call may succeed later.
    pub retryable: bool,
    /// When to try again, in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// More, JSON.
    pub details: Option<String>,
}

impl AdapterFailure {
    /// One that no other try mends.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
            status: None,
            retryable: false,
            retry_after_ms: None,
            details: None,
        }
    }
}

/// Why an adapter call gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum AdapterError {
    /// The adapter said no.
    #[error(transparent)]
    Failed(#[from] AdapterFailure),
    /// The adapter, or the host, broke.
    #[error(transparent)]
    Broken(#[from] CallError),
}

/// What an adapter says of itself.
#[derive(Debug, Clone)]
pub struct AdapterInfo {
    /// The kind of source: `openapi`.
    pub kind: String,
    /// A title for people.
    pub title: String,
    /// The JSON Schema of a source's configuration.
    pub config_schema: String,
    /// More, JSON.
    pub meta: Option<String>,
}

/// A document and where it is from.
#[derive(Debug, Clone)]
pub struct Document {
    /// Its URL, without credentials.
    pub url: Option<String>,
    /// Its media type, as it was served.
    pub media_type: Option<String>,
    /// Its bytes.
    pub body: Vec<u8>,
}

/// What was found at a URL or in a file.
#[derive(Debug, Clone)]
pub struct Probe {
    /// The status, of a URL.
    pub status: Option<u16>,
    /// The answer's headers.
    pub headers: Vec<(String, String)>,
    /// The document.
    pub document: Document,
}

/// An adapter's opinion of a probe.
#[derive(Debug, Clone)]
pub struct Detection {
    /// 0 to 100.
    pub confidence: u8,
    /// The configuration that the source would get, JSON.
    pub config: String,
    /// A short name for the source.
    pub suggested_name: String,
    /// What a person should know.
    pub warnings: Vec<String>,
    /// More, JSON.
    pub meta: Option<String>,
}

/// A finished index.
pub struct Indexed {
    /// The source's title.
    pub title: Option<String>,
    /// The source's version.
    pub version: Option<String>,
    /// Where its tools send to, unless they say otherwise.
    pub base_url: Option<String>,
    /// More, JSON: `origins` that the document names.
    pub meta: Option<String>,
    /// What it put into the sink.
    pub staged: Staged,
    /// What it cost.
    pub usage: Usage,
}

/// One tool call.
#[derive(Debug, Clone)]
pub struct ToolCall {
    /// The tool, without its source.
    pub tool: String,
    /// What `index` put down for it.
    pub binding: Vec<u8>,
    /// The arguments, JSON.
    pub arguments: String,
    /// The source's settings, JSON.
    pub settings: String,
    /// What a call that paused goes on with.
    pub resume: Option<Resumption>,
}

/// A tool's answer.
#[derive(Debug, Clone)]
pub struct ToolResponse {
    /// The data, JSON.
    pub data: String,
    /// Whether the tool calls its own answer an error.
    pub is_error: bool,
    /// Status and headers, JSON.
    pub metadata: Option<String>,
}

/// How a tool call ended.
#[derive(Debug)]
pub enum ToolOutcome {
    /// With an answer.
    Done(ToolResponse),
    /// It needs answers from a person.
    Paused(Pause),
}

/// An adapter, ready to be instantiated.
pub struct Adapter {
    identity: Identity,
    egress: Arc<Egress>,
    processes: Arc<Processes>,
    meter: Arc<Meter>,
    pooled: Instances,
    roomy: Instances,
}

struct Instances {
    engine: Engine,
    pre: SourceAdapterPre<Guest<AdapterSeam>>,
    /// Where it exports that.
    watch: Option<WatchingPre<Guest<AdapterSeam>>>,
}

/// The export that is looked for.
const WATCH: &str = "executor:adapter/watch@0.1.0";

impl Adapter {
    pub(crate) async fn load(
        loader: &Loader,
        egress: Arc<Egress>,
        processes: Arc<Processes>,
        identity: Identity,
        bytes: Arc<[u8]>,
    ) -> Result<Self, LoadError> {
        let pooled = Instances::load(loader, loader.engines.pooled(), &identity, bytes.clone()).await?;
        let roomy = Instances::load(loader, loader.engines.roomy(), &identity, bytes).await?;
        Ok(Self { meter: Meter::new(&identity.name), identity, egress, processes, pooled, roomy })
    }

    /// The adapter's name and digest.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Asks the adapter what it is.
    ///
    /// # Errors
    /// When it breaks.
    pub async fn describe(&self, share: &Share, context: AdapterContext) -> Result<AdapterInfo, CallError> {
        let place = share.heavy(&context.scope.trace).await;
        let limits = context.limits.clone().unwrap_or_else(Limits::adapter_detect);
        let (result, _, _) = self
            .enter(&self.roomy, place, names::DESCRIBE, &limits, context, async |bindings, store| {
                bindings.executor_adapter_source().call_describe(store).await
            })
            .await;
        let info = result?;
        Ok(AdapterInfo {
            kind: seams::plain_text(&info.kind, 64),
            title: seams::plain_text(&info.title, 200),
            config_schema: info.config_schema,
            meta: info.meta,
        })
    }

    /// Asks what a document is to this adapter; none: nothing.
    ///
    /// # Errors
    /// When the adapter fails or breaks.
    pub async fn detect(
        &self,
        share: &Share,
        context: AdapterContext,
        probe: Probe,
    ) -> Result<Option<Detection>, AdapterError> {
        let place = share.heavy(&context.scope.trace).await;
        let limits = context.limits.clone().unwrap_or_else(Limits::adapter_detect);
        let probe = source::Probe {
            url: probe.document.url.clone(),
            status: probe.status,
            headers: probe.headers,
            document: wire_document(probe.document),
        };
        let (result, _, _) = self
            .enter(&self.roomy, place, names::DETECT, &limits, context, async |bindings, store| {
                bindings.executor_adapter_source().call_detect(store, &probe).await
            })
            .await;
        let detection = result?.map_err(seams::failure)?;
        Ok(detection.map(|found| Detection {
            confidence: found.confidence.min(100),
            config: found.config,
            suggested_name: seams::plain_text(&found.suggested_name, 64),
            warnings: found
                .warnings
                .iter()
                .take(100)
                .map(|warning| seams::plain_text(warning, 1_000))
                .collect(),
            meta: found.meta,
        }))
    }

    /// Makes tools of a document. `meta` is JSON of what else the adapter is
    /// told.
    ///
    /// # Errors
    /// When the document is refused, or the adapter breaks.
    pub async fn index(
        &self,
        share: &Share,
        context: AdapterContext,
        config: String,
        settings: String,
        document: Option<Document>,
        meta: Option<String>,
    ) -> Result<Indexed, AdapterError> {
        // What a program answers comes when it comes: one that is silent keeps
        // none of the few places for large documents.
        let (place, usual) = match &context.local {
            Some(_) => (share.adapter(&context.scope.trace).await, Limits::adapter_listing()),
            None => (share.heavy(&context.scope.trace).await, Limits::adapter_index()),
        };
        let limits = context.limits.clone().unwrap_or(usual);
        let request = source::IndexRequest { config, settings, document: document.map(wire_document), meta };
        let (result, usage, staged) = self
            .enter(&self.roomy, place, names::INDEX, &limits, context.indexing(), async |bindings, store| {
                bindings.executor_adapter_source().call_index(store, &request).await
            })
            .await;
        let summary = result?.map_err(seams::failure)?;
        Ok(Indexed {
            title: summary.title.map(|title| seams::plain_text(&title, 200)),
            version: summary.version.map(|version| seams::plain_text(&version, 100)),
            base_url: summary.base_url,
            meta: summary.meta,
            staged,
            usage,
        })
    }

    /// Calls a tool.
    ///
    /// Dropping the future drops the instance and its request.
    ///
    /// # Errors
    /// When the tool fails, or the adapter breaks.
    pub async fn invoke(
        &self,
        share: &Share,
        context: AdapterContext,
        call: ToolCall,
    ) -> Result<ToolOutcome, AdapterError> {
        let place = share.adapter(&context.scope.trace).await;
        let limits = context.limits.clone().unwrap_or_else(Limits::adapter_invoke);
        let preview = context.scope.capture != Capture::Off;
        let call = source::Call {
            tool: call.tool,
            binding: call.binding,
            arguments: call.arguments,
            settings: call.settings,
            resume: call.resume.map(Resumption::into_wire),
            meta: preview.then(|| PREVIEW.to_owned()),
        };
        let (result, _, _) = self
            .enter(&self.pooled, place, names::INVOKE, &limits, context, async |bindings, store| {
                bindings.executor_adapter_source().call_invoke(store, &call).await
            })
            .await;
        match result?.map_err(seams::failure)? {
            source::Outcome::Paused(pause) => Ok(ToolOutcome::Paused(Pause::checked(pause)?)),
            source::Outcome::Done(done) => {
                check_json(&done.data, "data")?;
                Ok(ToolOutcome::Done(ToolResponse {
                    data: done.data,
                    is_error: done.is_error,
                    metadata: done.metadata.filter(|metadata| check_json(metadata, "metadata").is_ok()),
                }))
            }
        }
    }

    async fn enter<T>(
        &self,
        instances: &Instances,
        place: OwnedSemaphorePermit,
        name: &'static str,
        limits: &Limits,
        context: AdapterContext,
        run: impl AsyncFnOnce(&Bindings, &mut wasmtime::Store<Guest<AdapterSeam>>) -> wasmtime::Result<T>,
    ) -> (Result<T, CallError>, Usage, Staged) {
        // What no execution asked for is a list of its own.
        let own = context.scope.trace.is_nowhere().then(|| Root::begin(names::ADAPTER_CALL, None, 0));
        let trace = own.as_ref().map_or_else(|| context.scope.trace.clone(), |own| own.place().clone());
        let asker = context.asker.clone();
        let seam = AdapterSeam::new(self.egress.clone(), self.processes.clone(), context, limits);
        let mut store = guest::store(&instances.engine, limits, &self.meter, seam);
        let mut running = None;
        let clock = asker.as_ref().map(Asker::clock);
        let (result, usage) = guest::call(&self.identity.name, limits, clock, &mut store, async |store| {
            let making = Instantiating::begin(&self.meter, &trace);
            let bindings = instances.pre.instantiate_async(&mut *store).await?;
            making.done();
            let span = trace.span(name);
            store.data_mut().seam.trace_requests(span.place());
            running = Some(span);
            run(&bindings, store).await
        })
        .await;
        if let (Some(span), Err(CallError::Guest(fault))) = (&running, &result) {
            span.fail(fault.kind.code());
        }
        drop(running);
        if let Some(own) = own {
            own.export();
        }
        store.data_mut().seam.ended(result.is_ok());
        let staged = store.data_mut().seam.take_staged();
        guest::retire(store, place);
        (result, usage, staged)
    }
}

impl Instances {
    async fn load(
        loader: &Loader,
        engine: &Engine,
        identity: &Identity,
        bytes: Arc<[u8]>,
    ) -> Result<Self, LoadError> {
        let component = loader.component(engine, identity, World::SourceAdapter, bytes).await?;
        let broken = |source| prepare_error(identity, source);
        let mut linker: Linker<Guest<AdapterSeam>> = Linker::new(engine);
        seams::add_to_linker(&mut linker).map_err(broken)?;
        let pre = linker.instantiate_pre(&component).map_err(broken)?;
        let watch = match component.get_export_index(None, WATCH) {
            Some(_) => Some(WatchingPre::new(pre.clone()).map_err(broken)?),
            None => None,
        };
        Ok(Self { engine: engine.clone(), pre: SourceAdapterPre::new(pre).map_err(broken)?, watch })
    }
}

impl AdapterContext {
    fn indexing(mut self) -> Self {
        self.progress.get_or_insert_with(|| Arc::new(|_, _, _| {}));
        self
    }
}

fn wire_document(document: Document) -> source::Document {
    source::Document { url: document.url, media_type: document.media_type, body: document.body }
}

pub(crate) fn garbage(message: String) -> AdapterFailure {
    AdapterFailure::new("adapter-garbage", message)
}

/// What an adapter calls JSON must be JSON: it goes on to programs as it is.
pub(crate) fn check_json(text: &str, what: &str) -> Result<(), AdapterFailure> {
    match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        Ok(_) => Ok(()),
        Err(error) => Err(garbage(format!("the adapter answered {what} that is not JSON: {error}"))),
    }
}
