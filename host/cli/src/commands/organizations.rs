//! `executor organizations`: those who share workspaces.

use clap::Subcommand;
use serde_json::{Value, json};

use crate::api::Api;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::style::Style;
use crate::table::Table;
use crate::view::{field, joined, list};

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// List the organizations that you are in
    List,
    /// Make an organization, which you own
    Add {
        /// Its name: lower-case letters, digits, `-` and `_`
        name: String,
    },
}

pub(crate) fn run(context: &Context, action: Action) -> Result<Exit, Failure> {
    let api = Api::new(context);
    match action {
        Action::List => context.output.answer(&api.list(ORGANIZATIONS)?, render)?,
        Action::Add { name } => {
            let answer = api.post(ORGANIZATIONS, &json!({ "name": name }))?;
            context.output.answer(&answer, |view, _| format!("added {}", field(view, "name")))?;
        }
    }
    Ok(Exit::Ok)
}

const ORGANIZATIONS: &str = "/v1/organizations";

fn render(answer: &Value, style: Style) -> String {
    let mut table = Table::new(&["ORGANIZATION", "YOU ARE", "WORKSPACES"]);
    for item in list(answer, "items") {
        table.row([&field(item, "name"), &field(item, "role"), &joined(item, "workspaces")]);
    }
    table.render(style)
}
