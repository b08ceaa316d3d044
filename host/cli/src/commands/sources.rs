//! `executor sources`: the APIs of a workspace.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use super::source_set::{self, SetSourceArguments};
use crate::api::{Answer, Api};
use crate::context::Context;
use crate::documents::{self, input_body};
use crate::failure::{Exit, Failure};
use crate::style::Style;
use crate::table::{self, Table};
use crate::text;
use crate::view::{field, flag, joined, list, number, prose, scalar, time};
use crate::{auth, hosts, program, reviews, settings};

/// Warnings that are shown; there can be thousands.
const SHOWN_WARNINGS: usize = 5;
/// The code of a program that did not start, or ended.
const PROCESS_FAILED: &str = "process-failed";
/// The code of a host that has to be allowed.
const DENIED_ADDRESS: &str = "denied-address";
/// The code of a request that is larger than the daemon takes.
const TOO_LARGE: &str = "too-large";
/// The kind of what no adapter takes.
const UNKNOWN: &str = "unknown";

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Add an API and index its tools
    Add(AddArguments),
    /// Say what a document or URL is, without adding it
    Detect(DetectArguments),
    /// List the sources
    List,
    /// Show one source: origins, ways to authenticate, warnings
    Show {
        /// The source
        name: String,
    },
    /// Read a source's document again and swap in its tools
    Refresh(RefreshArguments),
    /// Change a source's settings and what it may reach; its connections stay
    Set(SetSourceArguments),
    /// Show the writes that a refresh brought, and say that you have seen them
    ///
    /// Until then each of them asks a person, whatever a rule allows.
    Review(ReviewArguments),
    /// Remove a source with its tools and connections
    Remove {
        /// The sources
        #[arg(required = true)]
        names: Vec<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct AddArguments {
    /// A URL, a file, or `-` for stdin
    #[arg(value_name = "URL|FILE|-", required_unless_present = "command")]
    input: Option<String>,
    /// After `--`: a program of the daemon's machine that is the source, with
    /// its arguments, as `-- npx -y @modelcontextprotocol/server-filesystem /data`
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "input")]
    command: Vec<String>,
    /// Where a variable of the program's environment comes from: `NAME=-` is
    /// stdin, `NAME=@FILE` a file, `NAME=env:NAME` the environment
    #[arg(long, value_name = "NAME=-|@FILE|env:NAME")]
    env: Vec<String>,
    /// Where the program starts; your home by default
    #[arg(long, value_name = "DIRECTORY")]
    directory: Option<PathBuf>,
    /// Its name, which tools are called by; else taken from the document
    #[arg(long)]
    name: Option<String>,
    /// What it is (`openapi`, …), where detection should not decide
    #[arg(long)]
    kind: Option<String>,
    /// A setting of its adapter, as `base_url=https://…`; dots nest, and
    /// numbers, booleans and JSON are taken as such
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// A host on this machine or a private network that it may reach, as
    /// `localhost:4010`
    #[arg(long, value_name = "HOST:PORT")]
    allow_host: Vec<String>,
    /// The directory below which the files lie that a file refers to; else the
    /// file's own
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// One more origin that its tools may be at, as `https://api.example.com`
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,
    /// Believe what it says about its own tools, such as which only read
    #[arg(long)]
    trusted: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DetectArguments {
    /// A URL, a file, or `-` for stdin
    #[arg(value_name = "URL|FILE|-")]
    input: String,
    /// A host on this machine or a private network that may be reached
    #[arg(long, value_name = "HOST:PORT")]
    allow_host: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RefreshArguments {
    /// The sources
    #[arg(required = true)]
    names: Vec<String>,
    /// The newer file of a source that was made from a file, or `-` for stdin
    #[arg(long, value_name = "FILE")]
    from_file: Option<String>,
    /// The directory below which the files lie that it refers to
    #[arg(long, value_name = "DIR", requires = "from_file")]
    root: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ReviewArguments {
    /// The source
    name: String,
    /// Mark them as seen without being asked: a person has seen them
    #[arg(long)]
    yes: bool,
}

pub(crate) fn run(context: &Context, action: Action) -> Result<Exit, Failure> {
    match action {
        Action::Add(arguments) => add(context, &arguments),
        Action::Detect(arguments) => detect(context, &arguments),
        Action::List => show_list(context),
        Action::Show { name } => {
            let answer = Api::new(context).get(&context.path(&["sources", &name]))?;
            context.output.answer(&answer, render_detail)?;
            Ok(Exit::Ok)
        }
        Action::Refresh(arguments) => refresh(context, &arguments),
        Action::Set(arguments) => source_set::run(context, &arguments),
        Action::Review(arguments) => reviews::review(context, &arguments.name, arguments.yes),
        Action::Remove { names } => {
            for name in &names {
                Api::new(context).delete(&context.path(&["sources", name]))?;
                context.output.say(&format!("removed {}", text::line(name, 80)));
            }
            Ok(Exit::Ok)
        }
    }
}

fn add(context: &Context, arguments: &AddArguments) -> Result<Exit, Failure> {
    let body = add_body(context, arguments)?;
    let begun = Instant::now();
    let answer = with_bar(context, |progress| {
        Api::new(context).post_with_progress(&context.path(&["sources"]), &body, progress)
    });
    let answer = answer.map_err(|failure| explained(failure, arguments))?;
    if context.output.json {
        context.output.print_json(&answer.value)?;
        return Ok(Exit::Ok);
    }
    let source = &answer.value["source"];
    let elapsed = answer.value["elapsed_ms"].as_u64().unwrap_or_else(|| milliseconds(begun));
    for note in list(&answer.value, "notes") {
        context.output.say(&scalar(note));
    }
    context.output.print(&added_line(source, elapsed, context.output.data))?;
    tell_warnings(context, source);
    hosts::tell(context, source);
    tell_next(context, &answer.value);
    Ok(Exit::Ok)
}

/// A failure to add a source, with what the command line tells of its cause.
fn explained(failure: Failure, arguments: &AddArguments) -> Failure {
    match failure.code() {
        Some(PROCESS_FAILED) => {
            match program::misplaced(&arguments.command, arguments.directory.as_deref()) {
                Some(hint) => failure.hint(hint),
                None => failure,
            }
        }
        Some(TOO_LARGE) => failure.hint(documents::STALE_HINT),
        Some(DENIED_ADDRESS) => {
            let values = arguments.settings.iter().filter_map(|setting| Some(setting.split_once('=')?.1));
            let urls = arguments.input.as_deref().into_iter().chain(values);
            let missing = hosts::missing(urls, &arguments.allow_host);
            if missing.len() < 2 {
                return failure;
            }
            failure.hint(format!("you named several such hosts, which are: {}", hosts::options(&missing)))
        }
        _ => failure,
    }
}

fn milliseconds(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX)
}

fn add_body(context: &Context, arguments: &AddArguments) -> Result<Value, Failure> {
    let mut body = match &arguments.input {
        Some(_) if !arguments.env.is_empty() || arguments.directory.is_some() => {
            return Err(Failure::usage(
                "--env and --directory are for a program after `--`, and none is given",
            )
            .hint("the values of other sources belong to a connection: `executor connections add`"));
        }
        Some(input) => input_body(input, arguments.root.as_deref(), documents::limit_bytes(context)?)?,
        None => program::body(context, &arguments.command, arguments.directory.as_deref(), &arguments.env)?,
    };
    let mut put = |name: &str, value: Value| body.insert(name.to_owned(), value);
    if let Some(name) = &arguments.name {
        put("name", json!(name));
    }
    if let Some(kind) = &arguments.kind {
        put("kind", json!(kind));
    }
    if !arguments.settings.is_empty() {
        put("settings", settings::nested(&arguments.settings)?);
    }
    if !arguments.allow_host.is_empty() {
        put("allow_hosts", json!(arguments.allow_host));
    }
    if !arguments.allow_origin.is_empty() {
        put("allow_origins", json!(arguments.allow_origin));
    }
    if arguments.trusted {
        put("trusted", json!(true));
    }
    Ok(Value::Object(body))
}

/// Runs `work` with a bar on the terminal, where there is one.
pub(crate) fn with_bar(
    context: &Context,
    work: impl FnOnce(&mut dyn FnMut(&Value)) -> Result<Answer, Failure>,
) -> Result<Answer, Failure> {
    if !context.output.progress {
        return work(&mut |_| {});
    }
    let bar = ProgressBar::new_spinner();
    bar.set_style(bar_style("{spinner} {msg}"));
    bar.enable_steady_tick(Duration::from_millis(100));
    let mut measured = false;
    let outcome = work(&mut |progress| {
        if let Some(total) = progress["total"].as_u64().filter(|&total| total > 0) {
            if !measured {
                bar.set_style(bar_style("{spinner} {msg} {wide_bar} {human_pos}/{human_len}"));
                measured = true;
            }
            bar.set_length(total);
            bar.set_position(number(progress, "done"));
        }
        bar.set_message(text::line(&field(progress, "what"), 60));
    });
    bar.finish_and_clear();
    outcome
}

fn bar_style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates are constants")
}

