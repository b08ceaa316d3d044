//! What an execution gave: its logs, values, result or error, on the streams
//! where they belong.

use std::fmt::Write as _;

use serde_json::Value;

use crate::api::{Answer, BROKEN_OFF};
use crate::context::{Context, quoted};
use crate::downloads;
use crate::failure::{Exit, Failure, hints_of, telling_code};
use crate::output::error_text;
use crate::partial;
use crate::prompt;
use crate::style::Style;
use crate::text;
use crate::view::{field, list, prose};
use crate::waiting::{self, Decision};

/// Frames of an error that are shown.
const FRAME_LIMIT: usize = 8;

/// The source text that was run, for showing where an error is.
#[derive(Debug)]
pub(crate) struct Program {
    /// As the daemon was told, and as frames name it.
    pub(crate) name: String,
    pub(crate) code: String,
}

impl Program {
    /// Where there is no text at hand.
    pub(crate) fn none() -> Self {
        Self { name: String::new(), code: String::new() }
    }
}

/// Reports an execution to its end, or until nobody here can answer what it
/// asks. On a terminal the person is asked.
pub(crate) fn report(context: &Context, answer: Answer, program: &Program) -> Result<Exit, Failure> {
    report_to(context, answer, program, None)
}

/// The same with a file that the one of its result is written to.
pub(crate) fn report_to(
    context: &Context,
    answer: Answer,
    program: &Program,
    target: Option<&str>,
) -> Result<Exit, Failure> {
    let mut view = answer.value;
    let mut shown = Shown::default();
    if !context.output.json {
        while waits(&view) && prompt::can_ask(context) {
            shown.print_new(context, &view)?;
            match ask_next(context, &view)? {
                Some(next) => view = next.value,
                None => break,
            }
        }
        shown.print_new(context, &view)?;
    }
    settle(context, view, program, target)
}

fn waits(view: &Value) -> bool {
    view["status"] == "waiting_for_interaction" && !waiting::pending(view).is_empty()
}

fn ask_next(context: &Context, view: &Value) -> Result<Option<Answer>, Failure> {
    let pending = waiting::pending(view);
    let Some(interaction) = pending.iter().find(|interaction| interaction["kind"] == "approval") else {
        return Ok(None);
    };
    let decision = waiting::ask(context, interaction)?;
    if decision == Decision::Later {
        return Ok(None);
    }
    waiting::answer(context, &field(view, "id"), &field(interaction, "id"), decision)
}

/// The end as it is: prints the result or tells the error, and gives the exit
/// code.
fn settle(context: &Context, view: Value, program: &Program, target: Option<&str>) -> Result<Exit, Failure> {
    if context.output.json {
        context.output.print_json(&view)?;
    }
    match view["status"].as_str() {
        Some("completed") => {
            let failed = view["result"]["ok"] == Value::Bool(false) && view["result"]["error"].is_object();
            if let Some(result) = view.get("result") {
                show_result(context, result, target)?;
            }
            // With --raw a failure is a value, and still one.
            Ok(if failed && view["kind"] == "call" { Exit::Failed } else { Exit::Ok })
        }
        Some("waiting_for_interaction") => {
            waiting::tell(context, &view);
            Ok(Exit::Waiting)
        }
        Some("cancelled") => {
            context.output.tell(&error_text("the execution was cancelled", &[], context.output.talk));
            Ok(Exit::Failed)
        }
        Some("failed") => {
            let error = &view["error"];
            context.output.tell(&render_error(error, program, context.output.talk));
            for hint in partial::hints(context, &view) {
                context.output.hint(&hint);
            }
            Ok(Exit::of_code(telling_code(error)))
        }
        _ => {
            let show = context.command(&format!("executions show {}", field(&view, "id")));
            context.output.say(&format!("it is {}: `{show}` shows how it goes on", field(&view, "status")));
            Ok(Exit::Ok)
        }
    }
}

