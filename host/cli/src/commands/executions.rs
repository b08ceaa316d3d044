//! `executor executions`: what ran, how, and what became of it.

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::api::{Answer, Api, query};
use crate::context::Context;
use crate::execution::{self, Program, log_line, render_error};
use crate::failure::{Exit, Failure};
use crate::style::Style;
use crate::table::{self, Table};
use crate::text;
use crate::view::{field, flag, list, number, time};
use crate::waiting;
use crate::waterfall;

/// As many spans are shown with an execution; `trace` shows all.
const SHOWN_SPANS: usize = 40;
/// Columns of the bars of calls.
const WATERFALL_COLUMNS: u64 = 32;

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// List executions, the newest first
    List(ListArguments),
    /// Show one execution with its calls
    Show(IdArguments),
    /// Print what a program logged
    Logs(IdArguments),
    /// Print what it did when, and every call: arguments, outcome, duration
    Trace(IdArguments),
    /// End an execution that runs or waits
    Cancel(IdArguments),
    /// Run the same program or call again
    Rerun(IdArguments),
}

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// How many
    #[arg(long, default_value_t = 20)]
    limit: usize,
    /// Continue after the page that gave this cursor
    #[arg(long)]
    cursor: Option<String>,
    /// Those in this state alone
    #[arg(long)]
    status: Option<Status>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Status {
    Running,
    Waiting,
    Completed,
    Failed,
    Cancelled,
}

impl Status {
    fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting_for_interaction",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct IdArguments {
    /// The execution
    id: String,
}

pub(crate) fn run(context: &Context, action: Action) -> Result<Exit, Failure> {
    let api = Api::new(context);
    match action {
        Action::List(arguments) => show_list(context, &arguments),
        Action::Show(IdArguments { id }) => {
            let trace = api.get(&context.path(&["executions", &id, "trace"]))?;
            let mut execution = api.get(&context.path(&["executions", &id]))?;
            if context.output.json {
                for part in ["calls", "spans", "spans_cut"] {
                    execution.value[part] = trace.value[part].clone();
                }
            }
            let width = waterfall::width(context.environment.columns);
            context.output.answer(&execution, |view, style| render(view, &trace.value, width, style))?;
            if execution.value["status"] == "waiting_for_interaction" {
                waiting::tell(context, &execution.value);
            }
            Ok(Exit::Ok)
        }
        Action::Logs(IdArguments { id }) => logs(context, &api.get(&context.path(&["executions", &id]))?),
        Action::Trace(IdArguments { id }) => {
            let answer = api.get(&context.path(&["executions", &id, "trace"]))?;
            let width = waterfall::width(context.environment.columns);
            context.output.answer(&answer, |trace, style| render_trace(trace, width, style))?;
            Ok(Exit::Ok)
        }
        Action::Cancel(IdArguments { id }) => {
            let answer = api.post(&context.path(&["executions", &id, "cancel"]), &json!({}))?;
            if context.output.json {
                context.output.print_json(&answer.value)?;
            }
            context.output.say(&format!(
                "{} is {}",
                field(&answer.value, "id"),
                field(&answer.value, "status")
            ));
            Ok(Exit::Ok)
        }
        Action::Rerun(IdArguments { id }) => {
            let answer = api.post(&context.path(&["executions", &id, "rerun"]), &json!({}))?;
            execution::report(context, answer, &Program::none())
        }
    }
}

fn show_list(context: &Context, arguments: &ListArguments) -> Result<Exit, Failure> {
    let values = [
        ("limit", Some(arguments.limit.to_string())),
        ("cursor", arguments.cursor.clone()),
        ("status", arguments.status.map(|status| status.as_str().to_owned())),
    ];
    let answer = Api::new(context).get(&(context.path(&["executions"]) + &query(&values)))?;
    if !context.output.json && list(&answer.value, "items").is_empty() {
        context.output.say("there are no executions here");
        return Ok(Exit::Ok);
    }
    context.output.answer(&answer, render_list)?;
    let next = field(&answer.value, "next_cursor");
    if !next.is_empty() {
        context.output.say(&format!("--cursor {next} shows older ones"));
    }
    Ok(Exit::Ok)
}

