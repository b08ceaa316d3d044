//! Components that are ready to run, each made ready once.

use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use executor_runtime::{Adapter, Compiler, Sandbox};
use executor_store::Digest;
use tokio::sync::OnceCell;

use crate::problem::Problem;

/// A digest, and the name by which errors and traces speak of it: what one
/// workspace calls it is not told in another.
type Key = (Digest, String);

/// Ready components.
#[derive(Default)]
pub(crate) struct Loaded {
    pub(crate) sandboxes: Once<Key, Sandbox>,
    pub(crate) compilers: Once<Key, Compiler>,
    pub(crate) adapters: Once<Key, Adapter>,
}

impl Loaded {
    /// Forgets a component, whatever it is called.
    pub(crate) fn forget(&self, digest: &Digest) {
        self.sandboxes.forget(|key| key.0 == *digest);
        self.compilers.forget(|key| key.0 == *digest);
        self.adapters.forget(|key| key.0 == *digest);
    }
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

    fn forget(&self, meant: impl Fn(&K) -> bool) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|key, _| !meant(key));
    }
}
