//! Components that are ready to run, each made ready once.

use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use executor_runtime::{Adapter, Compiler, Sandbox};
use executor_store::Digest;
use tokio::sync::OnceCell;

use crate::problem::Problem;

/// Ready components by their digest.
#[derive(Default)]
pub(crate) struct Loaded {
    pub(crate) sandboxes: Once<Digest, Sandbox>,
    pub(crate) compilers: Once<Digest, Compiler>,
    pub(crate) adapters: Once<Digest, Adapter>,
}

/// Values that are made once for each key, whoever asks first.
pub(crate) struct Once<K, V>(Mutex<HashMap<K, Arc<OnceCell<Arc<V>>>>>);

impl<K, V> Default for Once<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Hash + Eq + Clone, V> Once<K, V> {
    /// The value for a key; those who ask while it is being made wait for it.
    pub(crate) async fn get<F>(&self, key: &K, make: impl FnOnce() -> F) -> Result<Arc<V>, Problem>
    where
        F: Future<Output = Result<V, Problem>>,
    {
        let cell = {
            let mut cells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            cells.entry(key.clone()).or_default().clone()
        };
        cell.get_or_try_init(|| async { make().await.map(Arc::new) }).await.cloned()
    }

    pub(crate) fn forget(&self, key: &K) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}
