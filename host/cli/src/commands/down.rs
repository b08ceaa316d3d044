//! `executor down`: ends the daemon.

use serde_json::json;

use crate::api::{Api, path};
use crate::context::Context;
use crate::daemon;
use crate::failure::{Exit, Failure};

pub(crate) fn run(context: &Context) -> Result<Exit, Failure> {
    if daemon::try_connect(&context.home)?.is_none() {
        return match executor_store::lock_owner(&context.home) {
            None => {
                context.output.say("no daemon runs");
                Ok(Exit::Ok)
            }
            Some(pid) => {
                Err(Failure::failed(format!("process {pid} owns the home, and its socket does not answer"))
                    .hint(format!("if it does not end by itself, end it with `kill {pid}`")))
            }
        };
    }
    let answer = Api::running(context).post(&path(&["shutdown"]), &json!({}))?;
    daemon::wait_until_gone(context)?;
    if context.output.json {
        context.output.print_json(&answer.value)?;
    }
    context.output.say("the daemon has ended");
    Ok(Exit::Ok)
}
