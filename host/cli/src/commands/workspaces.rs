//! `executor workspaces`: what keeps sources and executions apart.

use clap::Subcommand;
use serde_json::{Value, json};

use crate::api::Api;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::style::Style;
use crate::table::Table;
use crate::view::{field, list};

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// List the workspaces that you may enter
    List,
    /// Make a workspace, empty
    Add {
        /// Its name: lower-case letters, digits, `-` and `_`
        name: String,
        /// The organization that it belongs to [default: the first or the only one of yours]
        #[arg(long, value_name = "NAME")]
        organization: Option<String>,
    },
}

pub(crate) fn run(context: &Context, action: Action) -> Result<Exit, Failure> {
    let api = Api::new(context);
    match action {
        Action::List => context.output.answer(&api.list(WORKSPACES)?, render)?,
        Action::Add { name, organization } => {
            let answer = api.post(WORKSPACES, &json!({ "name": name, "organization": organization }))?;
            context.output.answer(&answer, |view, _| format!("added {}", field(view, "name")))?;
        }
    }
    Ok(Exit::Ok)
}

const WORKSPACES: &str = "/v1/workspaces";

fn render(answer: &Value, style: Style) -> String {
    let mut table = Table::new(&["WORKSPACE", "ORGANIZATION"]);
    for item in list(answer, "items") {
        table.row([&field(item, "name"), &field(item, "organization")]);
    }
    table.render(style)
}
