//! The command line: what can be typed.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::commands::{
    accounts, audit, blobs, call, completions, component, config, connect, connections, executions, explain,
    guard_process, mcp, members, organizations, policies, resume, run, secrets, serve, sources, tokens,
    tools, up, version, workspaces,
};

/// Your APIs as one typed tool catalogue, run by you and your agents
///
/// Exit codes: 0 done, 1 the tool or program failed, 2 wrong usage or
/// configuration, 3 waiting for a person, 4 denied by policy, 5 no daemon,
/// 70 a bug of executor.
#[derive(Debug, Parser)]
#[command(name = "executor", version, max_term_width = 100, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Globals {
    /// Where executor keeps its data [env: EXECUTOR_HOME]
    #[arg(long, global = true, value_name = "DIRECTORY")]
    pub(crate) home: Option<PathBuf>,
    /// The workspace that is meant [env: EXECUTOR_WORKSPACE]
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) workspace: Option<String>,
    /// Print the HTTP API's answer instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Say nothing but data, errors and questions
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Draw no progress bar
    #[arg(long, global = true)]
    pub(crate) no_progress: bool,
    /// Never ask on the terminal
    #[arg(long, global = true)]
    pub(crate) no_input: bool,
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN")]
    pub(crate) color: Option<ColorChoice>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the daemon in the foreground
    Serve(serve::ServeArguments),
    /// Start the daemon in the background
    Up(up::UpArguments),
    /// End the daemon
    Down,
    /// Show whether the daemon runs, and where
    Status,
    /// Check home, lock, disk, port and daemon, and say how to mend what is wrong
    Doctor,
    /// Add and manage APIs
    Sources {
        #[command(subcommand)]
        action: sources::Action,
    },
    /// Make executor known to Claude Code, Cursor and other MCP clients
    Connect(connect::ConnectArguments),
    /// Add and manage the credentials of sources
    Connections {
        #[command(subcommand)]
        action: connections::Action,
    },
    /// Find tools and see how they are called
    Tools {
        #[command(subcommand)]
        action: tools::Action,
    },
    Call(call::CallArguments),
    /// Run TypeScript against the tools
    Run(run::RunArguments),
    /// Continue an execution that waits for a person
    Resume(resume::ResumeArguments),
    /// See, end and repeat executions
    Executions {
        #[command(subcommand)]
        action: executions::Action,
    },
    /// Put files there for calls, and get those of answers
    Blobs {
        #[command(subcommand)]
        action: blobs::Action,
    },
    /// Say which tools are allowed, ask first, or are blocked
    Policies {
        #[command(subcommand)]
        action: policies::Action,
    },
    /// Make and revoke the tokens of clients
    Tokens {
        #[command(subcommand)]
        action: tokens::Action,
    },
    /// Make accounts, and set their passwords
    Accounts {
        #[command(subcommand)]
        action: accounts::Action,
    },
    /// Invite people into an organization, and say what they are in it
    Members(members::MembersArguments),
    /// Make organizations, which keep their workspaces to themselves
    Organizations {
        #[command(subcommand)]
        action: organizations::Action,
    },
    /// Make workspaces
    Workspaces {
        #[command(subcommand)]
        action: workspaces::Action,
    },
    /// Keep and restore the key that seals the secrets
    Secrets {
        #[command(subcommand)]
        action: secrets::Action,
    },
    /// Read and change the configuration
    Config {
        #[command(subcommand)]
        action: config::Action,
    },
    /// Add and manage WebAssembly components
    Component {
        #[command(subcommand)]
        action: component::Action,
    },
    Mcp(mcp::McpArguments),
    /// Read the audit log
    Audit {
        #[command(subcommand)]
        action: audit::Action,
    },
    /// Print a shell's completion script
    Completions(completions::CompletionsArguments),
    /// Print the version
    Version(version::VersionArguments),
    /// Say what an error code means and what to do about it
    Explain(explain::ExplainArguments),
    /// Stand between the daemon and a local program: how the daemon runs one
    #[command(hide = true)]
    GuardProcess(guard_process::GuardArguments),
}

