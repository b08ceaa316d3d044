//! Drives an execution to its end, or to where it waits, and writes down
//! which it was.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use executor_runtime::{
    Call, CallError, Failure, FaultKind, History, Inputs, Module, RunEnd, RunRequest, Sandbox, Settled, Usage,
};
use executor_store::{Change, Digest, ExecutionId};
use serde_json::{Value, json};

use crate::caller::Caller;
use crate::executions::{ExecutionError, ExecutionView, UsageView, row_view};
use crate::problem::{Problem, chain};
use crate::recall::keep_module;
use crate::resume::WAITING;
use crate::session::{CallOptions, Session, SessionHost};
use crate::tool_error::{decode, settled};
use crate::workspace::Workspace;

/// A run that is longer is recorded while it runs.
const RECORD_AFTER: Duration = Duration::from_millis(50);

/// What an execution does.
pub(crate) enum Work {
    /// It runs a program.
    Program {
        /// The program.
        module: Arc<Module>,
        /// The engine.
        sandbox: Arc<Sandbox>,
        /// What an earlier run saw.
        history: History,
    },
    /// It calls one tool: the execution's title, with its input.
    Call,
}

/// How it went.
enum End {
    Completed(String),
    Failed(ExecutionError),
    Waiting(Inputs),
}

impl Session {
    /// Runs to the end or to a question, and records it.
    pub(crate) async fn drive(mut self, work: Work) -> Result<ExecutionView, Problem> {
        self.tell("execution.running");
        match work {
            Work::Call => {
                let session = Arc::new(self);
                let end = session.drive_call().await;
                session.finish(end, Usage::default()).await
            }
            Work::Program { module, sandbox, history } => {
                self.row.compiled = Some(keep_module(&module));
                self.row.source_map.clone_from(&module.source_map);
                self.row.engine = Digest::parse(&format!("sha256:{}", sandbox.identity().digest)).ok();
                let input = self.row.input.clone().unwrap_or_else(|| "null".into());
                let session = Arc::new(self);
                let request = RunRequest {
                    module: Module::clone(&module),
                    input,
                    history,
                    limits: session.workspace.shared.settings.execute_limits(),
                };
                let host = Arc::new(SessionHost(session.clone()));
                let run = sandbox.run(&session.workspace.share, request, host);
                let run = session.recorded_if_long(run).await;
                session.finish(program_end(run.end), run.usage).await
            }
        }
    }

    /// Tells whoever watches what became of it.
    pub(crate) fn tell(&self, kind: &str) {
        let row = &self.row;
        self.workspace.tell(kind, || {
            json!({
                "execution": row.id.to_string(), "kind": row.kind, "title": row.title,
                "surface": row.surface, "account": row.account, "client": row.client,
            })
        });
    }

    /// A run that takes its time is on record while it runs, so that it can be
    /// seen and cancelled.
    async fn recorded_if_long<T>(&self, run: impl Future<Output = T>) -> T {
        let mut run = std::pin::pin!(run);
        match tokio::time::timeout(RECORD_AFTER, &mut run).await {
            Ok(ended) => ended,
            Err(_) => {
                self.write_behind(Vec::new());
                run.await
            }
        }
    }

    async fn drive_call(self: &Arc<Self>) -> End {
        let args = self.row.input.clone().unwrap_or_else(|| "{}".into());
        let options: CallOptions =
            self.row.code.as_deref().and_then(|code| serde_json::from_str(code).ok()).unwrap_or_default();
        let call = Call {
            scope: 0,
            ordinal: 0,
            root: "tools".into(),
            path: self.row.title.split('.').map(str::to_owned).collect(),
            args,
            options: self.row.code.clone(),
            recorded: !self.past.calls.is_empty(),
        };
        let result = self.call_tool(&call, &self.row.title, &options).await;
        match settled(result, options.raw) {
            Settled::Ok(json) => End::Completed(json),
            Settled::Waiting => End::Waiting(Inputs::default()),
            Settled::Failed(json) => End::Failed(tool_failure(&json)),
        }
    }

    /// An execution that failed before it ran.
    pub(crate) async fn fail(self, error: ExecutionError) -> Result<ExecutionView, Problem> {
        self.finish(End::Failed(error), Usage::default()).await
    }

    async fn finish(&self, end: End, usage: Usage) -> Result<ExecutionView, Problem> {
        match end {
            End::Waiting(inputs) => self.suspend(&inputs).await,
            End::Completed(result) => self.record_end("completed", Some(result), None, usage).await,
            End::Failed(error) => self.record_end("failed", None, Some(error), usage).await,
        }
    }

