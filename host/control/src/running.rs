//! What runs now, so that it can be ended and waited for, and so that nobody
//! runs one execution twice.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use executor_store::ExecutionId;
use futures::future::AbortHandle;
use tokio::sync::{OwnedMutexGuard, watch};

/// Claims that nobody holds are forgotten once there are so many.
const CLAIMS: usize = 256;

/// Executions that run in this process.
#[derive(Default)]
pub(crate) struct Running {
    entries: Mutex<HashMap<ExecutionId, Entry>>,
    claims: Mutex<HashMap<ExecutionId, Weak<tokio::sync::Mutex<()>>>>,
}

struct Entry {
    abort: AbortHandle,
    ended: watch::Receiver<()>,
}

/// Whoever holds it may change what an execution is: answer, resume, cancel.
pub(crate) type Claim = OwnedMutexGuard<()>;

/// Held by a running execution; dropping it says that it has ended.
pub(crate) struct Ended(
    #[expect(dead_code, reason = "dropping it is what its receivers wait for")] watch::Sender<()>,
);

impl Running {
    pub(crate) fn add(&self, id: ExecutionId, abort: AbortHandle, ended: watch::Receiver<()>) {
        self.entries().insert(id, Entry { abort, ended });
    }

    pub(crate) fn remove(&self, id: &ExecutionId) {
        self.entries().remove(id);
    }

    /// Ends one, and waits until it has ended.
    pub(crate) async fn abort(&self, id: &ExecutionId) {
        let entry = self.entries().remove(id);
        if let Some(Entry { abort, mut ended }) = entry {
            abort.abort();
            while ended.changed().await.is_ok() {}
        }
    }

    /// How many run now.
    pub(crate) fn count(&self) -> usize {
        self.entries().len()
    }

    pub(crate) fn abort_all(&self) {
        for (_, entry) in self.entries().drain() {
            entry.abort.abort();
        }
    }

    /// Waits until one has ended; at once where it does not run.
    pub(crate) async fn wait(&self, id: &ExecutionId) {
        let ended = self.entries().get(id).map(|entry| entry.ended.clone());
        if let Some(mut ended) = ended {
            while ended.changed().await.is_ok() {}
        }
    }

    /// Waits for the claim on an execution.
    pub(crate) async fn claim(&self, id: &ExecutionId) -> Claim {
        let mutex = {
            let mut claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
            if claims.len() >= CLAIMS {
                claims.retain(|_, claim| claim.strong_count() > 0);
            }
            match claims.get(id).and_then(Weak::upgrade) {
                Some(mutex) => mutex,
                None => {
                    let mutex = Arc::default();
                    claims.insert(id.clone(), Arc::downgrade(&mutex));
                    mutex
                }
            }
        };
        mutex.lock_owned().await
    }

    pub(crate) fn signal() -> (Ended, watch::Receiver<()>) {
        let (sender, receiver) = watch::channel(());
        (Ended(sender), receiver)
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<ExecutionId, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