/// Prints a result; its file goes where the person said. Nothing of a result
/// is lost where that can't be done.
fn show_result(context: &Context, result: &Value, target: Option<&str>) -> Result<(), Failure> {
    let saved = target.map(|target| downloads::save_only(context, result, target));
    let is_shown = !matches!(saved, Some(Ok(()))) || !downloads::is_file(result);
    if is_shown && !context.output.json {
        context.output.print(&text::plain(result))?;
        if target.is_none() {
            downloads::tell(context, result);
        }
    }
    saved.unwrap_or(Ok(()))
}

/// A failure to hear from the daemon how an execution went: where that is told.
pub(crate) fn broken_off(context: &Context, failure: Failure, id: Option<&str>) -> Failure {
    if !failure.message.starts_with(BROKEN_OFF) {
        return failure;
    }
    let command = match id {
        Some(id) => format!("executions show {}", quoted(&text::line(id, 80))),
        None => "executions list".to_owned(),
    };
    failure.hint(format!("`{}` starts it again and says what became of it", context.command(&command)))
}

/// How much of the logs and values has been printed.
#[derive(Debug, Default)]
struct Shown {
    logs: usize,
    emitted: usize,
}

impl Shown {
    fn print_new(&mut self, context: &Context, view: &Value) -> Result<(), Failure> {
        let logs = list(view, "logs");
        for log in logs.iter().skip(self.logs) {
            context.output.say(&log_line(log, context.output.talk));
        }
        self.logs = logs.len();
        let emitted = list(view, "emitted");
        for value in emitted.iter().skip(self.emitted) {
            context.output.print(&text::plain(value))?;
        }
        self.emitted = emitted.len();
        Ok(())
    }
}

/// One line of a program's log.
pub(crate) fn log_line(log: &Value, style: Style) -> String {
    let text = prose(log, "text");
    match log["level"].as_str() {
        Some("error") => style.red(&text),
        Some("warn" | "warning") => style.yellow(&text),
        _ => style.dim(&text),
    }
}

/// The message, the author's frames, the line with a caret, what to do.
pub(crate) fn render_error(error: &Value, program: &Program, style: Style) -> String {
    let mut message = prose(error, "message");
    // What a plain `throw new Error(…)` says is said by whoever tells it.
    if let Some(plain) = message.strip_prefix("Error: ") {
        message = plain.to_owned();
    }
    if message.is_empty() {
        message = format!("it failed: {}", field(error, "code"));
    }
    let frames = frames(error["stack"].as_str().unwrap_or(""), &program.name);
    for place in partial::places(error) {
        let _ = write!(message, "\n  {place}");
    }
    for frame in &frames {
        let _ = write!(message, "\n  {}", style.dim(frame));
    }
    if let Some(excerpt) =
        position(error, &frames, program).and_then(|(line, column)| excerpt(program, line, column, style))
    {
        message.push_str(&excerpt);
    }
    error_text(&message, &hints_of(error), style)
}

/// The frames of a stack that are in the program; without any, its first.
fn frames(stack: &str, name: &str) -> Vec<String> {
    let clean = text::clean(stack);
    let all: Vec<String> = clean
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("at "))
        .map(|line| text::line(line, 300))
        .collect();
    let own: Vec<String> =
        all.iter().filter(|frame| !name.is_empty() && frame.contains(name)).cloned().collect();
    let mut frames = if own.is_empty() { all } else { own };
    frames.truncate(FRAME_LIMIT);
    frames
}

/// Line and column, from 1, of an error in the program. The column may be
/// unknown.
fn position(error: &Value, frames: &[String], program: &Program) -> Option<(usize, Option<usize>)> {
    let in_frame = frames.iter().find_map(|frame| frame_position(frame, &program.name));
    let number = |value: &Value| value.as_u64().and_then(|number| usize::try_from(number).ok());
    let said = number(&error["line"]);
    let details = &error["details"];
    let column = number(&details["column"]).or_else(|| number(&details["diagnostics"][0]["column"]));
    match (in_frame, said) {
        (Some((line, column)), None) => Some((line, column)),
        (Some((line, column)), Some(said)) if line == said => Some((line, column)),
        (_, Some(said)) => Some((said, column)),
        (None, None) => None,
    }
}

