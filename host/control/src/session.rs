//! One execution while it runs: the host side of its bridge, and what is
//! written down of it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use executor_runtime::{BridgeHost, Call, Output, Settled, Stopwatch, full_path};
use executor_store::{CallRow, Change, ExecutionId, ExecutionRow, InteractionRow, StoreError};
use executor_telemetry::spans::names;
use executor_telemetry::{Place, Root, remote_parent};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::Value;

use crate::blobs::{self, PutBlob, ReadBlob};
use crate::caller::Caller;
use crate::executions::LogView;
use crate::once::Once;
use crate::problem::Problem;
use crate::tool_error::{GateEnd, ToolAnswer, ToolError, encode, settled};
use crate::tools::{DescribeOptions, ToolQuery};
use crate::watch::Watch;
use crate::workspace::Workspace;

/// A running execution.
pub(crate) struct Session {
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) caller: Caller,
    pub(crate) row: ExecutionRow,
    pub(crate) past: Past,
    pub(crate) watch: Watch,
    state: Mutex<State>,
}

/// What an earlier run of this execution left in the journal.
#[derive(Default)]
pub(crate) struct Past {
    pub(crate) calls: HashMap<(u64, u64), CallRow>,
    /// The questions of each call, in the order in which they were asked.
    pub(crate) interactions: HashMap<(u64, u64), Vec<InteractionRow>>,
}

#[derive(Default)]
struct State {
    recorded: bool,
    wrote: bool,
    asked: bool,
    calls: u64,
    /// Bytes of files that the program read and made.
    blob_bytes: u64,
    logs: Vec<LogView>,
    emitted: Vec<Value>,
}

/// What an execution has said and done so far.
pub(crate) struct Spoken {
    pub(crate) recorded: bool,
    pub(crate) wrote: bool,
    pub(crate) asked: bool,
    pub(crate) calls: u64,
    pub(crate) logs: Vec<LogView>,
    pub(crate) emitted: Vec<Value>,
}

/// The options of one call.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct CallOptions {
    #[serde(default)]
    pub(crate) connection: Option<String>,
    #[serde(default)]
    pub(crate) raw: bool,
}

impl Session {
    pub(crate) fn new(workspace: Arc<Workspace>, caller: Caller, row: ExecutionRow, root: Root) -> Self {
        let watch = Watch::new(root, &row, &workspace.name);
        Self { workspace, caller, row, past: Past::default(), watch, state: Mutex::default() }
    }

    /// A session of an execution that is recorded already.
    pub(crate) fn again(
        workspace: Arc<Workspace>,
        caller: Caller,
        row: ExecutionRow,
        past: Past,
        logs: Vec<LogView>,
        emitted: Vec<Value>,
    ) -> Self {
        let wrote = past.calls.values().any(|call| call.write);
        let state = State { recorded: true, wrote, logs, emitted, ..State::default() };
        let since_ms = u64::try_from(workspace.shared.now_ms() - row.created_ms).unwrap_or(0);
        let root = Root::begin(names::EXECUTION, remote_parent(), since_ms.saturating_mul(1_000));
        let watch = Watch::new(root, &row, &workspace.name);
        Self { workspace, caller, row, past, watch, state: Mutex::new(state) }
    }

    pub(crate) fn id(&self) -> &ExecutionId {
        &self.row.id
    }

    /// What it said and did, at its end. A call that was given up is written
    /// down once it is gone, which may be after this: it adds to the record of
    /// an end, and must not put that of a beginning over it.
    pub(crate) fn take_spoken(&self) -> Spoken {
        let ended = State { recorded: true, ..State::default() };
        let state = std::mem::replace(&mut *self.lock(), ended);
        Spoken {
            recorded: state.recorded,
            wrote: state.wrote,
            asked: state.asked,
            calls: state.calls,
            logs: state.logs,
            emitted: state.emitted,
        }
    }

    /// Whether anything of it is on record.
    pub(crate) fn is_recorded(&self) -> bool {
        self.lock().recorded
    }

    pub(crate) fn mark_written(&self) {
        self.lock().wrote = true;
    }

    /// A call of this run asked a person while it ran.
    pub(crate) fn mark_asked(&self) {
        self.lock().asked = true;
    }

