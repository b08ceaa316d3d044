//! `executor resume`: the answer to what an execution waits for.

use clap::Args;
use serde_json::{Value, json};

use crate::api::{Answer, Api};
use crate::context::Context;
use crate::execution::{self, Program};
use crate::failure::{Exit, Failure};
use crate::input;
use crate::prompt;
use crate::view::field;
use crate::waiting::{self, Decision};

/// The largest answer to a form.
const CONTENT_LIMIT_BYTES: u64 = 1024 * 1024;

#[derive(Debug, Args)]
pub(crate) struct ResumeArguments {
    /// The execution
    id: String,
    /// Allow it: asks on the terminal, or takes --yes
    #[arg(long, group = "action")]
    accept: bool,
    /// Refuse it; the program goes on and sees the refusal
    #[arg(long, group = "action")]
    decline: bool,
    /// End the execution
    #[arg(long, group = "action")]
    cancel: bool,
    /// Which question, where there are several
    #[arg(long, value_name = "ID")]
    interaction: Option<String>,
    /// The answer to a form: JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON|@FILE|-")]
    content: Option<String>,
    /// Allow the same tool and connection from now on
    #[arg(long, requires = "accept")]
    remember: bool,
    /// Accept without being asked again
    #[arg(long)]
    yes: bool,
}

pub(crate) fn run(context: &Context, arguments: &ResumeArguments) -> Result<Exit, Failure> {
    let api = Api::new(context);
    let target = context.path(&["executions", &arguments.id]);
    let view = api.get(&target)?;
    // Another answer may be running it just now: this one waits its turn.
    let asks = match view.value["status"].as_str() {
        Some("waiting_for_interaction") => true,
        Some("running") => !waiting::pending(&view.value).is_empty(),
        _ => false,
    };
    if !asks {
        context.output.say(&format!("it waits for nobody: it is {}", field(&view.value, "status")));
        return execution::report(context, view, &Program::none());
    }
    let interaction = chosen(context, arguments, &view.value)?;
    let Some(mut body) = answer(context, arguments, interaction)? else {
        waiting::tell(context, &view.value);
        return Ok(Exit::Waiting);
    };
    if let Some(interaction) = interaction {
        body["interaction"] = interaction["id"].clone();
    }
    if let Some(content) = &arguments.content {
        body["content"] = input::json(content, "--content", CONTENT_LIMIT_BYTES)?;
    }
    let answer = api.post(&context.path(&["executions", &arguments.id, "resume"]), &body);
    let answer = answer.map_err(|failure| execution::broken_off(context, failure, Some(&arguments.id)))?;
    if arguments.cancel {
        return ended(context, &answer);
    }
    execution::report(context, answer, &Program::none())
}

/// The end that was asked for, and so no failure.
fn ended(context: &Context, answer: &Answer) -> Result<Exit, Failure> {
    if context.output.json {
        context.output.print_json(&answer.value)?;
    }
    let (id, status) = (field(&answer.value, "id"), field(&answer.value, "status"));
    context.output.say(&format!("{id} is {status}"));
    Ok(Exit::Ok)
}

/// The question that is answered. Cancelling answers them all.
fn chosen<'v>(
    context: &Context,
    arguments: &ResumeArguments,
    view: &'v Value,
) -> Result<Option<&'v Value>, Failure> {
    let pending = waiting::pending(view);
    if let Some(id) = &arguments.interaction {
        let found = pending.iter().find(|interaction| interaction["id"] == id.as_str());
        return found.copied().map(Some).ok_or_else(|| {
            let ids: Vec<String> = pending.iter().map(|interaction| field(interaction, "id")).collect();
            Failure::usage(format!("nothing is asked as {}", crate::text::line(id, 80)))
                .hint(format!("there is: {}", ids.join(", ")))
        });
    }
    match pending.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(*only)),
        [first, ..] if arguments.cancel || prompt::can_ask(context) => Ok(Some(*first)),
        _ => Err(Failure::usage(format!(
            "it asks several questions; say which with --interaction:\n{}",
            waiting::resume_lines(context, view).trim_end()
        ))),
    }
}

