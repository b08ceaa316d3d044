//! From a component's bytes to native code that can be instantiated.

use std::sync::Arc;
use std::time::Instant;

use executor_telemetry::metrics;
use wasmtime::component::{Component, Linker};
use wasmtime::{Engine, Store};
use wasmtime_wizer::Wizer;

use crate::artifact::{Artifact, ArtifactError, World, inspect};
use crate::cache::CompiledCache;
use crate::engine::Engines;
use crate::guest::Meter;
use crate::limits::Limits;

/// What a sandbox component runs before its snapshot is taken: an empty
/// program, which leaves a context with the prelude loaded.
pub(crate) const SNAPSHOT_INIT: &str = "executor:sandbox/engine.load@0.1.0({modules: [], entry: \"\"})";

/// A component's identity: a name for people, and the SHA-256 of its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The name it goes by in this installation.
    pub name: String,
    /// The digest of its bytes, 64 hexadecimal digits.
    pub digest: String,
}

/// Why a component can't be run.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file is no component that is known here.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
    /// A component of another world than was asked for.
    #[error("{name} is a {found} component where a {wanted} is wanted")]
    World {
        /// The component.
        name: String,
        /// Its world.
        found: &'static str,
        /// The wanted one.
        wanted: &'static str,
    },
    /// It doesn't compile, link or initialise.
    #[error("{name} can't be made ready")]
    Prepare {
        /// The component.
        name: String,
        /// Why.
        source: wasmtime::Error,
    },
}

/// Compiles components, or takes them from the cache.
#[derive(Clone)]
pub(crate) struct Loader {
    pub(crate) engines: Engines,
    pub(crate) cache: CompiledCache,
}

impl Loader {
    /// Native code for `engine`, compiled on a blocking thread if need be.
    pub(crate) async fn component(
        &self,
        engine: &Engine,
        identity: &Identity,
        world: World,
        bytes: Arc<[u8]>,
    ) -> Result<Component, LoadError> {
        let (loader, engine, name) = (self.clone(), engine.clone(), identity.clone());
        let prepare = move || loader.load_or_compile(&engine, &name, world, &bytes);
        tokio::task::spawn_blocking(prepare).await.unwrap_or_else(|panic| {
            Err(LoadError::Prepare {
                name: identity.name.clone(),
                source: wasmtime::Error::msg(format!("the compiler panicked: {panic}")),
            })
        })
    }

    fn load_or_compile(
        &self,
        engine: &Engine,
        identity: &Identity,
        world: World,
        bytes: &[u8],
    ) -> Result<Component, LoadError> {
        if let Some(component) = self.cache.load(engine, &identity.digest) {
            metrics().guests.loaded();
            return Ok(component);
        }
        check_world(identity, &inspect(bytes)?, world)?;
        let begun = Instant::now();
        let code = self.compile(identity, world, bytes).map_err(|source| prepare_error(identity, source))?;
        metrics().guests.compiled(&identity.name, begun.elapsed());
        self.cache.keep(engine, &identity.digest, &code);
        if let Some(component) = self.cache.load(engine, &identity.digest) {
            return Ok(component);
        }
        // SAFETY: the bytes are this engine's own output of a moment ago.
        unsafe { Component::deserialize(engine, &code) }.map_err(|source| prepare_error(identity, source))
    }

    fn compile(&self, identity: &Identity, world: World, bytes: &[u8]) -> wasmtime::Result<Vec<u8>> {
        let engine = self.engines.roomy();
        if world != World::Sandbox {
            return engine.precompile_component(bytes);
        }
        let snapshot = futures::executor::block_on(snapshot(engine, identity, bytes))?;
        engine.precompile_component(&snapshot)
    }
}

/// Runs a sandbox component's initialisation and freezes what it left.
///
/// No import can be called meanwhile: whatever a guest would learn from one
/// (time, randomness) would be the same in every later instance.
async fn snapshot(engine: &Engine, identity: &Identity, bytes: &[u8]) -> wasmtime::Result<Vec<u8>> {
    let limits = Limits::sandbox();
    let mut store: Store<crate::guest::Guest<()>> =
        crate::guest::store(engine, &limits, &Meter::new(&identity.name), ());
    let mut wizer = Wizer::new();
    wizer.init_func(SNAPSHOT_INIT).keep_init_func(true);
    let (snapshot, _) = wizer
        .run_component(&mut store, bytes, async |store, component| {
            let mut linker = Linker::new(store.engine());
            linker.define_unknown_imports_as_traps(component)?;
            linker.instantiate_async(store, component).await
        })
        .await?;
    Ok(snapshot)
}

fn check_world(identity: &Identity, artifact: &Artifact, wanted: World) -> Result<(), LoadError> {
    if artifact.world == wanted {
        return Ok(());
    }
    Err(LoadError::World {
        name: identity.name.clone(),
        found: artifact.world.as_str(),
        wanted: wanted.as_str(),
    })
}

pub(crate) fn prepare_error(identity: &Identity, source: wasmtime::Error) -> LoadError {
    LoadError::Prepare { name: identity.name.clone(), source }
}
