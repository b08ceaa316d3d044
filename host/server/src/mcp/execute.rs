//! The tool `execute`: TypeScript against the catalogue.

use executor_control::RunCode;
use rmcp::model::{CallToolResponse, JsonObject};
use serde::Deserialize;
use serde_json::Value;

use super::answer::Form;
use super::call::{Call, Refusal, parse};
use super::waiting;

pub(super) const NAME: &str = "execute";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    code: String,
    workspace: Option<String>,
    input: Option<Value>,
}

pub(super) async fn run(call: &Call<'_>, arguments: JsonObject) -> Result<CallToolResponse, Refusal> {
    let arguments: Arguments = parse(NAME, arguments)?;
    let place = call.asking.place(arguments.workspace.as_deref())?;
    if let Some(state) = &call.state {
        return waiting::go_on(call, &place, state, Form::Execution).await;
    }
    let request = RunCode { code: arguments.code, input: arguments.input, name: None };
    let (workspace, caller) = (&place.workspace, &place.caller);
    let run = |told: super::call::Told| async move {
        workspace
            .run_told(caller, request, None, |id| {
                // An execution has one id: it is told once.
                let _ = told.set(id.to_owned());
            })
            .await
    };
    let view = call.watch(&place, run).await?;
    waiting::settle(call, &place, view, Form::Execution).await
}