fn added_line(source: &Value, elapsed_ms: u64, style: Style) -> String {
    let title = field(source, "title");
    let version = field(source, "version");
    let about = match (title.is_empty(), version.is_empty()) {
        (true, _) => String::new(),
        (false, true) => format!(" ({title})"),
        (false, false) => format!(" ({title} {version})"),
    };
    let warnings = match number(source, "warning_count") {
        0 => String::new(),
        count => format!(", {}", text::counted(count, "warning")),
    };
    format!(
        "added {}: {}, {}{about}{warnings}, {}",
        style.bold(&field(source, "name")),
        field(source, "kind"),
        text::counted(number(source, "tool_count"), "tool"),
        text::duration(elapsed_ms),
    )
}

fn tell_warnings(context: &Context, source: &Value) {
    let warnings = list(source, "warnings");
    for warning in warnings.iter().take(SHOWN_WARNINGS) {
        context.output.warn(&warning_line(warning));
    }
    let total = number(source, "warning_count").max(warnings.len() as u64);
    let shown = warnings.len().min(SHOWN_WARNINGS) as u64;
    if total > shown && shown > 0 {
        let name = field(source, "name");
        let show = context.command(&format!("sources show {name}"));
        context.output.say(&format!("… and {} more: {show}", text::count(total - shown)));
    }
}

