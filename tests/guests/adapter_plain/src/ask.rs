//! A call that can't go on without a person: it returns what it needs to go
//! on and what to ask, and is called again with the answers, in another
//! instance, maybe days later. One that can't be made again, since something
//! upstream waits for it, asks meanwhile.

use serde_json::{Value, json};

use crate::executor::adapter::interaction::{self, Answer, Request};
use crate::executor::adapter::types::Failure;
use crate::exports::executor::adapter::source::{Pause, Resumption};
use crate::failure;

pub(crate) enum Step {
    Pause(Pause),
    Done(Value),
}

/// First a form, then a page.
///
/// # Errors
/// `bad-state` when the state is not one that this made.
pub(crate) fn go_on(arguments: &Value, resume: Option<Resumption>) -> Result<Step, Failure> {
    let Some(resumption) = resume else {
        return Ok(Step::Pause(form(arguments)));
    };
    let answers: Vec<Value> = resumption.answers.into_iter().map(said).collect();
    if resumption.state == b"form" {
        let state = json!({ "form": answers[0] }).to_string().into_bytes();
        let url = arguments["page"].as_str().unwrap_or("https://example.com/sign-in").to_owned();
        let question = Request { url: Some(url), ..question("url", "Sign in, then come back") };
        return Ok(Step::Pause(Pause { state, questions: vec![question] }));
    }
    let mut earlier: Value = serde_json::from_slice(&resumption.state)
        .map_err(|error| failure("bad-state", format!("the state is not one of mine: {error}")))?;
    earlier["page"] = answers[0].clone();
    Ok(Step::Done(earlier))
}

/// Asks while the call goes on, as often as `arguments.meanwhile` says: for a
/// title, or to visit `arguments.page`.
pub(crate) fn meanwhile(arguments: &Value) -> Value {
    let question = match arguments["page"].as_str() {
        Some(page) => Request { url: Some(page.to_owned()), ..question("url", "Sign in, then come back") },
        None => title(arguments),
    };
    let times = arguments["meanwhile"].as_u64().unwrap_or(0);
    (0..times)
        .map(|_| interaction::ask(&question).map_or_else(|why| json!({ "no": why.code }), said))
        .collect()
}

fn form(arguments: &Value) -> Pause {
    Pause { state: b"form".to_vec(), questions: vec![title(arguments)] }
}

fn title(arguments: &Value) -> Request {
    let name = if arguments["secret"] == true { "password" } else { "title" };
    let schema = json!({
        "type": "object",
        "properties": { name: { "type": "string", "minLength": 1 } },
        "required": [name],
        "additionalProperties": false,
    });
    Request { schema: Some(schema.to_string()), ..question("form", "Which title?") }
}

fn question(kind: &str, message: &str) -> Request {
    Request { kind: kind.to_owned(), message: message.to_owned(), schema: None, url: None, meta: None }
}

fn said(answer: Answer) -> Value {
    match answer {
        Answer::Accepted(json) => serde_json::from_str(&json).unwrap_or_default(),
        Answer::Declined => json!("declined"),
        Answer::Cancelled => json!("cancelled"),
    }
}
