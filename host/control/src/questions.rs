//! What an adapter asks a person in the middle of a call.
//!
//! A question is a component's word, not the daemon's: a person sees who
//! asks, a form can't ask for a secret, and a page is never opened unasked.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use executor_runtime::{Answer, Call, Origin, Pause, Question, Resumption};
use executor_store::{Change, InteractionId, InteractionRow};
use executor_telemetry::metrics::{ApprovalEvent, metrics};
use serde_json::{Value, json};
use url::Url;

use crate::approvals::{APPROVAL, request_text};
use crate::arguments::Validator;
use crate::audit::{audit_change, names_secret};
use crate::invoke::Bound;
use crate::policies::random;
use crate::problem::{Problem, ProblemKind};
use crate::session::Session;
use crate::tool_error::{GateEnd, ToolError};
use crate::waits::is_live;

/// The kind of question whose answer is data.
pub(crate) const FORM: &str = "form";
/// The kind of question that is answered on a page.
pub(crate) const URL: &str = "url";
/// Rounds of questions of one call: one that asks for ever is ended.
const ROUND_LIMIT: usize = 20;

impl Session {
    /// What a call that had paused goes on with: the answers to the questions
    /// of its last round. None where it did not pause.
    pub(crate) fn resumption(&self, call: &Call, bound: &Bound) -> Result<Option<Resumption>, GateEnd> {
        let round = self.last_round(call, bound);
        let Some(first) = round.first() else { return Ok(None) };
        if round.iter().any(|row| row.status == "pending") {
            return Err(GateEnd::Waiting);
        }
        let damaged = || {
            let problem = Problem::internal(format!("the state of the paused call {} is damaged", first.id));
            ToolError::of_problem(&bound.tool.path, problem)
        };
        let state = request_text(first, "pause").and_then(|text| BASE64.decode(text).ok());
        let answers = round.iter().map(|row| match row.status.as_str() {
            "accepted" => Answer::Accepted(row.answer.clone().unwrap_or_else(|| "null".into())),
            "declined" => Answer::Declined,
            _ => Answer::Cancelled,
        });
        Ok(Some(Resumption { state: state.ok_or_else(damaged)?, answers: answers.collect() }))
    }

    /// The questions of a call's last round, in their order.
    fn last_round(&self, call: &Call, bound: &Bound) -> Vec<&InteractionRow> {
        let asked = self.past.interactions.get(&(call.scope, call.ordinal)).into_iter().flatten();
        let asked: Vec<_> = asked
            .filter(|row| row.kind != APPROVAL && !is_live(row) && self.asked_for_this(row, bound))
            .collect();
        let last = asked.iter().filter_map(|row| number(row, "round")).max();
        let mut round: Vec<_> = asked.into_iter().filter(|row| number(row, "round") == last).collect();
        round.sort_by_key(|row| number(row, "index"));
        round
    }

    /// Writes down what a call asks; it waits then.
    pub(crate) async fn adapter_asks(
        &self,
        call: &Call,
        bound: &Bound,
        pause: &Pause,
    ) -> Result<(), ToolError> {
        let path = &bound.tool.path;
        let earlier = self.last_round(call, bound).first().and_then(|row| number(row, "round"));
        let round = earlier.map_or(1, |round| round + 1);
        if round > ROUND_LIMIT as u64 {
            let message = format!("{path} has asked {ROUND_LIMIT} times and asks again");
            return Err(ToolError::new(path, "question-refused", message));
        }
        let now_ms = self.workspace.shared.now_ms();
        // Whether it may have changed something is known: it has answered.
        let mut changes = vec![Change::Pause(self.call_row(call))];
        let mut kinds = Vec::new();
        for (index, question) in pause.questions.iter().enumerate() {
            let asked = Asked::check(path, question)?;
            kinds.push(asked.kind);
            changes.push(Change::Ask(InteractionRow {
                id: InteractionId::new(now_ms, random()),
                execution: self.id().clone(),
                scope: call.scope,
                ordinal: call.ordinal,
                kind: asked.kind.into(),
                message: question.message.clone(),
                request: self.asked_at_pause(bound, &asked, round, index, pause).to_string(),
                status: "pending".into(),
                answer: None,
                created_ms: now_ms,
                answered_ms: None,
                answered_by: None,
            }));
        }
        let record = json!({
            "execution": self.id().to_string(), "tool": path, "kinds": kinds,
            "connection": bound.connection_key(), "asked_by": bound.source.adapter,
        });
        let told = record.clone();
        changes.push(audit_change(now_ms, &self.caller, "question.ask", record));
        let written = self.write_synced(changes).await;
        written.map_err(|problem| ToolError::of_problem(path, problem))?;
        pause.questions.iter().for_each(|_| metrics().control.approval(ApprovalEvent::Asked));
        self.workspace.tell("question.ask", || told);
        Ok(())
    }

    /// A question of a call that paused, with what the call goes on with.
    fn asked_at_pause(&self, bound: &Bound, asked: &Asked, round: u64, index: usize, pause: &Pause) -> Value {
        let mut request = self.asked(bound, asked);
        request["round"] = json!(round);
        request["index"] = json!(index);
        if index == 0 {
            request["pause"] = json!(BASE64.encode(&pause.state));
        }
        request
    }

