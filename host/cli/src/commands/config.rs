//! `executor config`: the configuration of a home.

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::nearest::nearest;
use crate::style::Style;
use crate::table::{self, Table};
use crate::view::{field, list};
use crate::{daemon, settings};

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Print one setting's value, or all settings
    Get {
        /// The setting, as `limits.execute_wall_seconds`
        key: Option<String>,
    },
    /// Change a setting in config.toml, keeping comments and order
    Set {
        /// The setting
        key: String,
        /// Its new value
        value: String,
    },
    /// Say what a setting is, and where its value comes from
    Explain {
        /// The setting
        key: String,
    },
}

pub(crate) fn run(context: &Context, action: &Action) -> Result<Exit, Failure> {
    match action {
        Action::Get { key: None } => {
            let all = json!({ "settings": all(context)? });
            if context.output.json {
                context.output.print_json(&all)?;
            } else {
                context.output.print(&render(&all, context.output.data))?;
            }
        }
        Action::Get { key: Some(key) } => {
            let setting = one(context, key)?;
            if context.output.json {
                context.output.print_json(&setting)?;
            } else {
                context.output.print(&field(&setting, "value"))?;
            }
        }
        Action::Set { key, value } => set(context, key, value)?,
        Action::Explain { key } => {
            let setting = one(context, key)?;
            if context.output.json {
                context.output.print_json(&setting)?;
            } else {
                context.output.print(&explain(&setting, context.output.data))?;
            }
        }
    }
    Ok(Exit::Ok)
}

fn set(context: &Context, key: &str, value: &str) -> Result<(), Failure> {
    settings::set(&context.home, key, value)?;
    context.output.say(&format!("{key} is {value} in {}", settings::file(&context.home).display()));
    if daemon::try_connect(&context.home)?.is_some() {
        context
            .output
            .hint(&format!("it counts once the daemon is started anew: `{}`", context.command("down")));
    }
    Ok(())
}

/// Every setting: those of the file, and what only the command line and the
/// environment say.
fn all(context: &Context) -> Result<Vec<Value>, Failure> {
    let views = settings::load(&context.home)?.views();
    let mut all: Vec<Value> = views
        .iter()
        .map(|view| json!({ "key": view.key, "value": view.value, "source": view.source, "default": view.default }))
        .collect();
    all.extend(outer(context));
    Ok(all)
}

fn outer(context: &Context) -> [Value; 4] {
    let (globals, environment) = (&context.globals, &context.environment);
    let source = |flag: bool, variable: Option<&str>| match (flag, variable) {
        (true, _) => "command line".to_owned(),
        (false, Some(variable)) => format!("environment: {variable}"),
        (false, None) => "default".to_owned(),
    };
    let home_variable = match (&environment.home, &environment.data_home) {
        (Some(_), _) => Some("EXECUTOR_HOME"),
        (None, Some(data)) if data.is_absolute() => Some("XDG_DATA_HOME"),
        _ => None,
    };
    let user_home = environment.user_home.clone().unwrap_or_else(|| PathBuf::from("~"));
    let default_home = user_home.join(".local/share/executor");
    let workspace_variable = environment.workspace.as_ref().map(|_| "EXECUTOR_WORKSPACE");
    let port_variable = environment.port.as_ref().map(|_| "EXECUTOR_PORT");
    let default_port = executor_server::DEFAULT_PORT.to_string();
    let log_variable = environment.log.as_ref().map(|_| "EXECUTOR_LOG");
    [
        json!({
            "key": "home", "value": context.home.display().to_string(),
            "source": source(globals.home.is_some(), home_variable), "default": default_home.display().to_string()
        }),
        json!({
            "key": "workspace", "value": context.workspace,
            "source": source(globals.workspace.is_some(), workspace_variable), "default": "default"
        }),
        json!({
            "key": "port", "value": environment.port.as_ref().unwrap_or(&default_port),
            "source": source(false, port_variable), "default": default_port
        }),
        json!({
            "key": "log", "value": environment.log.as_deref().unwrap_or(super::serve::DEFAULT_LOG),
            "source": source(false, log_variable), "default": super::serve::DEFAULT_LOG
        }),
    ]
}

fn one(context: &Context, key: &str) -> Result<Value, Failure> {
    let all = all(context)?;
    if let Some(setting) = all.iter().find(|setting| setting["key"] == key) {
        return Ok(setting.clone());
    }
    let failure = Failure::usage(format!("there is no setting `{}`", crate::text::line(key, 80)));
    Err(match nearest(key, all.iter().filter_map(|setting| setting["key"].as_str())) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure.hint("`executor config get` lists them all"),
    })
}

fn render(settings: &Value, style: Style) -> String {
    let mut table = Table::new(&["SETTING", "VALUE", "FROM"]);
    for setting in list(settings, "settings") {
        table.row([&field(setting, "key"), &field(setting, "value"), &field(setting, "source")]);
    }
    table.render(style)
}

fn explain(setting: &Value, style: Style) -> String {
    let facts = [
        ("setting", field(setting, "key")),
        ("value", field(setting, "value")),
        ("from", field(setting, "source")),
        ("default", field(setting, "default")),
    ];
    table::facts(&facts, style)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Globals;
    use crate::environment::Environment;

    #[test]
    fn a_value_says_where_it_comes_from() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().to_owned();
        settings::set(&home, "limits.execute_wall_seconds", "30").unwrap();
        let environment =
            Environment { home: Some(home), user_home: Some("/u".into()), ..Environment::default() };
        let globals = Globals { workspace: Some("w".into()), ..Globals::default() };
        let context = Context::new(&globals, environment).unwrap();
        let source = |key: &str| field(&one(&context, key).unwrap(), "source");
        assert_eq!(source("limits.execute_wall_seconds"), "config.toml");
        assert_eq!(source("limits.execute_memory_mib"), "default");
        assert_eq!(source("home"), "environment: EXECUTOR_HOME");
        assert_eq!(source("workspace"), "command line");
        assert_eq!(source("log"), "default");
        assert_eq!(one(&context, "limits.execute_wall_second").unwrap_err().hints.len(), 1);
        insta::assert_snapshot!(explain(&one(&context, "limits.execute_wall_seconds").unwrap(), Style::default()), @r"
        setting  limits.execute_wall_seconds
        value    30
        from     config.toml
        default  300
        ");
    }
}
