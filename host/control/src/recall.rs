//! What the journal says of an execution, as a run against it needs it.

use std::collections::{HashMap, VecDeque};

use executor_runtime::{History, Inputs, Module, RecordedCall};
use executor_store::{CallRow, ExecutionId, ExecutionRow};
use serde_json::{Value, json};

use crate::executions::LogView;
use crate::problem::Problem;
use crate::session::Past;
use crate::tool_error::decode;
use crate::workspace::Workspace;

/// Everything that an earlier run left.
pub(crate) struct Recalled {
    pub(crate) past: Past,
    pub(crate) history: History,
    pub(crate) logs: Vec<LogView>,
    pub(crate) emitted: Vec<Value>,
}

impl Workspace {
    pub(crate) async fn recall(&self, id: &ExecutionId) -> Result<Recalled, Problem> {
        let executions = self.executions();
        executions.written().await?;
        let calls = executions.journal(id)?;
        let history = History {
            deliveries: deliveries(&calls),
            calls: calls.iter().map(|row| ((row.scope, row.ordinal), recorded(row))).collect(),
            inputs: inputs(&executions.values(id)?),
            outputs: executions.output(id)?.len() as u64,
        };
        let mut interactions: HashMap<(u64, u64), Vec<_>> = HashMap::new();
        for row in executions.interactions(id)? {
            interactions.entry((row.scope, row.ordinal)).or_default().push(row);
        }
        let past = Past {
            calls: calls.into_iter().map(|row| ((row.scope, row.ordinal), row)).collect(),
            interactions,
        };
        let (logs, emitted) = self.spoken(id)?;
        Ok(Recalled { past, history, logs, emitted })
    }
}

/// A compiled program as an execution's record keeps it.
pub(crate) fn keep_module(module: &Module) -> String {
    json!([module.specifier, module.source]).to_string()
}

/// What [`keep_module`] kept.
pub(crate) fn kept_module(row: &ExecutionRow) -> Result<Module, Problem> {
    let kept = row.compiled.as_deref().and_then(|kept| serde_json::from_str::<(String, String)>(kept).ok());
    let (specifier, source) =
        kept.ok_or_else(|| Problem::internal(format!("the compiled program of {} is damaged", row.id)))?;
    Ok(Module { specifier, source, source_map: row.source_map.clone() })
}

fn deliveries(calls: &[CallRow]) -> VecDeque<(u64, u64)> {
    let mut delivered: Vec<&CallRow> = calls.iter().filter(|row| row.delivery.is_some()).collect();
    delivered.sort_by_key(|row| row.delivery);
    delivered.into_iter().map(|row| (row.scope, row.ordinal)).collect()
}

fn recorded(row: &CallRow) -> RecordedCall {
    RecordedCall {
        path: row.path.clone(),
        args: row.args.clone(),
        options: row.options.clone(),
        outcome: row.outcome.as_deref().and_then(decode),
    }
}

/// Time and randomness, as [`crate::drive`] wrote them down. Each suspension
/// wrote how often the clock had been read by then: the last counts.
fn inputs(values: &[(String, u64, String)]) -> Inputs {
    let mut inputs = Inputs::default();
    for (kind, ordinal, value) in values {
        match kind.as_str() {
            "clock" => inputs.clock.push((*ordinal, value.parse().unwrap_or_default())),
            "clock-readings" => inputs.clock_readings = inputs.clock_readings.max(*ordinal),
            "random" => inputs.random.push(hex::decode(value).unwrap_or_default()),
            _ => {}
        }
    }
    inputs.clock.sort_unstable();
    inputs
}
