//! `executor connections`: the credentials of sources.

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::api::{Answer, Api};
use crate::auth;
use crate::authorize::{self, OauthArguments};
use crate::context::Context;
use crate::credentials::{self, Given};
use crate::failure::{Exit, Failure};
use crate::methods::{self, Said};
use crate::style::Style;
use crate::table::Table;
use crate::text;
use crate::view::{field, flag, joined, list, prose};

/// What a connection is called where no name is given.
const DEFAULT_NAME: &str = "default";

/// The value by which a person who has a token connects without signing in.
const TOKEN: &str = "token";

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Add a connection: a credential, and the origins that it may travel to
    Add(Box<AddArguments>),
    /// List the connections
    List,
    /// Show one connection: where its values go, and what it was authorized for
    Show(NameArguments),
    /// Call a tool that only reads, to see whether the credential works
    Check(NameArguments),
    /// Give a connection other values, as after a key was rotated
    Set(SetArguments),
    /// Authorize a connection again, as it is pinned
    Authorize(Box<AuthorizeArguments>),
    /// Remove a connection and its values, and revoke its tokens
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
    #[command(flatten)]
    values: ValueArguments,
    #[command(flatten)]
    oauth: OauthArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ValueArguments {
    /// Where a value comes from: `VAR=-` is stdin, `VAR=@FILE` a file,
    /// `VAR=env:NAME` the environment; else it is asked for
    #[arg(long, value_name = "VAR=-|@FILE|env:NAME")]
    set: Vec<String>,
    /// Where the value comes from, as `env:NAME` or `file:PATH`; it is read now
    /// and kept sealed
    #[arg(long, value_name = "[VAR=]env:NAME|file:PATH")]
    from: Vec<String>,
}

impl ValueArguments {
    fn given(&self) -> Result<Given, Failure> {
        Given::read(&self.set, &self.from)
    }
}

#[derive(Debug, Args)]
pub(crate) struct SetArguments {
    #[command(flatten)]
    named: NameArguments,
    #[command(flatten)]
    values: ValueArguments,
}

#[derive(Debug, Args)]
pub(crate) struct AuthorizeArguments {
    #[command(flatten)]
    named: NameArguments,
    #[command(flatten)]
    oauth: OauthArguments,
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
        Action::Show(named) => {
            let answer = Answer { value: find(context, &named)? };
            context.output.answer(&answer, auth::render_connection)?;
            Ok(Exit::Ok)
        }
        Action::Check(named) => check(context, &named),
        Action::Set(arguments) => set(context, &arguments),
        Action::Authorize(arguments) => authorize_again(context, &arguments),
        Action::Remove(named) => {
            Api::new(context).delete(&context.path(&["connections", &named.source, &named.name]))?;
            context.output.say(&format!("removed {}", shown(&named.source, &named.name)));
            Ok(Exit::Ok)
        }
    }
}

fn add(context: &Context, arguments: &AddArguments) -> Result<Exit, Failure> {
    let mut given = arguments.values.given()?;
    let source = Api::new(context).get(&context.path(&["sources", &arguments.source]))?.value;
    let said = Said { named: &arguments.auth, values: &given, oauth: arguments.oauth.is_given() };
    let chosen = methods::chosen(context, &source, said)?;
    let ids: Vec<String> = chosen.iter().map(|method| field(method, "id")).collect();
    let mut body = json!({ "source": arguments.source, "methods": ids });
    if let Some(name) = &arguments.name {
        body["name"] = json!(name);
    }
    let by_oauth = |method: &&Value| method["oauth"] == true;
    let has_token = given.has(TOKEN) || (chosen.len() == 1 && !given.is_empty());
    let answer = if chosen.iter().any(by_oauth) && !has_token {
        let others: Vec<&Value> = chosen.iter().copied().filter(|method| !by_oauth(method)).collect();
        body["variables"] = json!(values(context, &others, &mut given)?);
        authorize::run(context, body, &arguments.oauth)?
    } else {
        if arguments.oauth.is_given() {
            return Err(Failure::usage("this connection is made of values, and not by OAuth")
                .hint("leave out the flags of OAuth, or choose another method with --auth"));
        }
        context.output.say(&pinned(&source));
        body["variables"] = json!(values(context, &chosen, &mut given)?);
        Api::new(context).post(&context.path(&["connections"]), &body)?
    };
    context.output.answer(&answer, added)?;
    tell_grant(context, &answer.value);
    tell_index(context, &answer.value);
    hint_check(context, &answer.value);
    Ok(Exit::Ok)
}

/// What of an authorization is less than was asked for.
fn tell_grant(context: &Context, connection: &Value) {
    let oauth = &connection["oauth"];
    let missing = joined(oauth, "missing_scopes");
    if !missing.is_empty() {
        context.output.warn(&format!("the server did not grant: {missing}"));
    }
    if oauth["refreshable"] == false {
        context
            .output
            .warn("the server gave nothing to refresh its tokens with: once they end you sign in again");
    }
}

