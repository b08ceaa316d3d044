//! Tools of the catalogue, called as MCP tools of their own.

use executor_control::CallTool;
use rmcp::model::{CallToolResponse, ErrorData, JsonObject};
use serde_json::Value;

use super::answer::Form;
use super::call::{Call, Refusal, Told};
use super::names::{name_of, path_of};
use super::{text, waiting};

pub(super) async fn run(
    call: &Call<'_>,
    name: &str,
    arguments: JsonObject,
) -> Result<CallToolResponse, Refusal> {
    let place = call.asking.place(None)?;
    let Some(path) = find(call, name)? else { return Err(unknown(name)) };
    if let Some(state) = &call.state {
        return waiting::go_on(call, &place, state, Form::Direct).await;
    }
    let request =
        CallTool { path, args: Some(Value::Object(arguments)), connection: None, raw: false, dry_run: false };
    let (workspace, caller) = (&place.workspace, &place.caller);
    let run = |told: Told| async move {
        workspace
            .call_tool_told(caller, request, None, |id| {
                // An execution has one id: it is told once.
                let _ = told.set(id.to_owned());
            })
            .await
    };
    let view = call.watch(&place, run).await?;
    waiting::settle(call, &place, view, Form::Direct).await
}

/// The path of the tool that has a name, where the endpoint offers it.
fn find(call: &Call<'_>, name: &str) -> Result<Option<String>, Refusal> {
    let Some(sources) = &call.asking.target.direct else { return Ok(None) };
    let path = match path_of(name) {
        Some(path) => Some(path),
        None => {
            let place = call.asking.place(None)?;
            place.workspace.find_path(&place.caller, sources, |path| name_of(path) == name)?
        }
    };
    let offered = |path: &String| {
        let source = path.split('.').next().unwrap_or_default();
        sources.is_empty() || sources.iter().any(|offered| offered == source)
    };
    Ok(path.filter(offered))
}

fn unknown(name: &str) -> Refusal {
    ErrorData::invalid_params(format!("there is no tool {}", text::line(name, 80)), None).into()
}