fn logs(context: &Context, answer: &Answer) -> Result<Exit, Failure> {
    let logs = list(&answer.value, "logs");
    if context.output.json {
        context.output.print_json(&json!({ "logs": logs }))?;
        return Ok(Exit::Ok);
    }
    let lines: Vec<String> = logs.iter().map(|log| log_line(log, context.output.data)).collect();
    context.output.print(&lines.join("\n"))?;
    Ok(Exit::Ok)
}

fn render_list(answer: &Value, style: Style) -> String {
    let mut table = Table::new(&["ID", "STATUS", "BY", "STARTED", "TITLE"]);
    for item in list(answer, "items") {
        table.row([
            &field(item, "id"),
            status_word(item),
            &field(item, "client"),
            &time(item, "created_at"),
            &field(item, "title"),
        ]);
    }
    table.render(style)
}

fn status_word(view: &Value) -> &str {
    match view["status"].as_str() {
        Some("waiting_for_interaction") => "waiting",
        other => other.unwrap_or(""),
    }
}

fn render(view: &Value, trace: &Value, width: usize, style: Style) -> String {
    let usage = &view["usage"];
    let durable = if flag(view, "durable") { "" } else { "not yet on disk" };
    let facts = [
        ("id", style.bold(&field(view, "id"))),
        ("status", painted_status(view, style)),
        ("kind", field(view, "kind")),
        ("title", field(view, "title")),
        ("by", format!("{} ({})", field(view, "client"), field(view, "surface"))),
        ("started", time(view, "created_at")),
        ("settled", time(view, "settled_at")),
        ("record", durable.to_owned()),
        ("took", took(usage, trace)),
        ("memory", text::bytes(number(usage, "memory_bytes"))),
        ("fuel", text::count(number(usage, "fuel"))),
    ];
    let mut rendered = table::facts(&facts, style);
    if !list(trace, "spans").is_empty() {
        rendered.push_str(&format!("\n{}", waterfall::render(trace, SHOWN_SPANS, width, style)));
    } else if !list(trace, "calls").is_empty() {
        rendered.push_str(&format!("\n{}", calls(trace, style)));
    }
    if view["error"].is_object() {
        rendered.push_str(&format!("\n{}\n", render_error(&view["error"], &Program::none(), style)));
    }
    if let Some(result) = view.get("result") {
        rendered.push_str(&format!("\n{}\n", text::plain(result)));
    }
    rendered
}

/// The time of its last run where that is known, else of its first span.
fn took(usage: &Value, trace: &Value) -> String {
    match (number(usage, "wall_us"), list(trace, "spans").first()) {
        (0, Some(span)) => waterfall::duration(number(span, "duration_us")),
        (wall_us, _) => waterfall::duration(wall_us),
    }
}

fn painted_status(view: &Value, style: Style) -> String {
    let word = status_word(view);
    match word {
        "completed" => style.green(word),
        "failed" => style.red(word),
        _ => style.yellow(&text::line(word, 40)),
    }
}

/// When each call ran, of an execution whose spans were not kept.
fn calls(trace: &Value, style: Style) -> String {
    let calls = list(trace, "calls");
    let spans: Vec<Option<(u64, u64)>> = calls.iter().map(|call| span(call, &trace["execution"])).collect();
    let end = spans.iter().flatten().map(|(start, length)| start + length).max().unwrap_or(0).max(1);
    let mut table = Table::new(&["CALL", "STATUS", "TOOK", "WHEN"]);
    for (call, span) in calls.iter().zip(&spans) {
        let took = call["duration_ms"].as_u64().map(text::duration).unwrap_or_default();
        let bar = span.map(|(start, length)| bar(start, length, end)).unwrap_or_default();
        table.row([&field(call, "path"), &field(call, "status"), &took, &bar]);
    }
    table.render(style)
}

/// Start after the execution's, and length, both in milliseconds.
fn span(call: &Value, execution: &Value) -> Option<(u64, u64)> {
    let at = |value: &Value| OffsetDateTime::parse(value.as_str()?, &Rfc3339).ok();
    let offset = (at(&call["started_at"])? - at(&execution["created_at"])?).whole_milliseconds();
    Some((u64::try_from(offset).unwrap_or(0), number(call, "duration_ms")))
}

