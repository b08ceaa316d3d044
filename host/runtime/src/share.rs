//! A workspace's share of the machine: how many of its guests run at one
//! time. Whoever comes later waits; nobody is refused for coming at a busy
//! moment, and no workspace takes the places of another.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Places per workspace. A sandbox holds its place while it waits for tool
/// calls, so adapters have places of their own.
const SANDBOXES: usize = 96;
const ADAPTERS: usize = 128;

/// Indexing and compiling need much memory: few at a time.
const HEAVY: usize = 2;

/// One workspace's places. Clones share them.
#[derive(Clone)]
pub struct Share {
    sandboxes: Arc<Semaphore>,
    adapters: Arc<Semaphore>,
    heavy: Arc<Semaphore>,
}

impl Default for Share {
    fn default() -> Self {
        Self {
            sandboxes: Arc::new(Semaphore::new(SANDBOXES)),
            adapters: Arc::new(Semaphore::new(ADAPTERS)),
            heavy: Arc::new(Semaphore::new(HEAVY)),
        }
    }
}

impl Share {
    pub(crate) async fn sandbox(&self) -> OwnedSemaphorePermit {
        place(&self.sandboxes).await
    }

    pub(crate) async fn adapter(&self) -> OwnedSemaphorePermit {
        place(&self.adapters).await
    }

    pub(crate) async fn heavy(&self) -> OwnedSemaphorePermit {
        place(&self.heavy).await
    }
}

async fn place(semaphore: &Arc<Semaphore>) -> OwnedSemaphorePermit {
    semaphore.clone().acquire_owned().await.expect("the semaphore is never closed")
}