/// The values that these methods ask for.
fn values(
    context: &Context,
    methods: &[&Value],
    given: &mut Given,
) -> Result<BTreeMap<String, String>, Failure> {
    let variables = methods::variables(methods);
    given.assign(&variables)?;
    credentials::values(context, methods, &variables, given)
}

/// A connection's name, with its source's before it.
fn shown(source: &str, name: &str) -> String {
    format!("{}/{}", text::line(source, 80), text::line(name, 80))
}

/// What came of indexing the source, where it went wrong.
fn tell_index(context: &Context, connection: &Value) {
    let problem = &connection["indexed"]["problem"];
    if problem.is_object() {
        context.output.warn(&format!("{} ({})", prose(problem, "message"), field(problem, "code")));
        let hint = field(problem, "hint");
        if !hint.is_empty() {
            context.output.hint(&hint);
        }
    }
}

/// How many tools the source has since it was indexed with the connection.
fn indexed(view: &Value) -> String {
    match view["indexed"]["tool_count"].as_u64() {
        Some(count) => format!("; {} has {}", field(view, "source"), text::counted(count, "tool")),
        None => String::new(),
    }
}

fn hint_check(context: &Context, connection: &Value) {
    let check = context.command(&format!(
        "connections check {} {}",
        field(connection, "source"),
        field(connection, "name")
    ));
    context.output.hint(&format!("`{check}` tries it"));
}

fn set(context: &Context, arguments: &SetArguments) -> Result<Exit, Failure> {
    let named = &arguments.named;
    let mut given = arguments.values.given()?;
    let connection = find(context, named)?;
    if connection["oauth"].is_object() && list(&connection, "variables").is_empty() {
        let authorize = context.command(&format!("connections authorize {} {}", named.source, named.name));
        return Err(Failure::usage(format!(
            "{} was made by signing in, and has no values to set",
            shown(&named.source, &named.name)
        ))
        .hint(format!("`{authorize}` signs in again")));
    }
    let (methods, variables) = settable(&connection);
    given.assign(&variables)?;
    credentials::check_names(&variables, &given)?;
    let wanted = variables.into_iter().filter(|one| given.is_empty() || given.has(&one.name));
    let values = credentials::values(context, &methods, &wanted.collect::<Vec<_>>(), &given)?;
    let target = context.path(&["connections", &named.source, &named.name, "values"]);
    let answer = Api::new(context).post(&target, &json!({ "variables": values }))?;
    context.output.answer(&answer, |view, style| {
        format!(
            "{} has its new values{}",
            style.bold(&format!("{}/{}", field(view, "source"), field(view, "name"))),
            indexed(view)
        )
    })?;
    tell_index(context, &answer.value);
    hint_check(context, &answer.value);
    Ok(Exit::Ok)
}

/// The methods of a connection whose values can be replaced, and those values:
/// as it is pinned, whatever its source says by now.
fn settable(connection: &Value) -> (Vec<&Value>, Vec<credentials::Variable>) {
    let signed_in = connection["oauth"].is_object();
    let methods = list(connection, "auth").iter().filter(|method| !(signed_in && flag(method, "oauth")));
    let methods: Vec<&Value> = methods.collect();
    let variables = methods::variables(&methods);
    (methods, variables)
}

/// A connection as it is listed.
fn find(context: &Context, named: &NameArguments) -> Result<Value, Failure> {
    let all = Api::new(context).list(&context.path(&["connections"]))?.value;
    let is = |item: &&Value| field(item, "source") == named.source && field(item, "name") == named.name;
    list(&all, "items").iter().find(is).cloned().ok_or_else(|| {
        Failure::usage(format!("there is no connection {}", shown(&named.source, &named.name)))
            .hint(format!("`{}` shows those that there are", context.command("connections list")))
    })
}

fn authorize_again(context: &Context, arguments: &AuthorizeArguments) -> Result<Exit, Failure> {
    let NameArguments { source, name } = &arguments.named;
    let body = json!({ "source": source, "name": name, "again": true });
    let answer = authorize::run(context, body, &arguments.oauth)?;
    context.output.answer(&answer, |view, style| {
        let name = format!("{}/{}", field(view, "source"), field(view, "name"));
        format!("authorized {}: {}{}", style.bold(&name), joined(&view["oauth"], "scopes"), indexed(view))
    })?;
    tell_grant(context, &answer.value);
    tell_index(context, &answer.value);
    hint_check(context, &answer.value);
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
    format!("added {}: {}{pinned}{}", style.bold(&name), joined(view, "methods"), indexed(view))
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
    let (tool, message) = (field(check, "tool"), prose(check, "message"));
    let by = if tool.is_empty() || message.contains(&tool) { String::new() } else { format!(" ({tool})") };
    format!("{mark}: {message}{by}")
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
    fn what_came_of_an_index_is_told() {
        let mut view =
            json!({ "source": "shop", "name": "default", "methods": ["bearer"], "origins": ["https://x"] });
        let line = |view: &Value| added(view, Style::default());
        assert_eq!(line(&view), "added shop/default: bearer, pinned to https://x");
        view["indexed"] = json!({ "tool_count": 12 });
        assert_eq!(line(&view), "added shop/default: bearer, pinned to https://x; shop has 12 tools");
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
