//! What a server says while its answer is waited for: progress, and requests
//! of its own.

use serde::Deserialize;
use serde_json::{Value, json};

use super::Wait;
use super::stray::QUESTION;
use crate::rpc;
use crate::seam::{Question, Reply, World};
use crate::text::{line, plain};

/// Times that one call tells how far it is.
const MAX_PROGRESS: u32 = 1_000;
/// Questions that one call asks while it goes on.
const MAX_ASKED: u32 = 20;
const MAX_MESSAGE_CHARS: usize = 2_000;
const METHOD_NOT_FOUND: i64 = -32_601;

/// Hears for one request.
pub(crate) struct Ear<'w> {
    world: &'w dyn World,
    /// The request's id, which is its progress token too.
    token: String,
    asked: u32,
    told: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Progress {
    progress_token: Value,
    progress: f64,
    #[serde(default)]
    total: Option<f64>,
    #[serde(default)]
    message: Option<String>,
}

impl<'w> Ear<'w> {
    pub(crate) fn new(world: &'w dyn World, id: u64) -> Self {
        Self { world, token: id.to_string(), asked: 0, told: 0 }
    }

    /// Hears a notification. Progress of this request breaks the silence.
    pub(crate) fn notification(&mut self, method: &str, params: Option<&str>, wait: &mut Wait<'_>) {
        if method != "notifications/progress" {
            return;
        }
        let Some(progress) = params.and_then(|params| serde_json::from_str::<Progress>(params).ok()) else {
            return;
        };
        let token = rpc::id_text(&progress.progress_token.to_string());
        if token.as_deref() != Some(&self.token) {
            return;
        }
        wait.heard();
        if self.told < MAX_PROGRESS && progress.progress.is_finite() {
            self.told += 1;
            let message = progress.message.as_deref().map(|message| line(message, 300));
            self.world.progress(progress.progress, progress.total, message.as_deref());
        }
    }

    /// Answers a request of the server's, in one line of JSON. A request for
    /// what was never offered is refused, not left without an answer.
    pub(crate) fn request(
        &mut self,
        id: &str,
        method: &str,
        params: Option<&str>,
        wait: &mut Wait<'_>,
    ) -> String {
        match method {
            "ping" => rpc::answer(id, "{}"),
            "roots/list" => rpc::answer(id, r#"{"roots":[]}"#),
            QUESTION => {
                let since = self.world.ticks_ms();
                let result = self.elicit(params);
                wait.forgive(since);
                rpc::answer(id, &result)
            }
            other => {
                let message = format!("{} is not offered by this client", line(other, 100));
                rpc::refusal(id, METHOD_NOT_FOUND, &message)
            }
        }
    }

    fn elicit(&mut self, params: Option<&str>) -> String {
        let params: Value = params.and_then(|params| serde_json::from_str(params).ok()).unwrap_or_default();
        self.asked += 1;
        let Some(question) = elicitation(&params).filter(|_| self.asked <= MAX_ASKED) else {
            return r#"{"action":"cancel"}"#.to_owned();
        };
        let is_form = question.schema.is_some();
        let reply = self.world.ask(question).unwrap_or(Reply::Cancelled);
        elicited(&reply, is_form)
    }
}

/// An elicitation as a question; none where it asks nothing that can be asked.
pub(crate) fn elicitation(params: &Value) -> Option<Question> {
    let message = params.get("message").and_then(Value::as_str).unwrap_or_default();
    let message = plain(message, MAX_MESSAGE_CHARS).into_owned();
    let kind = "elicitation".to_owned();
    if params.get("mode").and_then(Value::as_str) == Some("url") {
        let url = params.get("url").and_then(Value::as_str)?;
        return Some(Question { kind, message, schema: None, url: Some(url.to_owned()) });
    }
    let schema = params.get("requestedSchema").filter(|schema| schema.is_object());
    let schema = schema.cloned().unwrap_or_else(|| json!({"type": "object", "properties": {}}));
    Some(Question { kind, message, schema: Some(schema.to_string()), url: None })
}

/// An `ElicitResult`, JSON.
pub(crate) fn elicited(reply: &Reply, is_form: bool) -> String {
    match reply {
        Reply::Accepted(content) if is_form && content.trim_start().starts_with('{') => {
            format!(r#"{{"action":"accept","content":{content}}}"#)
        }
        Reply::Accepted(_) => r#"{"action":"accept"}"#.to_owned(),
        Reply::Declined => r#"{"action":"decline"}"#.to_owned(),
        Reply::Cancelled => r#"{"action":"cancel"}"#.to_owned(),
    }
}
