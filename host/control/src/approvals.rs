//! Asking a person before a call leaves.

use executor_runtime::{Call, Capture, RequestPreview};
use executor_store::{Change, Digest, InteractionId, InteractionRow, PolicyRow};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::audit::audit_change;
use crate::caller::Caller;
use crate::clock::rfc3339;
use crate::invoke::{Bound, preview_scope};
use crate::page::{Page, PageQuery};
use crate::policies::random;
use crate::problem::Problem;
use crate::resume::WAITING;
use crate::session::Session;
use crate::tool_error::{GateEnd, ToolError};
use crate::workspace::Workspace;

/// A question to a person.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct InteractionView {
    /// Its id.
    pub id: String,
    /// The execution that waits for it.
    pub execution: String,
    /// `approval`.
    pub kind: String,
    /// What is asked.
    pub message: String,
    /// `pending`, `accepted`, `declined`, `cancelled`.
    pub status: String,
    /// The tool.
    pub tool: String,
    /// The connection that it would use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection: Option<String>,
    /// Where the request would go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// The call's arguments.
    pub arguments: Value,
    /// The request as it would be sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<Value>,
    /// When it was asked.
    pub created_at: String,
    /// Who answered, through which client: `local via cli`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<String>,
}

impl Session {
    /// Goes on where the call was accepted; asks where nobody was asked yet.
    pub(crate) async fn approval(&self, call: &Call, bound: &Bound) -> Result<(), GateEnd> {
        let key = (call.scope, call.ordinal);
        let asked = self.past.interactions.get(&key).filter(|row| self.asked_for_this(row, bound));
        match asked.map(|row| row.status.as_str()) {
            Some("accepted") => Ok(()),
            Some("pending") => Err(GateEnd::Waiting),
            Some(_) => {
                let path = &bound.tool.path;
                Err(ToolError::new(path, "denied", format!("a person declined {path}")).into())
            }
            None => self.ask(call, bound).await,
        }
    }

    /// Whether an answer was about this very call: the same version of the
    /// tool, through the same connection, to the same place.
    fn asked_for_this(&self, row: &InteractionRow, bound: &Bound) -> bool {
        let connection = bound.connection.as_ref().map(|row| row.name.to_string());
        request_text(row, "tool_digest") == Some(bound.tool.row.digest.to_string())
            && request_text(row, "connection") == connection
            && request_text(row, "reach") == self.workspace.reach_digest(bound)
    }

    fn question(&self, bound: &Bound, preview: Option<&RequestPreview>) -> Value {
        let origin = preview.and_then(|preview| executor_runtime::Origin::parse(&preview.url).ok());
        json!({
            "tool": bound.tool.path,
            "tool_digest": bound.tool.row.digest.to_string(),
            "reach": self.workspace.reach_digest(bound),
            "connection": bound.connection.as_ref().map(|row| row.name.to_string()),
            "origin": origin.map(|origin| origin.to_string()),
            "arguments": bound.arguments,
            "request": preview.map(preview_view),
            "reason": bound.decision.reason(),
        })
    }

    async fn ask(&self, call: &Call, bound: &Bound) -> Result<(), GateEnd> {
        let preview = self.preview(bound).await?;
        let now_ms = self.workspace.shared.now_ms();
        let row = InteractionRow {
            id: InteractionId::new(now_ms, random()),
            execution: self.id().clone(),
            scope: call.scope,
            ordinal: call.ordinal,
            kind: "approval".into(),
            message: message(bound, preview.as_ref()),
            request: self.question(bound, preview.as_ref()).to_string(),
            status: "pending".into(),
            answer: None,
            created_ms: now_ms,
            answered_ms: None,
            answered_by: None,
        };
        let record = json!({
            "execution": self.id().to_string(), "interaction": row.id.to_string(), "tool": bound.tool.path,
            "connection": bound.connection_key(), "rule": bound.decision.rule_id(),
        });
        let told = record.clone();
        let changes = vec![
            Change::Intent(self.call_row(call)),
            Change::Ask(row),
            audit_change(now_ms, &self.caller, "approval.ask", record),
        ];
        let written = self.write_synced(changes).await;
        written.map_err(|problem| ToolError::of_problem(&bound.tool.path, problem))?;
        self.workspace.tell("approval.ask", || told);
        Err(GateEnd::Waiting)
    }

