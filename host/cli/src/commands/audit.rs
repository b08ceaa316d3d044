//! `executor audit`: who did what, through which client.

use clap::{Args, Subcommand};
use serde_json::Value;

use crate::api::{Api, query};
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::style::Style;
use crate::table::Table;
use crate::text;
use crate::view::{field, list, time};

/// Records that are asked for at once.
const PAGE: usize = 1000;

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Find records, the oldest first
    Search(SearchArguments),
    /// Say whether the log is what was written: no record changed, moved or taken away
    Verify,
    /// Print every record that matches, a line of JSON each
    Export(Wanted),
}

/// Which records.
#[derive(Debug, Args)]
pub(crate) struct Wanted {
    /// Words that a record must all contain: a tool, an execution, a client
    words: Vec<String>,
    /// One kind alone, as `tool.call`, or one family, as `tool.`
    #[arg(long)]
    what: Option<String>,
    /// From this time on, as 2026-11-30T12:00:00Z
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// From before this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Start after this record's number
    #[arg(long, default_value_t = 0)]
    after: u64,
}

#[derive(Debug, Args)]
pub(crate) struct SearchArguments {
    #[command(flatten)]
    wanted: Wanted,
    /// How many
    #[arg(long, default_value_t = 50)]
    limit: usize,
}

pub(crate) fn run(context: &Context, action: Action) -> Result<Exit, Failure> {
    match action {
        Action::Search(arguments) => search(context, &arguments),
        Action::Verify => verify(context),
        Action::Export(wanted) => {
            let mut cursor = None;
            loop {
                let page = page(context, &wanted, PAGE, cursor.take())?;
                let lines: Vec<String> = list(&page, "items").iter().map(text::compact_json).collect();
                context.output.print(&lines.join("\n"))?;
                cursor = page["next_cursor"].as_str().map(str::to_owned);
                if cursor.is_none() {
                    return Ok(Exit::Ok);
                }
            }
        }
    }
}

fn search(context: &Context, arguments: &SearchArguments) -> Result<Exit, Failure> {
    let page = page(context, &arguments.wanted, arguments.limit, None)?;
    if context.output.json {
        context.output.print_json(&page)?;
    } else if list(&page, "items").is_empty() {
        context.output.say("no record matches");
    } else {
        context.output.print(&render(&page, context.output.data))?;
        if let (Some(last), true) = (list(&page, "items").last(), page["next_cursor"].is_string()) {
            context.output.say(&format!("--after {} shows later ones", field(last, "sequence")));
        }
    }
    Ok(Exit::Ok)
}

fn verify(context: &Context) -> Result<Exit, Failure> {
    let answer = Api::new(context).get(&context.path(&["audit", "verdict"]))?;
    let verdict = &answer.value;
    let holds = verdict["holds"] == true;
    if context.output.json {
        context.output.print_json(verdict)?;
    } else if holds {
        context.output.print(&format!("the audit log holds: {} records", field(verdict, "records")))?;
    } else {
        let (at, why) = (field(verdict, "broken_at"), field(verdict, "why"));
        context.output.print(&format!("the audit log does not hold at record {at}: {why}"))?;
    }
    Ok(if holds { Exit::Ok } else { Exit::Failed })
}

fn page(context: &Context, wanted: &Wanted, limit: usize, cursor: Option<String>) -> Result<Value, Failure> {
    let words = (!wanted.words.is_empty()).then(|| wanted.words.join(" "));
    let after = (wanted.after > 0 && cursor.is_none()).then(|| wanted.after.to_string());
    let values = [
        ("limit", Some(limit.to_string())),
        ("cursor", cursor),
        ("after", after),
        ("query", words),
        ("what", wanted.what.clone()),
        ("since", wanted.since.clone()),
        ("until", wanted.until.clone()),
    ];
    Ok(Api::new(context).get(&(context.path(&["audit"]) + &query(&values)))?.value)
}

fn render(found: &Value, style: Style) -> String {
    let mut table = Table::new(&["NUMBER", "AT", "WHAT", "CLIENT", "ABOUT"]);
    for item in list(found, "items") {
        let record = &item["record"];
        table.row([
            &field(item, "sequence"),
            &time(item, "at"),
            &field(record, "what"),
            &field(record, "client"),
            &about(record),
        ]);
    }
    table.render(style)
}

/// What a record says beside who and what.
fn about(record: &Value) -> String {
    let mut parts = Vec::new();
    for (name, value) in record.as_object().into_iter().flatten() {
        if !matches!(name.as_str(), "what" | "client" | "account" | "surface") && !value.is_null() {
            parts.push(format!(
                "{}={}",
                text::line(name, 40),
                text::shorten(&crate::view::scalar(value), 60)
            ));
        }
    }
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn records_are_shown() {
        let item = json!({ "sequence": 3, "at": "2030-01-02T03:04:05Z", "hash": "x",
            "record": { "what": "tool.call", "client": "cli", "account": "local", "tool": "github.zen", "args": {} } });
        insta::assert_snapshot!(render(&json!({ "items": [item] }), Style::default()), @r"
        NUMBER  AT                   WHAT       CLIENT  ABOUT
        3       2030-01-02 03:04:05  tool.call  cli     tool=github.zen args={}
        ");
    }
}
