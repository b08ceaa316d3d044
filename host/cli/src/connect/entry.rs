//! The entry that makes a program start executor: its command, and how each
//! program spells it.

use std::path::Path;

use serde_json::{Value, json};

use crate::context::Context;
use crate::environment;
use crate::failure::Failure;

/// The name of the entry where none is given.
pub(crate) const DEFAULT_NAME: &str = "executor";
/// Longest name of an entry: it becomes a part of tools' names.
const NAME_LIMIT: usize = 40;

/// A command as a program starts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Launch {
    /// The absolute path of a program.
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
}

/// How a program spells a command in its entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// `command` and `args`.
    Plain,
    /// `type: stdio` before them.
    Stdio,
    /// `type: local` and one list, as OpenCode has it.
    Local,
}

impl Shape {
    /// The entry, its values in the order in which they are written.
    pub(crate) fn entry(self, launch: &Launch) -> Value {
        match self {
            Self::Plain => json!({ "command": launch.command, "args": launch.args }),
            Self::Stdio => json!({ "type": "stdio", "command": launch.command, "args": launch.args }),
            Self::Local => {
                let whole: Vec<&String> = std::iter::once(&launch.command).chain(&launch.args).collect();
                json!({ "type": "local", "command": whole, "enabled": true })
            }
        }
    }

    /// The command of an entry that stands in a file, if it has one.
    pub(crate) fn launch(self, entry: &Value) -> Option<Launch> {
        let texts = |value: &Value| -> Option<Vec<String>> {
            value.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect()
        };
        match self {
            Self::Plain | Self::Stdio => Some(Launch {
                command: entry["command"].as_str()?.to_owned(),
                args: if entry["args"].is_null() { Vec::new() } else { texts(&entry["args"])? },
            }),
            Self::Local => {
                let mut whole = texts(&entry["command"])?.into_iter();
                Some(Launch { command: whole.next()?, args: whole.collect() })
            }
        }
    }
}

/// Whether an entry that stands in a file says all that ours says; what a
/// person added to it is theirs.
pub(crate) fn says(standing: &Value, ours: &Value) -> bool {
    let ours = ours.as_object();
    standing.is_object() && ours.is_some_and(|ours| ours.iter().all(|(name, value)| standing[name] == *value))
}

/// Refuses a name that some program would not take.
pub(crate) fn check_name(name: &str) -> Result<(), Failure> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if !name.is_empty() && name.len() <= NAME_LIMIT && name.bytes().all(fits) {
        return Ok(());
    }
    Err(Failure::usage(format!("`{}` can't be the entry's name", crate::text::line(name, 80)))
        .hint(format!("use letters, digits, `-` and `_`, {NAME_LIMIT} of them at most")))
}

/// The command that starts this program as an MCP server for a client. A home
/// and a workspace are said where they are not those that a program started
/// without this shell's environment would use.
///
/// # Errors
/// A path is no text, or this program is no longer where it was started.
pub(crate) fn launch(context: &Context, client: &str, token_file: &Path) -> Result<Launch, Failure> {
    let program = environment::own_program()
        .map_err(|error| Failure::failed(format!("this program's own path can't be told: {error}")))?;
    if !program.is_file() {
        return Err(Failure::failed(format!(
            "this program is no longer at {}: it was replaced or removed while it ran",
            program.display()
        ))
        .hint("run the command again"));
    }
    let text = |path: &Path| {
        path.to_str().map(str::to_owned).ok_or_else(|| {
            Failure::usage(format!("{} is no UTF-8 text, which a configuration needs", path.display()))
        })
    };
    let mut args: Vec<String> = ["mcp", "--client", client, "--token-file"].map(Into::into).into();
    args.push(text(token_file)?);
    if context.environment.bare_home() != Some(context.home.clone()) {
        args.extend(["--home".to_owned(), text(&context.home)?]);
    }
    if context.workspace != crate::context::DEFAULT_WORKSPACE {
        args.extend(["--workspace".to_owned(), context.workspace.clone()]);
    }
    Ok(Launch { command: text(&program)?, args })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Globals;
    use crate::environment::Environment;

    #[test]
    fn each_shape_is_read_as_it_is_written() {
        let launch = Launch { command: "/b/executor".into(), args: vec!["mcp".into(), "--x".into()] };
        for shape in [Shape::Plain, Shape::Stdio, Shape::Local] {
            let entry = shape.entry(&launch);
            assert_eq!(shape.launch(&entry), Some(launch.clone()), "{entry}");
            let mut more = entry.clone();
            more["env"] = json!({ "A": "b" });
            assert!(says(&more, &entry) && !says(&entry, &more));
        }
        assert_eq!(Shape::Plain.launch(&json!({ "url": "http://x" })), None);
        assert_eq!(Shape::Local.launch(&json!({ "command": [] })), None);
        assert!(!says(&json!("x"), &json!({})));
    }

    #[test]
    fn the_command_names_a_home_that_is_not_the_usual_one() {
        let args = |environment: Environment, globals: Globals| {
            let context = Context::new(&globals, environment).unwrap();
            launch(&context, "cursor", Path::new("/t")).unwrap().args.join(" ")
        };
        let usual = Environment { user_home: Some("/u".into()), ..Environment::default() };
        assert_eq!(args(usual.clone(), Globals::default()), "mcp --client cursor --token-file /t");
        let moved = Environment { data_home: Some("/d a'ta".into()), ..usual.clone() };
        assert_eq!(
            args(moved, Globals::default()),
            "mcp --client cursor --token-file /t --home /d a'ta/executor"
        );
        let said = Environment { workspace: Some("team".into()), ..usual };
        assert_eq!(
            args(said, Globals { home: Some("/h".into()), ..Globals::default() }),
            "mcp --client cursor --token-file /t --home /h --workspace team"
        );
    }

    #[test]
    fn a_name_fits_every_client() {
        assert!(check_name("executor_work-2").is_ok());
        for name in ["", "a b", "a.b", "é", "a\"b", &"x".repeat(41)] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
