//! Asking a person before a call leaves.

use executor_runtime::{Call, Capture, RequestPreview};
use executor_store::{Change, Digest, InteractionId, InteractionRow, PolicyRow};
use executor_telemetry::Place;
use executor_telemetry::metrics::{ApprovalEvent, metrics};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::audit::audit_change;
use crate::caller::Caller;
use crate::clock::rfc3339;
use crate::difference::differences;
use crate::invoke::{Bound, preview_scope};
use crate::page::{Page, PageQuery};
use crate::policies::random;
use crate::problem::Problem;
use crate::resume::WAITING;
use crate::reviews::novelty;
use crate::session::Session;
use crate::tool_error::{GateEnd, ToolError};
use crate::waits::{WAIT_MS, is_live};
use crate::workspace::Workspace;

/// The kind of question that a policy asks; adapters ask others.
pub(crate) const APPROVAL: &str = "approval";

/// A question to a person.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct InteractionView {
    /// Its id.
    pub id: String,
    /// The execution that waits for it.
    pub execution: String,
    /// `approval`: a policy asks whether a call may leave; `form`: an API asks
    /// for something; `url`: an API asks a person to visit a page.
    pub kind: String,
    /// What is asked.
    pub message: String,
    /// `pending`, `accepted`, `declined`, `cancelled`, `expired`.
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
    /// What differs from the last call of this tool through this connection
    /// that a person allowed; absent where there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Vec<Difference>>,
    /// The JSON Schema of a form's answer; none: yes or no.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// The page that a person is asked to visit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Whether that page is at one of the source's own origins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url_is_of_source: Option<bool>,
    /// The component that asks; none: executor itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<String>,
    /// When it was asked.
    pub created_at: String,
    /// When it is too late to answer.
    pub expires_at: String,
    /// Who answered, through which client: `local via cli`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<String>,
}

/// Something that is not what it was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Difference {
    /// Where, as a JSON pointer into method, URL and body of the request.
    pub pointer: String,
    /// What it was; absent where it is new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// What it is; absent where it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

impl Session {
    /// Goes on where the call was accepted; asks where nobody was asked yet.
    pub(crate) async fn approval(&self, call: &Call, bound: &Bound, trace: &Place) -> Result<(), GateEnd> {
        let key = (call.scope, call.ordinal);
        let asked = self.past.interactions.get(&key).into_iter().flatten();
        let asked = asked.filter(|row| row.kind == APPROVAL && self.asked_for_this(row, bound)).last();
        match asked.map(|row| row.status.as_str()) {
            Some("accepted") => Ok(()),
            Some("pending") => Err(GateEnd::Waiting),
            Some(_) => {
                let path = &bound.tool.path;
                Err(ToolError::new(path, "denied", format!("a person declined {path}")).into())
            }
            None => self.ask(call, bound, trace).await,
        }
    }

    /// Whether an answer was about this very call: the same version of the
    /// tool, through the same connection, to the same place.
    pub(crate) fn asked_for_this(&self, row: &InteractionRow, bound: &Bound) -> bool {
        let connection = bound.connection.as_ref().map(|row| row.name.to_string());
        request_text(row, "tool_digest") == Some(bound.tool.row.digest.to_string())
            && request_text(row, "connection") == connection
            && request_text(row, "reach") == Some(Workspace::reach_digest(bound))
    }

    fn question(&self, bound: &Bound, preview: Option<&RequestPreview>) -> Result<Value, Problem> {
        let request = preview.map(preview_view);
        let connection = bound.connection.as_ref().map(|row| row.name.as_str());
        let allowed = self.workspace.executions().last_allowed(&bound.tool.path, connection)?;
        let changes = allowed.and_then(|row| {
            let earlier: Value = serde_json::from_str(&row.request).ok()?;
            Some(differences(&compared(earlier.get("request")?), &compared(request.as_ref()?)))
        });
        let origin = preview.and_then(|preview| executor_runtime::Origin::parse(&preview.url).ok());
        let mut question = self.about_call(bound);
        let more = json!({
            "origin": origin.map(|origin| origin.to_string()),
            "request": request,
            "reason": bound.decision.reason(),
            "changes": changes,
        });
        if let (Some(question), Value::Object(more)) = (question.as_object_mut(), more) {
            question.extend(more);
        }
        Ok(question)
    }

