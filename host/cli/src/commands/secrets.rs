//! `executor secrets`: the key that seals them, to keep elsewhere.

use clap::{Subcommand, ValueEnum};
use executor_store::{Home, HomeError, KeyTarget, Moved, StoreError, recovery_code, restore_key};

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::{prompt, settings};

/// Longer than any recovery code that somebody wrote with spaces.
const CODE_LIMIT_BYTES: u64 = 1024;

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Print a recovery code: the key that seals the secrets, to write down
    ///
    /// Whoever has the code and the home has every secret in it.
    #[command(name = "export-key")]
    Export {
        /// Print it without being asked
        #[arg(long)]
        yes: bool,
    },
    /// Put the key of a recovery code in its place, where it was lost
    ///
    /// The code is asked for. The daemon must not run.
    #[command(name = "import-key")]
    Import {
        /// `-` to read the code from stdin
        #[arg(value_name = "-")]
        from: Option<String>,
    },
    /// Move the key between its file and the system's keyring
    ///
    /// It stays where it is until it was read back from the new place. The
    /// daemon must not run.
    #[command(name = "move-key")]
    Move {
        /// Where to
        #[arg(long, value_enum, value_name = "PLACE")]
        to: Place,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Place {
    /// The keyring of your desktop session
    Keyring,
    /// The file secret.key of the home
    File,
}

pub(crate) fn run(context: &Context, action: &Action) -> Result<Exit, Failure> {
    match action {
        Action::Export { yes } => export(context, *yes),
        Action::Import { from } => import(context, from.as_deref()),
        Action::Move { to } => move_to(context, *to),
    }
}

fn export(context: &Context, yes: bool) -> Result<Exit, Failure> {
    let code = recovery_code(&context.home, &context.environment.keyring).map_err(|error| {
        told(error).hint("`executor doctor` says where the key is; a home gets one at its first start")
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
        Some("-") => prompt::secret(context, "Recovery code", CODE_LIMIT_BYTES)?,
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
    let home = owned(context)?;
    restore_key(&home, &context.environment.keyring, &code).map_err(|error| {
        Failure::failed(error.to_string())
            .hint("nothing was changed; the code is the one that `executor secrets export-key` printed")
    })?;
    context.output.say("the key is in its place: the secrets can be opened again");
    Ok(Exit::Ok)
}

fn move_to(context: &Context, place: Place) -> Result<Exit, Failure> {
    let (target, shown) = match place {
        Place::Keyring => (KeyTarget::Keyring, "the system's keyring"),
        Place::File => (KeyTarget::File, "its file"),
    };
    let home = owned(context)?;
    let moved = executor_store::move_key(&home, &context.environment.keyring, target).map_err(told)?;
    match moved {
        Moved::Done => context.output.say(&format!("the key is in {shown}")),
        Moved::Already => context.output.say(&format!("the key is in {shown}, as it was")),
        Moved::LeftBehind(why) => {
            context.output.say(&format!("the key is in {shown}"));
            context.output.warn(&format!("it may still be in the system's keyring too: {why}"));
            context
                .output
                .hint(&format!("`{}` removes it there", context.command("secrets move-key --to file")));
        }
    }
    Ok(Exit::Ok)
}

/// The home, where no daemon runs.
fn owned(context: &Context) -> Result<Home, Failure> {
    Home::open(&context.home).map_err(|error| {
        let locked = matches!(error, HomeError::Locked { .. });
        let failure = Failure::failed(error.to_string());
        if locked {
            failure.hint(format!("end the daemon first: `{}`", context.command("down")))
        } else {
            failure
        }
    })
}

/// With what gets at the key, as the daemon says it.
fn told(error: StoreError) -> Failure {
    let mut failure = settings::of_problem(error.into());
    failure.exit = Exit::Failed;
    failure
}
