//! What became of an execution, as a tool's result: text for the model, the
//! same in structure for programs.

use std::fmt::Write as _;

use executor_control::{ExecutionError, ExecutionView, LogView, Problem};
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value, json};

use super::text;

/// The status of an execution that waits for a person.
pub(super) const WAITING: &str = "waiting_for_interaction";

/// Bytes of a result, of what was emitted, and of logs that go along in
/// structure. Clients show that to models as well, so what is larger is for
/// `executor executions show`.
const STRUCTURED_LIMIT_BYTES: usize = 256 * 1024;
/// Characters of the logs in the text.
const LOG_LIMIT: usize = 8_000;
const ADVICE: &str = "Return less: pick fields, filter, or slice before `return`.";

/// The shape of a result's structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `execute` and `resume`: the execution.
    Execution,
    /// A tool of the catalogue: its data.
    Direct,
}

/// The result of a tool that led to an execution.
pub(super) fn execution(view: ExecutionView, workspace: &str, form: Form) -> CallToolResult {
    let failed = matches!(view.status.as_str(), "failed" | "cancelled");
    let (media, emitted) = split_media(&view.emitted);
    let words = words(&view, &emitted, workspace);
    let mut content = vec![ContentBlock::text(text::bounded(words, ADVICE))];
    content.extend(media);
    let mut result = CallToolResult::success(content);
    result.is_error = Some(failed);
    result.structured_content = Some(structured(view, form));
    result
}

/// The result of a tool that could not do what was asked.
pub(super) fn problem(problem: &Problem) -> CallToolResult {
    let mut words = format!("{}: {}", problem.code, problem.message);
    if let Some(hint) = &problem.hint {
        let _ = write!(words, "\nhint: {hint}");
    }
    let mut error = json!({ "code": problem.code, "message": problem.message });
    for (key, value) in
        [("hint", problem.hint.clone().map(Value::String)), ("details", problem.details.clone())]
    {
        if let Some(value) = value {
            error[key] = value;
        }
    }
    let mut result =
        CallToolResult::error(vec![ContentBlock::text(text::bounded(text::clean(&words), ADVICE))]);
    result.structured_content = Some(json!({ "status": "failed", "error": error }));
    result
}

/// A command line that answers an execution's question.
pub(super) fn resume_command(id: &str, workspace: &str, action: &str) -> String {
    let place = if workspace == "default" { String::new() } else { format!("--workspace {workspace} ") };
    format!("executor {place}resume {id} {action}")
}

fn words(view: &ExecutionView, emitted: &[&Value], workspace: &str) -> String {
    let mut words = match view.status.as_str() {
        "completed" => result_words(view),
        WAITING => waiting_words(view, workspace),
        "cancelled" => format!("The execution {} was cancelled.", view.id),
        "failed" => view.error.as_ref().map_or_else(|| "The program failed.".to_owned(), error_words),
        other => format!("The execution {} is {other}.", view.id),
    };
    for value in emitted {
        let _ = match value {
            Value::String(text) => write!(words, "\n\nemitted: {text}"),
            value => write!(words, "\n\nemitted: {value}"),
        };
    }
    if !view.logs.is_empty() {
        words.push_str("\n\nlogs:");
        words.push_str(&log_words(&view.logs));
    }
    text::clean(&words)
}

fn result_words(view: &ExecutionView) -> String {
    let json = view.result.as_deref().map_or("null", |result| result.get());
    match serde_json::from_str::<String>(json) {
        Ok(text) => text,
        // As it came: nothing is written anew that may be megabytes long.
        Err(_) if json == "null" => "null (the program returned nothing)".to_owned(),
        Err(_) => json.to_owned(),
    }
}

fn error_words(error: &ExecutionError) -> String {
    let mut words = format!("{}: {}", error.code, error.message);
    if let Some(line) = error.line {
        let _ = write!(words, " (line {line})");
    }
    if let Some(hint) = &error.hint {
        let _ = write!(words, "\nhint: {hint}");
    }
    if let Some(stack) = &error.stack {
        let _ = write!(words, "\n{stack}");
    }
    words
}

