//! What runs now, so that it can be ended, and waited for.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use executor_store::ExecutionId;
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// Executions that run in this process.
#[derive(Default)]
pub(crate) struct Running(Mutex<HashMap<ExecutionId, Entry>>);

struct Entry {
    abort: AbortHandle,
    ended: watch::Receiver<()>,
}

/// Held by a running execution; dropping it says that it has ended.
pub(crate) struct Ended(
    #[expect(dead_code, reason = "dropping it is what its receivers wait for")] watch::Sender<()>,
);

impl Running {
    pub(crate) fn add(&self, id: ExecutionId, abort: AbortHandle, ended: watch::Receiver<()>) {
        self.lock().insert(id, Entry { abort, ended });
    }

    pub(crate) fn remove(&self, id: &ExecutionId) {
        self.lock().remove(id);
    }

    /// Ends one; false where it does not run.
    pub(crate) fn abort(&self, id: &ExecutionId) -> bool {
        match self.lock().remove(id) {
            Some(entry) => {
                entry.abort.abort();
                true
            }
            None => false,
        }
    }

    pub(crate) fn abort_all(&self) {
        for (_, entry) in self.lock().drain() {
            entry.abort.abort();
        }
    }

    /// Waits until one has ended; at once where it does not run.
    pub(crate) async fn wait(&self, id: &ExecutionId) {
        let ended = self.lock().get(id).map(|entry| entry.ended.clone());
        if let Some(mut ended) = ended {
            while ended.changed().await.is_ok() {}
        }
    }

    pub(crate) fn signal() -> (Ended, watch::Receiver<()>) {
        let (sender, receiver) = watch::channel(());
        (Ended(sender), receiver)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<ExecutionId, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