    /// Nothing of a waiting execution stays in memory: what it saw is synced,
    /// then it is gone.
    async fn suspend(&self, inputs: &Inputs) -> Result<ExecutionView, Problem> {
        let id = self.id();
        if let Some(engine) = &self.row.engine {
            self.workspace.keep_engine(engine)?;
        }
        let mut changes = values(id, inputs);
        let spans = self.watch.over(&self.row, "waiting", None);
        changes.push(Change::Spans { id: id.clone(), spans });
        let at_ms = self.workspace.shared.now_ms();
        changes.push(Change::Status {
            id: id.clone(),
            expected: "running".into(),
            status: WAITING.into(),
            at_ms,
        });
        self.write_synced(changes).await?;
        self.tell("execution.waiting");
        self.workspace.execution_view(id).await
    }

    async fn record_end(
        &self,
        status: &str,
        result: Option<String>,
        error: Option<ExecutionError>,
        usage: Usage,
    ) -> Result<ExecutionView, Problem> {
        let executions = self.workspace.executions();
        executions.room().await;
        let spoken = self.take_spoken();
        let now_ms = self.workspace.shared.now_ms();
        let mut row = self.row.clone();
        row.status = status.into();
        row.settled_ms = Some(now_ms);
        let code = error.as_ref().map(|error| error.code.as_str());
        let spans = self.watch.over(&self.row, status, code);
        row.error = error.map(|error| json!(error).to_string());
        row.result = result;
        row.fuel = usage.fuel;
        row.memory_bytes = usage.memory_bytes;
        if spoken.recorded {
            let settle = Change::Settle {
                id: row.id.clone(),
                status: row.status.clone(),
                result: row.result.clone(),
                error: row.error.clone(),
                settled_ms: now_ms,
                fuel: usage.fuel,
                memory_bytes: usage.memory_bytes,
                truncated: false,
                spans: Some(spans),
            };
            if spoken.asked {
                self.workspace.end_waits(&row.id).await?;
            }
            let mut changes = self.workspace.unanswered(&row.id, &self.caller, now_ms)?;
            if spoken.wrote {
                executions.written().await?;
                changes.extend(self.workspace.unknown_outcomes(&row.id, now_ms)?);
            }
            changes.push(settle);
            if spoken.wrote {
                executions.commit(changes).await?;
            } else {
                executions.commit_behind(changes)?;
            }
        } else {
            row.spans = Some(spans);
            executions.commit_behind(vec![Change::Put(Box::new(row.clone()))])?;
        }
        self.tell(&format!("execution.{status}"));
        let mut view = row_view(row, spoken.logs, spoken.emitted, Vec::new(), spoken.wrote);
        view.usage = UsageView {
            fuel: usage.fuel,
            memory_bytes: usage.memory_bytes,
            wall_us: usage.wall_us,
            calls: spoken.calls,
        };
        Ok(view)
    }
}

impl Workspace {
    /// Settles what an earlier process left unfinished. What had been sent
    /// and not answered is unknown, and stays so.
    pub(crate) async fn settle_interrupted(&self) -> Result<(), Problem> {
        for row in self.executions().unsettled()? {
            let journal = self.executions().journal(&row.id)?;
            let (done, unknown): (Vec<_>, Vec<_>) = journal
                .iter()
                .filter(|call| call.write && call.intent_ms > 0)
                .partition(|call| call.outcome.as_deref().and_then(decode).is_some_and(is_known));
            let paths = |calls: Vec<&executor_store::CallRow>| {
                calls.into_iter().map(|call| call.path.clone()).collect::<Vec<_>>()
            };
            let unknown_paths = paths(unknown);
            let message = if unknown_paths.is_empty() {
                "the daemon ended while this ran; no write was under way".to_owned()
            } else {
                format!(
                    "the daemon ended while this ran; whether {} took effect is unknown",
                    unknown_paths.join(", ")
                )
            };
            let error = ExecutionError {
                code: if unknown_paths.is_empty() { "interrupted".into() } else { "outcome-unknown".into() },
                message,
                hint: Some(
                    "look at the upstream before running it again; nothing is sent twice by itself".into(),
                ),
                details: Some(json!({ "done": paths(done), "unknown": unknown_paths })),
                ..ExecutionError::default()
            };
            let changes = self.last_changes(&row.id, &Caller::daemon(), "failed", &error)?;
            self.executions().commit(changes).await?;
        }
        Ok(())
    }

