//! The tool `resume`: going on with an execution that waits, from any session.
//!
//! A model may say no, give up, or fill in a form that an upstream asked for.
//! Saying yes to a call is a person's.

use executor_control::{InteractionView, Problem, ProblemKind, Resume, ResumeAction};
use rmcp::model::{CallToolResponse, JsonObject};
use serde::Deserialize;
use serde_json::Value;

use super::answer::{self, Form, WAITING, resume_command};
use super::call::{Call, Refusal, parse};
use super::who::Place;

pub(super) const NAME: &str = "resume";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Arguments {
    execution_id: String,
    action: Action,
    content: Option<Value>,
    interaction: Option<String>,
    workspace: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    Accept,
    Decline,
    Cancel,
    Answer,
}

pub(super) async fn run(call: &Call<'_>, arguments: JsonObject) -> Result<CallToolResponse, Refusal> {
    let arguments: Arguments = parse(NAME, arguments)?;
    let place = call.asking.place(arguments.workspace.as_deref())?;
    let view = place.workspace.execution(&place.caller, &arguments.execution_id).await?;
    if view.status != WAITING {
        return Ok(answer::execution(view, &place.name, Form::Execution).into());
    }
    let Some(asked) = question(&view.interactions, arguments.interaction.as_deref()) else {
        // It was answered before: what became of it is the answer.
        return Ok(answer::execution(view, &place.name, Form::Execution).into());
    };
    let action = match arguments.action {
        Action::Accept | Action::Answer if asked.kind != "form" => {
            return Err(not_yours(asked, &place).into());
        }
        Action::Accept | Action::Answer => ResumeAction::Accept,
        Action::Decline => ResumeAction::Decline,
        Action::Cancel => ResumeAction::Cancel,
    };
    let caller = place.caller.clone();
    let request =
        Resume { action, interaction: Some(asked.id.clone()), content: arguments.content, remember: false };
    let (workspace, id) = (&place.workspace, view.id.as_str());
    let go_on = |told: super::call::Told| async move {
        // The id is known already: it is told once.
        let _ = told.set(id.to_owned());
        workspace.resume(&caller, id, request).await
    };
    let view = call.watch(&place, go_on).await?;
    Ok(answer::execution(view, &place.name, Form::Execution).into())
}

fn question<'v>(asked: &'v [InteractionView], wanted: Option<&str>) -> Option<&'v InteractionView> {
    asked.iter().find(|asked| wanted.is_none_or(|wanted| asked.id == wanted))
}

fn not_yours(asked: &InteractionView, place: &Place) -> Problem {
    Problem::new(
        ProblemKind::Denied,
        "approval-not-yours",
        format!("{} needs a person's yes, which no tool can give", asked.tool),
    )
    .hint(format!(
        "ask the person to run `{}` in a terminal, or go on with action `decline` or `cancel`",
        resume_command(&asked.execution, &place.name, "--accept")
    ))
}
