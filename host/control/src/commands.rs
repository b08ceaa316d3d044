//! Commands: the programs of this machine that sources are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use executor_runtime::{LocalProgram, Secret};
use executor_store::{AuthMethodRow, SourceRow};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use crate::problem::Problem;

/// The auth method of a source that is a program: its values are variables of
/// the program's environment.
pub(crate) const ENVIRONMENT: &str = "environment";

const ARGUMENTS: usize = 1_000;
const ARGUMENT_BYTES: usize = 64 * 1024;
const VARIABLES: usize = 100;
const VARIABLE_BYTES: usize = 64 * 1024;

/// A program to run.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandInput {
    /// A name that is looked for in `PATH`, or a path.
    pub program: String,
    /// What follows it. No shell looks at it.
    #[serde(default)]
    pub args: Vec<String>,
    /// Where it starts, an absolute path; the daemon's user's home by default.
    #[serde(default)]
    pub directory: Option<String>,
}

/// The program that a source is.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct CommandView {
    /// A name that is looked for in `PATH`, or a path.
    pub program: String,
    /// What follows it.
    pub args: Vec<String>,
    /// Where it starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Names of the variables that a connection gives it.
    pub environment: Vec<String>,
}

impl CommandView {
    pub(crate) fn checked(
        input: CommandInput,
        environment: &BTreeMap<String, String>,
    ) -> Result<Self, Problem> {
        let CommandInput { program, args, directory } = input;
        let texts = || args.iter().chain([&program]).chain(&directory);
        if program.is_empty() {
            return Err(Problem::invalid("the command names no program"));
        }
        if texts().any(|text| text.contains('\0') || text.len() > ARGUMENT_BYTES) || args.len() > ARGUMENTS {
            return Err(Problem::invalid(format!(
                "a command has at most {ARGUMENTS} arguments of at most {ARGUMENT_BYTES} bytes, without NUL"
            )));
        }
        if program.contains('/') && directory.is_none() && !Path::new(&program).is_absolute() {
            return Err(Problem::invalid(format!("{program:?} is no absolute path"))
                .hint("give the whole path, a name that is in PATH, or the directory to start in"));
        }
        if directory.as_ref().is_some_and(|directory| !Path::new(directory).is_absolute()) {
            return Err(Problem::invalid("the directory of a command is an absolute path"));
        }
        if environment.len() > VARIABLES {
            return Err(Problem::invalid(format!("a command has at most {VARIABLES} variables")));
        }
        for (name, value) in environment {
            check_variable(name, value)?;
        }
        Ok(Self { program, args, directory, environment: environment.keys().cloned().collect() })
    }

    pub(crate) fn of(source: &SourceRow) -> Result<Option<Self>, Problem> {
        let damaged = |error| Problem::internal(format!("the stored command of {}: {error}", source.name));
        source.command.as_deref().map(|command| serde_json::from_str(command).map_err(damaged)).transpose()
    }

    pub(crate) fn with(&self, environment: Vec<(String, Secret)>) -> LocalProgram {
        LocalProgram {
            program: self.program.clone(),
            arguments: self.args.clone(),
            directory: self.directory.as_ref().map(PathBuf::from),
            environment,
        }
    }

    /// How its connections say their values; none where it takes none.
    pub(crate) fn auth_method(&self) -> Option<AuthMethodRow> {
        let variable = |name: &String| json!({ "name": name, "label": name, "secret": true });
        let variables: Vec<_> = self.environment.iter().map(variable).collect();
        (!variables.is_empty()).then(|| AuthMethodRow {
            id: ENVIRONMENT.into(),
            kind: ENVIRONMENT.into(),
            label: "Environment of the program".into(),
            config: json!({ "variables": variables }).to_string(),
            meta: None,
        })
    }

