//! Executions: one run of loose TypeScript, or one tool call, from any
//! surface, and how it goes on after a person answered.

use executor_runtime::History;
use executor_store::{ExecutionId, ExecutionRow};
use executor_telemetry::spans::names;
use executor_telemetry::{Root, remote_parent};
use futures::FutureExt as _;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json, value::RawValue};
use utoipa::{IntoParams, ToSchema};

use crate::approvals::InteractionView;
use crate::caller::Caller;
use crate::clock::rfc3339;
use crate::drive::Work;
use crate::once::Once;
use crate::page::{Page, PageQuery, cursor};
use crate::policies::random;
use crate::problem::{Problem, ProblemKind};
use crate::programs::ProgramError;
use crate::session::Session;
use crate::workspace::Workspace;

/// Every status that an execution can have.
const STATUSES: [&str; 6] =
    ["pending", "running", "waiting_for_interaction", "completed", "failed", "cancelled"];

/// TypeScript to run.
#[derive(Debug, Clone, Deserialize, ToSchema)]
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
#[derive(Debug, Clone, Deserialize, ToSchema)]
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
#[derive(Debug, Serialize, ToSchema)]
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
    /// Who began it.
    pub account: String,
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
    #[schema(value_type = Option<Value>)]
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
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
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
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct LogView {
    /// `debug`, `info`, `warn` or `error`.
    pub level: String,
    /// The text.
    pub text: String,
}

/// What an execution cost.
#[derive(Debug, Clone, Copy, Default, Serialize, ToSchema)]
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

/// Which executions to list.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct ExecutionQuery {
    /// At most so many, 100 by default and 1,000 at most.
    pub limit: Option<usize>,
    /// The `next_cursor` of the page before.
    pub cursor: Option<String>,
    /// Those of one status alone.
    pub status: Option<String>,
}

impl Workspace {
    /// Runs TypeScript. The execution goes on when the caller goes away.
    ///
    /// # Errors
    /// When it could not be tried; a program's own failure is in the view.
    pub async fn run(
        &self,
        caller: &Caller,
        request: RunCode,
        once: Option<Once>,
    ) -> Result<ExecutionView, Problem> {
        self.run_told(caller, request, once, |_| {}).await
    }

