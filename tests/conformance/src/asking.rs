//! Requests that need an answer of the client's user before they are done
//! (revision 2026-07-28, multi round-trip requests).

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use rmcp::ErrorData;
use rmcp::model::{ClientCapabilities, InputRequiredResult, InputResponses};
use serde_json::{Value, json};

use crate::listing::typed;

/// States that were given to clients: one that comes back has to be of them.
#[derive(Debug, Default)]
pub(crate) struct States(Mutex<HashSet<String>>);

impl States {
    fn give(&self, label: &str) -> Result<String, ErrorData> {
        let mut random = [0; 16];
        getrandom::fill(&mut random)
            .map_err(|error| ErrorData::internal_error(format!("there is no randomness: {error}"), None))?;
        let state = format!("{label}-{}", hex::encode(random));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(state.clone());
        Ok(state)
    }

    fn check(&self, state: &str) -> Result<(), ErrorData> {
        if self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(state) {
            Ok(())
        } else {
            Err(ErrorData::invalid_params("the requestState is not one that was given", None))
        }
    }
}

/// What a client brings with a request.
pub(crate) struct Brought<'b> {
    pub(crate) state: Option<&'b str>,
    pub(crate) responses: Option<&'b InputResponses>,
    pub(crate) capabilities: ClientCapabilities,
}

/// Whether a request is done, with what text, or what it needs.
pub(crate) enum Round {
    Done(String),
    Ask(InputRequiredResult),
}

/// One round of a request that needs answers; none for other requests.
pub(crate) fn round(name: &str, brought: &Brought<'_>, states: &States) -> Result<Option<Round>, ErrorData> {
    if let Some(state) = brought.state {
        states.check(state)?;
    }
    let Some(label) = name.strip_prefix("test_input_required_result_") else { return Ok(None) };
    let step = |number: &str| brought.state.is_some_and(|state| state.starts_with(number));
    let round = match label {
        "elicitation" => match brought.content("user_name")? {
            Some(content) => done(&content["name"]),
            None => ask(json!({ "user_name": name_form("What is your name?") }), None)?,
        },
        "sampling" => match brought.response("capital_question") {
            Some(response) => done(&response["content"]),
            None => {
                ask(json!({ "capital_question": sampling("What is the capital of France?", 100) }), None)?
            }
        },
        "list_roots" => match brought.response("client_roots") {
            Some(response) => done(&response["roots"]),
            None => ask(json!({ "client_roots": roots() }), None)?,
        },
        "request_state" | "tampered_state" => match (brought.state, brought.content("confirm")?) {
            (Some(_), Some(_)) => Round::Done("state-ok".into()),
            _ => ask(json!({ "confirm": confirm() }), Some(states.give(label)?))?,
        },
        "multiple_inputs" => {
            let all = ["user_name", "greeting", "client_roots"].map(|key| brought.response(key).is_some());
            if all == [true; 3] {
                Round::Done("all were given".into())
            } else {
                let requests = json!({ "user_name": name_form("What is your name?"),
                    "greeting": sampling("Generate a greeting", 50), "client_roots": roots() });
                ask(requests, Some(states.give(label)?))?
            }
        }
        "multi_round" if step("two") && brought.content("step2")?.is_some() => {
            Round::Done("both steps".into())
        }
        "multi_round" if step("one") && brought.content("step1")?.is_some() => {
            let form = form("Step 2: What is your favorite color?", "color", "string");
            ask(json!({ "step2": form }), Some(states.give("two")?))?
        }
        "multi_round" => {
            ask(json!({ "step1": name_form("Step 1: What is your name?") }), Some(states.give("one")?))?
        }
        "capabilities" => {
            let mut requests = json!({});
            if brought.capabilities.sampling.is_some() {
                requests["sample"] = sampling("Say something", 50);
            }
            if brought.capabilities.elicitation.is_some() {
                requests["confirm"] = confirm();
            }
            ask(requests, None)?
        }
        "prompt" => match brought.content("user_context")? {
            Some(content) => done(&content["context"]),
            None => {
                let form = form("What context should the prompt use?", "context", "string");
                ask(json!({ "user_context": form }), None)?
            }
        },
        _ => return Ok(None),
    };
    Ok(Some(round))
}

impl Brought<'_> {
    fn response(&self, key: &str) -> Option<&Value> {
        self.responses?.get(key)
    }

    /// What was filled in, where a form was accepted.
    fn content(&self, key: &str) -> Result<Option<Value>, ErrorData> {
        let Some(response) = self.response(key) else { return Ok(None) };
        if !response.is_object() {
            return Err(ErrorData::invalid_params(format!("the response {key} is no object"), None));
        }
        Ok(Some(response["content"].clone()))
    }
}

fn done(value: &Value) -> Round {
    Round::Done(format!("done: {value}"))
}

fn ask(requests: Value, state: Option<String>) -> Result<Round, ErrorData> {
    let mut result = json!({ "resultType": "input_required", "inputRequests": requests });
    if let Some(state) = state {
        result["requestState"] = state.into();
    }
    Ok(Round::Ask(typed(result)?))
}

fn name_form(message: &str) -> Value {
    form(message, "name", "string")
}

fn confirm() -> Value {
    form("Please confirm", "ok", "boolean")
}

fn form(message: &str, field: &str, kind: &str) -> Value {
    json!({ "method": "elicitation/create", "params": { "mode": "form", "message": message, "requestedSchema": {
        "type": "object", "properties": { field: { "type": kind } }, "required": [field] } } })
}

fn sampling(text: &str, tokens: u32) -> Value {
    json!({ "method": "sampling/createMessage", "params": { "maxTokens": tokens,
        "messages": [{ "role": "user", "content": { "type": "text", "text": text } }] } })
}

fn roots() -> Value {
    json!({ "method": "roots/list", "params": {} })
}
