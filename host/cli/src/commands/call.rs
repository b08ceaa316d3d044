//! `executor call`: one tool, its schema's properties as flags.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::api::{Answer, Api};
use crate::arguments::{Globals, TakesNext};
use crate::browse;
use crate::context::Context;
use crate::execution::{self, Program};
use crate::failure::{Exit, Failure};
use crate::flags;
use crate::input;
use crate::shape::Kind;
use crate::style::Style;
use crate::table;
use crate::text;
use crate::uploads::{self, Uploads};
use crate::view::{field, prose};
use crate::waiting;

/// As much as the daemon takes with a call.
const ARGUMENTS_LIMIT_BYTES: u64 = 2 * 1024 * 1024;

const USAGE: &str = "executor call [OPTIONS] PATH… ['{json}'|@FILE|-] [--FLAG VALUE]…";

const EXAMPLES: &str = "\
Examples:
  executor call github.issues.get --owner octo --repo hello --issue-number 1
  executor call github issues create '{\"owner\":\"octo\",\"repo\":\"hello\",\"title\":\"Hi\"}'
  executor call github.issues.create @issue.json --connection work --dry-run
  executor call files.upload --file @photo.png
  executor call files.download --id 7 -o photo.png
  executor call github issues --help";

/// Call one tool
///
/// The path may be dotted or in separate words. Arguments are a JSON object,
/// @FILE, - for stdin, or flags of the same names as the tool's arguments;
/// repeat a flag for a list, use dots for what is nested. Where an argument is
/// a file, @PATH sends one of this machine, - stdin and blob:… one that the
/// workspace holds; in JSON that stands here so does {"$file": "@PATH"}. After
/// -- every flag is the tool's own. With --help the catalogue is shown below
/// the path so far.
#[derive(Debug, Args)]
#[command(disable_help_flag = true, override_usage = USAGE, after_long_help = EXAMPLES, after_help = EXAMPLES)]
pub(crate) struct CallArguments {
    /// The connection to use, where the source has several
    #[arg(long, value_name = "NAME")]
    pub(crate) connection: Option<String>,
    /// Print the policy's decision and the request, and send nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Give `{ok, data | error, http}` instead of the data alone
    #[arg(long)]
    pub(crate) raw: bool,
    /// Write the answer's one file there, `-` for stdout
    #[arg(long, short, value_name = "FILE|-")]
    pub(crate) output: Option<String>,
    /// Show the tools below the path, or how the tool is called
    #[arg(long, short)]
    pub(crate) help: bool,
    /// The tool's path, its arguments, its flags
    #[arg(value_name = "WORDS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) tokens: Vec<String>,
}

impl CallArguments {
    /// Takes out the global options that stand among the tool's words.
    pub(crate) fn take_globals(&mut self) -> Vec<String> {
        let mut globals = Vec::new();
        let mut kept = Vec::new();
        let mut tokens = std::mem::take(&mut self.tokens).into_iter();
        while let Some(token) = tokens.next() {
            if token == "--" {
                kept.push(token);
                kept.extend(tokens.by_ref());
            } else if let Some(takes) = Globals::option(&token) {
                globals.push(token);
                if takes == TakesNext::Yes {
                    globals.extend(tokens.next());
                }
            } else {
                kept.push(token);
            }
        }
        self.tokens = kept;
        globals
    }