    /// Marks the writes of an execution that were sent and never answered.
    pub(crate) fn unknown_outcomes(&self, id: &ExecutionId, now_ms: i64) -> Result<Vec<Change>, Problem> {
        let sent = self.executions().journal(id)?.into_iter();
        let sent = sent.filter(|call| call.write && call.intent_ms > 0 && call.outcome.is_none());
        let mark = |call: executor_store::CallRow| {
            let tool = call.path.strip_prefix("tools.").unwrap_or(&call.path);
            let error = json!(crate::tool_error::ToolError::unknown(tool)).to_string();
            Change::Outcome {
                id: call.id.clone(),
                scope: call.scope,
                ordinal: call.ordinal,
                outcome: format!("failed:{error}"),
                at_ms: now_ms,
            }
        };
        Ok(sent.map(mark).collect())
    }
}

/// Whether an outcome says what became of a write: a daemon that ends in
/// order says of those under way that it does not know.
fn is_known(outcome: Settled) -> bool {
    match outcome {
        Settled::Failed(json) => tool_failure(&json).code != "outcome-unknown",
        _ => true,
    }
}

fn program_end(end: RunEnd) -> End {
    match end {
        RunEnd::Completed(json) => End::Completed(json),
        RunEnd::Suspended(inputs) => End::Waiting(inputs),
        RunEnd::Failed(failure) => End::Failed(program_failure(failure)),
        RunEnd::Diverged { recorded, found } => End::Failed(ExecutionError {
            code: "nondeterminism".into(),
            message: format!(
                "the program does not do what its journal says: recorded {recorded}, found {found}"
            ),
            hint: Some("run it anew; what it had done before stays done".into()),
            details: Some(json!({ "recorded": recorded, "found": found })),
            ..ExecutionError::default()
        }),
        RunEnd::Broken(error) => End::Failed(broken(&error)),
    }
}

fn program_failure(failure: Failure) -> ExecutionError {
    let details: Option<Value> = failure.details.and_then(|details| serde_json::from_str(&details).ok());
    let line = details.as_ref().and_then(|details| details.get("line")).and_then(Value::as_u64);
    ExecutionError {
        code: failure.code,
        message: failure.message,
        stack: failure.stack,
        line: line.and_then(|line| u32::try_from(line).ok()),
        details,
        hint: None,
    }
}

fn broken(error: &CallError) -> ExecutionError {
    let (code, message, hint) = match error {
        CallError::Host { .. } => {
            tracing::error!(error = %chain(error), "the runtime failed");
            ("internal", chain(error), None)
        }
        CallError::Guest(fault) => {
            let (message, hint) = match fault.kind {
                FaultKind::OutOfFuel => {
                    ("the program used up its CPU budget", "limits.execute_cpu_seconds in config.toml")
                }
                FaultKind::OutOfMemory => (
                    "the program needs more memory than it may have",
                    "limits.execute_memory_mib in config.toml",
                ),
                FaultKind::Timeout => {
                    ("the program took longer than it may", "limits.execute_wall_seconds in config.toml")
                }
                _ => (fault.message.as_str(), ""),
            };
            let hint = (!hint.is_empty()).then(|| format!("{hint} raises the limit"));
            (fault.kind.code(), message.to_owned(), hint)
        }
    };
    ExecutionError { code: code.into(), message, hint, ..ExecutionError::default() }
}

/// A `ToolError` as the error of an execution that was that one call.
fn tool_failure(json: &str) -> ExecutionError {
    let error: Value = serde_json::from_str(json).unwrap_or_default();
    let text = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    ExecutionError {
        code: text("code"),
        message: text("message"),
        details: Some(error.clone()),
        ..ExecutionError::default()
    }
}

fn values(id: &ExecutionId, inputs: &Inputs) -> Vec<Change> {
    let value = |kind: &str, ordinal: u64, value: String| Change::Value {
        id: id.clone(),
        kind: kind.into(),
        ordinal,
        value,
    };
    let mut changes = Vec::new();
    if inputs.clock_readings > 0 {
        changes.push(value("clock-readings", inputs.clock_readings, String::new()));
        changes.extend(inputs.clock.iter().map(|(reading, ms)| value("clock", *reading, ms.to_string())));
    }
    changes.extend((0..).zip(&inputs.random).map(|(draw, bytes)| value("random", draw, hex::encode(bytes))));
    changes
}
