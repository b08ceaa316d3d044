//! `executor secrets`: the key that seals them, to keep elsewhere.

use clap::Subcommand;
use executor_store::{Home, HomeError, recovery_code, restore_key};

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::{input, prompt};

/// Longer than any recovery code that somebody wrote with spaces.
const CODE_LIMIT_BYTES: u64 = 1024;

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Print a recovery code: the key that seals the secrets, to write down
    ///
    /// Whoever has the code and the home has every secret in it.
    ExportKey {
        /// Print it without being asked
        #[arg(long)]
        yes: bool,
    },
    /// Put the key of a recovery code in its place, where it was lost
    ///
    /// The code is asked for. The daemon must not run.
    ImportKey {
        /// `-` to read the code from stdin
        #[arg(value_name = "-")]
        from: Option<String>,
    },
}

pub(crate) fn run(context: &Context, action: &Action) -> Result<Exit, Failure> {
    match action {
        Action::ExportKey { yes } => export(context, *yes),
        Action::ImportKey { from } => import(context, from.as_deref()),
    }
}

fn export(context: &Context, yes: bool) -> Result<Exit, Failure> {
    let code = recovery_code(&context.home).map_err(|error| {
        Failure::failed(error.to_string())
            .hint("`executor doctor` says where the key is; a home gets one at its first start")
    })?;
    if !yes && !confirmed(context)? {
        return Ok(Exit::Failed);
    }
    context.output.print(&code)?;
    context.output.hint("keep it apart from the home, on paper or in a password manager");
    Ok(Exit::Ok)
}

fn confirmed(context: &Context) -> Result<bool, Failure> {
    if !prompt::can_ask(context) {
        return Err(Failure::usage("the code opens every secret of this home, and nobody was asked")
            .hint("on a terminal it is confirmed; --yes says that a person has decided"));
    }
    let question = "The code opens every secret of this home. Print it here? [y/N]: ";
    let answer = prompt::line(question)?.unwrap_or_default();
    Ok(matches!(answer.to_lowercase().as_str(), "y" | "yes"))
}

fn import(context: &Context, from: Option<&str>) -> Result<Exit, Failure> {
    let code = match from {
        Some("-") => input::text("-", CODE_LIMIT_BYTES)?,
        Some(_) => {
            return Err(Failure::usage(
                "a recovery code is not given on the command line, where others see it",
            )
            .hint("it is asked for on a terminal, or read from stdin: `executor secrets import-key -`"));
        }
        None if prompt::can_ask(context) => prompt::hidden("Recovery code: ")?,
        None => {
            return Err(Failure::usage("there is no terminal to ask for the code on")
                .hint("`executor secrets import-key -` reads it from stdin"));
        }
    };
    let home = Home::open(&context.home).map_err(|error| {
        let locked = matches!(error, HomeError::Locked { .. });
        let failure = Failure::failed(error.to_string());
        if locked {
            failure.hint(format!("end the daemon first: `{}`", context.command("down")))
        } else {
            failure
        }
    })?;
    restore_key(&home, &code).map_err(|error| {
        Failure::failed(error.to_string())
            .hint("nothing was changed; the code is the one that `executor secrets export-key` printed")
    })?;
    context.output.say("the key is in its place: the secrets can be opened again");
    Ok(Exit::Ok)
}