    /// Takes out the options of `call` itself.
    fn take_own(&mut self) -> Result<(), Failure> {
        let mut kept = Vec::new();
        let mut tokens = std::mem::take(&mut self.tokens).into_iter();
        while let Some(token) = tokens.next() {
            match token.as_str() {
                "--" => {
                    kept.push(token);
                    kept.extend(tokens.by_ref());
                }
                "--dry-run" => self.dry_run = true,
                "--raw" => self.raw = true,
                "--help" | "-h" => self.help = true,
                "--connection" => {
                    let name = tokens.next().ok_or_else(|| Failure::usage("--connection takes a name"))?;
                    self.connection = Some(name);
                }
                "--output" | "-o" => {
                    let file = tokens.next().ok_or_else(|| Failure::usage("-o takes a file's name"))?;
                    self.output = Some(file);
                }
                other => match (other.strip_prefix("--connection="), other.strip_prefix("--output=")) {
                    (Some(name), _) => self.connection = Some(name.to_owned()),
                    (_, Some(file)) => self.output = Some(file.to_owned()),
                    _ => kept.push(token),
                },
            }
        }
        self.tokens = kept;
        Ok(())
    }
}

/// The words of a call, taken apart as far as that needs no schema.
#[derive(Debug, Default, PartialEq, Eq)]
struct Words {
    /// Dotted.
    path: String,
    /// What stands between the path and the first flag: the arguments.
    json: Option<String>,
    /// From the first flag on.
    rest: Vec<String>,
}

impl Words {
    fn of(tokens: &[String]) -> Result<Self, Failure> {
        let first_flag = tokens.iter().position(|token| token.starts_with("--")).unwrap_or(tokens.len());
        let (words, rest) = tokens.split_at(first_flag);
        let mut segments = Vec::new();
        let mut json = None;
        for word in words {
            if json.is_some() {
                return Err(Failure::usage(format!("`{}` stands after the arguments", text::line(word, 80)))
                    .hint("the path comes first, then one JSON object, then flags"));
            }
            if is_json(word) {
                json = Some(word.clone());
            } else if word.starts_with('-') {
                return Err(Failure::usage(format!("there is no option `{}`", text::line(word, 80)))
                    .hint("a tool's arguments are long flags: --name VALUE"));
            } else {
                segments.push(word.trim_matches('.'));
            }
        }
        Ok(Self { path: segments.join("."), json, rest: rest.to_vec() })
    }
}

fn is_json(word: &str) -> bool {
    word == "-" || word.starts_with(['{', '[', '@'])
}

pub(crate) fn run(context: &Context, mut arguments: CallArguments) -> Result<Exit, Failure> {
    arguments.take_own()?;
    let words = Words::of(&arguments.tokens)?;
    if arguments.help {
        return help(context, &words.path);
    }
    if words.path.is_empty() {
        return Err(Failure::usage("which tool?").hint(format!(
            "`{}` shows the tools, `{}` finds one",
            context.command("call --help"),
            context.command("tools search WORDS")
        )));
    }
    let args = call_arguments(context, &words)?;
    let mut body = json!({ "args": args });
    if let Some(connection) = &arguments.connection {
        body["connection"] = json!(connection);
    }
    if arguments.raw {
        body["raw"] = json!(true);
    }
    if arguments.dry_run {
        body["dry_run"] = json!(true);
    }
    let answer = Api::new(context).post(&context.path(&["tools", &words.path, "call"]), &body);
    let answer = answer.map_err(|failure| execution::broken_off(context, failure, None))?;
    if arguments.dry_run {
        context.output.answer(&answer, render_dry_run)?;
        let blocked = answer.value["decision"]["action"] == "block";
        return Ok(if blocked { Exit::Denied } else { Exit::Ok });
    }
    execution::report_to(context, answer, &Program::none(), arguments.output.as_deref())
}

/// JSON as it was given, and whether that took stdin. Files may be named where
/// it was typed.
fn typed_json(word: &str, stdin_is_taken: &mut bool) -> Result<Value, Failure> {
    let given = input::json(word, "the tool's arguments", ARGUMENTS_LIMIT_BYTES)?;
    *stdin_is_taken |= word == "-";
    if word == "-" || word.starts_with('@') {
        uploads::expect_none(&given)?;
    }
    Ok(given)
}

