//! `executor policies`: which tools are allowed, ask first, or are blocked.

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use crate::api::Api;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::style::Style;
use crate::table::{self, Table};
use crate::text;
use crate::view::{field, flag, list, prose};

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// List the rules in the order in which they are tried
    List,
    /// Add a rule
    Add(AddArguments),
    /// Remove a rule
    Remove {
        /// The rule
        id: String,
    },
    /// Say what would happen to a call, and which rule decides
    Test(TestArguments),
}

#[derive(Debug, Args)]
pub(crate) struct AddArguments {
    /// Which tools: `github.issues.create`, `github.*` for all below, `*` for all
    pattern: String,
    /// What happens to their calls
    action: Verdict,
    /// Where the rule stands: the stricter of all levels wins
    #[arg(long)]
    level: Option<Level>,
    /// For one connection alone: SOURCE/NAME
    #[arg(long, value_name = "SOURCE/NAME")]
    connection: Option<String>,
    /// Its place among the rules of its level, from 0; else above what would
    /// keep it from ever being reached
    #[arg(long)]
    position: Option<i64>,
    /// Why it is there
    #[arg(long)]
    note: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Verdict {
    /// The call goes through
    Allow,
    /// A person is asked first
    Approve,
    /// The call is refused, and search does not find the tool
    Block,
}

impl Verdict {
    fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Approve => "approve",
            Self::Block => "block",
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Level {
    Organization,
    Workspace,
    Connection,
}

impl Level {
    fn as_str(self) -> &'static str {
        match self {
            Self::Organization => "organization",
            Self::Workspace => "workspace",
            Self::Connection => "connection",
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct TestArguments {
    /// The tool's path
    path: String,
    /// The connection that would be used
    #[arg(long, value_name = "NAME")]
    connection: Option<String>,
}

pub(crate) fn run(context: &Context, action: Action) -> Result<Exit, Failure> {
    match action {
        Action::List => show_list(context),
        Action::Add(arguments) => {
            let answer = Api::new(context).post(&context.path(&["policies"]), &add_body(&arguments))?;
            context.output.answer(&answer, |view, style| format!("added {}", one_line(view, style)))?;
            Ok(Exit::Ok)
        }
        Action::Remove { id } => {
            Api::new(context).delete(&context.path(&["policies", &id]))?;
            context.output.say(&format!("removed {}", text::line(&id, 80)));
            Ok(Exit::Ok)
        }
        Action::Test(arguments) => {
            let mut body = json!({ "path": arguments.path });
            if let Some(connection) = &arguments.connection {
                body["connection"] = json!(connection);
            }
            let answer = Api::new(context).post(&context.path(&["policies", "test"]), &body)?;
            context.output.answer(&answer, render_test)?;
            Ok(Exit::Ok)
        }
    }
}

fn add_body(arguments: &AddArguments) -> Value {
    let mut body = json!({ "pattern": arguments.pattern, "action": arguments.action.as_str() });
    if let Some(level) = arguments.level {
        body["level"] = json!(level.as_str());
    }
    if let Some(connection) = &arguments.connection {
        body["connection"] = json!(connection);
    }
    if let Some(position) = arguments.position {
        body["position"] = json!(position);
    }
    if let Some(note) = &arguments.note {
        body["note"] = json!(note);
    }
    body
}

fn show_list(context: &Context) -> Result<Exit, Failure> {
    let answer = Api::new(context).list(&context.path(&["policies"]))?;
    if !context.output.json && list(&answer.value, "items").is_empty() {
        context.output.say("there are no rules: what only reads is allowed, what writes asks first");
        return Ok(Exit::Ok);
    }
    context.output.answer(&answer, render_list)?;
    Ok(Exit::Ok)
}

fn render_list(answer: &Value, style: Style) -> String {
    let mut table = Table::new(&["ID", "LEVEL", "PATTERN", "ACTION", "PINNED", "CONNECTION", "NOTE"]);
    for item in list(answer, "items") {
        let pinned = if flag(item, "pinned") { "yes" } else { "" };
        table.row([
            &field(item, "id"),
            &field(item, "level"),
            &field(item, "pattern"),
            &field(item, "action"),
            pinned,
            &field(item, "connection"),
            &field(item, "note"),
        ]);
    }
    table.render(style)
}

fn one_line(view: &Value, style: Style) -> String {
    let (id, level) = (field(view, "id"), field(view, "level"));
    format!("{}: {} {} ({level})", style.bold(&id), field(view, "action"), field(view, "pattern"))
}

fn render_test(test: &Value, style: Style) -> String {
    let action = field(test, "action");
    let shown = match action.as_str() {
        "allow" => style.green("allow"),
        "block" => style.red("block"),
        other => style.yellow(other),
    };
    let rule = match &test["rule"] {
        Value::Object(_) => one_line(&test["rule"], Style::default()),
        other => crate::view::scalar(other),
    };
    let facts = [
        ("tool", field(test, "path")),
        ("decision", shown),
        ("rule", rule),
        ("because", prose(test, "reason")),
    ];
    let mut rendered = table::facts(&facts, style);
    for level in list(test, "levels") {
        let action = field(level, "action");
        let said = if action.is_empty() { "says nothing".to_owned() } else { action };
        let rule = match &level["rule"] {
            Value::Object(_) => field(&level["rule"], "id"),
            other => crate::view::scalar(other),
        };
        let by = if rule.is_empty() { String::new() } else { format!(" by {rule}") };
        rendered.push_str(&format!("  {}: {said}{by}\n", field(level, "level")));
    }
    rendered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_says_who_decides() {
        let test = json!({
            "path": "github.issues.create", "action": "block", "reason": "the organization is stricter",
            "rule": { "id": "pol_1", "level": "organization", "pattern": "github.*", "action": "block" },
            "levels": [{ "level": "organization", "action": "block", "rule": "pol_1" }, { "level": "workspace" }]
        });
        insta::assert_snapshot!(render_test(&test, Style::default()), @r"
        tool      github.issues.create
        decision  block
        rule      pol_1: block github.* (organization)
        because   the organization is stricter
          organization: block by pol_1
          workspace: says nothing
        ");
    }
}
