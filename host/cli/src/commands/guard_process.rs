//! `executor guard-process`: what the daemon starts in place of a local
//! program, so that nothing of it outlives the daemon.

use std::ffi::OsString;

use clap::Args;

use crate::failure::{Exit, Failure};

#[derive(Debug, Args)]
pub(crate) struct GuardArguments {
    /// The file descriptor whose other end the daemon holds
    #[arg(value_name = "DESCRIPTOR", value_parser = clap::value_parser!(i32).range(3..))]
    control: i32,
    /// The program's file
    program: OsString,
    /// Its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Ends with the program's own status.
pub(crate) fn run(arguments: &GuardArguments) -> Result<Exit, Failure> {
    let status = executor_runtime::guard(arguments.control, &arguments.program, &arguments.arguments);
    std::process::exit(status)
}