/// The arguments, with the files that they name put into the workspace.
fn call_arguments(context: &Context, words: &Words) -> Result<Value, Failure> {
    let mut stdin_is_taken = false;
    let mut arguments = given_arguments(context, words, &mut stdin_is_taken)?;
    Uploads::new(context, stdin_is_taken).place(&mut arguments)?;
    Ok(arguments)
}

/// The JSON that was given, and over it the flags.
fn given_arguments(context: &Context, words: &Words, stdin_is_taken: &mut bool) -> Result<Value, Failure> {
    let given = match &words.json {
        Some(given) => typed_json(given, stdin_is_taken)?,
        None => json!({}),
    };
    if words.rest.iter().all(|word| word == "--") {
        return Ok(given);
    }
    let Value::Object(mut arguments) = given else {
        return Err(Failure::usage(
            "the tool's arguments are no object, so that flags can't be added to them",
        ));
    };
    let description = super::tools::describe(context, &words.path, None, None)?;
    let schema = &description.value["input_schema"];
    overlay(&mut arguments, from_flags(schema, &words.rest, &words.path, stdin_is_taken)?);
    Ok(Value::Object(arguments))
}

/// The arguments that these flags give; a JSON object may stand among them.
fn from_flags(
    schema: &Value,
    words: &[String],
    tool: &str,
    stdin_is_taken: &mut bool,
) -> Result<Map<String, Value>, Failure> {
    let mut arguments = Map::new();
    let mut whole = Map::new();
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        if word == "--" {
            continue;
        }
        let Some(flag) = word.strip_prefix("--") else {
            if !is_json(word) {
                return Err(Failure::usage(format!("`{}` belongs to no flag", text::line(word, 80))));
            }
            match typed_json(word, stdin_is_taken)? {
                Value::Object(given) if whole.is_empty() => whole = given,
                _ => return Err(Failure::usage("the tool's arguments are one JSON object")),
            }
            continue;
        };
        let (name, inline) = match flag.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (flag, None),
        };
        let property = match flags::property(schema, name, tool) {
            Ok(property) => property,
            Err(failure) => match negated(schema, name).filter(|_| inline.is_none()) {
                Some(property) => {
                    flags::insert(&mut arguments, &property, "false")?;
                    continue;
                }
                None => return Err(failure),
            },
        };
        let value = match inline {
            Some(value) => value,
            None if property.shape.kind == Kind::Boolean => match words.peek().map(|next| next.as_str()) {
                Some(next @ ("true" | "false" | "null")) => {
                    words.next();
                    next
                }
                _ => "true",
            },
            None => words.next_if(|next| !next.starts_with("--")).ok_or_else(|| no_value(name))?,
        };
        flags::insert(&mut arguments, &property, value)?;
    }
    overlay(&mut whole, arguments);
    Ok(whole)
}

/// Puts `upper` over `lower`, object by object.
fn overlay(lower: &mut Map<String, Value>, upper: Map<String, Value>) {
    for (name, value) in upper {
        match (lower.get_mut(&name), value) {
            (Some(Value::Object(below)), Value::Object(above)) => overlay(below, above),
            (_, value) => {
                lower.insert(name, value);
            }
        }
    }
}

fn no_value(name: &str) -> Failure {
    let name = text::line(name, 80);
    Failure::usage(format!("--{name} needs a value"))
        .hint(format!("a value that begins with dashes is given as --{name}=VALUE"))
}

/// `--no-draft` for a boolean `draft`.
fn negated<'s>(schema: &'s Value, name: &str) -> Option<flags::Property<'s>> {
    let positive = name.strip_prefix("no-")?;
    flags::property(schema, positive, "").ok().filter(|property| property.shape.kind == Kind::Boolean)
}