/// `at f (name:3:7)` is line 3, column 7.
fn frame_position(frame: &str, name: &str) -> Option<(usize, Option<usize>)> {
    if name.is_empty() {
        return None;
    }
    let (_, after) = frame.rsplit_once(&format!("{name}:"))?;
    let mut numbers = after.trim_end_matches(')').split(':');
    let line = numbers.next()?.parse().ok()?;
    Some((line, numbers.next().and_then(|column| column.parse().ok())))
}

/// The line in its place, with a caret below the column.
fn excerpt(program: &Program, line: usize, column: Option<usize>, style: Style) -> Option<String> {
    let text = program.code.lines().nth(line.checked_sub(1)?)?;
    let text = text::shorten(&text::clean(text).replace('\t', " "), 160);
    let number = line.to_string();
    let margin = " ".repeat(number.len());
    let bar = style.dim("|");
    let mut excerpt = format!("\n\n {margin} {bar}\n {number} {bar} {text}");
    if let Some(column) = column.filter(|&column| column >= 1 && column <= text.chars().count() + 1) {
        let before = " ".repeat(column - 1);
        let _ = write!(excerpt, "\n {margin} {bar} {before}{}", style.red("^"));
    }
    Some(excerpt)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn program() -> Program {
        Program { name: "report.ts".into(), code: "const a = 1;\n\tawait tools.x.y({});\nreturn a;\n".into() }
    }

    #[track_caller]
    fn rendered(error: Value) -> String {
        render_error(&error, &program(), Style::default())
    }

    #[test]
    fn an_error_points_at_the_authors_line() {
        let error = json!({
            "code": "invalid-arguments", "message": "x.y needs `id`\u{1b}[31m",
            "stack": "ToolError: x\n    at call (prelude.js:9:1)\n    at main (report.ts:2:8)\n    at <anonymous>",
            "hint": "give it an id"
        });
        insta::assert_snapshot!(rendered(error), @r"
        error: x.y needs `id`
          at main (report.ts:2:8)

           |
         2 |  await tools.x.y({});
           |        ^

        hint: give it an id
        ");
    }

    #[test]
    fn a_line_alone_is_enough_and_a_wrong_one_harmless() {
        insta::assert_snapshot!(rendered(json!({ "code": "x", "message": "no", "line": 3 })), @r"
        error: no

           |
         3 | return a;
        ");
        insta::assert_snapshot!(
            rendered(json!({ "code": "syntax", "message": "no", "line": 1, "details": { "diagnostics": [{ "column": 7 }] } })),
            @r"
        error: no

           |
         1 | const a = 1;
           |       ^

        hint: `executor explain syntax` says more
        "
        );
        for line in [0, 4, 99_999] {
            assert_eq!(rendered(json!({ "code": "x", "message": "no", "line": line })), "error: no");
        }
        let stack = "at f (report.ts:1:9999)";
        assert!(!rendered(json!({ "code": "x", "message": "no", "stack": stack })).contains('^'));
        assert_eq!(rendered(json!({ "code": "odd" })), "error: it failed: odd");
    }

    #[test]
    fn the_exit_code_is_that_of_the_tool_that_ended_a_program() {
        let error = json!({ "code": "tool", "details": { "code": "denied" } });
        assert_eq!(Exit::of_code(telling_code(&error)), Exit::Denied);
        assert_eq!(Exit::of_code(telling_code(&json!({ "code": "tool" }))), Exit::Failed);
        assert_eq!(Exit::of_code(telling_code(&json!({ "code": "internal" }))), Exit::Bug);
    }

    #[test]
    fn frames_are_the_authors_and_few() {
        let stack = (0..50).map(|line| format!("at f (report.ts:{line}:1)\n")).collect::<String>();
        assert_eq!(frames(&stack, "report.ts").len(), FRAME_LIMIT);
        assert_eq!(frames("at <anonymous>", "report.ts"), ["at <anonymous>"]);
        assert_eq!(frame_position("at report.ts:4", "report.ts"), Some((4, None)));
        assert_eq!(frame_position("at x (other.ts:4:1)", "report.ts"), None);
    }
}