    /// Which call a question is about, so that an answer holds for this one
    /// alone.
    pub(crate) fn about_call(&self, bound: &Bound) -> Value {
        json!({
            "tool": bound.tool.path,
            "tool_digest": bound.tool.row.digest.to_string(),
            "reach": Workspace::reach_digest(bound),
            "connection": bound.connection.as_ref().map(|row| row.name.to_string()),
            "arguments": bound.arguments,
        })
    }

    async fn ask(&self, call: &Call, bound: &Bound, trace: &Place) -> Result<(), GateEnd> {
        let preview = self.preview(bound, trace).await?;
        let now_ms = self.workspace.shared.now_ms();
        let question = self
            .question(bound, preview.as_ref())
            .map_err(|problem| ToolError::of_problem(&bound.tool.path, problem))?;
        let row = InteractionRow {
            id: InteractionId::new(now_ms, random()),
            execution: self.id().clone(),
            scope: call.scope,
            ordinal: call.ordinal,
            kind: APPROVAL.into(),
            message: message(bound, preview.as_ref()),
            request: question.to_string(),
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
        metrics().control.approval(ApprovalEvent::Asked);
        self.workspace.tell("approval.ask", || told);
        Err(GateEnd::Waiting)
    }

    /// The request as it would be sent. A call that fails before it would
    /// send anything fails here: nobody is asked about it.
    async fn preview(&self, bound: &Bound, trace: &Place) -> Result<Option<RequestPreview>, ToolError> {
        let of_problem = |problem| ToolError::of_problem(&bound.tool.path, problem);
        if bound.source.command.is_some() {
            // It is sent lines of its protocol, which say no more than the
            // tool's name and arguments.
            return Ok(None);
        }
        let scope = self.workspace.shown_scope(bound).map_err(of_problem)?;
        let mut scope = preview_scope(scope, Capture::All);
        scope.trace = trace.clone();
        let result = self.workspace.enter_adapter(bound, scope.clone(), None, None).await;
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
        let waiting = pending.filter(waits).map(|row| self.interaction_view(&row)).collect();
        query.page(waiting, |view: &InteractionView| view.id.clone())
    }

    /// How long a question waits for its answer.
    fn expires_in_ms(&self, row: &InteractionRow) -> i64 {
        if is_live(row) { WAIT_MS } else { self.shared.settings.expire_ms() }
    }

    /// Where a call's requests could go: a source that is made anew with
    /// other settings is another place.
    fn reach_digest(bound: &Bound) -> String {
        let source = &bound.source;
        let mut reach = vec![json!(source.settings), json!(source.origins), json!(source.allowed_hosts)];
        reach.extend(source.command.as_ref().map(|command| json!(command)));
        let reach = Value::Array(reach);
        Digest::of(reach.to_string().as_bytes()).to_string()
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
    let message = match preview {
        Some(preview) => format!("{} would send {} {}", bound.tool.path, preview.method, preview.url),
        None => format!("{} may change something", bound.tool.path),
    };
    match &bound.decision.unreviewed {
        Some(row) => format!("{message}; {}", novelty(row)),
        None => message,
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

impl Workspace {
    /// A question as people and programs see it.
    pub(crate) fn interaction_view(&self, row: &InteractionRow) -> InteractionView {
        let request: Value = serde_json::from_str(&row.request).unwrap_or_default();
        let text = |key: &str| request.get(key).and_then(Value::as_str).map(str::to_owned);
        let whole = |key: &str| request.get(key).filter(|value| !value.is_null()).cloned();
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
            request: whole("request"),
            changes: whole("changes").and_then(|changes| serde_json::from_value(changes).ok()),
            schema: whole("schema"),
            url: text("url"),
            url_is_of_source: request.get("url_is_of_source").and_then(Value::as_bool),
            asked_by: text("asked_by"),
            created_at: rfc3339(row.created_ms),
            expires_at: rfc3339(row.created_ms.saturating_add(self.expires_in_ms(row))),
            answered_by: row.answered_by.clone(),
        }
    }
}

/// What of a request a person compares: everything but its headers, which
/// hold no argument.
fn compared(request: &Value) -> Value {
    let body = match request.get("body") {
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
        other => other.cloned().unwrap_or_default(),
    };
    json!({"method": request.get("method"), "url": request.get("url"), "body": body})
}

pub(crate) fn request_text(row: &InteractionRow, key: &str) -> Option<String> {
    let request: Value = serde_json::from_str(&row.request).ok()?;
    request.get(key)?.as_str().map(str::to_owned)
}
