//! `executor up`: the daemon in the background.

use clap::Args;
use executor_server::Port;

use crate::api::{Api, path};
use crate::context::Context;
use crate::daemon;
use crate::failure::{Exit, Failure};

#[derive(Debug, Args)]
pub(crate) struct UpArguments {
    /// The port, or `auto` for any that is free [default: 4788] [env: EXECUTOR_PORT]
    #[arg(long, value_name = "N|auto")]
    port: Option<Port>,
}

pub(crate) fn run(context: &Context, arguments: &UpArguments) -> Result<Exit, Failure> {
    let started = daemon::try_connect(&context.home)?.is_none();
    if started {
        daemon::start(context, arguments.port)?;
    }
    let answer = Api::running(context).get(&path(&["installation"]))?;
    context.output.answer(&answer, |view, _| super::status::one_line(view, started))?;
    Ok(Exit::Ok)
}
