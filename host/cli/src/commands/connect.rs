//! `executor connect`: executor in the configuration of MCP clients.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use crate::connect::change::{self, Outcome, Seat, Wish};
use crate::connect::clients::{CLIENTS, Client, Places, Platform};
use crate::connect::detection::detect;
use crate::connect::document::Document;
use crate::connect::edit::Spot;
use crate::connect::entry::{self, DEFAULT_NAME, Shape};
use crate::connect::{clients, record, token};
use crate::context::Context;
use crate::environment;
use crate::failure::{Exit, Failure};
use crate::output::error_text;
use crate::style::Style;
use crate::table::Table;
use crate::text;
use crate::view::field;

/// The client that an entry is printed for where none is named.
const ANY_CLIENT: &str = "mcp-client";

#[derive(Debug, Args)]
pub(crate) struct ConnectArguments {
    /// Which: claude-code, claude-desktop, cursor, vscode, vscode-insiders,
    /// vscodium, codex, opencode, zed, windsurf; without one they are listed
    clients: Vec<String>,
    /// All that are on this machine
    #[arg(long, conflicts_with = "clients")]
    all: bool,
    /// Change the project in this directory, not the user's configuration
    #[arg(long)]
    project: bool,
    /// The entry's name
    #[arg(long, default_value = DEFAULT_NAME)]
    name: String,
    /// Tools that the client reaches, as `github.*`; repeated; else all
    #[arg(long, value_name = "PATTERN", value_delimiter = ',')]
    tools: Vec<String>,
    /// Make the client's token anew
    #[arg(long)]
    rotate: bool,
    /// Print the entry to paste it, and change nothing
    #[arg(long, conflicts_with_all = ["all", "rotate", "remove", "tools"])]
    print: bool,
    /// Take the entry out again and revoke its token
    #[arg(long, conflicts_with_all = ["rotate", "tools"])]
    remove: bool,
    /// Make the change without asking
    #[arg(long, short)]
    yes: bool,
}

pub(crate) fn run(context: &Context, arguments: &ConnectArguments) -> Result<Exit, Failure> {
    entry::check_name(&arguments.name)?;
    let places = Places::new(&context.environment, Platform::own())?;
    let project = match arguments.project {
        true => Some(environment::current_directory().map_err(|error| {
            Failure::usage(format!("the directory that this is typed in can't be told: {error}"))
        })?),
        false => None,
    };
    if arguments.print {
        return print(context, arguments, &places, project);
    }
    let chosen = chosen(context, arguments, &places)?;
    if chosen.is_empty() && !arguments.all {
        if arguments.remove || arguments.rotate || !arguments.tools.is_empty() {
            return Err(Failure::usage("no client is named").hint("name one or several, or give --all"));
        }
        return show_list(context, arguments, &places, project);
    }
    if chosen.is_empty() {
        return Err(Failure::failed("no client was found on this machine")
            .hint(format!("`{}` says what was looked for", context.command("connect"))));
    }
    each(context, arguments, &places, project, &chosen)
}

/// The clients that are meant, each once.
fn chosen(
    context: &Context,
    arguments: &ConnectArguments,
    places: &Places,
) -> Result<Vec<&'static Client>, Failure> {
    if arguments.all {
        let search = context.environment.search_path.as_deref();
        return Ok(CLIENTS.iter().filter(|client| detect(client, places, search).is_some()).collect());
    }
    let mut chosen: Vec<&'static Client> = Vec::new();
    for name in &arguments.clients {
        let client = Client::named(name)?;
        if !chosen.iter().any(|other| other.id == client.id) {
            chosen.push(client);
        }
    }
    Ok(chosen)
}

