//! What an execution did, call by call.

use executor_store::CallRow;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::approvals::{InteractionView, interaction_view};
use crate::caller::Caller;
use crate::clock::rfc3339;
use crate::executions::ExecutionView;
use crate::problem::Problem;
use crate::tool_error::decode;
use crate::workspace::Workspace;

/// Characters of an outcome that a trace shows.
const OUTCOME_BYTES: usize = 64 * 1024;

/// An execution and its calls.
#[derive(Debug, Serialize, ToSchema)]
pub struct TraceView {
    /// The execution.
    pub execution: ExecutionView,
    /// Its calls, in the order they were made.
    pub calls: Vec<CallView>,
    /// What it asked, and who answered.
    pub interactions: Vec<InteractionView>,
}

/// One call.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct CallView {
    /// The step it was made in.
    pub scope: u64,
    /// Its number in there.
    pub ordinal: u64,
    /// What was called.
    pub path: String,
    /// With what.
    pub args: Value,
    /// `ok`, `failed`, `waiting`, `unknown` or `running`.
    pub status: &'static str,
    /// Whether it may change something.
    pub write: bool,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
    /// Its place in the order of deliveries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery: Option<u64>,
    /// What came of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Value>,
}

impl Workspace {
    /// The calls of an execution.
    ///
    /// # Errors
    /// When there is none of that id.
    pub async fn trace(&self, caller: &Caller, id: &str) -> Result<TraceView, Problem> {
        let execution = self.execution(caller, id).await?;
        let row = self.visible_execution(caller, id)?;
        let running = execution.status == "running";
        let calls = self.executions().journal(&row.id)?;
        let asked = self.executions().interactions(&row.id)?;
        Ok(TraceView {
            calls: calls.into_iter().map(|call| call_view(call, running)).collect(),
            interactions: asked.iter().map(interaction_view).collect(),
            execution,
        })
    }
}

fn call_view(call: CallRow, running: bool) -> CallView {
    let settled = call.outcome.as_deref().and_then(decode);
    let (status, outcome) = match &settled {
        Some(executor_runtime::Settled::Ok(json)) => ("ok", Some(json)),
        Some(executor_runtime::Settled::Failed(json)) if json.contains("\"outcome-unknown\"") => {
            ("unknown", Some(json))
        }
        Some(executor_runtime::Settled::Failed(json)) => ("failed", Some(json)),
        _ if call.intent_ms == 0 => ("waiting", None),
        _ if running => ("running", None),
        _ => ("unknown", None),
    };
    let outcome = outcome.map(|json| match json.len() {
        0..=OUTCOME_BYTES => serde_json::from_str(json).unwrap_or_default(),
        bytes => Value::String(format!("[{bytes} bytes]")),
    });
    CallView {
        scope: call.scope,
        ordinal: call.ordinal,
        path: call.path,
        args: serde_json::from_str(&call.args).unwrap_or_default(),
        status,
        write: call.write,
        started_at: (call.intent_ms > 0).then(|| rfc3339(call.intent_ms)),
        duration_ms: call.outcome_ms.filter(|_| call.intent_ms > 0).map(|ended| ended - call.intent_ms),
        delivery: call.delivery,
        outcome,
    }
}
