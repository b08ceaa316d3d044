//! An execution that waits for a person: what is asked, and the answer.

use serde_json::{Value, json};

use crate::api::{Answer, Api};
use crate::context::Context;
use crate::execution;
use crate::failure::Failure;
use crate::form;
use crate::prompt;
use crate::style::Style;
use crate::table;
use crate::text;
use crate::view::{field, list, prose};

/// What a person answers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Decision {
    Accept,
    /// Accept, with what was filled in.
    Fill(Value),
    /// Accept, and allow the same from now on.
    Remember,
    Decline,
    /// Leave it waiting.
    Later,
}

/// The pending interactions of an execution.
pub(crate) fn pending(view: &Value) -> Vec<&Value> {
    list(view, "interactions")
        .iter()
        .filter(|interaction| interaction["status"].is_null() || interaction["status"] == "pending")
        .collect()
}

/// What is asked: who would be called, where, with what.
pub(crate) fn describe(interaction: &Value, style: Style) -> String {
    let facts = [
        ("tool", style.bold(&field(interaction, "tool"))),
        ("connection", field(interaction, "connection")),
        ("asked by", field(interaction, "asked_by")),
        ("origin", field(interaction, "origin")),
        ("page", page(interaction)),
    ];
    let mut described = String::new();
    let message = prose(interaction, "message");
    if !message.is_empty() {
        described.push_str(&format!("{message}\n"));
    }
    described.push_str(&table::facts(&facts, style));
    if interaction["kind"] == "form" {
        described.push_str(&form::describe(&interaction["schema"]));
    } else if interaction["request"].is_object() {
        described.push_str(&format!("\n{}", request(&interaction["request"])));
    } else if !interaction["arguments"].is_null() {
        described.push_str(&format!("\n{}\n", text::pretty_json(&interaction["arguments"])));
    }
    described.push_str(&compared(interaction));
    described
}

/// The page that a person is asked to visit, and whose it is.
fn page(interaction: &Value) -> String {
    let url = field(interaction, "url");
    match interaction["url_is_of_source"].as_bool() {
        Some(false) if !url.is_empty() => format!("{url} (not one of the source's own origins)"),
        _ => url,
    }
}

/// What is not as it was when somebody allowed this tool last.
fn compared(interaction: &Value) -> String {
    let Some(changes) = interaction["changes"].as_array() else { return String::new() };
    if changes.is_empty() {
        return "\nthe same request as the last one that was allowed\n".to_owned();
    }
    let mut text = "\nother than the last one that was allowed:\n".to_owned();
    for change in changes {
        let side = |name: &str| match &change[name] {
            Value::Null => "nothing".to_owned(),
            value => text::shorten(&crate::view::scalar(value), 60),
        };
        text.push_str(&format!("  {}  {} → {}\n", field(change, "pointer"), side("before"), side("after")));
    }
    text
}

/// A request as it will be sent; its credential is no part of it.
pub(crate) fn request(request: &Value) -> String {
    let mut shown = format!("{} {}\n", field(request, "method"), field(request, "url"));
    match &request["headers"] {
        Value::Array(headers) => {
            for header in headers {
                let (name, value) = (crate::view::scalar(&header[0]), crate::view::scalar(&header[1]));
                shown.push_str(&format!("{name}: {value}\n"));
            }
        }
        Value::Object(headers) => {
            for (name, value) in headers {
                shown.push_str(&format!("{}: {}\n", text::line(name, 200), crate::view::scalar(value)));
            }
        }
        _ => {}
    }
    let body = body(&request["body"]);
    if !body.is_empty() {
        shown.push_str(&format!("\n{body}\n"));
    }
    shown
}

fn body(body: &Value) -> String {
    match body {
        Value::Null => String::new(),
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            Ok(json @ (Value::Object(_) | Value::Array(_))) => text::pretty_json(&json),
            _ => text::clean(text).into_owned(),
        },
        other => text::pretty_json(other),
    }
}

/// The lines that continue an execution.
pub(crate) fn resume_lines(context: &Context, view: &Value) -> String {
    let id = field(view, "id");
    let pending = pending(view);
    let mut lines = String::new();
    for interaction in &pending {
        let which = match pending.len() {
            0 | 1 => String::new(),
            _ => format!(" --interaction {}", field(interaction, "id")),
        };
        let accept = if interaction["kind"] == "form" && interaction["schema"].is_object() {
            "--accept --content '{…}'"
        } else {
            "--accept"
        };
        for action in [accept, "--decline", "--cancel"] {
            lines.push_str(&format!("  {}\n", context.command(&format!("resume {id}{which} {action}"))));
        }
    }
    if pending.is_empty() {
        lines.push_str(&format!("  {}\n", context.command(&format!("executions show {id}"))));
    }
    lines
}