    /// A name for the source: that of what is run, where a runner runs it.
    pub(crate) fn proposal(&self) -> String {
        let base = |text: &str| {
            let text = text.trim_end_matches('/').rsplit('/').next().unwrap_or(text);
            let text = text.split_once('@').map_or(text, |(name, _)| name);
            let text = text.rsplit_once('.').map_or(text, |(stem, _)| stem);
            let plain =
                ["mcp-server-", "server-", "mcp-"].iter().find_map(|prefix| text.strip_prefix(prefix));
            let plain = plain.unwrap_or(text);
            plain.trim_end_matches("-server").trim_end_matches("-mcp").to_owned()
        };
        let program = base(&self.program);
        let runs = ["npx", "uvx", "bunx", "pnpx", "node", "bun", "deno", "python", "python3", "sh", "docker"];
        let words = ["run", "dlx", "exec"];
        let meant = self.args.iter().find(|arg| !arg.starts_with('-') && !words.contains(&arg.as_str()));
        match meant.filter(|_| runs.contains(&program.as_str())).map(|arg| base(arg)) {
            Some(name) if !name.is_empty() => name,
            _ => program,
        }
    }
}

fn check_variable(name: &str, value: &str) -> Result<(), Problem> {
    let first = |c: char| c.is_ascii_alphabetic() || c == '_';
    let sound = name.starts_with(first) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !sound || name.len() > 200 {
        return Err(Problem::invalid(format!("{name:?} is no name of a variable"))
            .hint("letters, digits and _, at most 200, and no digit first"));
    }
    if value.contains('\0') || value.len() > VARIABLE_BYTES {
        return Err(Problem::invalid(format!(
            "the value of {name} has at most {VARIABLE_BYTES} bytes, without NUL"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(program: &str, args: &[&str]) -> CommandInput {
        let args = args.iter().map(ToString::to_string).collect();
        CommandInput { program: program.into(), args, directory: None }
    }

    #[test]
    fn a_source_is_named_after_what_is_run() {
        for (program, args, expect) in [
            ("npx", &["-y", "@modelcontextprotocol/server-filesystem", "/data"][..], "filesystem"),
            ("npx", &["-y", "server-everything@2026.8.31"], "everything"),
            ("uvx", &["mcp-server-git"], "git"),
            ("docker", &["run", "-i", "--rm", "mcp/github-mcp-server"], "github"),
            ("python3", &["/srv/weather.py"], "weather"),
            ("/usr/local/bin/notes-mcp", &["--verbose"], "notes"),
            ("npx", &["-y"], "npx"),
        ] {
            let command = CommandView::checked(input(program, args), &BTreeMap::new()).unwrap();
            assert_eq!(command.proposal(), expect, "{program} {args:?}");
        }
    }

    #[test]
    fn what_can_not_be_run_is_refused() {
        let long = "x".repeat(ARGUMENT_BYTES + 1);
        let refused = |program: &str, args: &[&str], directory: Option<&str>| {
            let input = CommandInput { directory: directory.map(str::to_owned), ..input(program, args) };
            CommandView::checked(input, &BTreeMap::new()).unwrap_err().message
        };
        assert!(refused("", &[], None).contains("no program"));
        assert!(refused("a", &["b\0"], None).contains("without NUL"));
        assert!(refused("a", &[&long], None).contains("at most"));
        assert!(refused("a", &vec!["x"; ARGUMENTS + 1], None).contains("at most"));
        assert!(refused("./a", &[], None).contains("absolute"));
        assert!(refused("a", &[], Some("here")).contains("absolute"));
        CommandView::checked(
            CommandInput { directory: Some("/srv".into()), ..input("./a", &[]) },
            &BTreeMap::new(),
        )
        .unwrap();
        for (name, value) in [("", "x"), ("1A", "x"), ("A-B", "x"), ("A=B", "x"), ("A", "x\0")] {
            assert!(check_variable(name, value).is_err(), "{name:?}");
        }
        check_variable("_A1", "any\nthing").unwrap();
    }
}