fn warning_line(warning: &Value) -> String {
    let tool = field(warning, "tool");
    let place = if tool.is_empty() { String::new() } else { format!("{tool}: ") };
    format!("{place}{} ({})", text::line(&field(warning, "message"), 300), field(warning, "code"))
}

/// What to do now, as the daemon says.
fn tell_next(context: &Context, added: &Value) {
    let lines: Vec<String> = list(added, "next").iter().map(scalar).collect();
    if !lines.is_empty() {
        context.output.say(&format!("\n{}", lines.join("\n")));
    }
}

fn detect(context: &Context, arguments: &DetectArguments) -> Result<Exit, Failure> {
    let mut body = input_body(&arguments.input, None, documents::limit_bytes(context)?)?;
    if !arguments.allow_host.is_empty() {
        body.insert("allow_hosts".into(), json!(arguments.allow_host));
    }
    let answer = Api::new(context).post(&context.path(&["sources", "detect"]), &Value::Object(body))?;
    context.output.answer(&answer, render_detections)?;
    let is_known = |item: &Value| field(item, "kind") != UNKNOWN;
    Ok(if list(&answer.value, "items").iter().any(is_known) { Exit::Ok } else { Exit::Failed })
}

fn render_detections(answer: &Value, style: Style) -> String {
    let rendered: Vec<String> =
        list(answer, "items").iter().map(|item| render_detection(item, style)).collect();
    rendered.join("\n")
}

fn render_detection(item: &Value, style: Style) -> String {
    let auth: Vec<String> = list(item, "auth").iter().map(auth_hint).collect();
    let facts = [
        ("kind", style.bold(&field(item, "kind"))),
        ("confidence", format!("{}%", number(item, "confidence"))),
        ("name", field(item, "suggested_name")),
        ("title", field(item, "title")),
        ("document", field(item, "document_url")),
        ("auth", auth.join(", ")),
        ("transport", field(item, "transport")),
        ("protocol", field(item, "protocol")),
    ];
    let mut rendered = table::facts(&facts, style);
    for warning in list(item, "warnings") {
        rendered.push_str(&format!("{} {}\n", style.yellow("warning:"), scalar(warning)));
    }
    rendered
}

fn auth_hint(hint: &Value) -> String {
    match (field(hint, "kind"), field(hint, "label")) {
        (kind, label) if label.is_empty() => kind,
        (kind, label) => format!("{kind} ({label})"),
    }
}