/// Says what an execution waits for, and how it goes on.
pub(crate) fn tell(context: &Context, view: &Value) {
    context.output.tell(&format!("waiting for a person: {}", field(view, "id")));
    for interaction in pending(view) {
        context.output.tell(&format!("\n{}", describe(interaction, context.output.talk).trim_end()));
    }
    context.output.tell(&format!("\nanswer with one of\n{}", resume_lines(context, view).trim_end()));
}

/// Asks a person on the terminal.
pub(crate) fn ask(context: &Context, interaction: &Value) -> Result<Decision, Failure> {
    context.output.tell(&format!("\n{}", describe(interaction, context.output.talk).trim_end()));
    let approval = interaction["kind"].is_null() || interaction["kind"] == "approval";
    let question = match interaction["kind"].as_str() {
        Some("form") => "\nAnswer it? [y]es, [N]o, [l]ater: ",
        Some("url") => "\nDone there? [y]es, [N]o, [l]ater: ",
        _ => "\nAllow it? [y]es, [N]o, [a]lways, [l]ater: ",
    };
    loop {
        let Some(answer) = prompt::line(question)? else {
            context.output.tell("");
            return Ok(Decision::Later);
        };
        if let Some(decision) = read(&answer) {
            match decision {
                Decision::Remember if !approval => continue,
                Decision::Accept if interaction["kind"] == "form" => {
                    return Ok(
                        form::fill(context, &interaction["schema"])?.map_or(Decision::Later, Decision::Fill)
                    );
                }
                _ => {}
            }
            return Ok(decision);
        }
    }
}

fn read(answer: &str) -> Option<Decision> {
    match answer.to_lowercase().as_str() {
        "y" | "yes" => Some(Decision::Accept),
        "" | "n" | "no" => Some(Decision::Decline),
        "a" | "always" => Some(Decision::Remember),
        "l" | "later" => Some(Decision::Later),
        _ => None,
    }
}

/// Answers one interaction.
pub(crate) fn answer(
    context: &Context,
    execution: &str,
    interaction: &str,
    decision: Decision,
) -> Result<Option<Answer>, Failure> {
    let mut body = json!({ "interaction": interaction });
    match decision {
        Decision::Later => return Ok(None),
        Decision::Accept => body["action"] = json!("accept"),
        Decision::Fill(content) => {
            body["action"] = json!("accept");
            body["content"] = content;
        }
        Decision::Remember => {
            body["action"] = json!("accept");
            body["remember"] = json!(true);
        }
        Decision::Decline => body["action"] = json!("decline"),
    }
    let answer = Api::new(context).post(&context.path(&["executions", execution, "resume"]), &body);
    answer.map(Some).map_err(|failure| execution::broken_off(context, failure, Some(execution)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Globals;
    use crate::environment::Environment;

    fn view(count: usize) -> Value {
        let interactions: Vec<Value> = (0..count)
            .map(|number| {
                json!({
                    "id": format!("int_{number}"), "status": "pending", "tool": "github.issues.create",
                    "connection": "github/work", "origin": "https://api.github.com", "message": "Create an issue?",
                    "arguments": { "title": "x" },
                    "request": { "method": "POST", "url": "https://api.github.com/repos/o/r/issues",
                        "headers": [["content-type", "application/json"]], "body": { "title": "x\u{9b}2J" } }
                })
            })
            .collect();
        json!({ "id": "exe_1", "status": "waiting_for_interaction", "interactions": interactions })
    }

    #[test]
    fn a_question_shows_the_request_as_it_will_be_sent() {
        insta::assert_snapshot!(describe(pending(&view(1))[0], Style::default()), @r#"
        Create an issue?
        tool        github.issues.create
        connection  github/work
        origin      https://api.github.com

        POST https://api.github.com/repos/o/r/issues
        content-type: application/json

        {
          "title": "x\u009b2J"
        }
        "#);
    }

    #[test]
    fn the_lines_can_be_pasted() {
        let context = Context::new(
            &Globals { workspace: Some("w".into()), ..Globals::default() },
            Environment { user_home: Some("/u".into()), ..Environment::default() },
        )
        .unwrap();
        insta::assert_snapshot!(resume_lines(&context, &view(1)), @r"
          executor --workspace w resume exe_1 --accept
          executor --workspace w resume exe_1 --decline
          executor --workspace w resume exe_1 --cancel
        ");
        assert!(resume_lines(&context, &view(2)).contains("resume exe_1 --interaction int_1 --accept"));
    }

    #[test]
    fn only_a_clear_yes_is_one() {
        assert_eq!(read("Y"), Some(Decision::Accept));
        assert_eq!(read(""), Some(Decision::Decline));
        assert_eq!(read("always"), Some(Decision::Remember));
        assert_eq!(read("l"), Some(Decision::Later));
        assert_eq!(read("yeah"), None);
    }
}