    /// As [`Self::run`]; `told` hears of the execution's id before it runs,
    /// so that whoever asked can cancel it.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub async fn run_told(
        &self,
        caller: &Caller,
        request: RunCode,
        once: Option<Once>,
        told: impl FnOnce(&str),
    ) -> Result<ExecutionView, Problem> {
        if let Some(view) = self.begun_before(caller, once.as_ref()).await? {
            return Ok(view);
        }
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
                let session = Session::new(self.this(), caller.clone(), row, root);
                session.begin_once(once).await?;
                return session.fail(error).await;
            }
        };
        let sandbox = self.sandbox().await?;
        let session = Session::new(self.this(), caller.clone(), row, root);
        session.begin_once(once).await?;
        let id = session.id().clone();
        told(id.as_str());
        let work = Work::Program { module, sandbox, history: History::default() };
        self.launch(&id, session.drive(work).boxed()).await
    }

    /// Calls one tool.
    ///
    /// # Errors
    /// When it could not be tried; a tool's failure is in the view.
    pub async fn call_tool(
        &self,
        caller: &Caller,
        request: CallTool,
        once: Option<Once>,
    ) -> Result<ExecutionView, Problem> {
        self.call_tool_told(caller, request, once, |_| {}).await
    }

    /// As [`Self::call_tool`]; `told` hears of the execution's id before the
    /// tool is called, so that whoever asked can cancel it.
    ///
    /// # Errors
    /// As [`Self::call_tool`].
    pub async fn call_tool_told(
        &self,
        caller: &Caller,
        request: CallTool,
        once: Option<Once>,
        told: impl FnOnce(&str),
    ) -> Result<ExecutionView, Problem> {
        if let Some(view) = self.begun_before(caller, once.as_ref()).await? {
            return Ok(view);
        }
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
        let session = Session::new(self.this(), caller.clone(), row, root);
        session.begin_once(once).await?;
        told(id.as_str());
        self.launch(&id, session.drive(Work::Call).boxed()).await
    }

    /// The execution that was begun under a key, once it has ended or waits.
    async fn begun_before(
        &self,
        caller: &Caller,
        once: Option<&Once>,
    ) -> Result<Option<ExecutionView>, Problem> {
        let Some(id) = Once::earlier(once, |once| self.executions().once(once))? else {
            return Ok(None);
        };
        let id = self.visible_execution(caller, &id)?.id;
        self.running.wait(&id).await;
        self.execution_view(&id).await.map(Some)
    }

    /// Runs an execution's code again, as a new execution.
    ///
    /// # Errors
    /// When there is none of that id.
    pub async fn rerun(&self, caller: &Caller, id: &str) -> Result<ExecutionView, Problem> {
        let row = self.visible_execution(caller, id)?;
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
            return self.call_tool(caller, request, None).await;
        }
        let request = RunCode { code: row.code.unwrap_or_default(), input, name: None };
        self.run(caller, request, None).await
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
        caller: &Caller,
        query: &ExecutionQuery,
    ) -> Result<Page<ExecutionView>, Problem> {
        self.executions().written().await?;
        if let Some(status) = query.status.as_deref()
            && !STATUSES.contains(&status)
        {
            return Err(Problem::invalid(format!("{status:?} is no status of an execution"))
                .hint(format!("there is: {}", STATUSES.join(", "))));
        }
        let paging = PageQuery { limit: query.limit, cursor: query.cursor.clone() };
        let limit = paging.limit();
        let mut before = paging.place::<ExecutionId>()?;
        let mut rows = Vec::new();
        // A client sees its own executions alone, which may lie far apart.
        loop {
            let found = self.executions().list(limit + 1, before.as_ref(), query.status.as_deref())?;
            before = found.last().map(|row| row.id.clone());
            let last = found.len() <= limit;
            rows.extend(found.into_iter().filter(|row| caller.sees(row)));
            if last || rows.len() > limit {
                break;
            }
        }
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next_cursor = more.then(|| rows.last().map(|row| cursor(&row.id))).flatten();
        let items = rows.into_iter().map(|row| row_view(row, Vec::new(), Vec::new(), Vec::new(), true));
        Ok(Page { items: items.collect(), next_cursor })
    }

    /// One execution.
    ///
    /// # Errors
    /// When there is none of that id that the caller may see.
    pub async fn execution(&self, caller: &Caller, id: &str) -> Result<ExecutionView, Problem> {
        self.executions().written().await?;
        let id = self.visible_execution(caller, id)?.id;
        self.execution_view(&id).await
    }

    pub(crate) async fn execution_view(&self, id: &ExecutionId) -> Result<ExecutionView, Problem> {
        self.executions().written().await?;
        let row = self.known_execution(id.as_str())?;
        let (logs, emitted) = self.spoken(&row.id)?;
        let asked = self.executions().interactions(&row.id)?;
        let pending = asked
            .iter()
            .filter(|row| row.status == "pending")
            .map(|row| self.interaction_view(row))
            .collect();
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

    /// An execution that the caller may see; one of another's is none.
    pub(crate) fn visible_execution(&self, caller: &Caller, id: &str) -> Result<ExecutionRow, Problem> {
        let row = self.known_execution(id)?;
        if caller.sees(&row) {
            return Ok(row);
        }
        Err(Problem::not_found("execution", id).hint("`executor executions list` shows them"))
    }

    /// An execution that the caller may end or go on with.
    pub(crate) fn handled_execution(&self, caller: &Caller, id: &str) -> Result<ExecutionRow, Problem> {
        let row = self.visible_execution(caller, id)?;
        if caller.handles(&row) {
            return Ok(row);
        }
        let message = format!("{} may not do this: the execution is of {}", caller.account, row.account);
        Err(Problem::new(ProblemKind::Denied, "not-allowed", message)
            .hint("whoever began it may, and the organization's admins"))
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
            token: caller.token.as_ref().map(ToString::to_string),
            toolkit: caller.toolkit_text(),
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
        account: row.account,
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