/// Dots where it had not begun, blocks while it ran.
fn bar(start: u64, length: u64, end: u64) -> String {
    let column = |at: u64| usize::try_from(at.saturating_mul(WATERFALL_COLUMNS) / end).unwrap_or(0);
    let (first, last) = (column(start), column(start + length));
    format!("{}{}", "·".repeat(first), "█".repeat((last - first).max(1)))
}

fn render_trace(trace: &Value, width: usize, style: Style) -> String {
    let mut rendered = waterfall::render(trace, usize::MAX, width, style);
    if !rendered.is_empty() {
        rendered.push('\n');
    }
    if list(trace, "calls").is_empty() {
        rendered.push_str("it made no calls\n");
    }
    for call in list(trace, "calls") {
        let write = if flag(call, "write") { ", write" } else { "" };
        rendered.push_str(&format!(
            "{}:{} {} {}{write}, {}\n",
            field(call, "scope"),
            field(call, "ordinal"),
            style.bold(&field(call, "path")),
            field(call, "status"),
            text::duration(number(call, "duration_ms")),
        ));
        rendered
            .push_str(&format!("  args     {}\n", text::shorten(&text::compact_json(&call["args"]), 400)));
        if !call["outcome"].is_null() {
            rendered.push_str(&format!(
                "  outcome  {}\n",
                text::shorten(&text::compact_json(&call["outcome"]), 400)
            ));
        }
    }
    rendered
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace() -> Value {
        json!({
            "execution": { "created_at": "2030-01-02T03:04:05.000Z" },
            "calls": [
                { "ordinal": 0, "scope": 0, "path": "github.issues.list", "args": { "a": 1 }, "status": "ok",
                  "write": false, "started_at": "2030-01-02T03:04:05.000Z", "duration_ms": 100, "outcome": [1] },
                { "ordinal": 1, "scope": 0, "path": "github.issues.create", "args": {}, "status": "waiting",
                  "write": true, "started_at": "2030-01-02T03:04:05.100Z", "duration_ms": 300 },
                { "ordinal": 2, "scope": 0, "path": "odd", "status": "running", "started_at": "never" },
            ]
        })
    }

    #[test]
    fn an_execution_is_shown_with_its_waterfall() {
        let view = json!({
            "id": "exe_1", "kind": "code", "status": "failed", "title": "report.ts", "surface": "cli", "client": "cli",
            "created_at": "2030-01-02T03:04:05.000Z", "settled_at": "2030-01-02T03:04:06.000Z", "durable": true,
            "error": { "code": "denied", "message": "it was declined", "hint": "ask again" },
            "usage": { "fuel": 12345, "memory_bytes": 2097152, "wall_us": 405000, "calls": 2 }
        });
        insta::assert_snapshot!(render(&view, &trace(), 100, Style::default()), @r"
        id       exe_1
        status   failed
        kind     code
        title    report.ts
        by       cli (cli)
        started  2030-01-02 03:04:05
        settled  2030-01-02 03:04:06
        took     405 ms
        memory   2.0 MiB
        fuel     12,345

        CALL                  STATUS   TOOK    WHEN
        github.issues.list    ok       100 ms  ████████
        github.issues.create  waiting  300 ms  ········████████████████████████
        odd                   running

        error: it was declined

        hint: ask again
        ");
    }

    #[test]
    fn a_trace_says_everything() {
        insta::assert_snapshot!(render_trace(&trace(), 100, Style::default()), @r#"
        0:0 github.issues.list ok, 100 ms
          args     {"a":1}
          outcome  [1]
        0:1 github.issues.create waiting, write, 300 ms
          args     {}
        0:2 odd running, 0 ms
          args     null
        "#);
        assert_eq!(render_trace(&json!({ "calls": [] }), 100, Style::default()), "it made no calls\n");
    }

    #[test]
    fn bars_stay_within_their_columns() {
        for (start, length, end) in [(0, 0, 1), (u64::MAX / 2, 1, u64::MAX), (5, 5, 10)] {
            assert!(bar(start, length, end).chars().count() <= 33, "{start} {length} {end}");
        }
    }
}
