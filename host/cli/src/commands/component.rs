//! `executor component`: WebAssembly components of the workspace.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::api::Api;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::input;
use crate::nearest::nearest;
use crate::prompt;
use crate::style::Style;
use crate::table::{self, Table};
use crate::text;
use crate::view::{field, flag, joined, list, number};

/// The largest component that still fits into a request, encoded.
const COMPONENT_LIMIT_BYTES: u64 = 47 * 1024 * 1024;

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Add a component
    Add(AddArguments),
    /// List the components
    List,
    /// Remove a component
    Remove {
        /// Its name
        name: String,
    },
    /// Show a component: digest, world, imports, who uses it
    Inspect {
        /// Its name
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct AddArguments {
    /// The component's file, or `-` for stdin
    #[arg(value_name = "FILE|-")]
    file: String,
    /// Its name; else its adapter's kind
    #[arg(long)]
    name: Option<String>,
    /// An origin that it may reach beside those of its sources
    #[arg(long, value_name = "ORIGIN")]
    origin: Vec<String>,
    /// Let calls that only read use POST, for APIs that read so
    #[arg(long)]
    reads_by_post: bool,
    /// Add it without being asked
    #[arg(long)]
    yes: bool,
}

pub(crate) fn run(context: &Context, action: Action) -> Result<Exit, Failure> {
    let api = Api::new(context);
    match action {
        Action::Add(arguments) => {
            let body = add_body(&arguments)?;
            confirm(context, &arguments)?;
            let answer = api.post(&context.path(&["components"]), &body)?;
            context.output.answer(&answer, |view, style| {
                format!("added {}\n{}", field(view, "name"), render(view, style))
            })?;
        }
        Action::List => {
            let answer = api.list(&context.path(&["components"]))?;
            context.output.answer(&answer, render_list)?;
        }
        Action::Remove { name } => {
            api.delete(&context.path(&["components", &name]))?;
            context.output.say(&format!("removed {}", text::line(&name, 80)));
        }
        Action::Inspect { name } => {
            let answer = api.list(&context.path(&["components"]))?;
            let component = find(&answer.value, &name)?;
            if context.output.json {
                context.output.print_json(component)?;
            } else {
                context.output.print(&render(component, context.output.data))?;
            }
        }
    }
    Ok(Exit::Ok)
}

fn add_body(arguments: &AddArguments) -> Result<Value, Failure> {
    let content = input::bytes(&arguments.file, COMPONENT_LIMIT_BYTES)?;
    let mut body = json!({ "content_base64": STANDARD.encode(content) });
    if let Some(name) = &arguments.name {
        body["name"] = json!(name);
    }
    if !arguments.origin.is_empty() {
        body["origins"] = json!(arguments.origin);
    }
    if arguments.reads_by_post {
        body["reads_by_post"] = json!(true);
    }
    Ok(body)
}

/// A component is somebody's code: a person says that it may run here.
fn confirm(context: &Context, arguments: &AddArguments) -> Result<(), Failure> {
    if arguments.yes {
        return Ok(());
    }
    if !prompt::can_ask(context) {
        return Err(Failure::usage(
            "adding a component is a person's decision, and there is no terminal to ask on",
        )
        .hint("--yes says that a person has decided"));
    }
    context.output.tell(&grants(arguments));
    match prompt::line("Add it? [y/N]: ")?.unwrap_or_default().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Failure::failed("nothing was added")),
    }
}

/// What the component will be able to do.
fn grants(arguments: &AddArguments) -> String {
    let mut grants = format!(
        "{} will run in a sandbox, without files, processes or a network of its own.\n\
         It reaches the origins of the sources that are made by it",
        text::line(&arguments.file, 200)
    );
    for origin in &arguments.origin {
        grants.push_str(&format!(", and {}", text::line(origin, 200)));
    }
    grants.push('.');
    if arguments.reads_by_post {
        grants.push_str("\nIts calls that only read may use POST.");
    }
    grants
}

