//! The runtime as the control plane sees it: engines, cache, egress, and the
//! ways to load each kind of component.

use std::path::Path;
use std::sync::Arc;

use crate::adapter::Adapter;
use crate::cache::CompiledCache;
use crate::compiler::Compiler;
use crate::component::{Identity, LoadError, Loader};
use crate::egress::Egress;
use crate::engine::Engines;
use crate::processes::{Launch, Processes};
use crate::sandbox::Sandbox;

/// Why there is no runtime.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// wasmtime can't run here.
    #[error("this machine can't run WebAssembly as configured")]
    Engine(#[source] wasmtime::Error),
    /// The cache of compiled components can't be used.
    #[error("the cache of compiled components at {path} can't be used")]
    Cache {
        /// Where.
        path: String,
        /// Why.
        source: std::io::Error,
    },
}

/// One daemon's runtime.
pub struct Runtime {
    loader: Loader,
    egress: Arc<Egress>,
    processes: Arc<Processes>,
}

impl Runtime {
    /// Makes the engines and opens the cache of compiled components. Without
    /// a launch no local programs are run.
    ///
    /// # Errors
    /// When the machine can't run the engine profile, or the cache directory
    /// can't be used.
    pub fn new(cache: &Path, launch: Option<Launch>) -> Result<Self, RuntimeError> {
        let engines = Engines::new().map_err(RuntimeError::Engine)?;
        let cache = CompiledCache::open(cache)
            .map_err(|source| RuntimeError::Cache { path: cache.display().to_string(), source })?;
        let processes = Arc::new(Processes::new(launch));
        Ok(Self { loader: Loader { engines, cache }, egress: Arc::default(), processes })
    }

    /// Makes a JavaScript engine ready: compiled, initialised, snapshotted.
    ///
    /// # Errors
    /// When the bytes are no such component, or it can't be made ready.
    pub async fn sandbox(&self, identity: Identity, bytes: Arc<[u8]>) -> Result<Sandbox, LoadError> {
        Sandbox::load(&self.loader, identity, bytes).await
    }

    /// Makes a TypeScript compiler ready.
    ///
    /// # Errors
    /// As [`Runtime::sandbox`].
    pub async fn compiler(&self, identity: Identity, bytes: Arc<[u8]>) -> Result<Compiler, LoadError> {
        Compiler::load(&self.loader, identity, bytes).await
    }

    /// Makes a source adapter ready.
    ///
    /// # Errors
    /// As [`Runtime::sandbox`].
    pub async fn adapter(&self, identity: Identity, bytes: Arc<[u8]>) -> Result<Adapter, LoadError> {
        Adapter::load(&self.loader, self.egress.clone(), self.processes.clone(), identity, bytes).await
    }

    /// The way out to the network.
    pub fn egress(&self) -> &Arc<Egress> {
        &self.egress
    }

    /// The local programs that run.
    pub fn processes(&self) -> &Arc<Processes> {
        &self.processes
    }

    /// Forgets a component's compiled code.
    pub fn forget(&self, digest: &str) {
        if let Err(error) = self.loader.cache.remove(digest) {
            tracing::warn!(%error, digest, "compiled code stays behind");
        }
    }
}