fn help(context: &Context, path: &str) -> Result<Exit, Failure> {
    if path.is_empty() {
        let mut command = <crate::arguments::Arguments as clap::CommandFactory>::command();
        command.build();
        if let Some(call) = command.find_subcommand_mut("call") {
            context.output.print(&call.render_long_help().to_string())?;
        }
        return browse_root(context);
    }
    let tools = browse::tools_below(context, path, browse::source_of(path))?;
    if tools.iter().any(|tool| tool["path"] == path) {
        let answer = super::tools::describe(context, path, None, None)?;
        context.output.answer(&answer, |tool, style| render_help(context, tool, style))?;
        return Ok(Exit::Ok);
    }
    if tools.is_empty() {
        return Err(nothing_at(context, path)?);
    }
    print_level(context, tools, path)?;
    Ok(Exit::Ok)
}

/// The sources, where a daemon runs; help must not need one.
fn browse_root(context: &Context) -> Result<Exit, Failure> {
    if crate::daemon::try_connect(&context.home)?.is_none() {
        return Ok(Exit::Ok);
    }
    let tools = browse::tools_below(context, "", None)?;
    if !tools.is_empty() {
        context.output.print("")?;
        print_level(context, tools, "")?;
    }
    Ok(Exit::Ok)
}

fn print_level(context: &Context, tools: Vec<Value>, path: &str) -> Result<(), Failure> {
    let answer = Answer { value: json!({ "items": tools }) };
    context
        .output
        .answer(&answer, |page, style| browse::render(crate::view::list(page, "items"), path, style))
}

fn nothing_at(context: &Context, path: &str) -> Result<Failure, Failure> {
    let all = browse::tools_below(context, "", browse::source_of(path))?;
    let parent = browse::nearest_parent(&all, path);
    let shown = text::line(path, 200);
    let command = context.command(&format!("call {parent} --help").replace("  ", " "));
    Ok(Failure::failed(format!("there is no tool at or below `{shown}`"))
        .hint(format!("`{command}` shows what there is")))
}

fn render_help(context: &Context, tool: &Value, style: Style) -> String {
    let mut rendered = super::tools::render_description(tool, style);
    let properties = flags::properties(&tool["input_schema"]);
    let usage =
        context.command(&format!("call {} [--FLAG VALUE]… ['{{JSON}}'|@FILE|-]", field(tool, "path")));
    rendered.push_str(&format!("\nUsage: {usage}\n"));
    if !properties.is_empty() {
        rendered.push_str(&format!("\n{}", flags::render(&properties, style)));
    }
    rendered
}