    /// Writes down without waiting. A full disk shows when the execution
    /// settles, which does wait.
    pub(crate) fn write_behind(&self, changes: Vec<Change>) {
        let mut state = self.lock();
        let changes = self.with_record(&mut state, changes);
        if let Err(error) = self.workspace.executions().commit_behind(changes) {
            tracing::error!(%error, execution = %self.id(), "a record was not written");
        }
    }

    /// Writes down and waits until it is synced.
    pub(crate) async fn write_synced(&self, changes: Vec<Change>) -> Result<(), Problem> {
        Ok(self.queue(changes).await?)
    }

    /// Queues at once what is synced when the future answers.
    pub(crate) fn queue(
        &self,
        changes: Vec<Change>,
    ) -> impl Future<Output = Result<(), StoreError>> + Send + use<> {
        let mut state = self.lock();
        let changes = self.with_record(&mut state, changes);
        self.workspace.executions().commit(changes)
    }

    /// Records, synced, that this execution was begun under a key.
    pub(crate) async fn begin_once(&self, once: Option<Once>) -> Result<(), Problem> {
        let Some(once) = once else { return Ok(()) };
        let change = Change::Once { once: once.into_store(), id: self.id().clone() };
        self.write_synced(vec![change]).await
    }

    /// The changes, after the execution's own record where it has none yet:
    /// an execution that calls nothing is recorded once, at its end. They are
    /// queued under the same lock, so that the record is first in the queue.
    fn with_record(&self, state: &mut State, changes: Vec<Change>) -> Vec<Change> {
        if std::mem::replace(&mut state.recorded, true) {
            return changes;
        }
        let mut all = vec![Change::Put(Box::new(self.row.clone()))];
        all.extend(changes);
        all
    }

    pub(crate) fn call_row(&self, call: &Call) -> CallRow {
        CallRow {
            id: self.row.id.clone(),
            scope: call.scope,
            ordinal: call.ordinal,
            root: call.root.clone(),
            path: full_path(call),
            args: call.args.clone(),
            options: call.options.clone(),
            write: false,
            idempotent: false,
            intent_ms: 0,
            outcome: None,
            outcome_ms: None,
            delivery: None,
        }
    }

    /// The whole row of a call that needed no intent: reads, timers, errors.
    pub(crate) fn settled_row(&self, call: &Call, settled: &Settled) -> CallRow {
        let now_ms = self.workspace.shared.now_ms();
        CallRow {
            intent_ms: now_ms,
            outcome: encode(settled),
            outcome_ms: Some(now_ms),
            ..self.call_row(call)
        }
    }

    async fn settle(&self, call: Call) -> Settled {
        self.lock().calls += 1;
        let tool = call.path.join(".");
        let options = match &call.options {
            None => Ok(CallOptions::default()),
            Some(options) => serde_json::from_str::<CallOptions>(options),
        };
        let Ok(options) = options else {
            let error =
                ToolError::new(&tool, "invalid-options", "the options are { connection, raw, signal }");
            return self.settled_without_intent(&call, settled(Err(error.into()), false));
        };
        let words: Vec<&str> = call.path.iter().map(String::as_str).collect();
        match (call.root.as_str(), words.as_slice()) {
            ("tools", ["search" | "describe"] | ["sources", "list"]) => {
                let answer = self.builtin(words[0], &call.args).await;
                let result = answer.map(|data| ToolAnswer { data, http: None });
                let result = result.map_err(|problem| ToolError::of_problem(&tool, problem).into());
                self.settled_without_intent(&call, settled(result, options.raw))
            }
            ("blobs", [word @ ("text" | "bytes" | "put")]) => {
                let answer = self.blob(word, &call.args).await;
                let result = answer.map(|data| ToolAnswer { data, http: None });
                let named = format!("blobs.{word}");
                let result = result.map_err(|problem| ToolError::of_problem(&named, problem).into());
                self.settled_without_intent(&call, settled(result, options.raw))
            }
            ("tools", [_, ..]) => self.gate(&call, &tool, &options).await,
            (root, _) => {
                let error =
                    ToolError::new(&tool, "unknown-root", format!("there is nothing to call under {root:?}"));
                self.settled_without_intent(&call, settled(Err(error.into()), options.raw))
            }
        }
    }

    fn settled_without_intent(&self, call: &Call, settled: Settled) -> Settled {
        self.write_behind(vec![Change::Intent(self.settled_row(call, &settled))]);
        settled
    }