/// The answer, or nothing where it is left for later.
fn answer(
    context: &Context,
    arguments: &ResumeArguments,
    interaction: Option<&Value>,
) -> Result<Option<Value>, Failure> {
    if arguments.decline {
        return Ok(Some(json!({ "action": "decline" })));
    }
    if arguments.cancel {
        return Ok(Some(json!({ "action": "cancel" })));
    }
    let approval = interaction.is_none_or(|interaction| interaction["kind"] == "approval");
    if arguments.accept && (arguments.yes || !approval) {
        return Ok(Some(accepted(arguments.remember)));
    }
    if !prompt::can_ask(context) {
        return Err(no_terminal(arguments));
    }
    let decision = match interaction {
        Some(interaction) => waiting::ask(context, interaction)?,
        None => Decision::Later,
    };
    Ok(match decision {
        Decision::Accept => Some(accepted(arguments.remember)),
        Decision::Fill(content) => {
            let mut body = accepted(false);
            body["content"] = content;
            Some(body)
        }
        Decision::Remember => Some(accepted(true)),
        Decision::Decline => Some(json!({ "action": "decline" })),
        Decision::Later => None,
    })
}

fn accepted(remember: bool) -> Value {
    if remember { json!({ "action": "accept", "remember": true }) } else { json!({ "action": "accept" }) }
}

fn no_terminal(arguments: &ResumeArguments) -> Failure {
    if !arguments.accept {
        return Failure::usage("which answer? There is no terminal to ask on")
            .hint("give --accept, --decline or --cancel");
    }
    Failure::usage("accepting is a person's decision, and there is no terminal to ask on")
        .hint("on a terminal the request is shown and confirmed; --yes says that a person has decided")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{Arguments, Command, Globals};
    use crate::environment::Environment;

    fn read(line: &str) -> ResumeArguments {
        let words = format!("executor resume exe_1 {line}");
        let arguments = Arguments::read(words.split_whitespace().map(Into::into)).unwrap();
        match arguments.command {
            Command::Resume(arguments) => arguments,
            other => panic!("{other:?}"),
        }
    }

    fn context() -> Context {
        let globals = Globals { no_input: true, ..Globals::default() };
        Context::new(&globals, Environment { user_home: Some("/u".into()), ..Environment::default() })
            .unwrap()
    }

    fn approval() -> Value {
        json!({ "id": "int_1", "kind": "approval", "status": "pending" })
    }

    #[test]
    fn accepting_without_a_terminal_needs_a_yes() {
        let interaction = approval();
        let answer = |line: &str| answer(&context(), &read(line), Some(&interaction));
        assert!(answer("--accept").unwrap_err().message.contains("a person's decision"));
        assert!(answer("").unwrap_err().message.contains("which answer?"));
        assert_eq!(answer("--accept --yes").unwrap(), Some(json!({ "action": "accept" })));
        assert_eq!(
            answer("--accept --yes --remember").unwrap(),
            Some(json!({ "action": "accept", "remember": true }))
        );
        assert_eq!(answer("--decline").unwrap(), Some(json!({ "action": "decline" })));
    }

    #[test]
    fn one_of_several_questions_is_named() {
        let view =
            json!({ "id": "exe_1", "interactions": [approval(), { "id": "int_2", "status": "pending" }] });
        let context = context();
        let chosen =
            |line: &str| chosen(&context, &read(line), &view).map(|found| found.map(|one| field(one, "id")));
        assert_eq!(chosen("--interaction int_2").unwrap().as_deref(), Some("int_2"));
        assert!(chosen("--interaction int_3").unwrap_err().hints[0].contains("int_1, int_2"));
        assert!(chosen("--accept --yes").unwrap_err().message.contains("--interaction int_2 --accept"));
        assert!(chosen("--cancel").is_ok());
    }

    #[test]
    fn two_answers_are_none() {
        let words = ["executor", "resume", "exe_1", "--accept", "--decline"].map(Into::into);
        assert!(Arguments::read(words).is_err());
    }
}
