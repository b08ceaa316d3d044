//! What an execution did, call by call.

use executor_store::CallRow;
use executor_telemetry::spans::Stored;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::approvals::InteractionView;
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
    /// What it did when, in the order in which it began.
    pub spans: Vec<SpanView>,
    /// How many more spans there were.
    pub spans_cut: u64,
}

/// A part of an execution.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SpanView {
    /// Its number, from 1.
    pub id: u64,
    /// The number of the span that it is a part of; 0 for none.
    pub parent: u64,
    /// What was done: `execution`, `tool.call`, or a WIT path.
    pub name: String,
    /// When it began, in microseconds after the execution did.
    pub start_us: u64,
    /// How long it took; none where it was under way when the run ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_us: Option<u64>,
    /// The code of what it failed with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// More, by the names of OpenTelemetry.
    #[serde(skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub fields: Map<String, Value>,
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
        let kept = row.spans.as_deref().and_then(Stored::decode).unwrap_or_default();
        let span = |(id, span): (u64, executor_telemetry::spans::StoredSpan)| SpanView {
            id,
            parent: span.parent,
            name: span.name,
            start_us: span.start_us,
            duration_us: span.duration_us,
            error: span.error,
            fields: span.fields,
        };
        let asked = self.executions().interactions(&row.id)?;
        Ok(TraceView {
            interactions: asked.iter().map(|row| self.interaction_view(row)).collect(),
            calls: calls.into_iter().map(|call| call_view(call, running)).collect(),
            spans: (1..).zip(kept.spans).map(span).collect(),
            spans_cut: kept.cut,
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