    /// The request as it would be sent. A call that fails before it would
    /// send anything fails here: nobody is asked about it.
    async fn preview(&self, bound: &Bound) -> Result<Option<RequestPreview>, ToolError> {
        let of_problem = |problem| ToolError::of_problem(&bound.tool.path, problem);
        let scope = self.workspace.scope(&bound.tool, bound.connection.as_ref()).map_err(of_problem)?;
        let scope = preview_scope(scope, Capture::All);
        let result = self.workspace.enter_adapter(bound, scope.clone()).await;
        match (scope.captured(), result) {
            (Some(preview), _) => Ok(Some(preview)),
            (None, Ok(_)) => Ok(None),
            (None, Err(error)) => Err(error),
        }
    }
}

impl Workspace {
    /// The questions that wait for an answer.
    ///
    /// # Errors
    /// When they can't be read.
    pub fn interactions(&self, caller: &Caller, query: &PageQuery) -> Result<Page<InteractionView>, Problem> {
        let pending = self.executions().pending_interactions(500)?.into_iter();
        let waits = |row: &InteractionRow| {
            let execution = self.executions().execution(&row.execution).ok().flatten();
            execution.is_some_and(|execution| execution.status == WAITING && caller.sees(&execution))
        };
        let waiting = pending.filter(waits).map(|row| interaction_view(&row)).collect();
        query.page(waiting, |view: &InteractionView| view.id.clone())
    }

    /// Where a call's requests could go: a source that is made anew with
    /// other settings is another place.
    fn reach_digest(&self, bound: &Bound) -> Option<String> {
        let source = self.store.source(&bound.tool.source).ok().flatten()?;
        let reach = json!([source.settings, source.origins, source.allowed_hosts]);
        Some(Digest::of(reach.to_string().as_bytes()).to_string())
    }

    /// The rule that "from now on" writes for an answered approval.
    pub(crate) fn rule_from(&self, caller: &Caller, row: &InteractionRow) -> Option<PolicyRow> {
        let tool = request_text(row, "tool")?;
        let digest = Digest::parse(&request_text(row, "tool_digest")?).ok()?;
        let source = tool.split('.').next().unwrap_or_default().to_owned();
        let connection = request_text(row, "connection").unwrap_or_default();
        Some(self.remembered_policy(caller, &tool, &digest, Some(format!("{source}/{connection}"))))
    }
}

fn message(bound: &Bound, preview: Option<&RequestPreview>) -> String {
    match preview {
        Some(preview) => format!("{} would send {} {}", bound.tool.path, preview.method, preview.url),
        None => format!("{} may change something", bound.tool.path),
    }
}

/// A request that was not sent, as people and programs see it.
pub(crate) fn preview_view(preview: &RequestPreview) -> Value {
    json!({
        "method": preview.method,
        "url": preview.url,
        "headers": preview.headers,
        "body": preview.body,
    })
}

pub(crate) fn interaction_view(row: &InteractionRow) -> InteractionView {
    let request: Value = serde_json::from_str(&row.request).unwrap_or_default();
    let text = |key: &str| request.get(key).and_then(Value::as_str).map(str::to_owned);
    InteractionView {
        id: row.id.to_string(),
        execution: row.execution.to_string(),
        kind: row.kind.clone(),
        message: row.message.clone(),
        status: row.status.clone(),
        tool: text("tool").unwrap_or_default(),
        connection: text("connection"),
        origin: text("origin"),
        arguments: request.get("arguments").cloned().unwrap_or_default(),
        request: request.get("request").filter(|request| !request.is_null()).cloned(),
        created_at: rfc3339(row.created_ms),
        answered_by: row.answered_by.clone(),
    }
}

fn request_text(row: &InteractionRow, key: &str) -> Option<String> {
    let request: Value = serde_json::from_str(&row.request).ok()?;
    request.get(key)?.as_str().map(str::to_owned)
}