fn waiting_words(view: &ExecutionView, workspace: &str) -> String {
    let mut words = format!("The execution {} waits for a person:", view.id);
    for asked in &view.interactions {
        let _ = write!(words, "\n- {}", text::line(&asked.message, 500));
        if let Some(url) = &asked.url {
            let _ = write!(words, " ({})", text::line(url, 500));
        }
    }
    let command = |action| resume_command(&view.id, workspace, action);
    let _ = write!(
        words,
        "\n\nNothing was sent for it yet. A person goes on with `{}` or `{}` in a terminal. \
         Then `resume` with this executionId gives the outcome.\n\
         You can go on without it: `resume` with action `decline` (the program hears of it) or `cancel`.",
        command("--accept"),
        command("--decline"),
    );
    if view.interactions.iter().any(|asked| asked.kind != "approval") {
        words.push_str("\nA form is filled in by `resume` with action `answer` and `content`.");
    }
    words
}

/// The last lines, as many as there is room for.
fn log_words(logs: &[LogView]) -> String {
    let mut room = LOG_LIMIT;
    let fits = |log: &&LogView| {
        let length = log.text.len() + log.level.len() + 4;
        room = room.saturating_sub(length);
        room > 0
    };
    let kept = logs.iter().rev().take_while(fits).count();
    let mut words = String::new();
    let left_out = logs.len() - kept;
    if left_out > 0 {
        let _ = write!(words, "\n… [{left_out} lines before these]");
    }
    for log in &logs[left_out..] {
        let _ = write!(words, "\n[{}] {}", log.level, log.text);
    }
    words
}

/// Images, sounds and resources that a program emitted as MCP has them, and
/// the rest.
fn split_media(emitted: &[Value]) -> (Vec<ContentBlock>, Vec<&Value>) {
    let (mut media, mut rest) = (Vec::new(), Vec::new());
    for value in emitted {
        let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
        let block = match kind {
            "image" | "audio" | "resource" | "resource_link" => serde_json::from_value(value.clone()).ok(),
            _ => None,
        };
        match block {
            Some(block) => media.push(block),
            None => rest.push(value),
        }
    }
    (media, rest)
}

fn structured(view: ExecutionView, form: Form) -> Value {
    let mut members = Map::new();
    let mut truncated = false;
    let completed = view.status == "completed";
    if form == Form::Execution || !completed {
        members.insert("status".into(), view.status.into());
        members.insert("executionId".into(), view.id.into());
    }
    if completed {
        let json = view.result.as_deref().map_or("null", |result| result.get());
        let key = if form == Form::Direct { "data" } else { "result" };
        if json.len() <= STRUCTURED_LIMIT_BYTES {
            members.insert(key.into(), serde_json::from_str(json).unwrap_or_default());
        } else {
            truncated = true;
        }
    }
    if form == Form::Execution {
        let logs = newest(&view.logs);
        truncated |= logs.len() < view.logs.len();
        members.insert("logs".into(), json!(logs));
        let small =
            view.emitted.is_empty() || json!(view.emitted).to_string().len() <= STRUCTURED_LIMIT_BYTES;
        truncated |= !small;
        members.insert("emitted".into(), Value::Array(if small { view.emitted } else { Vec::new() }));
    }
    if let Some(error) = view.error {
        members.insert("error".into(), json!(error));
    }
    if !view.interactions.is_empty() {
        members.insert("interactions".into(), json!(view.interactions));
    }
    if truncated {
        members.insert("truncated".into(), true.into());
    }
    Value::Object(members)
}