/// The global options alone, for those that stand after a tool's path.
#[derive(Debug, Parser)]
#[command(name = "executor call", disable_help_flag = true)]
struct GlobalsOnly {
    #[command(flatten)]
    globals: Globals,
}

impl Arguments {
    /// Reads a command line, the program's name first.
    ///
    /// # Errors
    /// It is wrong, or asks for help: clap's error says either.
    pub(crate) fn read(words: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let mut arguments = Self::try_parse_from(words)?;
        if let Command::Call(call) = &mut arguments.command {
            let globals = call.take_globals();
            if !globals.is_empty() {
                let command = <GlobalsOnly as clap::CommandFactory>::command().no_binary_name(true);
                let mut matches = command.try_get_matches_from(globals)?;
                let later = GlobalsOnly::from_arg_matches_mut(&mut matches)?.globals;
                arguments.globals = arguments.globals.or(later);
            }
        }
        Ok(arguments)
    }
}

impl Globals {
    fn or(self, later: Self) -> Self {
        Self {
            home: later.home.or(self.home),
            workspace: later.workspace.or(self.workspace),
            json: self.json || later.json,
            quiet: self.quiet || later.quiet,
            no_progress: self.no_progress || later.no_progress,
            no_input: self.no_input || later.no_input,
            color: later.color.or(self.color),
        }
    }

    /// Whether a word is a global option, and whether its value is the next
    /// word.
    pub(crate) fn option(word: &str) -> Option<TakesNext> {
        let (name, inline) = match word.split_once('=') {
            Some((name, _)) => (name, true),
            None => (word, false),
        };
        match name {
            "--home" | "--workspace" | "--color" => Some(if inline { TakesNext::No } else { TakesNext::Yes }),
            "--json" | "--quiet" | "-q" | "--no-progress" | "--no-input" if !inline => Some(TakesNext::No),
            _ => None,
        }
    }
}

/// Whether an option's value is the word after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TakesNext {
    Yes,
    No,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn read(line: &str) -> Result<Arguments, clap::Error> {
        Arguments::read(line.split(' ').map(OsString::from))
    }

    #[test]
    fn the_definition_is_sound() {
        Arguments::command().debug_assert();
    }

    /// What `option` knows by heart is what clap knows.
    #[test]
    fn every_global_option_is_known_after_a_path() {
        for argument in GlobalsOnly::command().get_arguments() {
            let long = format!("--{}", argument.get_long().unwrap());
            let expect = if argument.get_action().takes_values() { TakesNext::Yes } else { TakesNext::No };
            assert_eq!(Globals::option(&long), Some(expect), "{long}");
        }
        assert_eq!(Globals::option("--title"), None);
        assert_eq!(Globals::option("--home=/x"), Some(TakesNext::No));
    }

    #[test]
    fn globals_stand_anywhere() {
        for line in [
            "executor --json --home /h call github.zen --x 1",
            "executor call --json --home /h github.zen --x 1",
            "executor call github.zen --json --x 1 --home=/h",
        ] {
            let arguments = read(line).unwrap();
            assert!(arguments.globals.json, "{line}");
            assert_eq!(arguments.globals.home, Some("/h".into()), "{line}");
            let Command::Call(call) = arguments.command else { panic!("{line}") };
            assert_eq!(call.tokens, ["github.zen", "--x", "1"], "{line}");
        }
        assert!(read("executor sources list --json").unwrap().globals.json);
        let error = read("executor call github.zen --color green").unwrap_err();
        assert!(error.use_stderr());
    }

    #[test]
    fn mistakes_are_usage_errors_and_help_is_not() {
        for line in
            ["executor nonsense", "executor serve --port x", "executor sources add", "executor resume"]
        {
            assert!(read(line).unwrap_err().use_stderr(), "{line}");
        }
        for line in ["executor --help", "executor sources --help", "executor --version", "executor help run"]
        {
            assert!(!read(line).unwrap_err().use_stderr(), "{line}");
        }
    }
}
