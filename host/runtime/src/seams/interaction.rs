//! `executor:adapter/interaction`: questions in the middle of a call.
//!
//! A call that waits here stays in memory; one that can return `paused`
//! instead waits in none. Where no execution asks (an index, a watch, a
//! preview), nobody is asked: the answer is `cancelled`, which every protocol
//! that asks knows.

use executor_bindings::adapter::executor::adapter::{interaction, types::Failure};

use super::{AdapterSeam, host_failure};
use crate::guest::Guest;
use crate::pause::{Answer, Question};

impl interaction::Host for Guest<AdapterSeam> {
    async fn ask(
        &mut self,
        request: interaction::Request,
    ) -> wasmtime::Result<Result<interaction::Answer, Failure>> {
        let Some(asker) = self.seam.context.asker.clone() else {
            return Ok(Ok(interaction::Answer::Cancelled));
        };
        let question = match Question::checked(request) {
            Ok(question) => question,
            Err(failure) => return Ok(Err(host_failure("question-refused", failure.message))),
        };
        let answer = asker.ask(question).await;
        Ok(answer.map(Answer::into_wire).map_err(|failure| Failure {
            retryable: failure.retryable,
            ..host_failure(&failure.code, failure.message)
        }))
    }

    async fn progress(
        &mut self,
        done: f64,
        total: Option<f64>,
        message: Option<String>,
    ) -> wasmtime::Result<()> {
        tracing::trace!(done, total, message, "adapter progress");
        Ok(())
    }
}
