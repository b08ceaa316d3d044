//! Questions of a server of revision 2026-07-28: its answer is that it needs
//! some, and the call is made again with them ("Multi Round-Trip Requests").

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::rpc::{Params, RpcError};
use crate::seam::{Failure, Pause, Question, Reply, Resumption};
use crate::text::line;
use crate::transport::{elicitation, elicited};

/// What a host asks at once.
const MAX_QUESTIONS: usize = 16;
/// What a host keeps of a pause.
const MAX_STATE_BYTES: usize = 1 << 20;

/// What follows from a result.
pub(crate) enum Plan {
    /// It is the answer.
    Finish,
    /// People are asked.
    Pause(Pause),
    /// The same call again, with what was added to its params.
    Again,
}

#[derive(Serialize, Deserialize)]
struct State {
    /// Keys of the questions, in order, and whether each is a form.
    asked: Vec<(String, bool)>,
    /// Answers that nobody was asked for.
    known: BTreeMap<String, Value>,
    /// JSON, to be given back as it is.
    request_state: Option<Box<RawValue>>,
    /// Whether the answers go back to the server.
    sends: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InputRequired<'r> {
    #[serde(default)]
    result_type: Option<String>,
    #[serde(default)]
    input_requests: Option<serde_json::Map<String, Value>>,
    #[serde(borrow, default)]
    request_state: Option<&'r RawValue>,
}

/// Reads a result's type.
///
/// # Errors
/// `upstream-malformed` for one that nobody knows, `question-refused` for
/// questions that can't be asked.
pub(crate) fn plan(result: &str, params: &mut Params) -> Result<Plan, Failure> {
    let object = Some(result).filter(|result| result.trim_start().starts_with('{'));
    let Some(read) = object.and_then(|result| serde_json::from_str::<InputRequired<'_>>(result).ok()) else {
        // What is no object has no type; the answer's reader says what it is.
        return Ok(Plan::Finish);
    };
    match read.result_type.as_deref() {
        None | Some("complete") => return Ok(Plan::Finish),
        Some("input_required") => {}
        Some(other) => {
            let message = format!("the server gave a result of the unknown type {:?}", line(other, 60));
            return Err(Failure::new("upstream-malformed", message));
        }
    }
    let mut state = State {
        asked: Vec::new(),
        known: BTreeMap::new(),
        request_state: read.request_state.map(ToOwned::to_owned),
        sends: true,
    };
    let mut questions = Vec::new();
    for (key, request) in read.input_requests.unwrap_or_default() {
        let method = request.get("method").and_then(Value::as_str).unwrap_or_default();
        match method {
            "elicitation/create" => {
                let question = elicitation(&request["params"]).ok_or_else(|| {
                    refused(&format!("the server's question {:?} can't be asked", line(&key, 60)))
                })?;
                state.asked.push((key, question.schema.is_some()));
                questions.push(question);
            }
            "roots/list" => {
                state.known.insert(key, json!({"roots": []}));
            }
            other => {
                return Err(refused(&format!(
                    "the server asks for {}, which this client does not offer",
                    line(other, 60)
                )));
            }
        }
    }
    if questions.is_empty() {
        if state.known.is_empty() && state.request_state.is_none() {
            return Err(refused("the server wants an answer and asks nothing"));
        }
        apply(&state, &[], params);
        return Ok(Plan::Again);
    }
    pause(&state, questions).map(Plan::Pause)
}

/// The pages that an older server wants visited before it does the call.
pub(crate) fn of_pages(error: &RpcError) -> Option<Pause> {
    let data: Value = serde_json::from_str(error.data.as_deref()?).ok()?;
    let pages = data.get("elicitations")?.as_array()?;
    let questions: Vec<Question> = pages
        .iter()
        .filter(|page| page["mode"] == "url")
        .filter_map(elicitation)
        .take(MAX_QUESTIONS)
        .collect();
    if questions.is_empty() {
        return None;
    }
    let asked = questions.iter().map(|_| (String::new(), false)).collect();
    let state = State { asked, known: BTreeMap::new(), request_state: None, sends: false };
    pause(&state, questions).ok()
}

/// Puts a person's answers into a call that goes on.
///
/// # Errors
/// `resumption-invalid` where the state is not of this adapter, and
/// `declined` where a page had to be visited and nobody did.
pub(crate) fn resume(resume: &Resumption, params: &mut Params) -> Result<(), Failure> {
    let invalid = |why: &str| Failure::new("resumption-invalid", format!("the call can't go on: {why}"));
    let state: State =
        serde_json::from_slice(&resume.state).map_err(|error| invalid(&format!("its state: {error}")))?;
    if state.asked.len() != resume.answers.len() {
        return Err(invalid("it has not as many answers as questions"));
    }
    if !state.sends {
        let visited = resume.answers.iter().all(|answer| matches!(answer, Reply::Accepted(_)));
        return if visited {
            Ok(())
        } else {
            Err(Failure::new("declined", "the server wants a page to be visited before it does this"))
        };
    }
    apply(&state, &resume.answers, params);
    Ok(())
}

fn apply(state: &State, answers: &[Reply], params: &mut Params) {
    let mut responses: Vec<String> =
        state.known.iter().map(|(key, value)| format!("{}:{value}", json!(key))).collect();
    for ((key, is_form), answer) in state.asked.iter().zip(answers) {
        responses.push(format!("{}:{}", json!(key), elicited(answer, *is_form)));
    }
    params.set("inputResponses", format!("{{{}}}", responses.join(",")));
    if let Some(request_state) = &state.request_state {
        params.set("requestState", request_state.get());
    } else {
        params.remove("requestState");
    }
}

fn pause(state: &State, questions: Vec<Question>) -> Result<Pause, Failure> {
    if questions.len() > MAX_QUESTIONS {
        return Err(refused(&format!("the server asks {} things at once", questions.len())));
    }
    let state = serde_json::to_vec(state).unwrap_or_default();
    if state.len() > MAX_STATE_BYTES {
        return Err(refused("what the server wants back with the answers is larger than 1 MiB"));
    }
    Ok(Pause { state, questions })
}

fn refused(why: &str) -> Failure {
    Failure::new("question-refused", why.to_owned())
}
