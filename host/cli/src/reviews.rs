//! The writes that a refresh brought: what is shown of them, and the word that
//! somebody has seen them.

use serde_json::{Value, json};

use crate::api::Api;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::prompt;
use crate::style::Style;
use crate::text;
use crate::view::{field, flag, list, number};

/// Writes that a refresh tells of.
const TOLD: usize = 20;
/// Tools that one request marks: with their digests they fit into it.
const AT_ONCE: usize = 5_000;

/// Says which writes will ask after a refresh, whatever the rules allow.
pub(crate) fn tell(context: &Context, refreshed: &Value) {
    let source = &refreshed["source"];
    let (name, count) = (field(source, "name"), number(source, "unreviewed"));
    if count == 0 {
        return;
    }
    let tools = list(refreshed, "unreviewed");
    let mut told = format!("{} of {name} ask until somebody has seen them:\n", text::counted(count, "write"));
    for tool in tools.iter().take(TOLD) {
        told.push_str(&line(tool, context.output.talk));
    }
    let shown = tools.len().min(TOLD) as u64;
    if count > shown {
        told.push_str(&format!("  … and {} more\n", text::count(count - shown)));
    }
    context.output.say(told.trim_end());
    let command = context.command(&format!("sources review {name}"));
    context.output.hint(&format!("see them, and let the rules decide again: `{command}`"));
}

/// `executor sources review`
pub(crate) fn review(context: &Context, name: &str, yes: bool) -> Result<Exit, Failure> {
    let target = context.path(&["sources", name, "review"]);
    let api = Api::new(context);
    let answer = api.list(&target)?;
    let tools = list(&answer.value, "items");
    if context.output.json && !yes {
        context.output.print_json(&answer.value)?;
        return Ok(Exit::Ok);
    }
    if tools.is_empty() && !context.output.json {
        context.output.say(&format!("there is no write of {} that nobody has seen", text::line(name, 80)));
        return Ok(Exit::Ok);
    }
    if !context.output.json {
        context.output.print(&render(tools, context.output.data))?;
    }
    if !yes && !confirmed(context, name)? {
        return Ok(Exit::Ok);
    }
    let mut reviewed = Vec::new();
    let mut left = 0;
    for some in tools.chunks(AT_ONCE) {
        let seen: Vec<Value> =
            some.iter().map(|tool| json!({ "path": tool["path"], "digest": tool["digest"] })).collect();
        let done = api.post(&target, &json!({ "tools": seen }))?.value;
        reviewed.extend_from_slice(list(&done, "reviewed"));
        left = number(&done, "unreviewed");
    }
    if context.output.json {
        context.output.print_json(&json!({ "reviewed": reviewed, "unreviewed": left }))?;
        return Ok(Exit::Ok);
    }
    context.output.say(&format!("{} reviewed", text::counted(reviewed.len() as u64, "write")));
    if left > 0 {
        context.output.warn(&format!("{} came with a refresh meanwhile", text::counted(left, "write")));
    }
    Ok(Exit::Ok)
}

fn confirmed(context: &Context, name: &str) -> Result<bool, Failure> {
    if !prompt::can_ask(context) {
        let command = context.command(&format!("sources review {} --yes", text::line(name, 80)));
        context.output.hint(&format!("`{command}` says that a person has seen them"));
        return Ok(false);
    }
    let answer = prompt::line("\nMark them as seen, and let the rules decide? [y/N]: ")?.unwrap_or_default();
    let yes = matches!(answer.to_lowercase().as_str(), "y" | "yes");
    if !yes {
        context.output.say("nothing was changed: they go on asking");
    }
    Ok(yes)
}

/// Each write with the request that it makes, and what the rules make of it.
fn render(tools: &[Value], style: Style) -> String {
    let mut rendered = String::new();
    for tool in tools {
        rendered.push_str(&line(tool, style));
        let mut more = vec![text::shorten(&field(tool, "summary"), 100)];
        if flag(tool, "destructive") {
            more.push(style.red("takes something away"));
        }
        if field(tool, "then") == "allow" {
            more.push(style.yellow("a rule allows it, once it was seen"));
        }
        more.retain(|part| !part.is_empty());
        if !more.is_empty() {
            rendered.push_str(&format!("      {}\n", more.join("; ")));
        }
    }
    rendered
}

fn line(tool: &Value, style: Style) -> String {
    let sign = if tool["change"] == "changed" { "~" } else { "+" };
    let (request, before) = (field(tool, "request"), field(tool, "request_before"));
    let request = if request.is_empty() { request } else { format!("  {request}") };
    let before = if before.is_empty() { before } else { format!(" (was {before})") };
    format!("  {sign} {}{request}{before}\n", style.bold(&field(tool, "path")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_write_is_shown_with_what_it_sends() {
        let tools = [
            json!({ "path": "pets.add", "change": "new", "request": "POST /pets", "summary": "Add a \u{1b}[8mpet",
                "destructive": false, "then": "allow" }),
            json!({ "path": "pets.drop", "change": "changed", "request": "DELETE /pets/{id}",
                "request_before": "DELETE /cages/{id}", "summary": "", "destructive": true, "then": "approve" }),
            json!({ "path": "pets.odd", "change": "changed", "summary": "", "then": "approve" }),
        ];
        insta::assert_snapshot!(render(&tools, Style::default()), @r"
          + pets.add  POST /pets
              Add a pet; a rule allows it, once it was seen
          ~ pets.drop  DELETE /pets/{id} (was DELETE /cages/{id})
              takes something away
          ~ pets.odd
        ");
    }
}