fn find<'v>(answer: &'v Value, name: &str) -> Result<&'v Value, Failure> {
    let items = list(answer, "items");
    items.iter().find(|item| item["name"] == name).ok_or_else(|| {
        let failure = Failure::failed(format!("there is no component `{}`", text::line(name, 80)));
        match nearest(name, items.iter().filter_map(|item| item["name"].as_str())) {
            Some(near) => failure.hint(format!("did you mean `{}`?", text::line(near, 80))),
            None => failure.hint("`executor component list` shows those that there are"),
        }
    })
}

fn render_list(answer: &Value, style: Style) -> String {
    let mut table = Table::new(&["NAME", "KIND", "SIZE", "FROM", "USED BY", "DIGEST"]);
    for item in list(answer, "items") {
        let from = if flag(item, "first_party") { "executor" } else { "you" };
        table.row([
            &field(item, "name"),
            &field(item, "kind"),
            &text::bytes(number(item, "size")),
            from,
            &joined(item, "used_by"),
            &text::shorten(&field(item, "digest"), 20),
        ]);
    }
    table.render(style)
}

fn render(component: &Value, style: Style) -> String {
    let from = if flag(component, "first_party") { "executor itself" } else { "you" };
    let facts = [
        ("name", style.bold(&field(component, "name"))),
        ("kind", field(component, "kind")),
        ("world", field(component, "world")),
        ("digest", field(component, "digest")),
        ("size", text::bytes(number(component, "size"))),
        ("from", from.to_owned()),
        ("added", crate::view::time(component, "added_at")),
        ("used by", joined(component, "used_by")),
    ];
    let mut rendered = table::facts(&facts, style);
    for import in list(component, "imports") {
        rendered.push_str(&format!("{}  {}\n", style.dim("imports"), crate::view::scalar(import)));
    }
    rendered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_is_shown() {
        let component = json!({
            "name": "openapi", "kind": "openapi", "world": "executor:adapter/adapter", "digest": "sha256:abc",
            "size": 2048, "first_party": true, "imports": ["executor:adapter/http"], "used_by": ["github"],
            "added_at": "2030-01-02T03:04:05Z"
        });
        insta::assert_snapshot!(render(&component, Style::default()), @r"
        name     openapi
        kind     openapi
        world    executor:adapter/adapter
        digest   sha256:abc
        size     2.0 KiB
        from     executor itself
        added    2030-01-02 03:04:05
        used by  github
        imports  executor:adapter/http
        ");
        let answer = json!({ "items": [component] });
        assert_eq!(find(&answer, "opnapi").unwrap_err().hints, ["did you mean `openapi`?"]);
    }

    #[test]
    fn adding_needs_a_person() {
        let arguments = |yes| AddArguments {
            file: "mine.wasm".into(),
            name: None,
            origin: vec!["https://x".into()],
            reads_by_post: true,
            yes,
        };
        insta::assert_snapshot!(grants(&arguments(false)), @r"
        mine.wasm will run in a sandbox, without files, processes or a network of its own.
        It reaches the origins of the sources that are made by it, and https://x.
        Its calls that only read may use POST.
        ");
        let globals = crate::arguments::Globals { no_input: true, ..Default::default() };
        let environment =
            crate::environment::Environment { user_home: Some("/u".into()), ..Default::default() };
        let context = Context::new(&globals, environment).unwrap();
        assert!(confirm(&context, &arguments(false)).unwrap_err().hints[0].contains("--yes"));
        assert!(confirm(&context, &arguments(true)).is_ok());
    }

    #[test]
    fn a_request_says_what_was_granted() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("x.wasm");
        std::fs::write(&file, b"\0asm").unwrap();
        let arguments = AddArguments {
            file: file.display().to_string(),
            name: Some("mine".into()),
            origin: vec!["https://x".into()],
            reads_by_post: true,
            yes: true,
        };
        let expect = json!({
            "content_base64": "AGFzbQ==", "name": "mine", "origins": ["https://x"], "reads_by_post": true
        });
        assert_eq!(add_body(&arguments).unwrap(), expect);
    }
}
