//! `executor:adapter/source-events`: what a watch tells of its source.

use executor_bindings::adapter::executor::adapter::source_events;

use super::{AdapterSeam, plain_text};
use crate::guest::Guest;

impl source_events::Host for Guest<AdapterSeam> {
    async fn changed(&mut self, what: String) -> wasmtime::Result<()> {
        if let Some(changed) = &self.seam.context.changed {
            changed(&plain_text(&what, 64));
        }
        // A watch that tells without end waits for nothing else.
        tokio::task::consume_budget().await;
        Ok(())
    }
}