/// One after the other: what goes wrong with one does not keep the others
/// from being changed.
fn each(
    context: &Context,
    arguments: &ConnectArguments,
    places: &Places,
    project: Option<PathBuf>,
    chosen: &[&'static Client],
) -> Result<Exit, Failure> {
    let project = project.as_deref();
    let wish = Wish { tools: &arguments.tools, rotate: arguments.rotate, yes: arguments.yes };
    let (mut items, mut exit) = (Vec::new(), Exit::Ok);
    let mut failed = |failure: &Failure| {
        context.output.tell(&error_text(&failure.message, &failure.hints, context.output.talk));
        if exit == Exit::Ok {
            exit = failure.exit;
        }
    };
    for client in chosen {
        let done = Seat::new(context, places, client, &arguments.name, project).and_then(|seat| {
            let outcome = match arguments.remove {
                true => change::remove(context, &seat, wish.yes),
                false => change::connect(context, &seat, &wish),
            }?;
            Ok((seat, outcome))
        });
        match done {
            Ok((seat, outcome)) => {
                items.push(outcome.json(&seat));
                if !context.output.json {
                    context.output.print(&told(&seat, &outcome, places, context.output.data))?;
                }
                match &outcome.failure {
                    Some(failure) => failed(failure),
                    None if outcome.status == "connected" => hints(context, &seat, project.is_some()),
                    None => {}
                }
            }
            Err(failure) => {
                items.push(json!({
                    "client": client.id, "status": "failed", "error": { "message": failure.message }
                }));
                failed(&failure);
            }
        }
    }
    if context.output.json {
        context.output.print_json(&json!({ "items": items }))?;
    }
    Ok(exit)
}

fn told(seat: &Seat<'_>, outcome: &Outcome, places: &Places, style: Style) -> String {
    let title = style.bold(seat.client.title);
    let file = text::clean(&places.shown(&seat.path)).into_owned();
    let mut told = match outcome.status {
        "connected" => format!("connected {title}: `{}` in {file}", seat.spot.name),
        "already-connected" => format!("already connected {title}: `{}` in {file}", seat.spot.name),
        "removed" => format!("removed `{}` of {title} from {file}; its token is revoked", seat.spot.name),
        "restored" => format!("{title} is as it was: {file}"),
        _ => format!("{title} is not connected: there is no `{}` in {file}", seat.spot.name),
    };
    if outcome.rotated {
        told.push_str("\n  its token was made anew; the old one is revoked");
    }
    if let Some(backup) = &outcome.backup {
        told.push_str(&format!("\n  the file as it was: {}", text::clean(&places.shown(backup))));
    }
    if let Some(greeting) = &outcome.greeting {
        let server = [greeting.server.as_str(), greeting.version.as_str()].join(" ");
        told.push_str(&format!(
            "\n  {} answered with {} in {}",
            if server.trim().is_empty() { "a server without a name" } else { server.trim() },
            text::counted(greeting.tools as u64, "tool"),
            text::duration(greeting.milliseconds)
        ));
    }
    told
}

fn hints(context: &Context, seat: &Seat<'_>, project: bool) {
    context.output.hint(&format!("{}: {}", seat.client.title, seat.client.afterwards));
    if project {
        context.output.warn(
            "the entry names paths of this machine and a token's file of yours: \
             others who get this file need an entry of their own",
        );
    }
}

fn show_list(
    context: &Context,
    arguments: &ConnectArguments,
    places: &Places,
    project: Option<PathBuf>,
) -> Result<Exit, Failure> {
    let search = context.environment.search_path.as_deref();
    let mut items = Vec::new();
    for client in CLIENTS {
        // Some have no configuration of a project.
        let Ok(seat) = Seat::new(context, places, client, &arguments.name, project.as_deref()) else {
            continue;
        };
        let found = detect(client, places, search);
        let connected = connected(&seat);
        let action = if connected == "yes" { "connect --remove" } else { "connect" };
        items.push(json!({
            "client": client.id,
            "title": client.title,
            "detected": found.is_some(),
            "found": found.map(|found| places.shown(&found)),
            "connected": connected,
            "file": seat.path.display().to_string(),
            "command": context.command(&format!("{action} {}", seat.flags)),
        }));
    }
    let answer = json!({ "items": items });
    if context.output.json {
        context.output.print_json(&answer)?;
    } else {
        context.output.print(&render_list(&answer, context.output.data))?;
    }
    Ok(Exit::Ok)
}

/// Whether a client's file has our entry.
fn connected(seat: &Seat<'_>) -> &'static str {
    let standing = Document::read(&seat.path).map(|document| seat.spot.find(&document.text));
    match standing {
        Ok(Ok(None)) => "no",
        Ok(Ok(Some(standing))) if entry::says(&standing, &seat.ours) => "yes",
        Ok(Ok(Some(_))) => "differs",
        Ok(Err(_)) | Err(_) => "unreadable",
    }
}

fn render_list(answer: &Value, style: Style) -> String {
    let mut table = Table::new(&["CLIENT", "DETECTED", "CONNECTED", "COMMAND"]);
    for item in crate::view::list(answer, "items") {
        let found = field(item, "found");
        let found = if found.is_empty() { "no" } else { &found };
        table.row([&field(item, "title"), found, &field(item, "connected"), &field(item, "command")]);
    }
    table.render(style)
}

fn print(
    context: &Context,
    arguments: &ConnectArguments,
    places: &Places,
    project: Option<PathBuf>,
) -> Result<Exit, Failure> {
    let none = [ANY_CLIENT.to_owned()];
    let names = if arguments.clients.is_empty() { none.as_slice() } else { &arguments.clients };
    let mut items = Vec::new();
    for name in names {
        entry::check_name(name)?;
        let known = Client::named(name).ok();
        let (format, shape, container) = known
            .map_or((clients::Format::Json, Shape::Plain, "mcpServers"), |client| {
                (client.format, client.shape, client.container)
            });
        let label = record::label(name, &arguments.name, project.as_deref());
        let token_file = token::file(&context.home, &label);
        let entry = shape.entry(&entry::launch(context, name, &token_file)?);
        let spot = Spot { format, container, name: &arguments.name };
        let snippet = spot.put("", &entry).map_err(|refusal| Failure::bug(refusal.0))?.text;
        let file = known.and_then(|client| client.files(places, project.as_deref()).ok()?.pop());
        let there = token_file.exists();
        if context.output.json {
            items.push(json!({
                "client": name,
                "file": file.map(|file| file.display().to_string()),
                "snippet": snippet,
                "entry": entry,
                "token": label,
                "token_file": token_file.display().to_string(),
                "token_made": there,
            }));
            continue;
        }
        context.output.print(&snippet)?;
        if let Some(file) = file {
            context.output.say(&format!("it belongs into {}", places.shown(&file)));
        }
        if !there {
            context.output.hint(&missing_token(context, known, &label, &token_file.display().to_string()));
        }
    }
    if context.output.json {
        context.output.print_json(&json!({ "items": items }))?;
    }
    Ok(Exit::Ok)
}

/// The entry names a file that printing does not make.
fn missing_token(context: &Context, known: Option<&Client>, label: &str, file: &str) -> String {
    let file = text::clean(file);
    match known {
        Some(client) => format!(
            "{file} is a placeholder until there is a token: `{}` makes it",
            context.command(&format!("connect {}", client.id))
        ),
        None => format!(
            "{file} is a placeholder until there is a token: make one with `{}` and put its secret in there",
            context.command(&format!("tokens add {label}"))
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{Arguments, Command};
    use std::ffi::OsString;

    fn read(line: &str) -> Result<ConnectArguments, clap::Error> {
        match Arguments::read(line.split(' ').map(OsString::from))?.command {
            Command::Connect(arguments) => Ok(arguments),
            other => panic!("{other:?}"),
        }
    }

    /// A machine of a test's own.
    fn machine(home: &std::path::Path) -> Context {
        let environment =
            environment::Environment { user_home: Some(home.into()), ..environment::Environment::default() };
        Context::new(&crate::arguments::Globals::default(), environment).unwrap()
    }

    #[test]
    fn the_command_line_says_one_thing() {
        let arguments = read("executor connect cursor zed --yes --tools a.*,b --tools c").unwrap();
        assert_eq!(arguments.clients, ["cursor", "zed"]);
        assert_eq!(arguments.tools, ["a.*", "b", "c"]);
        assert_eq!((arguments.name.as_str(), arguments.yes, arguments.all), ("executor", true, false));
        for line in [
            "executor connect cursor --all",
            "executor connect cursor --print --remove",
            "executor connect --print --tools x",
            "executor connect --remove --rotate x",
        ] {
            assert!(read(line).is_err(), "{line}");
        }
    }

    #[test]
    fn each_client_is_meant_once_and_must_be_known() {
        let home = tempfile::tempdir().unwrap();
        let context = machine(home.path());
        let places = Places::new(&context.environment, Platform::Linux).unwrap();
        let ids = |line: &str| -> Result<Vec<&str>, Failure> {
            let chosen = chosen(&context, &read(line).unwrap(), &places)?;
            Ok(chosen.iter().map(|client| client.id).collect())
        };
        assert_eq!(ids("executor connect zed cursor zed").unwrap(), ["zed", "cursor"]);
        assert!(ids("executor connect zedd").unwrap_err().hints[0].contains("zed"));
        std::fs::create_dir_all(home.path().join(".codeium/windsurf")).unwrap();
        assert_eq!(ids("executor connect --all").unwrap(), ["windsurf"]);
    }

    #[test]
    fn a_client_is_connected_when_its_file_says_so() {
        let home = tempfile::tempdir().unwrap();
        let context = machine(home.path());
        let places = Places::new(&context.environment, Platform::Linux).unwrap();
        let seat =
            || Seat::new(&context, &places, Client::named("cursor").unwrap(), "executor", None).unwrap();
        let path = seat().path;
        assert_eq!(path, home.path().join(".cursor/mcp.json"));
        assert_eq!(connected(&seat()), "no");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let put = seat().spot.put("", &seat().ours).unwrap().text;
        for (text, expect) in [
            (put.as_str(), "yes"),
            ("{\"mcpServers\": {\"executor\": {\"command\": \"x\"}}}", "differs"),
            ("{\"mcpServers\": 1}", "unreadable"),
            ("nonsense", "unreadable"),
            ("{}", "no"),
        ] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(connected(&seat()), expect, "{text}");
        }
    }

    #[test]
    fn of_several_files_the_one_that_is_there_is_used() {
        let home = tempfile::tempdir().unwrap();
        let context = machine(home.path());
        let places = Places::new(&context.environment, Platform::Linux).unwrap();
        let file = || {
            let seat = Seat::new(&context, &places, Client::named("opencode").unwrap(), "executor", None);
            seat.unwrap().path.file_name().unwrap().to_str().unwrap().to_owned()
        };
        let directory = home.path().join(".config/opencode");
        std::fs::create_dir_all(&directory).unwrap();
        assert_eq!(file(), "opencode.json");
        std::fs::write(directory.join("opencode.jsonc"), "{}").unwrap();
        assert_eq!(file(), "opencode.jsonc");
        std::fs::write(directory.join("opencode.json"), "{\"mcp\":{\"executor\":{}}}").unwrap();
        assert_eq!(file(), "opencode.json");
    }

    #[test]
    fn the_list_says_what_to_type() {
        let answer = json!({ "items": [
            { "title": "Cursor", "detected": true, "found": "~/.cursor", "connected": "yes",
              "command": "executor connect --remove cursor" },
            { "title": "Zed", "detected": false, "found": null, "connected": "no",
              "command": "executor connect zed" }
        ] });
        insta::assert_snapshot!(render_list(&answer, Style::default()), @r"
        CLIENT  DETECTED   CONNECTED  COMMAND
        Cursor  ~/.cursor  yes        executor connect --remove cursor
        Zed     no         no         executor connect zed
        ");
    }

    #[test]
    fn what_was_done_is_told() {
        let home = tempfile::tempdir().unwrap();
        let context = machine(home.path());
        let places = Places::new(&context.environment, Platform::Linux).unwrap();
        let seat = Seat::new(&context, &places, Client::named("zed").unwrap(), "executor", None).unwrap();
        let outcome = Outcome {
            status: "connected",
            backup: Some(home.path().join("b")),
            rotated: true,
            greeting: Some(crate::connect::handshake::Greeting {
                server: "executor".into(),
                version: "1.0".into(),
                tools: 4,
                milliseconds: 31,
            }),
            ..Outcome::default()
        };
        insta::assert_snapshot!(told(&seat, &outcome, &places, Style::default()), @r"
        connected Zed: `executor` in ~/.config/zed/settings.json
          its token was made anew; the old one is revoked
          the file as it was: ~/b
          executor 1.0 answered with 4 tools in 31 ms
        ");
        assert_eq!(outcome.json(&seat)["handshake"]["tools"], 4);
        let outcome = Outcome { status: "not-connected", ..Outcome::default() };
        insta::assert_snapshot!(told(&seat, &outcome, &places, Style::default()), @r"Zed is not connected: there is no `executor` in ~/.config/zed/settings.json");
    }
}