fn render_dry_run(view: &Value, style: Style) -> String {
    let decision = &view["decision"];
    let action = field(decision, "action");
    let shown = match action.as_str() {
        "allow" => style.green("allow"),
        "block" => style.red("block"),
        other => style.yellow(other),
    };
    let facts = [
        ("decision", shown),
        ("rule", field(decision, "rule")),
        ("because", prose(decision, "reason")),
        ("connection", field(view, "connection")),
        ("origin", field(view, "origin")),
    ];
    let mut rendered = table::facts(&facts, style);
    if view["request"].is_object() {
        rendered.push_str(&format!("\n{}", waiting::request(&view["request"])));
    }
    rendered
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(words: &[&str]) -> Vec<String> {
        words.iter().map(ToString::to_string).collect()
    }

    #[track_caller]
    fn check(words: &[&str], path: &str, json: Option<&str>, rest: &[&str]) {
        let expect = Words { path: path.into(), json: json.map(str::to_owned), rest: texts(rest) };
        assert_eq!(Words::of(&texts(words)).unwrap(), expect);
    }

    #[test]
    fn words_are_a_path_arguments_and_flags() {
        check(&["github", "issues", "get"], "github.issues.get", None, &[]);
        check(&["github.issues", "get", "{\"a\":1}"], "github.issues.get", Some("{\"a\":1}"), &[]);
        check(&["a.b", "@x.json", "--c", "d"], "a.b", Some("@x.json"), &["--c", "d"]);
        check(&["a.b", "-"], "a.b", Some("-"), &[]);
        check(&["a.b", "--", "--json"], "a.b", None, &["--", "--json"]);
        assert!(Words::of(&texts(&["a", "{}", "b"])).unwrap_err().message.contains("after the arguments"));
        assert!(Words::of(&texts(&["a", "-x"])).unwrap_err().message.contains("no option `-x`"));
    }

    #[test]
    fn its_own_options_stand_anywhere_but_after_dashes() {
        let mut arguments = CallArguments {
            connection: None,
            dry_run: false,
            raw: false,
            output: None,
            help: false,
            tokens: texts(&[
                "a.b",
                "--dry-run",
                "--connection",
                "work",
                "-o",
                "f",
                "--x",
                "1",
                "--",
                "--raw",
            ]),
        };
        arguments.take_own().unwrap();
        assert!(arguments.dry_run && !arguments.raw);
        assert_eq!(arguments.connection.as_deref(), Some("work"));
        assert_eq!(arguments.output.as_deref(), Some("f"));
        assert_eq!(arguments.tokens, ["a.b", "--x", "1", "--", "--raw"]);
    }

    fn flagged(words: &[&str]) -> Result<Value, Failure> {
        let schema = json!({ "properties": {
            "title": { "type": "string" }, "draft": { "type": "boolean" }, "raw": { "type": "boolean" },
            "labels": { "type": "array", "items": { "type": "string" } }, "count": { "type": "integer" } } });
        from_flags(&schema, &texts(words), "a.b", &mut false).map(Value::Object)
    }

    #[test]
    fn flags_become_arguments() {
        assert_eq!(
            flagged(&["--title", "x", "--draft", "--count", "-3"]).unwrap(),
            json!({ "title": "x", "draft": true, "count": -3 })
        );
        assert_eq!(
            flagged(&["--draft", "false", "--title=--x"]).unwrap(),
            json!({ "draft": false, "title": "--x" })
        );
        assert_eq!(flagged(&["--no-draft", "--", "--raw"]).unwrap(), json!({ "draft": false, "raw": true }));
        assert_eq!(flagged(&["--labels", "a", "--labels", "b"]).unwrap(), json!({ "labels": ["a", "b"] }));
        assert_eq!(
            flagged(&["--draft", "{\"title\":\"t\",\"draft\":false}"]).unwrap(),
            json!({ "title": "t", "draft": true })
        );
        for (bad, expect) in [
            (&["--title"][..], "--title needs a value"),
            (&["--title", "--draft"], "--title needs a value"),
            (&["--draft", "stray"], "belongs to no flag"),
            (&["--no-title"], "no argument `no-title`"),
            (&["--title", "x", "[1]"], "one JSON object"),
        ] {
            assert!(flagged(bad).unwrap_err().message.contains(expect), "{bad:?}");
        }
    }

    #[test]
    fn flags_lie_over_the_json() {
        let mut lower = json!({ "a": { "b": 1, "c": 2 }, "d": [1] });
        let upper = json!({ "a": { "b": 9 }, "d": [2], "e": null });
        let (Value::Object(lower), Value::Object(upper)) = (&mut lower, upper) else { panic!("objects") };
        overlay(lower, upper);
        assert_eq!(Value::Object(lower.clone()), json!({ "a": { "b": 9, "c": 2 }, "d": [2], "e": null }));
    }

    #[test]
    fn a_dry_run_shows_the_request() {
        let view = json!({
            "decision": { "action": "approve", "rule": "pol_1", "reason": "writes ask" },
            "request": { "method": "POST", "url": "https://x/y", "headers": [["accept", "a\u{1b}[2J"]], "body": "{\"a\":1}" },
            "connection": "work", "origin": "https://x"
        });
        insta::assert_snapshot!(render_dry_run(&view, Style::default()), @r#"
        decision    approve
        rule        pol_1
        because     writes ask
        connection  work
        origin      https://x

        POST https://x/y
        accept: a

        {
          "a": 1
        }
        "#);
    }
}