fn show_list(context: &Context) -> Result<Exit, Failure> {
    let answer = Api::new(context).list(&context.path(&["sources"]))?;
    if !context.output.json && list(&answer.value, "items").is_empty() {
        context.output.say("there are no sources yet");
        let command = context.command("sources add https://…/openapi.json");
        context.output.hint(&format!("add one: `{command}`"));
        return Ok(Exit::Ok);
    }
    context.output.answer(&answer, render_list)?;
    Ok(Exit::Ok)
}

fn render_list(answer: &Value, style: Style) -> String {
    let mut table = Table::new(&["NAME", "KIND", "TOOLS", "WARNINGS", "CONNECTIONS", "TITLE"]);
    for item in list(answer, "items") {
        table.row([
            &field(item, "name"),
            &field(item, "kind"),
            &text::count(number(item, "tool_count")),
            &text::count(number(item, "warning_count")),
            &text::count(number(item, "connections")),
            &field(item, "title"),
        ]);
    }
    table.render(style)
}

fn render_detail(source: &Value, style: Style) -> String {
    let trusted = if flag(source, "trusted") { "yes" } else { "" };
    let settings = match &source["settings"] {
        Value::Object(settings) if !settings.is_empty() => text::compact_json(&source["settings"]),
        _ => String::new(),
    };
    let document = match list(source, "document_files") {
        [] => field(source, "document_url"),
        [own] => scalar(own),
        [own, rest @ ..] => format!("{} and {}", scalar(own), text::counted(rest.len() as u64, "file")),
    };
    let unreviewed = match number(source, "unreviewed") {
        0 => String::new(),
        count => {
            format!("{}: executor sources review {}", text::counted(count, "write"), field(source, "name"))
        }
    };
    let facts = [
        ("name", style.bold(&field(source, "name"))),
        ("title", field(source, "title")),
        ("version", field(source, "version")),
        ("kind", field(source, "kind")),
        ("adapter", field(source, "adapter")),
        ("document", document),
        ("command", program::line(&source["command"])),
        ("directory", field(&source["command"], "directory")),
        ("tools", text::count(number(source, "tool_count"))),
        ("transport", field(source, "transport")),
        ("protocol", field(source, "protocol")),
        ("origins", joined(source, "origins")),
        ("allowed hosts", joined(source, "allowed_hosts")),
        ("trusted", trusted.to_owned()),
        ("settings", settings),
        ("connections", joined(source, "connection_names")),
        ("added", time(source, "created_at")),
        ("refreshed", time(source, "refreshed_at")),
        ("unreviewed", unreviewed),
    ];
    let mut rendered = table::facts(&facts, style);
    let methods = list(source, "auth_methods");
    if !methods.is_empty() {
        rendered.push_str(&format!("\n{}", auth::render(methods, style)));
    }
    let warnings = list(source, "warnings");
    if !warnings.is_empty() {
        rendered.push('\n');
    }
    for warning in warnings {
        rendered.push_str(&format!("{} {}\n", style.yellow("warning:"), warning_line(warning)));
    }
    let missing = number(source, "warning_count").saturating_sub(warnings.len() as u64);
    if missing > 0 && !warnings.is_empty() {
        rendered.push_str(&format!("… and {} more\n", text::count(missing)));
    }
    rendered
}

fn refresh(context: &Context, arguments: &RefreshArguments) -> Result<Exit, Failure> {
    if arguments.from_file.is_some() && arguments.names.len() > 1 {
        return Err(Failure::usage("--from-file is for one source").hint("refresh them one by one"));
    }
    let document = arguments.from_file.as_deref();
    let limit_bytes = documents::limit_bytes(context)?;
    let document =
        document.map(|file| documents::document(file, arguments.root.as_deref(), limit_bytes)).transpose()?;
    let body = document.map_or_else(|| json!({}), |document| json!({ "document": document }));
    for name in &arguments.names {
        let target = context.path(&["sources", name, "refresh"]);
        let answer =
            with_bar(context, |progress| Api::new(context).post_with_progress(&target, &body, progress))?;
        context.output.answer(&answer, render_refreshed)?;
        let origins = joined(&answer.value, "new_origins");
        if !origins.is_empty() {
            context
                .output
                .warn(&format!("the document now names origins that no connection allows: {origins}"));
            let command = context.command(&format!("connections add {} …", text::line(name, 80)));
            context.output.hint(&format!("add the connection again to allow them: `{command}`"));
        }
        reviews::tell(context, &answer.value);
        tell_warnings(context, &answer.value["source"]);
    }
    Ok(Exit::Ok)
}

