//! A workspace's share of the machine: how many of its guests run at one
//! time. Whoever comes later waits; nobody is refused for coming at a busy
//! moment, and no workspace takes the places of another.

use std::sync::Arc;

use executor_telemetry::Place;
use executor_telemetry::metrics::{Pool, metrics};
use executor_telemetry::spans::names;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Places per workspace. A sandbox holds its place while it waits for tool
/// calls, so adapters have places of their own.
const SANDBOXES: usize = 96;
const ADAPTERS: usize = 128;

/// Watches, which stay.
const WATCHES: usize = 32;

/// Indexing and compiling need much memory: few at a time.
const HEAVY: usize = 2;

/// One workspace's places. Clones share them.
#[derive(Clone)]
pub struct Share {
    sandboxes: Arc<Semaphore>,
    adapters: Arc<Semaphore>,
    heavy: Arc<Semaphore>,
    watches: Arc<Semaphore>,
}

impl Default for Share {
    fn default() -> Self {
        Self {
            sandboxes: Arc::new(Semaphore::new(SANDBOXES)),
            adapters: Arc::new(Semaphore::new(ADAPTERS)),
            heavy: Arc::new(Semaphore::new(HEAVY)),
            watches: Arc::new(Semaphore::new(WATCHES)),
        }
    }
}

impl Share {
    pub(crate) async fn sandbox(&self, trace: &Place) -> OwnedSemaphorePermit {
        place(&self.sandboxes, Pool::Sandbox, trace).await
    }

    pub(crate) async fn adapter(&self, trace: &Place) -> OwnedSemaphorePermit {
        place(&self.adapters, Pool::Adapter, trace).await
    }

    pub(crate) async fn heavy(&self, trace: &Place) -> OwnedSemaphorePermit {
        place(&self.heavy, Pool::Heavy, trace).await
    }

    pub(crate) async fn watch(&self, trace: &Place) -> OwnedSemaphorePermit {
        place(&self.watches, Pool::Watch, trace).await
    }
}

async fn place(semaphore: &Arc<Semaphore>, pool: Pool, trace: &Place) -> OwnedSemaphorePermit {
    if let Ok(permit) = semaphore.clone().try_acquire_owned() {
        return permit;
    }
    let _span = trace.span(names::POOL_WAIT);
    let _waiting = metrics().guests.pool(pool).wait();
    semaphore.clone().acquire_owned().await.expect("the semaphore is never closed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;

    #[tokio::test]
    async fn whoever_comes_to_a_full_house_waits_and_is_counted() {
        let share = Share::default();
        let nowhere = Place::default();
        let held = [share.heavy(&nowhere).await, share.heavy(&nowhere).await];
        let waiting = || {
            let page = metrics().encode();
            let line = page.lines().find(|line| line.starts_with("executor_pool_waiting{pool=\"heavy\"}"));
            line.expect("it is there").ends_with(" 1")
        };
        let mut third = Box::pin(share.heavy(&nowhere));
        assert!(third.as_mut().now_or_never().is_none());
        assert!(waiting());
        drop(held);
        drop(third.await);
        assert!(!waiting());
    }
}