    /// A question as it is kept.
    pub(crate) fn asked(&self, bound: &Bound, asked: &Asked) -> Value {
        let origin = asked.url.as_ref().and_then(|url| Origin::parse(url.as_str()).ok());
        let origin = origin.map(|origin| origin.to_string());
        let of_source = origin.as_ref().map(|origin| bound.source.origins.contains(origin));
        let mut request = self.about_call(bound);
        request["asked_by"] = json!(bound.source.adapter);
        request["schema"] = json!(asked.schema);
        request["url"] = json!(asked.url.as_ref().map(Url::as_str));
        request["url_is_of_source"] = json!(of_source);
        request["origin"] = json!(origin);
        request
    }
}

/// A question that may be asked.
pub(crate) struct Asked {
    pub(crate) kind: &'static str,
    schema: Option<Value>,
    url: Option<Url>,
}

impl Asked {
    pub(crate) fn check(path: &str, question: &Question) -> Result<Self, ToolError> {
        let refused = |message: String| ToolError::new(path, "question-refused", message);
        if let Some(text) = &question.url {
            let url = Url::parse(text)
                .map_err(|error| refused(format!("{path} asks a person to visit what is no URL: {error}")))?;
            if !matches!(url.scheme(), "https" | "http")
                || !url.username().is_empty()
                || url.password().is_some()
            {
                return Err(refused(format!("{path} asks a person to visit a page that is not on the web")));
            }
            return Ok(Self { kind: URL, schema: None, url: Some(url) });
        }
        let Some(text) = &question.schema else {
            return Ok(Self { kind: FORM, schema: None, url: None });
        };
        let schema: Value = serde_json::from_str(text).unwrap_or_default();
        if let Some(name) = secret_field(&schema) {
            let message = format!("{path} asks for {name:?} in a form, and forms carry no secrets");
            return Err(ToolError {
                details: Some(json!({"field": name})),
                ..ToolError::new(path, "secret-asked", message)
            });
        }
        Validator::compile(&schema, &|_| None)
            .map_err(|fault| refused(format!("{path} asks by a schema that can't be used: {fault}")))?;
        Ok(Self { kind: FORM, schema: Some(schema), url: None })
    }
}

/// A field of a form that looks like a secret, however deep it lies.
fn secret_field(schema: &Value) -> Option<String> {
    let mut pending = vec![schema];
    while let Some(schema) = pending.pop() {
        match schema {
            Value::Object(fields) => {
                for (name, field) in fields.get("properties").and_then(Value::as_object).into_iter().flatten()
                {
                    let hidden = field.get("format").and_then(Value::as_str) == Some("password")
                        || field.get("writeOnly").and_then(Value::as_bool) == Some(true);
                    let title = field.get("title").and_then(Value::as_str).unwrap_or_default();
                    if hidden || names_secret(name) || names_secret(title) {
                        return Some(name.clone());
                    }
                }
                pending.extend(fields.values());
            }
            Value::Array(items) => pending.extend(items),
            _ => {}
        }
    }
    None
}

/// The answer to a form as it is kept, once it fits what was asked.
pub(crate) fn form_answer(row: &InteractionRow, content: Option<&Value>) -> Result<String, Problem> {
    let request: Value = serde_json::from_str(&row.request).unwrap_or_default();
    let Some(schema) = request.get("schema").filter(|schema| !schema.is_null()) else {
        return Ok(content.map_or_else(|| "null".to_owned(), Value::to_string));
    };
    let wrong = |message: String| {
        Problem::new(ProblemKind::Unprocessable, "invalid-answer", message)
            .hint("the interaction's `schema` says what is asked; the question still waits")
            .details(json!({"schema": schema}))
    };
    let content = content.ok_or_else(|| wrong("this question is answered with content".into()))?;
    let validator = Validator::compile(schema, &|_| None)
        .map_err(|fault| Problem::internal(format!("the schema of {} is damaged: {fault}", row.id)))?;
    validator.check(content).map_err(|fault| wrong(fault.message))?;
    Ok(content.to_string())
}

fn number(row: &InteractionRow, key: &str) -> Option<u64> {
    let request: Value = serde_json::from_str(&row.request).ok()?;
    request.get(key)?.as_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(schema: Option<Value>, url: Option<&str>) -> Question {
        Question {
            kind: "form".into(),
            message: "?".into(),
            schema: schema.map(|schema| schema.to_string()),
            url: url.map(str::to_owned),
        }
    }

    #[track_caller]
    fn check(schema: Option<Value>, url: Option<&str>, expect: Result<&str, &str>) {
        let asked = Asked::check("x.y", &question(schema, url));
        let found = asked.as_ref().map(|asked| asked.kind).map_err(|error| error.code.as_str());
        assert_eq!(found, expect);
    }

    #[test]
    fn forms_ask_for_no_secrets_and_pages_are_on_the_web() {
        let field = |name: &str, field: Value| Some(json!({"type": "object", "properties": {name: field}}));
        check(field("title", json!({"type": "string"})), None, Ok(FORM));
        check(None, None, Ok(FORM));
        for name in ["password", "apiKey", "github_token", "client-secret", "Private Key"] {
            check(field(name, json!({"type": "string"})), None, Err("secret-asked"));
        }
        check(field("x", json!({"type": "string", "format": "password"})), None, Err("secret-asked"));
        check(field("x", json!({"title": "Your password"})), None, Err("secret-asked"));
        let nested = json!({"type": "object", "properties": {"token": {"type": "string"}}});
        check(field("x", nested), None, Err("secret-asked"));
        check(None, Some("https://github.com/login"), Ok(URL));
        for url in
            ["javascript:alert(1)", "file:///etc/passwd", "https://a:b@evil.test/", "nothing", "data:,x"]
        {
            check(None, Some(url), Err("question-refused"));
        }
    }
}
