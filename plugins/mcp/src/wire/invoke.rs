//! One call.

use serde_json::Value;
use serde_json::value::RawValue;

use super::binding::{Binding, What};
use super::{answer, pause};
use crate::client::{Ask, Client, failure, rpc_failure};
use crate::rpc::{Params, RpcError};
use crate::seam::{Call, Failure, Outcome, World};
use crate::text::line;

/// Times that a server may ask for another request within one call.
const MAX_ROUNDS: u32 = 8;
/// An older server wants a person to visit a page first (2025-11-25).
const URL_ELICITATION_REQUIRED: i64 = -32_042;

/// Checks a call without sending anything.
///
/// # Errors
/// `binding-invalid` and `invalid-arguments`.
pub fn validate(call: &Call) -> Result<(), Failure> {
    let binding = Binding::from_bytes(&call.binding)?;
    params(&binding, &call.arguments).map(|_| ())
}

/// Calls a tool, and gives its answer or the questions that it has.
///
/// # Errors
/// `binding-invalid`, `invalid-arguments` and `resumption-invalid` before
/// anything is sent; the host's failures unchanged; `upstream-*`,
/// `connection-lost` and `outcome-unknown` for what became of the request.
pub fn invoke(call: &Call, world: &dyn World) -> Result<Outcome, Failure> {
    let binding = Binding::from_bytes(&call.binding)?;
    let (mut params, name) = params(&binding, &call.arguments)?;
    if let Some(resume) = &call.resume {
        pause::resume(resume, &mut params)?;
    }
    let is_preview = call
        .meta
        .as_deref()
        .and_then(|meta| serde_json::from_str::<Value>(meta).ok())
        .is_some_and(|meta| meta["preview"] == true);
    let method = match &binding.what {
        What::Tool { .. } => "tools/call",
        What::Prompt { .. } => "prompts/get",
        What::Resources => "resources/list",
        What::Templates => "resources/templates/list",
        What::Read => "resources/read",
    };
    let headers = binding.headers(&call.arguments);
    let mut client = Client::sharing(world, binding.endpoint.clone());
    for _ in 0..MAX_ROUNDS {
        let ask = Ask {
            method,
            params: params.clone(),
            name: name.as_deref(),
            headers: headers.clone(),
            progress: true,
        };
        let asked = if is_preview { client.show(&ask) } else { client.ask(&ask) };
        let answered = asked.map_err(|failed| failure(failed, binding.repeatable, client.noise()))?;
        let result = match answered.outcome {
            Ok(result) => result,
            Err(error) => return refused(&error, answered.status),
        };
        match pause::plan(&result, &mut params)? {
            pause::Plan::Finish => return answer::read(&binding.what, &result, world).map(Outcome::Done),
            pause::Plan::Pause(pause) => return Ok(Outcome::Paused(pause)),
            pause::Plan::Again => {}
        }
    }
    Err(Failure::new(
        "upstream-error",
        format!("the server wants the same call more than {MAX_ROUNDS} times"),
    ))
}

fn refused(error: &RpcError, status: Option<u16>) -> Result<Outcome, Failure> {
    if error.code == URL_ELICITATION_REQUIRED
        && let Some(pause) = pause::of_pages(error)
    {
        return Ok(Outcome::Paused(pause));
    }
    Err(rpc_failure(error, status))
}

/// The params of a request, and what it is about.
fn params(binding: &Binding, arguments: &str) -> Result<(Params, Option<String>), Failure> {
    let invalid = |why: &str| Failure::new("invalid-arguments", why.to_owned());
    let object = arguments.trim_start().starts_with('{');
    if !object || serde_json::from_str::<&RawValue>(arguments).is_err() {
        return Err(invalid("the arguments are not a JSON object"));
    }
    let text = |name: &str| -> Result<Option<String>, Failure> {
        let arguments: Value =
            serde_json::from_str(arguments).map_err(|error| invalid(&error.to_string()))?;
        match arguments.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(invalid(&format!("{name} is a string, not {}", line(&other.to_string(), 60)))),
        }
    };
    let quoted = |text: &str| Value::from(text).to_string();
    Ok(match &binding.what {
        What::Tool { name } | What::Prompt { name } => {
            let params = Params::default().with("name", quoted(name)).with("arguments", arguments);
            (params, Some(name.clone()))
        }
        What::Read => {
            let uri = text("uri")?.ok_or_else(|| invalid("uri is missing: which resource to read"))?;
            (Params::default().with("uri", quoted(&uri)), Some(uri))
        }
        What::Resources | What::Templates => {
            let mut params = Params::default();
            if let Some(cursor) = text("cursor")? {
                params.set("cursor", quoted(&cursor));
            }
            (params, None)
        }
    })
}
