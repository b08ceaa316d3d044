//! What every command is given.

use std::path::PathBuf;

use crate::api;
use crate::arguments::Globals;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::output::Output;

/// The workspace that a first start makes.
pub(crate) const DEFAULT_WORKSPACE: &str = "default";

/// The home and the workspace that are meant, and how to speak.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) globals: Globals,
    pub(crate) environment: Environment,
    /// Absolute.
    pub(crate) home: PathBuf,
    pub(crate) workspace: String,
    pub(crate) output: Output,
}

impl Context {
    pub(crate) fn new(globals: &Globals, environment: Environment) -> Result<Self, Failure> {
        let workspace = globals.workspace.clone().or_else(|| environment.workspace.clone());
        Ok(Self {
            home: environment.home_directory(globals.home.as_ref())?,
            workspace: workspace.unwrap_or_else(|| DEFAULT_WORKSPACE.to_owned()),
            output: Output::new(globals, &environment),
            globals: globals.clone(),
            environment,
        })
    }

    /// The path of something in the workspace.
    pub(crate) fn path(&self, segments: &[&str]) -> String {
        let mut whole = vec!["workspaces", self.workspace.as_str()];
        whole.extend_from_slice(segments);
        api::path(&whole)
    }

    /// A command line to paste, for the same home and workspace.
    pub(crate) fn command(&self, arguments: &str) -> String {
        let mut command = "executor".to_owned();
        if let Some(home) = &self.globals.home {
            command.push_str(&format!(" --home {}", quoted(&home.display().to_string())));
        }
        if let Some(workspace) = &self.globals.workspace {
            command.push_str(&format!(" --workspace {}", quoted(workspace)));
        }
        format!("{command} {arguments}")
    }
}

/// For a shell: as it is where nothing needs a quote.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:@%+=,".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_to_paste_means_the_same_home() {
        let environment = Environment { user_home: Some("/u".into()), ..Environment::default() };
        let globals = Globals { home: Some("/tmp/a b".into()), ..Globals::default() };
        let context = Context::new(&globals, environment.clone()).unwrap();
        assert_eq!(context.command("status"), "executor --home '/tmp/a b' status");
        let context = Context::new(&Globals::default(), environment).unwrap();
        assert_eq!(context.command("status"), "executor status");
        assert_eq!(context.path(&["sources"]), "/v1/workspaces/default/sources");
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }
}
