//! `executor completions`: a shell's completion script.

use clap::{Args, CommandFactory, ValueEnum};

use crate::arguments::Arguments;
use crate::context::Context;
use crate::failure::{Exit, Failure};

#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// Which shell
    shell: Shell,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

pub(crate) fn run(context: &Context, arguments: &CompletionsArguments) -> Result<Exit, Failure> {
    context.output.print(&script(arguments.shell))?;
    Ok(Exit::Ok)
}

fn script(shell: Shell) -> String {
    let shell = match shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "executor", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shell_knows_the_commands() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = script(shell);
            for word in ["connections", "resume", "dry-run"] {
                assert!(script.contains(word), "{shell:?} {word}");
            }
        }
    }
}
