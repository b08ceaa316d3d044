//! `executor up`: the daemon in the background.

use clap::Args;
use executor_server::Port;

use crate::api::{Api, path};
use crate::context::Context;
use crate::daemon;
use crate::failure::{Exit, Failure};
use crate::view::field;

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
    if let (Some(Port::Fixed(port)), false) = (arguments.port, started)
        && is_elsewhere(&field(&answer.value, "address"), port)
    {
        context.output.warn(&format!("it runs on another port than {port}, and stays there"));
        let again = context.command(&format!("up --port {port}"));
        context.output.hint(&format!("end it first: `{}`, then `{again}`", context.command("down")));
    }
    Ok(Exit::Ok)
}

/// Whether a daemon at `address` does not listen on the port that was asked
/// for.
fn is_elsewhere(address: &str, port: u16) -> bool {
    !address.trim_end_matches('/').ends_with(&format!(":{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_told_from_another() {
        assert!(!is_elsewhere("http://127.0.0.1:4788", 4788));
        assert!(!is_elsewhere("https://[::1]:4788/", 4788));
        assert!(is_elsewhere("http://127.0.0.1:4788", 788));
        assert!(is_elsewhere("http://127.0.0.1:4788", 4799));
    }
}
