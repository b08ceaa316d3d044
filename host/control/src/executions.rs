//! Executions: one run of loose TypeScript, or one tool call, from any
//! surface, and how it goes on after a person answered.

use executor_runtime::History;
use executor_store::{ExecutionId, ExecutionRow};
use executor_telemetry::spans::names;
use executor_telemetry::{Root, remote_parent};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json, value::RawValue};

use crate::approvals::{InteractionView, interaction_view};
use crate::caller::Caller;
use crate::clock::rfc3339;
use crate::drive::Work;
use crate::policies::random;
use crate::problem::Problem;
use crate::programs::ProgramError;
use crate::session::Session;
use crate::workspace::Workspace;

/// Executions on a page where nothing is said, and at most.
const PAGE: usize = 50;
const PAGE_MAX: usize = 500;

/// TypeScript to run.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunCode {
    /// Statements with `return`, a function, a default export, or any of them
    /// in fenced Markdown.
    pub code: String,
    /// What the program gets.
    #[serde(default)]
    pub input: Option<Value>,
    /// The name that stands in its stack traces.
    #[serde(default)]
    pub name: Option<String>,
}

/// One tool to call.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallTool {
    /// Its path; the URL's where the request came over HTTP.
    #[serde(default)]
    pub path: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Option<Value>,
    /// The connection.
    #[serde(default)]
    pub connection: Option<String>,
    /// Whether the answer holds status and headers.
    #[serde(default)]
    pub raw: bool,
    /// Whether the request is shown, not sent.
    #[serde(default)]
    pub dry_run: bool,
}

/// An execution.
#[derive(Debug, Serialize)]
pub struct ExecutionView {
    /// Its id.
    pub id: String,
    /// `code` or `call`.
    pub kind: String,
    /// `running`, `waiting_for_interaction`, `completed`, `failed`, `cancelled`.
    pub status: String,
    /// What it is, in a line.
    pub title: String,
    /// Where it came from.
    pub surface: String,
    /// Through which client.
    pub client: String,
    /// When it began.
    pub created_at: String,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled_at: Option<String>,
    /// Whether its record has been synced to disk.
    pub durable: bool,
    /// Its result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Box<RawValue>>,
    /// Its error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ExecutionError>,
    /// What it logged.
    pub logs: Vec<LogView>,
    /// What it emitted.
    pub emitted: Vec<Value>,
    /// The questions that it waits for.
    pub interactions: Vec<InteractionView>,
    /// What it cost.
    pub usage: UsageView,
}

/// Why an execution failed.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ExecutionError {
    /// A stable code.
    pub code: String,
    /// What went wrong.
    pub message: String,
    /// The author's frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
    /// What to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The author's line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// More.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// A line of a log.
#[derive(Debug, Clone, Serialize)]
pub struct LogView {
    /// `debug`, `info`, `warn` or `error`.
    pub level: String,
    /// The text.
    pub text: String,
}

/// What an execution cost.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct UsageView {
    /// Fuel of its last run.
    pub fuel: u64,
    /// The largest memory of its last run.
    pub memory_bytes: u64,
    /// Wall time of its last run, without human time.
    pub wall_us: u64,
    /// Calls that it made.
    pub calls: u64,
}

/// A page of executions.
#[derive(Debug, Serialize)]
pub struct ExecutionPage {
    /// Newest first.
    pub items: Vec<ExecutionView>,
    /// Where the next page begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

impl Workspace {
    /// Runs TypeScript. The execution goes on when the caller goes away.
    ///
    /// # Errors
    /// When it could not be tried; a program's own failure is in the view.
    pub async fn run(&self, caller: &Caller, request: RunCode) -> Result<ExecutionView, Problem> {
        self.shared.check_disk()?;
        let root = Root::begin(names::EXECUTION, remote_parent(), 0);
        let name = request.name.unwrap_or_else(|| "main.ts".into());
        let row = ExecutionRow {
            title: title(&request.code),
            code: Some(request.code),
            input: request.input.map(|input| input.to_string()),
            ..self.new_row(caller, "code")
        };
        let program = self.program(root.place(), &name, row.code.as_deref().unwrap_or_default()).await;
        let module = match program {
            Ok(module) => module,
            Err(ProgramError::Problem(problem)) => return Err(problem),
            Err(ProgramError::Author(error)) => {
                return Session::new(self.this(), caller.clone(), row, root).fail(error).await;
            }
        };
        let sandbox = self.sandbox().await?;
        let session = Session::new(self.this(), caller.clone(), row, root);
        let id = session.id().clone();
        self.launch(&id, session.drive(Work::Program { module, sandbox, history: History::default() })).await
    }

    /// Calls one tool.
    ///
    /// # Errors
    /// When it could not be tried; a tool's failure is in the view.
    pub async fn call_tool(&self, caller: &Caller, request: CallTool) -> Result<ExecutionView, Problem> {
        self.shared.check_disk()?;
        let options = json!({"connection": request.connection, "raw": request.raw});
        let row = ExecutionRow {
            title: request.path,
            input: Some(request.args.unwrap_or_else(|| json!({})).to_string()),
            code: Some(options.to_string()),
            ..self.new_row(caller, "call")
        };
        let id = row.id.clone();
        let root = Root::begin(names::EXECUTION, remote_parent(), 0);
        self.launch(&id, Session::new(self.this(), caller.clone(), row, root).drive(Work::Call)).await
    }

