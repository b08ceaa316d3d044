//! `executor audit`: who did what, through which client.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::api::{Api, query};
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::style::Style;
use crate::table::Table;
use crate::text;
use crate::view::{field, list, time};

/// Records that are asked for at once.
const PAGE: usize = 500;

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Find records, the oldest first
    Search(SearchArguments),
}

#[derive(Debug, Args)]
pub(crate) struct SearchArguments {
    /// Words that a record must all contain: a tool, an execution, a client
    words: Vec<String>,
    /// Start after this record's number
    #[arg(long, default_value_t = 0)]
    after: u64,
    /// How many
    #[arg(long, default_value_t = 50)]
    limit: usize,
}

pub(crate) fn run(context: &Context, action: Action) -> Result<Exit, Failure> {
    let Action::Search(arguments) = action;
    let (items, next) = search(context, &arguments)?;
    let none = items.is_empty();
    let found = json!({ "items": items, "next": next });
    if context.output.json {
        context.output.print_json(&found)?;
    } else if none {
        context.output.say("no record matches");
    } else {
        context.output.print(&render(&found, context.output.data))?;
        if list(&found, "items").len() == arguments.limit {
            context.output.say(&format!("--after {next} shows later ones"));
        }
    }
    Ok(Exit::Ok)
}

fn search(context: &Context, arguments: &SearchArguments) -> Result<(Vec<Value>, u64), Failure> {
    let api = Api::new(context);
    let words: Vec<String> = arguments.words.iter().map(|word| word.to_lowercase()).collect();
    let mut found = Vec::new();
    let mut after = arguments.after;
    loop {
        let values = [("after", Some(after.to_string())), ("limit", Some(PAGE.to_string()))];
        let mut page = api.get(&(context.path(&["audit"]) + &query(&values)))?.value;
        let Value::Array(items) = page["items"].take() else {
            break;
        };
        if items.is_empty() {
            break;
        }
        for item in items {
            after = item["sequence"].as_u64().unwrap_or(after + 1);
            if matches(&item, &words) {
                found.push(item);
            }
            if found.len() >= arguments.limit {
                return Ok((found, after));
            }
        }
    }
    Ok((found, after))
}

fn matches(item: &Value, words: &[String]) -> bool {
    let text = item["record"].to_string().to_lowercase();
    words.iter().all(|word| text.contains(word))
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

    #[test]
    fn records_are_found_and_shown() {
        let item = json!({ "sequence": 3, "at": "2030-01-02T03:04:05Z", "hash": "x",
            "record": { "what": "tool.call", "client": "cli", "account": "local", "tool": "github.zen", "args": {} } });
        assert!(matches(&item, &["github".into(), "call".into()]));
        assert!(!matches(&item, &["gitlab".into()]));
        insta::assert_snapshot!(render(&json!({ "items": [item] }), Style::default()), @r"
        NUMBER  AT                   WHAT       CLIENT  ABOUT
        3       2030-01-02 03:04:05  tool.call  cli     tool=github.zen args={}
        ");
    }
}
