//! Calls that can't go on without a person: what an adapter asks, and what it
//! goes on with.

use executor_bindings::adapter::executor::adapter::interaction;
use executor_bindings::adapter::exports::executor::adapter::source;

use crate::adapter::{AdapterFailure, check_json, garbage};
use crate::seams;

/// Bytes of a paused call's own state.
const STATE_LIMIT_BYTES: usize = 1024 * 1024;
/// Bytes of a question's schema.
const SCHEMA_LIMIT_BYTES: usize = 64 * 1024;
/// Questions that a call asks at once, or one after the other while it waits.
pub(crate) const QUESTION_LIMIT: usize = 16;

/// A call that can't go on without a person.
#[derive(Debug)]
pub struct Pause {
    /// What the call goes on with, in a form of the adapter's own.
    pub state: Vec<u8>,
    /// What to ask.
    pub questions: Vec<Question>,
}

/// One question of an adapter, its texts made plain.
#[derive(Debug, Clone)]
pub struct Question {
    /// What kind of question, in the adapter's words.
    pub kind: String,
    /// The question, for a person.
    pub message: String,
    /// JSON Schema of the answer; none: yes or no.
    pub schema: Option<String>,
    /// A page on which the person answers instead.
    pub url: Option<String>,
}

/// What a person answered to one question.
#[derive(Debug, Clone)]
pub enum Answer {
    /// Yes, with this JSON.
    Accepted(String),
    /// No.
    Declined,
    /// The question was closed.
    Cancelled,
}

/// What a paused call goes on with.
#[derive(Debug, Clone)]
pub struct Resumption {
    /// [`Pause::state`].
    pub state: Vec<u8>,
    /// The answers in the order of [`Pause::questions`].
    pub answers: Vec<Answer>,
}

impl Pause {
    /// A pause within its bounds; one without a question would wait for ever.
    pub(crate) fn checked(pause: source::Pause) -> Result<Self, AdapterFailure> {
        let garbage = |message: String| garbage(format!("the adapter paused {message}"));
        if pause.state.len() > STATE_LIMIT_BYTES {
            return Err(garbage(format!("with more than {STATE_LIMIT_BYTES} bytes of state")));
        }
        let asked = pause.questions.len();
        if asked == 0 || asked > QUESTION_LIMIT {
            return Err(garbage(format!("with {asked} questions; 1 to {QUESTION_LIMIT} are asked")));
        }
        let questions = pause.questions.into_iter().map(Question::checked);
        Ok(Self { state: pause.state, questions: questions.collect::<Result<_, AdapterFailure>>()? })
    }
}

impl Question {
    /// A question within its bounds, its texts made plain.
    pub(crate) fn checked(asked: interaction::Request) -> Result<Self, AdapterFailure> {
        if let Some(schema) = &asked.schema {
            if schema.len() > SCHEMA_LIMIT_BYTES {
                let message =
                    format!("the adapter asked with a schema of more than {SCHEMA_LIMIT_BYTES} bytes");
                return Err(garbage(message));
            }
            check_json(schema, "a question's schema")?;
        }
        Ok(Self {
            kind: seams::plain_text(&asked.kind, 64),
            message: seams::plain_text(&asked.message, 2_000),
            schema: asked.schema,
            url: asked.url.map(|url| seams::plain_text(&url, 4_096)),
        })
    }
}

impl Answer {
    pub(crate) fn into_wire(self) -> interaction::Answer {
        match self {
            Self::Accepted(json) => interaction::Answer::Accepted(json),
            Self::Declined => interaction::Answer::Declined,
            Self::Cancelled => interaction::Answer::Cancelled,
        }
    }
}

impl Resumption {
    pub(crate) fn into_wire(self) -> source::Resumption {
        let answers = self.answers.into_iter().map(Answer::into_wire).collect();
        source::Resumption { state: self.state, answers }
    }
}