    /// Runs an execution's code again, as a new execution.
    ///
    /// # Errors
    /// When there is none of that id.
    pub async fn rerun(&self, caller: &Caller, id: &str) -> Result<ExecutionView, Problem> {
        let row = self.known_execution(id)?;
        let input = row.input.as_deref().and_then(|input| serde_json::from_str(input).ok());
        if row.kind == "call" {
            let options: crate::session::CallOptions =
                row.code.as_deref().and_then(|code| serde_json::from_str(code).ok()).unwrap_or_default();
            let request = CallTool {
                path: row.title,
                args: input,
                connection: options.connection,
                raw: options.raw,
                dry_run: false,
            };
            return self.call_tool(caller, request).await;
        }
        self.run(caller, RunCode { code: row.code.unwrap_or_default(), input, name: None }).await
    }

    pub(crate) fn spoken(&self, id: &ExecutionId) -> Result<(Vec<LogView>, Vec<Value>), Problem> {
        let (mut logs, mut emitted) = (Vec::new(), Vec::new());
        for row in self.executions().output(id)? {
            match row.level {
                Some(level) => logs.push(LogView { level, text: row.body }),
                None => emitted.push(serde_json::from_str(&row.body).unwrap_or(Value::String(row.body))),
            }
        }
        Ok((logs, emitted))
    }

    /// The executions, newest first.
    ///
    /// # Errors
    /// When they can't be read.
    pub async fn executions_page(
        &self,
        limit: Option<usize>,
        cursor: Option<&str>,
        status: Option<&str>,
    ) -> Result<ExecutionPage, Problem> {
        self.executions().written().await?;
        let limit = limit.unwrap_or(PAGE).clamp(1, PAGE_MAX);
        let before = cursor
            .map(|cursor| {
                ExecutionId::parse(cursor).map_err(|_| Problem::invalid(format!("{cursor:?} is no cursor")))
            })
            .transpose()?;
        let mut rows = self.executions().list(limit + 1, before.as_ref(), status)?;
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next_cursor = more.then(|| rows.last().map(|row| row.id.to_string())).flatten();
        let items = rows.into_iter().map(|row| row_view(row, Vec::new(), Vec::new(), Vec::new(), true));
        Ok(ExecutionPage { items: items.collect(), next_cursor })
    }

    /// One execution.
    ///
    /// # Errors
    /// When there is none of that id.
    pub async fn execution(&self, id: &str) -> Result<ExecutionView, Problem> {
        self.executions().written().await?;
        let row = self.known_execution(id)?;
        let (logs, emitted) = self.spoken(&row.id)?;
        let asked = self.executions().interactions(&row.id)?;
        let pending = asked.iter().filter(|row| row.status == "pending").map(interaction_view).collect();
        let calls = self.executions().journal(&row.id)?.len() as u64;
        let mut view = row_view(row, logs, emitted, pending, true);
        view.usage.calls = calls;
        Ok(view)
    }

    pub(crate) fn known_execution(&self, id: &str) -> Result<ExecutionRow, Problem> {
        let unknown = || Problem::not_found("execution", id).hint("`executor executions list` shows them");
        let parsed = ExecutionId::parse(id).map_err(|_| unknown())?;
        self.executions().execution(&parsed)?.ok_or_else(unknown)
    }

    fn new_row(&self, caller: &Caller, kind: &str) -> ExecutionRow {
        let now_ms = self.shared.now_ms();
        ExecutionRow {
            id: ExecutionId::new(now_ms, random()),
            kind: kind.into(),
            status: "running".into(),
            surface: caller.surface.as_str().into(),
            client: caller.client.clone(),
            account: caller.account.clone(),
            title: String::new(),
            code: None,
            compiled: None,
            source_map: None,
            engine: None,
            input: None,
            created_ms: now_ms,
            settled_ms: None,
            result: None,
            error: None,
            fuel: 0,
            memory_bytes: 0,
            truncated: false,
            spans: None,
        }
    }
}

/// An execution's record as people and programs see it.
pub(crate) fn row_view(
    row: ExecutionRow,
    logs: Vec<LogView>,
    emitted: Vec<Value>,
    interactions: Vec<InteractionView>,
    durable: bool,
) -> ExecutionView {
    ExecutionView {
        id: row.id.to_string(),
        kind: row.kind,
        status: row.status,
        title: row.title,
        surface: row.surface,
        client: row.client,
        created_at: rfc3339(row.created_ms),
        settled_at: row.settled_ms.map(rfc3339),
        durable,
        result: row.result.and_then(|result| RawValue::from_string(result).ok()),
        error: row.error.and_then(|error| serde_json::from_str(&error).ok()),
        logs,
        emitted,
        interactions,
        usage: UsageView { fuel: row.fuel, memory_bytes: row.memory_bytes, ..UsageView::default() },
    }
}

/// The first line that says something.
fn title(code: &str) -> String {
    let line = code.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().filter(|character| !character.is_control()).take(80).collect()
}
