//! The commands, a file each.

pub(crate) mod accounts;
pub(crate) mod audit;
pub(crate) mod blobs;
pub(crate) mod call;
pub(crate) mod completions;
pub(crate) mod component;
pub(crate) mod config;
pub(crate) mod connect;
pub(crate) mod connections;
pub(crate) mod doctor;
pub(crate) mod down;
pub(crate) mod executions;
pub(crate) mod explain;
pub(crate) mod guard_process;
pub(crate) mod mcp;
pub(crate) mod members;
pub(crate) mod organizations;
pub(crate) mod policies;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod secrets;
pub(crate) mod serve;
mod source_set;
pub(crate) mod sources;
pub(crate) mod status;
pub(crate) mod tokens;
pub(crate) mod tools;
pub(crate) mod up;
pub(crate) mod version;
pub(crate) mod workspaces;

use crate::arguments::Command;
use crate::context::Context;
use crate::failure::{Exit, Failure};

/// Does what was asked.
pub(crate) fn run(context: &Context, command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Serve(arguments) => serve::run(context, &arguments),
        Command::Up(arguments) => up::run(context, &arguments),
        Command::Down => down::run(context),
        Command::Status => status::run(context),
        Command::Doctor => doctor::run(context),
        Command::Sources { action } => sources::run(context, action),
        Command::Connect(arguments) => connect::run(context, &arguments),
        Command::Connections { action } => connections::run(context, action),
        Command::Tools { action } => tools::run(context, action),
        Command::Call(arguments) => call::run(context, arguments),
        Command::Run(arguments) => run::run(context, &arguments),
        Command::Resume(arguments) => resume::run(context, &arguments),
        Command::Executions { action } => executions::run(context, action),
        Command::Blobs { action } => blobs::run(context, action),
        Command::Policies { action } => policies::run(context, action),
        Command::Accounts { action } => accounts::run(context, action),
        Command::Members(arguments) => members::run(context, arguments),
        Command::Organizations { action } => organizations::run(context, action),
        Command::Workspaces { action } => workspaces::run(context, action),
        Command::Tokens { action } => tokens::run(context, action),
        Command::Secrets { action } => secrets::run(context, &action),
        Command::Config { action } => config::run(context, &action),
        Command::Component { action } => component::run(context, action),
        Command::Mcp(arguments) => mcp::run(context, &arguments),
        Command::Audit { action } => audit::run(context, action),
        Command::Completions(arguments) => completions::run(context, &arguments),
        Command::Version(arguments) => version::run(context, &arguments),
        Command::Explain(arguments) => explain::run(context, &arguments),
        Command::GuardProcess(arguments) => guard_process::run(&arguments),
    }
}
