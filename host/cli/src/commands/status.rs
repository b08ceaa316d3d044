//! `executor status`: whether the daemon runs, and where.

use serde_json::Value;

use crate::api::{Api, path};
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::style::Style;
use crate::table;
use crate::view::{field, flag, joined, time};

pub(crate) fn run(context: &Context) -> Result<Exit, Failure> {
    let answer = Api::running(context).get(&path(&["installation"]))?;
    context.output.answer(&answer, render)?;
    let running = field(&answer.value, "version");
    let own = env!("CARGO_PKG_VERSION");
    if running != own {
        context.output.warn(&format!("the daemon is version {running} and this program is {own}"));
        context
            .output
            .hint(&format!("`{}` ends it; the next command starts this version", context.command("down")));
    }
    Ok(Exit::Ok)
}

fn render(view: &Value, style: Style) -> String {
    let components = if flag(view, "ready") { "ready" } else { "still being compiled" };
    let facts = [
        ("status", style.green("running")),
        ("address", field(view, "address")),
        ("process", field(view, "pid")),
        ("version", field(view, "version")),
        ("home", field(view, "home")),
        ("started", time(view, "started_at")),
        ("components", components.to_owned()),
        ("workspaces", joined(view, "workspaces")),
    ];
    table::facts(&facts, style)
}

/// What `up` says.
pub(super) fn one_line(view: &Value, started: bool) -> String {
    let how = if started { "the daemon runs" } else { "the daemon runs already" };
    let address = field(view, "address");
    let place = if address.is_empty() { String::new() } else { format!(" at {address}") };
    format!("{how}{place}, pid {}", field(view, "pid"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_state_is_told() {
        let view = json!({
            "id": "x", "version": "0.1.0", "home": "/h", "pid": 7, "address": "http://127.0.0.1:4788",
            "started_at": "2030-01-02T03:04:05Z", "ready": false, "workspaces": ["default"]
        });
        insta::assert_snapshot!(render(&view, Style::default()), @r"
        status      running
        address     http://127.0.0.1:4788
        process     7
        version     0.1.0
        home        /h
        started     2030-01-02 03:04:05
        components  still being compiled
        workspaces  default
        ");
        assert_eq!(one_line(&view, true), "the daemon runs at http://127.0.0.1:4788, pid 7");
    }
}
