//! `executor:adapter/interaction`: questions in the middle of a call.
//!
//! A call that must ask returns `paused`: nothing waits in memory. `ask`
//! answers `cancelled`, which every protocol that asks knows.

use executor_bindings::adapter::executor::adapter::{interaction, types::Failure};

use super::AdapterSeam;
use crate::guest::Guest;

impl interaction::Host for Guest<AdapterSeam> {
    async fn ask(
        &mut self,
        _: interaction::Request,
    ) -> wasmtime::Result<Result<interaction::Answer, Failure>> {
        Ok(Ok(interaction::Answer::Cancelled))
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
