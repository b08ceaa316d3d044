//! Asking a person before a call leaves.

use executor_runtime::{Call, Capture, RequestPreview, Settled};
use executor_store::{Change, Digest, InteractionId, InteractionRow, PolicyRow};
use serde::Serialize;
use serde_json::{Value, json};

use crate::audit::audit_change;
use crate::caller::Caller;
use crate::clock::rfc3339;
use crate::invoke::{Bound, preview_scope};
use crate::policies::random;
use crate::problem::Problem;
use crate::session::{CallOptions, Session};
use crate::tool_error::{GateEnd, ToolError, settled};
use crate::workspace::Workspace;

/// A question to a person.
#[derive(Debug, Clone, Serialize)]
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
}

impl Session {
    /// Goes on where the call was accepted; asks where nobody was asked yet.
    pub(crate) async fn approval(
        &self,
        call: &Call,
        options: &CallOptions,
        bound: &Bound,
    ) -> Result<(), GateEnd> {
        let key = (call.scope, call.ordinal);
        let digest = bound.tool.row.digest.to_string();
        let asked = self
            .past
            .interactions
            .get(&key)
            .filter(|row| request_text(row, "tool_digest") == Some(digest));
        match asked.map(|row| row.status.as_str()) {
            Some("accepted") => Ok(()),
            Some("pending") => Err(GateEnd::Waiting),
            Some(_) => Err(self.declined(call, options, bound)),
            None => self.ask(call, bound).await,
        }
    }

    fn declined(&self, call: &Call, options: &CallOptions, bound: &Bound) -> GateEnd {
        let error = ToolError::new(
            &bound.tool.path,
            "denied",
            format!("a person declined {}", bound.tool.path),
        );
        let outcome: Settled = settled(Err(error.clone().into()), options.raw);
        self.write_behind(vec![Change::Intent(self.settled_row(call, &outcome))]);
        error.into()
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
            request: request(bound, preview.as_ref()).to_string(),
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
        let changes = vec![
            Change::Intent(self.call_row(call)),
            Change::Ask(row),
            audit_change(now_ms, &self.caller, "approval.ask", record),
        ];
        let written = self.write_synced(changes).await;
        written.map_err(|problem| ToolError::of_problem(&bound.tool.path, problem))?;
        Err(GateEnd::Waiting)
    }

    /// The request as it would be sent. A call that fails before it would
    /// send anything fails here: nobody is asked about it.
    async fn preview(&self, bound: &Bound) -> Result<Option<RequestPreview>, ToolError> {
        let of_problem = |problem| ToolError::of_problem(&bound.tool.path, problem);
        let scope = self
            .workspace
            .scope(&bound.tool, bound.connection.as_ref())
            .map_err(of_problem)?;
        let scope = preview_scope(scope, Capture::Unsafe);
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
    pub fn interactions(&self) -> Result<Vec<InteractionView>, Problem> {
        Ok(self
            .executions()
            .pending_interactions(500)?
            .iter()
            .map(interaction_view)
            .collect())
    }

    /// The rule that "from now on" writes for an answered approval.
    pub(crate) fn rule_from(&self, caller: &Caller, row: &InteractionRow) -> Option<PolicyRow> {
        let tool = request_text(row, "tool")?;
        let digest = Digest::parse(&request_text(row, "tool_digest")?).ok()?;
        let source = tool.split('.').next().unwrap_or_default().to_owned();
        let connection = request_text(row, "connection").map(|name| format!("{source}/{name}"));
        Some(self.remembered_policy(caller, &tool, &digest, connection))
    }
}

fn message(bound: &Bound, preview: Option<&RequestPreview>) -> String {
    match preview {
        Some(preview) => format!(
            "{} would send {} {}",
            bound.tool.path, preview.method, preview.url
        ),
        None => format!("{} may change something", bound.tool.path),
    }
}

fn request(bound: &Bound, preview: Option<&RequestPreview>) -> Value {
    let origin = preview.and_then(|preview| executor_runtime::Origin::parse(&preview.url).ok());
    json!({
        "tool": bound.tool.path,
        "tool_digest": bound.tool.row.digest.to_string(),
        "connection": bound.connection.as_ref().map(|row| row.name.to_string()),
        "origin": origin.map(|origin| origin.to_string()),
        "arguments": bound.arguments,
        "request": preview.map(preview_view),
        "reason": bound.decision.reason(),
    })
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
        request: request
            .get("request")
            .filter(|request| !request.is_null())
            .cloned(),
        created_at: rfc3339(row.created_ms),
    }
}

fn request_text(row: &InteractionRow, key: &str) -> Option<String> {
    let request: Value = serde_json::from_str(&row.request).ok()?;
    request.get(key)?.as_str().map(str::to_owned)
}
