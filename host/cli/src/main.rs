//! `executor`, the command: parse, run, answer with an exit code.

#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test says what it needs by failing"))]

mod api;
mod arguments;
mod auth;
mod authorize;
mod bridge;
mod browse;
mod commands;
mod connect;
mod context;
mod credentials;
mod daemon;
mod documents;
mod downloads;
mod environment;
mod execution;
mod failure;
mod flags;
mod form;
mod hosts;
mod http;
mod input;
mod methods;
mod nearest;
mod output;
mod pages;
mod partial;
mod program;
mod prompt;
#[cfg(test)]
mod reference;
mod references;
mod reviews;
mod settings;
mod shape;
mod style;
mod table;
mod text;
mod uploads;
mod view;
mod waiting;
mod waterfall;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use arguments::Arguments;
use context::Context;
use environment::Environment;
use failure::Exit;

fn main() -> ExitCode {
    let outcome = catch_unwind(AssertUnwindSafe(execute));
    let exit = outcome.unwrap_or_else(|_| {
        eprintln!(
            "error: executor broke, which is our bug\n\nhint: the message above says where; please report it"
        );
        Exit::Bug
    });
    ExitCode::from(exit.code())
}

fn execute() -> Exit {
    let environment = Environment::from_process();
    let arguments = match Arguments::read(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(error) => return report_usage(&error),
    };
    let context = match Context::new(&arguments.globals, environment) {
        Ok(context) => context,
        Err(failure) => return output::Output::plain().failure(&failure),
    };
    match commands::run(&context, arguments.command) {
        Ok(exit) => exit,
        Err(failure) => context.output.failure(&failure),
    }
}

/// Help and the version are answers, on stdout; the rest are mistakes.
fn report_usage(error: &clap::Error) -> Exit {
    // A reader that has gone away wants no more of it.
    let _ = error.print();
    if error.use_stderr() { Exit::Usage } else { Exit::Ok }
}
