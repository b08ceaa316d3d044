//! `executor sources set`: changes what a person set on a source.

use clap::Args;
use serde_json::{Value, json};

use crate::api::Api;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::settings;
use crate::text;
use crate::view::{field, joined, list, number};

#[derive(Debug, Args)]
pub(crate) struct SetSourceArguments {
    /// The source
    name: String,
    /// A setting of its adapter, as `base_url=https://…`; dots nest
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// A setting to take away
    #[arg(long, value_name = "KEY")]
    unset: Vec<String>,
    /// One more host on this machine or a private network that it may reach
    #[arg(long, value_name = "HOST:PORT")]
    allow_host: Vec<String>,
    /// One more origin that its tools may be at, as `https://api.example.com`
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,
    /// Believe what it says about its own tools, or no more: `--trusted false`
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    trusted: Option<bool>,
}

pub(crate) fn run(context: &Context, arguments: &SetSourceArguments) -> Result<Exit, Failure> {
    let body = json!({ "change": change(arguments)? });
    let target = context.path(&["sources", &arguments.name, "refresh"]);
    let answer = super::sources::with_bar(context, |progress| {
        Api::new(context).post_with_progress(&target, &body, progress)
    })?;
    context.output.answer(&answer, |answer, style| {
        let source = &answer["source"];
        let tools = text::counted(number(source, "tool_count"), "tool");
        format!("{} is set anew: {tools}", style.bold(&field(source, "name")))
    })?;
    crate::reviews::tell(context, &answer.value);
    tell_connections(context, &arguments.name)
}

fn change(arguments: &SetSourceArguments) -> Result<Value, Failure> {
    let mut settings = settings::nested(&arguments.settings)?;
    for name in &arguments.unset {
        if !settings[name].is_null() {
            return Err(Failure::usage(format!("{} is set and unset", text::line(name, 80))));
        }
        settings[name] = Value::Null;
    }
    let mut change = json!({
        "settings": settings,
        "allow_hosts": arguments.allow_host,
        "allow_origins": arguments.allow_origin,
    });
    if let Some(trusted) = arguments.trusted {
        change["trusted"] = json!(trusted);
    } else if settings_are_empty(&change) {
        return Err(Failure::usage("there is nothing to set")
            .hint("--set KEY=VALUE, --unset KEY, --allow-host, --allow-origin, --trusted"));
    }
    Ok(change)
}

fn settings_are_empty(change: &Value) -> bool {
    change["settings"].as_object().is_none_or(serde_json::Map::is_empty)
        && ["allow_hosts", "allow_origins"].iter().all(|name| list(change, name).is_empty())
}

/// Values stay pinned to where they could go when they were given.
fn tell_connections(context: &Context, name: &str) -> Result<Exit, Failure> {
    let source = Api::new(context).get(&context.path(&["sources", name]))?.value;
    let origins = list(&source, "origins");
    let all = Api::new(context).list(&context.path(&["connections"]))?.value;
    let narrower = list(&all, "items").iter().filter(|connection| {
        let pinned = list(connection, "origins");
        field(connection, "source") == name && !origins.iter().all(|origin| pinned.contains(origin))
    });
    for connection in narrower {
        let (connection_name, pinned) = (field(connection, "name"), joined(connection, "origins"));
        context.output.warn(&format!("the connection {connection_name} stays pinned to {pinned}"));
        let command = context.command(&format!("connections add {name} --name …"));
        context.output.hint(&format!("its values go to no other origin; add one that may: `{command}`"));
    }
    Ok(Exit::Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(settings: &[&str], unset: &[&str]) -> SetSourceArguments {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        SetSourceArguments {
            name: "api".into(),
            settings: texts(settings),
            unset: texts(unset),
            allow_host: Vec::new(),
            allow_origin: Vec::new(),
            trusted: None,
        }
    }

    #[test]
    fn what_is_unset_is_null_and_nothing_is_refused() {
        let change = change(&arguments(&["page_size=5"], &["base_url"])).unwrap();
        assert_eq!(change["settings"], json!({ "page_size": 5, "base_url": null }));
        assert!(super::change(&arguments(&[], &[])).unwrap_err().message.contains("nothing to set"));
        assert!(super::change(&arguments(&["a=1"], &["a"])).unwrap_err().message.contains("set and unset"));
        let trusted = SetSourceArguments { trusted: Some(false), ..arguments(&[], &[]) };
        assert_eq!(super::change(&trusted).unwrap()["trusted"], false);
    }
}
