//! `executor tools`: finding tools, and how they are called.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::api::{Answer, Api, query};
use crate::browse;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::style::Style;
use crate::table::{self, Table};
use crate::text;
use crate::view::{field, flag, joined, list, number, prose};

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Find tools by what they do
    Search(SearchArguments),
    /// List tools by path
    List(ListArguments),
    /// Print how a tool is called: its TypeScript signature and types
    Describe(DescribeArguments),
}

#[derive(Debug, Args)]
pub(crate) struct SearchArguments {
    /// What it should do, in your words
    #[arg(required = true, value_name = "QUERY")]
    words: Vec<String>,
    /// Tools of one source alone
    #[arg(long)]
    source: Option<String>,
    /// How many
    #[arg(long, default_value_t = 12)]
    limit: usize,
    /// How many of the best to skip
    #[arg(long, default_value_t = 0)]
    offset: usize,
}

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// Tools below this path alone, as `github.issues`
    prefix: Option<String>,
    /// Tools of one source alone
    #[arg(long)]
    source: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct DescribeArguments {
    /// The tool's path; segments may be separate words
    #[arg(required = true)]
    path: Vec<String>,
    /// One of its types alone, in full
    #[arg(long = "type", value_name = "NAME")]
    type_name: Option<String>,
    /// How many levels of nested objects are shown
    #[arg(long)]
    depth: Option<u32>,
}

pub(crate) fn run(context: &Context, action: Action) -> Result<Exit, Failure> {
    match action {
        Action::Search(arguments) => search(context, &arguments),
        Action::List(arguments) => show_list(context, &arguments),
        Action::Describe(arguments) => {
            let path = arguments.path.join(".");
            let answer = describe(context, &path, arguments.type_name.as_deref(), arguments.depth)?;
            context.output.answer(&answer, render_description)?;
            Ok(Exit::Ok)
        }
    }
}

/// The description of one tool.
pub(crate) fn describe(
    context: &Context,
    path: &str,
    type_name: Option<&str>,
    depth: Option<u32>,
) -> Result<Answer, Failure> {
    let query = query(&[
        ("type", type_name.map(str::to_owned)),
        ("depth", depth.map(|depth| depth.to_string())),
        ("definitions", Some("true".to_owned())),
    ]);
    Api::new(context).get(&(context.path(&["tools", path]) + &query))
}

fn search(context: &Context, arguments: &SearchArguments) -> Result<Exit, Failure> {
    let values = [
        ("query", Some(arguments.words.join(" "))),
        ("source", arguments.source.clone()),
        ("limit", Some(arguments.limit.to_string())),
        ("offset", Some(arguments.offset.to_string())),
    ];
    let answer = Api::new(context).get(&(context.path(&["tools"]) + &query(&values)))?;
    context.output.answer(&answer, render_page)?;
    if list(&answer.value, "items").is_empty() {
        context.output.say("no tool matches");
    } else if flag(&answer.value, "has_more") {
        let next = arguments.offset + list(&answer.value, "items").len();
        let total = text::count(number(&answer.value, "total"));
        context.output.say(&format!("{total} in all; --offset {next} shows more"));
    }
    Ok(Exit::Ok)
}

fn show_list(context: &Context, arguments: &ListArguments) -> Result<Exit, Failure> {
    let prefix = arguments.prefix.as_deref().unwrap_or("").trim_end_matches(['.', '*']);
    let source = arguments.source.as_deref().or_else(|| browse::source_of(prefix));
    let tools = browse::tools_below(context, prefix, source)?;
    let count = tools.len();
    let answer = Answer { value: json!({ "items": tools, "total": count, "offset": 0, "has_more": false }) };
    if count == 0 && !context.output.json {
        context.output.say("there are no tools here");
        return Ok(Exit::Ok);
    }
    context.output.answer(&answer, render_page)?;
    Ok(Exit::Ok)
}

fn render_page(page: &Value, style: Style) -> String {
    if list(page, "items").is_empty() {
        return String::new();
    }
    let mut table = Table::new(&["TOOL", "ACCESS", "SUMMARY"]);
    for item in list(page, "items") {
        let summary = field(item, "summary");
        let summary = if flag(item, "deprecated") { format!("(deprecated) {summary}") } else { summary };
        table.row([&field(item, "path"), access(item), &summary]);
    }
    table.render(style)
}

