//! Compiled components on disk.
//!
//! A `.cwasm` is native code, and loading one is trusting it: the directory
//! is private to its owner, a file is written under another name and renamed,
//! and its name holds the digest of the component, the fingerprint of the
//! engine and the digest of the code itself, which is checked before the
//! load. Nothing that came from elsewhere is ever put here.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use wasmtime::Engine;
use wasmtime::component::Component;

/// The directory of compiled components.
#[derive(Debug, Clone)]
pub struct CompiledCache {
    directory: PathBuf,
}

impl CompiledCache {
    /// Opens or makes the directory, for its owner alone.
    ///
    /// # Errors
    /// When it can't be made, or belongs to somebody else.
    pub fn open(directory: &Path) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let metadata = fs::metadata(directory)?;
        if metadata.uid() != rustix::process::getuid().as_raw() {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                format!("{} belongs to another user", directory.display()),
            ));
        }
        if metadata.permissions().mode() & 0o077 != 0 {
            fs::set_permissions(directory, fs::Permissions::from_mode(0o700))?;
        }
        Ok(Self { directory: directory.to_owned() })
    }

    /// Loads a component's native code, when it is there, whole and of this
    /// engine.
    pub(crate) fn load(&self, engine: &Engine, component: &str) -> Option<Component> {
        let path = self.find(&prefix(engine, component))?;
        // SAFETY: `find` has just checked that the bytes are those that
        // `keep` wrote, into a directory that only this user can write to.
        match unsafe { Component::deserialize_file(engine, &path) } {
            Ok(component) => Some(component),
            Err(error) => {
                tracing::warn!(%error, path = %path.display(), "compiled code does not load, compiling again");
                None
            }
        }
    }

    /// Keeps native code. Failing to is no fault: it is compiled again.
    pub(crate) fn keep(&self, engine: &Engine, component: &str, code: &[u8]) {
        let name = format!("{}{}.cwasm", prefix(engine, component), hex::encode(Sha256::digest(code)));
        if let Err(error) = write_then_rename(&self.directory.join(&name), code) {
            tracing::warn!(%error, name, "could not keep compiled code");
        }
    }

    /// Forgets a component's code, for every engine.
    ///
    /// # Errors
    /// When the directory can't be read.
    pub fn remove(&self, component: &str) -> io::Result<()> {
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(component) {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    /// The file whose name begins so and ends in the digest of its content.
    fn find(&self, prefix: &str) -> Option<PathBuf> {
        fs::read_dir(&self.directory).ok()?.flatten().find_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let digest = name.strip_prefix(prefix)?.strip_suffix(".cwasm")?;
            let code = fs::read(entry.path()).ok()?;
            (hex::encode(Sha256::digest(&code)) == digest).then(|| entry.path())
        })
    }
}

fn prefix(engine: &Engine, component: &str) -> String {
    let mut hasher = DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    crate::component::SNAPSHOT_INIT.hash(&mut hasher);
    format!("{component}-{:016x}-", hasher.finish())
}

fn write_then_rename(path: &Path, code: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    let mut file =
        fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
    file.write_all(code)?;
    file.sync_all()?;
    fs::rename(&temporary, path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{EMPTY_COMPONENT, Engines};

    fn cache(name: &str) -> (PathBuf, CompiledCache) {
        let directory = std::env::temp_dir().join(format!("executor-cwasm-{name}-{}", std::process::id()));
        let cache = CompiledCache::open(&directory).expect("a temporary directory can be made");
        (directory, cache)
    }

    #[test]
    fn loads_what_was_kept_and_nothing_that_was_changed() {
        let engines = Engines::new().expect("this machine runs the profile");
        let (directory, cache) = cache("change");
        assert!(cache.load(engines.pooled(), "a").is_none());
        let code = engines.roomy().precompile_component(EMPTY_COMPONENT).expect("it compiles");
        cache.keep(engines.roomy(), "a", &code);
        assert!(cache.load(engines.pooled(), "a").is_some(), "either engine loads it");

        let path = cache.find(&prefix(engines.pooled(), "a")).expect("it is there");
        let mut changed = code.clone();
        *changed.last_mut().expect("it is not empty") ^= 1;
        fs::write(&path, &changed).expect("the directory is ours");
        assert!(cache.load(engines.pooled(), "a").is_none(), "one changed bit is noticed");
        fs::write(&path, &code[..10]).expect("the directory is ours");
        assert!(cache.load(engines.pooled(), "a").is_none(), "a truncated file is noticed");
        fs::remove_dir_all(directory).expect("the directory is ours");
    }

    #[test]
    fn the_directory_is_private() {
        let (directory, _) = cache("private");
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).expect("ours");
        CompiledCache::open(&directory).expect("opens again");
        let mode = fs::metadata(&directory).expect("it exists").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        fs::remove_dir_all(directory).expect("the directory is ours");
    }
}
