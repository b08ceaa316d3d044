//! `executor version`.

use clap::Args;
use serde_json::{Value, json};

use crate::api::Api;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::style::Style;
use crate::table::Table;
use crate::view::{field, list};

#[derive(Debug, Args)]
pub(crate) struct VersionArguments {
    /// Show the daemon's components and their digests too
    #[arg(long)]
    components: bool,
}

pub(crate) fn run(context: &Context, arguments: &VersionArguments) -> Result<Exit, Failure> {
    let mut version = json!({ "version": env!("CARGO_PKG_VERSION") });
    if arguments.components {
        let mut answer = Api::new(context).list(&context.path(&["components"]))?;
        version["components"] = answer.value["items"].take();
    }
    if context.output.json {
        context.output.print_json(&version)?;
    } else {
        context.output.print(&render(&version, context.output.data))?;
    }
    Ok(Exit::Ok)
}

fn render(version: &Value, style: Style) -> String {
    let mut rendered = format!("executor {}\n", field(version, "version"));
    let components = list(version, "components");
    if !components.is_empty() {
        let mut table = Table::new(&["COMPONENT", "WORLD", "DIGEST"]);
        for component in components {
            table.row([&field(component, "name"), &field(component, "world"), &field(component, "digest")]);
        }
        rendered.push('\n');
        rendered.push_str(&table.render(style));
    }
    rendered
}