/// In one word what a call does and needs.
fn access(tool: &Value) -> &'static str {
    match (flag(tool, "read_only"), flag(tool, "requires_approval")) {
        (true, false) => "reads",
        (true, true) => "reads, asks",
        (false, false) => "writes",
        (false, true) => "writes, asks",
    }
}

/// How a program asks for a type that is not shown, and how a person does.
const OF_PROGRAMS: &str = "// not shown, describe with { type }:";
const OF_COMMANDS: &str = "// not shown, --type NAME shows one:";

/// The comment above a signature, and the signature. The comment is what a
/// model reads: what it says stands above the signature for a person.
fn commented(signature: String) -> (String, String) {
    match signature.strip_prefix("/**").and_then(|rest| rest.split_once("*/\n")) {
        Some((comment, rest)) => (comment.to_owned(), rest.to_owned()),
        None => (String::new(), signature),
    }
}

/// How a tool is called, for people.
pub(crate) fn render_description(tool: &Value, style: Style) -> String {
    let mut rendered = format!("{}\n", style.bold(&field(tool, "path")));
    let (summary, description) = (prose(tool, "summary"), prose(tool, "description"));
    // A description mostly begins with its summary.
    let about = if description.starts_with(summary.trim_end_matches(['.', '…'])) {
        description
    } else {
        format!("{summary}\n\n{description}")
    };
    if !about.trim().is_empty() {
        rendered.push_str(about.trim_end());
        rendered.push('\n');
    }
    let (comment, signature) = commented(prose(tool, "signature"));
    if !signature.is_empty() {
        rendered.push_str(&format!("\n{signature}\n"));
    }
    let types = prose(tool, "types").replace(OF_PROGRAMS, OF_COMMANDS);
    if !types.is_empty() {
        rendered.push_str(&format!("\n{types}\n"));
    }
    let policy = &tool["policy"];
    let rule = field(policy, "rule");
    let rule = if rule.is_empty() { String::new() } else { format!(" by {rule}") };
    let destructive = if flag(tool, "destructive") { "yes" } else { "" };
    let deprecated = if comment.contains("@deprecated") { "yes" } else { "" };
    let facts = [
        ("request", field(tool, "request")),
        ("access", access(tool).to_owned()),
        ("destructive", destructive.to_owned()),
        ("deprecated", deprecated.to_owned()),
        ("policy", format!("{}{rule}", field(policy, "action"))),
        ("connections", joined(tool, "connections")),
    ];
    rendered.push('\n');
    rendered.push_str(&table::facts(&facts, style));
    rendered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_described() {
        let tool = json!({
            "path": "github.issues.create", "summary": "Create an issue", "description": "Create an issue",
            "source": "github", "request": "POST /repos/{owner}/{repo}/issues",
            "signature": "/**\n * Create an issue\n * @deprecated\n */\ntools.github.issues.create(args: Args): Promise<Issue>",
            "types": "type Issue = { id: number };\u{1b}[2J\n// not shown, describe with { type }: User", "omitted": [], "input_schema": {},
            "read_only": false, "destructive": false, "requires_approval": true,
            "policy": { "action": "approve" }, "connections": ["work"]
        });
        insta::assert_snapshot!(render_description(&tool, Style::default()), @r"
        github.issues.create
        Create an issue

        tools.github.issues.create(args: Args): Promise<Issue>

        type Issue = { id: number };
        // not shown, --type NAME shows one: User

        request      POST /repos/{owner}/{repo}/issues
        access       writes, asks
        deprecated   yes
        policy       approve
        connections  work
        ");
    }

    #[test]
    fn a_page_is_a_table() {
        let page = json!({ "items": [
            { "path": "a.b", "summary": "Gets b", "read_only": true, "requires_approval": false, "deprecated": true },
        ] });
        insta::assert_snapshot!(render_page(&page, Style::default()), @r"
        TOOL  ACCESS  SUMMARY
        a.b   reads   (deprecated) Gets b
        ");
        assert_eq!(render_page(&json!({ "items": [] }), Style::default()), "");
    }
}
