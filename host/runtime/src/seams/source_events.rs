//! `executor:adapter/source-events`: what a watch tells of its source.

use std::time::Duration;

use executor_bindings::adapter::executor::adapter::source_events;

use super::{AdapterSeam, plain_text};
use crate::guest::Guest;

/// What one change costs a watch in time: one that tells without end takes no
/// core for itself.
const PAUSE: Duration = Duration::from_millis(20);

impl source_events::Host for Guest<AdapterSeam> {
    async fn changed(&mut self, what: String) -> wasmtime::Result<()> {
        if let Some(changed) = &self.seam.context.changed {
            changed(&plain_text(&what, 64));
        }
        tokio::time::sleep(PAUSE).await;
        Ok(())
    }
}
