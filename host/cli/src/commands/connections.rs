//! `executor connections`: the credentials of sources.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::api::Api;
use crate::context::Context;
use crate::credentials;
use crate::failure::{Exit, Failure};
use crate::style::Style;
use crate::table::Table;
use crate::text;
use crate::view::{field, joined, list, prose};

/// What a connection is called where no name is given.
const DEFAULT_NAME: &str = "default";

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Add a connection: a credential, and the origins that it may travel to
    Add(AddArguments),
    /// List the connections
    List,
    /// Call a tool that only reads, to see whether the credential works
    Check(NameArguments),
    /// Remove a connection and its values
    Remove(NameArguments),
}

#[derive(Debug, Args)]
pub(crate) struct AddArguments {
    /// The source
    source: String,
    /// The connection's name [default: default]
    #[arg(long)]
    name: Option<String>,
    /// The auth method; repeated where a tool needs several at once
    #[arg(long, value_name = "METHOD")]
    auth: Vec<String>,
    /// Where a value comes from: `VAR=-` is stdin, `VAR=@FILE` a file,
    /// `VAR=env:NAME` the environment; else it is asked for
    #[arg(long, value_name = "VAR=-|@FILE|env:NAME")]
    set: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct NameArguments {
    /// The source
    source: String,
    /// The connection's name
    #[arg(default_value = DEFAULT_NAME)]
    name: String,
}

pub(crate) fn run(context: &Context, action: Action) -> Result<Exit, Failure> {
    match action {
        Action::Add(arguments) => add(context, &arguments),
        Action::List => show_list(context),
        Action::Check(named) => check(context, &named),
        Action::Remove(named) => {
            Api::new(context).delete(&context.path(&["connections", &named.source, &named.name]))?;
            context.output.say(&format!(
                "removed {}/{}",
                text::line(&named.source, 80),
                text::line(&named.name, 80)
            ));
            Ok(Exit::Ok)
        }
    }
}

fn add(context: &Context, arguments: &AddArguments) -> Result<Exit, Failure> {
    let origins = credentials::origins(&arguments.set)?;
    let api = Api::new(context);
    let source = api.get(&context.path(&["sources", &arguments.source]))?.value;
    let methods = credentials::methods(context, &source, &arguments.auth)?;
    let variables = credentials::variables(&methods);
    context.output.say(&pinned(&source));
    let values = credentials::values(context, &variables, &origins)?;
    let ids: Vec<String> = methods.iter().map(|method| field(method, "id")).collect();
    let mut body = json!({ "source": arguments.source, "methods": ids, "variables": values });
    if let Some(name) = &arguments.name {
        body["name"] = json!(name);
    }
    let answer = api.post(&context.path(&["connections"]), &body)?;
    context.output.answer(&answer, added)?;
    let check = context.command(&format!(
        "connections check {} {}",
        field(&answer.value, "source"),
        field(&answer.value, "name")
    ));
    context.output.hint(&format!("`{check}` tries it"));
    Ok(Exit::Ok)
}

/// Where the values may go: shown before they are asked for.
fn pinned(source: &Value) -> String {
    let program = field(&source["command"], "program");
    if !program.is_empty() {
        return format!("The values will be given to the program {program} alone.");
    }
    let origins: Vec<String> = list(source, "origins").iter().map(crate::view::scalar).collect();
    match origins.as_slice() {
        [] => format!("{} names no origin yet: the values go nowhere", field(source, "name")),
        origins => format!("The values will be sent to these origins alone:\n  {}", origins.join("\n  ")),
    }
}

fn added(view: &Value, style: Style) -> String {
    let name = format!("{}/{}", field(view, "source"), field(view, "name"));
    let origins = joined(view, "origins");
    let pinned = if origins.is_empty() { String::new() } else { format!(", pinned to {origins}") };
    format!("added {}: {}{pinned}", style.bold(&name), joined(view, "methods"))
}

fn show_list(context: &Context) -> Result<Exit, Failure> {
    let answer = Api::new(context).list(&context.path(&["connections"]))?;
    if !context.output.json && list(&answer.value, "items").is_empty() {
        context.output.say("there are no connections yet");
        context.output.hint(&format!("add one: `{}`", context.command("connections add SOURCE")));
        return Ok(Exit::Ok);
    }
    context.output.answer(&answer, render_list)?;
    Ok(Exit::Ok)
}

fn render_list(answer: &Value, style: Style) -> String {
    let mut table = Table::new(&["SOURCE", "NAME", "STATE", "METHODS", "ORIGINS"]);
    for item in list(answer, "items") {
        table.row([
            &field(item, "source"),
            &field(item, "name"),
            &field(item, "state"),
            &joined(item, "methods"),
            &joined(item, "origins"),
        ]);
    }
    table.render(style)
}

fn check(context: &Context, named: &NameArguments) -> Result<Exit, Failure> {
    let target = context.path(&["connections", &named.source, &named.name, "check"]);
    let answer = Api::new(context).post(&target, &json!({}))?;
    context.output.answer(&answer, render_check)?;
    Ok(if matches!(answer.value["status"].as_str(), Some("ok" | "unchecked")) {
        Exit::Ok
    } else {
        Exit::Failed
    })
}

fn render_check(check: &Value, style: Style) -> String {
    let status = field(check, "status");
    let mark = match status.as_str() {
        "ok" => style.green("ok"),
        "unchecked" => style.yellow("unchecked"),
        _ => style.red(&status),
    };
    let tool = field(check, "tool");
    let by = if tool.is_empty() { String::new() } else { format!(" ({tool})") };
    format!("{mark}: {}{by}", prose(check, "message"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_shown_before_anything_is_asked() {
        let source = json!({ "name": "github", "origins": ["https://api.github.com", "https://x\u{1b}[2J"] });
        insta::assert_snapshot!(pinned(&source), @r"
        The values will be sent to these origins alone:
          https://api.github.com
          https://x
        ");
    }

    #[test]
    fn connections_are_listed() {
        let answer = json!({ "items": [{ "source": "github", "name": "work", "methods": ["bearer"],
            "variables": ["token"], "origins": ["https://api.github.com"], "state": "ok" }] });
        insta::assert_snapshot!(render_list(&answer, Style::default()), @r"
        SOURCE  NAME  STATE  METHODS  ORIGINS
        github  work  ok     bearer   https://api.github.com
        ");
        let check = json!({ "status": "rejected", "message": "it answered 401", "tool": "github.users.me" });
        assert_eq!(render_check(&check, Style::default()), "rejected: it answered 401 (github.users.me)");
    }
}
