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
    /// Whether it waits for a person in the middle of a call.
    waits: watch::Sender<bool>,
}

/// Whoever holds it may change what an execution is: answer, resume, cancel.
pub(crate) type Claim = OwnedMutexGuard<()>;

/// Held by a running execution; dropping it says that it has ended.
pub(crate) struct Ended(
    #[expect(dead_code, reason = "dropping it is what its receivers wait for")] watch::Sender<()>,
);

impl Running {
    /// Tells from now on whether it waits for a person in the middle of a
    /// call.
    pub(crate) fn add(
        &self,
        id: ExecutionId,
        abort: AbortHandle,
        ended: watch::Receiver<()>,
    ) -> watch::Receiver<bool> {
        let (waits, told) = watch::channel(false);
        self.entries().insert(id, Entry { abort, ended, waits });
        told
    }

    /// Says whether one waits for a person in the middle of a call.
    pub(crate) fn set_waits(&self, id: &ExecutionId, waits: bool) {
        if let Some(entry) = self.entries().get(id) {
            entry.waits.send_replace(waits);
        }
    }

    /// Whether it runs, or waits in the middle of a call.
    pub(crate) fn has(&self, id: &ExecutionId) -> bool {
        self.entries().contains_key(id)
    }

    pub(crate) fn remove(&self, id: &ExecutionId) {
        self.entries().remove(id);
    }

    /// Ends one, and waits until it has ended.
    pub(crate) async fn abort(&self, id: &ExecutionId) {
        let entry = self.entries().remove(id);
        if let Some(Entry { abort, mut ended, .. }) = entry {
            abort.abort();
            while ended.changed().await.is_ok() {}
        }
    }

    /// How many run now; those that wait for a person don't.
    pub(crate) fn count(&self) -> usize {
        self.entries().values().filter(|entry| !*entry.waits.borrow()).count()
    }

    pub(crate) fn abort_all(&self) {
        for (_, entry) in self.entries().drain() {
            entry.abort.abort();
        }
    }

    /// Waits until one has ended or waits for a person; at once where it does
    /// not run.
    pub(crate) async fn wait(&self, id: &ExecutionId) {
        let found = self.entries().get(id).map(|entry| (entry.ended.clone(), entry.waits.subscribe()));
        if let Some((mut ended, waits)) = found {
            tokio::select! {
                () = async { while ended.changed().await.is_ok() {} } => {}
                () = until_waits(waits) => {}
            }
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

/// Returns once it waits for a person in the middle of a call; never where it
/// ends before.
pub(crate) async fn until_waits(mut waits: watch::Receiver<bool>) {
    if waits.wait_for(|waits| *waits).await.is_err() {
        std::future::pending().await
    }
}