fn render_refreshed(answer: &Value, style: Style) -> String {
    let source = &answer["source"];
    let mut rendered = format!(
        "refreshed {}: {}\n",
        style.bold(&field(source, "name")),
        text::counted(number(source, "tool_count"), "tool")
    );
    for (sign, name) in [("+", "added"), ("-", "removed"), ("~", "changed")] {
        let tools = list(answer, name);
        for tool in tools.iter().take(20) {
            rendered.push_str(&format!("  {sign} {}\n", scalar(tool)));
        }
        if tools.len() > 20 {
            rendered.push_str(&format!("  {sign} … and {} more {name}\n", tools.len() - 20));
        }
    }
    let error = prose(answer, "message");
    rendered + &error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Globals;
    use crate::environment::Environment;

    fn source() -> Value {
        json!({
            "name": "github", "kind": "openapi", "title": "GitHub v3 \u{1b}[31mREST API", "version": "1.1.4",
            "tool_count": 1223, "warning_count": 7, "adapter": "openapi", "created_at": "2030-01-02T03:04:05Z",
            "connections": 1, "connection_names": ["work"], "origins": ["https://api.github.com"], "settings": {},
            "auth_methods": [{ "id": "bearer", "kind": "http-bearer", "label": "Token",
                "places": [{ "in": "header", "name": "Authorization" }], "variables": [{ "name": "token", "label": "Token", "secret": true }] }],
            "warnings": [{ "tool": "github.a", "code": "input-schema", "message": "line\nbreak" }]
        })
    }

    #[test]
    fn what_was_added_is_one_line() {
        insta::assert_snapshot!(
            added_line(&source(), 1_250, Style::default()),
            @"added github: openapi, 1,223 tools (GitHub v3 REST API 1.1.4), 7 warnings, 1.2 s"
        );
    }

    #[test]
    fn what_was_detected_is_shown_in_full() {
        let answer = json!({ "items": [{
            "kind": "unknown", "confidence": 0, "suggested_name": "example",
            "document_url": "https://api.example.com/", "transport": "http",
            "auth": [{ "kind": "http-basic", "label": "user name and password" }, { "kind": "oauth2", "label": "" }],
            "warnings": ["https://api.example.com/ answered 401\u{1b}[2J"]
        }] });
        insta::assert_snapshot!(render_detections(&answer, Style::default()), @r"
        kind        unknown
        confidence  0%
        name        example
        document    https://api.example.com/
        auth        http-basic (user name and password), oauth2
        transport   http
        warning: https://api.example.com/ answered 401
        ");
    }

    #[test]
    fn a_source_is_shown() {
        insta::assert_snapshot!(render_detail(&source(), Style::default()), @r"
        name         github
        title        GitHub v3 REST API
        version      1.1.4
        kind         openapi
        adapter      openapi
        tools        1,223
        origins      https://api.github.com
        connections  work
        added        2030-01-02 03:04:05

        AUTH METHOD  KIND         ASKS FOR  GOES INTO             LABEL
        bearer       http-bearer  token     header Authorization  Token

        warning: github.a: line break (input-schema)
        … and 6 more
        ");
    }

    #[test]
    fn a_refresh_says_what_changed() {
        let answer = json!({ "source": source(), "added": ["a.b"], "removed": [], "changed": ["a.c"] });
        insta::assert_snapshot!(render_refreshed(&answer, Style::default()), @r"
        refreshed github: 1,223 tools
          + a.b
          ~ a.c
        ");
    }

    #[test]
    fn a_request_says_what_was_given() {
        let arguments = AddArguments {
            input: Some("https://x".into()),
            command: vec![],
            env: vec![],
            directory: None,
            name: Some("n".into()),
            kind: None,
            settings: vec!["base_url=https://y".into(), "limits.rate=3".into()],
            root: None,
            allow_host: vec!["localhost:1".into()],
            allow_origin: vec![],
            trusted: true,
        };
        let user = Environment { user_home: Some("/u".into()), ..Environment::default() };
        let context = Context::new(&Globals::default(), user).unwrap();
        assert_eq!(
            add_body(&context, &arguments).unwrap(),
            json!({
                "url": "https://x", "name": "n", "settings": { "base_url": "https://y", "limits": { "rate": 3 } },
                "allow_hosts": ["localhost:1"], "trusted": true
            })
        );
    }
}
