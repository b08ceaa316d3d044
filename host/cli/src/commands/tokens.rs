//! `executor tokens`: how clients show who they are, and what each may do.

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use crate::api::{Api, path};
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::style::Style;
use crate::table::Table;
use crate::text;
use crate::view::{field, list, time};

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// List the tokens
    List {
        /// Those of every account
        #[arg(long)]
        all: bool,
    },
    /// Make a token; its secret is printed this once
    Add(AddArguments),
    /// Take a token back: from now on it is nobody's
    Revoke {
        /// Its name or id
        token: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct AddArguments {
    /// Its name, by which records tell what was done with it
    name: String,
    /// What it may do [default: call]
    #[arg(long = "can", value_delimiter = ',', value_name = "CAPABILITY")]
    can: Vec<Capability>,
    /// The only tools that it may call: `github.issues.*`; may be given again
    #[arg(long = "tools", value_delimiter = ',', value_name = "PATTERN")]
    tools: Vec<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Capability {
    /// See everything, secrets aside
    Read,
    /// Find and call tools, run programs
    Call,
    /// Change what there is, and so see it
    Manage,
    /// Accept what an execution asks a person for
    Approve,
}

impl Capability {
    fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Call => "call",
            Self::Manage => "manage",
            Self::Approve => "approve",
        }
    }
}

pub(crate) fn run(context: &Context, action: Action) -> Result<Exit, Failure> {
    let api = Api::new(context);
    match action {
        Action::List { all } => {
            let answer = if all { api.list_with(TOKENS, &[("all", "true")])? } else { api.list(TOKENS)? };
            if !context.output.json && list(&answer.value, "items").is_empty() {
                context.output.say("there are no tokens; `executor connect` makes one for each client");
            } else {
                context.output.answer(&answer, render)?;
            }
        }
        Action::Add(arguments) => {
            let answer = api.post(TOKENS, &add_body(&arguments))?;
            if context.output.json {
                context.output.print_json(&answer.value)?;
            } else {
                context.output.say("this is the only time that the token is shown:");
                context.output.print(&field(&answer.value, "secret"))?;
            }
        }
        Action::Revoke { token } => {
            api.delete(&path(&["tokens", &token]))?;
            context.output.say(&format!("revoked {}", text::line(&token, 80)));
        }
    }
    Ok(Exit::Ok)
}

const TOKENS: &str = "/v1/tokens";

fn add_body(arguments: &AddArguments) -> Value {
    let mut body = json!({ "name": arguments.name });
    if !arguments.can.is_empty() {
        let names: Vec<&str> = arguments.can.iter().map(|one| one.as_str()).collect();
        body["capabilities"] = json!(names);
    }
    if !arguments.tools.is_empty() {
        body["toolkit"] = json!(arguments.tools);
    }
    body
}

fn render(answer: &Value, style: Style) -> String {
    let of_others =
        list(answer, "items").iter().any(|item| item["account"] != list(answer, "items")[0]["account"]);
    let mut table = Table::new(&["NAME", "MAY", "TOOLS", "MADE", "LAST USED"]);
    for item in list(answer, "items") {
        let words = |name: &str| {
            let words: Vec<&str> = list(item, name).iter().filter_map(Value::as_str).collect();
            words.join(", ")
        };
        let tools = if item["toolkit"].is_null() { "all".to_owned() } else { words("toolkit") };
        let used =
            if item["last_used_at"].is_null() { "never".to_owned() } else { time(item, "last_used_at") };
        let name = if of_others {
            format!("{}/{} {}", field(item, "account"), field(item, "name"), field(item, "id"))
        } else {
            field(item, "name")
        };
        table.row([
            &name,
            &words("capabilities"),
            &text::shorten(&tools, 60),
            &time(item, "created_at"),
            &used,
        ]);
    }
    table.render(style)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_shown_with_what_they_may_do() {
        let items = json!({ "items": [
            { "id": "tok_1", "name": "claude", "capabilities": ["call"], "toolkit": ["github.*"],
              "created_at": "2030-01-02T03:04:05Z" },
            { "id": "tok_2", "name": "ops", "capabilities": ["call", "manage"],
              "created_at": "2030-01-02T03:04:05Z", "last_used_at": "2030-01-03T00:00:00Z" },
        ] });
        insta::assert_snapshot!(render(&items, Style::default()), @r"
        NAME    MAY           TOOLS     MADE                 LAST USED
        claude  call          github.*  2030-01-02 03:04:05  never
        ops     call, manage  all       2030-01-02 03:04:05  2030-01-03 00:00:00
        ");
    }
}