    async fn gate(&self, call: &Call, tool: &str, options: &CallOptions) -> Settled {
        let result = self.call_tool(call, tool, options).await;
        if let Err(GateEnd::Failed(error)) = &result {
            tracing::debug!(tool, code = error.code, message = error.message, "a tool call failed");
        }
        settled(result, options.raw)
    }

    async fn builtin(&self, word: &str, args: &str) -> Result<String, Problem> {
        let workspace = &self.workspace;
        match word {
            "search" => json(&workspace.search_tools(&self.caller, parse::<ToolQuery>(args)?).await?),
            "describe" => {
                let request = parse::<DescribeRequest>(args)?;
                let path = request.path.strip_prefix("tools.").unwrap_or(&request.path);
                let options = DescribeOptions {
                    type_name: request.type_name,
                    depth: request.depth,
                    ..DescribeOptions::default()
                };
                json(&workspace.describe_tool(&self.caller, path, options).await?)
            }
            _ => json(&workspace.sources()?),
        }
    }

    async fn blob(&self, word: &str, args: &str) -> Result<String, Problem> {
        let workspace = &self.workspace;
        if word == "put" {
            let made = parse::<PutBlob>(args)?;
            self.count_blob(made.size())?;
            return json(&workspace.put_blob(made).await?);
        }
        let file = parse::<ReadBlob>(args)?.file;
        let content = workspace.blob(&file)?;
        self.count_blob(content.size())?;
        let bytes = tokio::task::spawn_blocking(move || content.whole()).await;
        let bytes = bytes.map_err(|error| Problem::internal(error.to_string()))??;
        if word == "bytes" { json(&blobs::as_bytes(&bytes)) } else { json(&blobs::as_text(bytes)?) }
    }

    /// Counts what a program takes in and puts out, all of which its journal
    /// keeps.
    fn count_blob(&self, size: u64) -> Result<(), Problem> {
        blobs::expect_small(size)?;
        let mut state = self.lock();
        let all = state.blob_bytes.saturating_add(size);
        blobs::expect_few(all)?;
        state.blob_bytes = all;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DescribeRequest {
    path: String,
    #[serde(default, rename = "type")]
    type_name: Option<String>,
    #[serde(default)]
    depth: Option<u32>,
}

fn parse<'a, T: Deserialize<'a>>(args: &'a str) -> Result<T, Problem> {
    let args = if args == "null" { "{}" } else { args };
    serde_json::from_str(args)
        .map_err(|error| Problem { code: "invalid-arguments".into(), ..Problem::invalid(error.to_string()) })
}

fn json<T: serde::Serialize>(view: &T) -> Result<String, Problem> {
    serde_json::to_string(view).map_err(|error| Problem::internal(error.to_string()))
}

/// The bridge calls the session through its `Arc`.
pub(crate) struct SessionHost(pub(crate) Arc<Session>);

impl BridgeHost for SessionHost {
    fn call(&self, call: Call) -> BoxFuture<'static, Settled> {
        let session = self.0.clone();
        Box::pin(async move { session.settle(call).await })
    }

    fn room(&self) -> Option<BoxFuture<'static, ()>> {
        let executions = self.0.workspace.executions();
        if executions.has_room() { None } else { Some(Box::pin(executions.room())) }
    }

    fn delivered(&self, call: &Call, settled: &Settled, delivery: u64) {
        let change = if call.root == "timer" {
            let row = CallRow { delivery: Some(delivery), ..self.0.settled_row(call, settled) };
            Change::Intent(row)
        } else {
            Change::Delivery { id: self.0.id().clone(), scope: call.scope, ordinal: call.ordinal, delivery }
        };
        self.0.write_behind(vec![change]);
    }

    fn trace(&self) -> Place {
        self.0.watch.place().clone()
    }

    fn clock(&self) -> Option<Stopwatch> {
        Some(self.0.watch.clock().clone())
    }

    fn output(&self, output: Output) {
        let session = &self.0;
        let kind = if output.level.is_some() { "log" } else { "emit" };
        session.write_behind(vec![Change::Output {
            id: session.id().clone(),
            sequence: output.sequence,
            kind: kind.into(),
            level: output.level.map(str::to_owned),
            body: output.body.clone(),
            at_ms: session.workspace.shared.now_ms(),
        }]);
        let mut state = session.lock();
        match output.level {
            Some(level) => state.logs.push(LogView { level: level.into(), text: output.body }),
            None => {
                state.emitted.push(serde_json::from_str(&output.body).unwrap_or(Value::String(output.body)))
            }
        }
    }
}