fn newest(logs: &[LogView]) -> &[LogView] {
    let mut bytes = 0;
    let fits = |log: &&LogView| {
        bytes += log.text.len() + 32;
        bytes <= STRUCTURED_LIMIT_BYTES
    };
    let kept = logs.iter().rev().take_while(fits).count();
    &logs[logs.len() - kept..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_control::{InteractionView, ProblemKind, UsageView};
    use serde_json::value::RawValue;

    fn view(status: &str, result: Option<&str>) -> ExecutionView {
        ExecutionView {
            account: "local".into(),
            id: "exe_1".into(),
            kind: "code".into(),
            status: status.into(),
            title: String::new(),
            surface: "mcp".into(),
            client: "agent".into(),
            created_at: String::new(),
            settled_at: None,
            durable: false,
            result: result.map(|json| RawValue::from_string(json.to_owned()).unwrap()),
            error: None,
            logs: Vec::new(),
            emitted: Vec::new(),
            interactions: Vec::new(),
            usage: UsageView::default(),
        }
    }

    fn asked(kind: &str) -> InteractionView {
        InteractionView {
            id: "int_1".into(),
            execution: "exe_1".into(),
            kind: kind.into(),
            message: "pets.add would send POST https://x.test/\u{1b}[2Jpets\nnow".into(),
            status: "pending".into(),
            tool: "pets.add".into(),
            connection: None,
            origin: None,
            arguments: json!({}),
            request: None,
            changes: None,
            schema: None,
            url: None,
            url_is_of_source: None,
            asked_by: None,
            created_at: String::new(),
            expires_at: String::new(),
            answered_by: None,
        }
    }

    fn words_of(result: &CallToolResult) -> &str {
        &result.content[0].as_text().unwrap().text
    }

    #[test]
    fn a_result_is_text_and_structure() {
        let mut view = view("completed", Some(r#"{"a":[1,2]}"#));
        view.logs.push(LogView { level: "info".into(), text: "seen \u{1b}[31mred".into() });
        view.emitted.push(json!({ "type": "image", "data": "AAAA", "mimeType": "image/png" }));
        view.emitted.push(json!({ "type": "image", "data": 7 }));
        let result = execution(view, "default", Form::Execution);
        assert_eq!(
            words_of(&result),
            "{\"a\":[1,2]}\n\nemitted: {\"type\":\"image\",\"data\":7}\n\nlogs:\n[info] seen red"
        );
        assert!(matches!(result.content[1], ContentBlock::Image(_)));
        let structured = result.structured_content.unwrap();
        assert_eq!(structured["result"], json!({ "a": [1, 2] }));
        assert_eq!(structured["emitted"].as_array().unwrap().len(), 2);
        assert_eq!((result.is_error, structured.get("truncated")), (Some(false), None));

        let direct = execution(super::tests::view("completed", Some("\"hello\"")), "default", Form::Direct);
        assert_eq!(words_of(&direct), "hello");
        assert_eq!(direct.structured_content.unwrap(), json!({ "data": "hello" }));
    }

    #[test]
    fn what_is_huge_is_cut_and_said_to_be() {
        let huge = format!("[\"{}\"]", "x".repeat(STRUCTURED_LIMIT_BYTES));
        let mut view = view("completed", Some(&huge));
        view.logs = (0..20_000)
            .map(|n| LogView { level: "info".into(), text: format!("{n} {}", "y".repeat(50)) })
            .collect();
        view.emitted = vec![json!("z".repeat(STRUCTURED_LIMIT_BYTES))];
        let result = execution(view, "default", Form::Execution);
        let words = words_of(&result);
        assert!(words.chars().count() <= text::TEXT_LIMIT, "{}", words.chars().count());
        assert!(words.contains("Return less"), "{}", &words[words.len() - 200..]);
        let structured = result.structured_content.unwrap();
        assert_eq!(structured["truncated"], true);
        assert!(structured.get("result").is_none() && structured["emitted"].as_array().unwrap().is_empty());
        let last =
            structured["logs"].as_array().unwrap().last().unwrap()["text"].as_str().unwrap().to_owned();
        assert!(last.starts_with("19999 "), "the newest lines are kept: {last}");
        assert!(structured.to_string().len() < 3 * STRUCTURED_LIMIT_BYTES);
    }

    #[test]
    fn a_failure_says_where_and_what_to_do() {
        let mut view = view("failed", None);
        view.error = Some(ExecutionError {
            code: "denied".into(),
            message: "no".into(),
            line: Some(3),
            hint: Some("ask".into()),
            ..ExecutionError::default()
        });
        let result = execution(view, "default", Form::Direct);
        assert_eq!((words_of(&result), result.is_error), ("denied: no (line 3)\nhint: ask", Some(true)));
        assert_eq!(result.structured_content.unwrap()["executionId"], "exe_1");
        let refused = problem(&Problem::new(ProblemKind::Invalid, "invalid-request", "bad").hint("good"));
        assert_eq!(words_of(&refused), "invalid-request: bad\nhint: good");
        assert_eq!(refused.is_error, Some(true));
    }

    #[test]
    fn who_waits_says_for_what_and_who_may_answer() {
        let mut view = view(WAITING, None);
        view.interactions = vec![asked("approval")];
        let result = execution(view, "work", Form::Execution);
        let words = words_of(&result);
        assert!(words.contains("- pets.add would send POST https://x.test/pets now"), "{words}");
        assert!(words.contains("executor --workspace work resume exe_1 --accept"), "{words}");
        assert!(!words.contains("action `answer`"), "{words}");
        assert_eq!(result.is_error, Some(false));
        let structured = result.structured_content.unwrap();
        assert_eq!(structured["interactions"][0]["id"], "int_1");
    }
}
