//! What can be made again: sessions of adapters, HTTP caches, compiled search.
//!
//! sled keeps it. Whatever goes wrong with sled, entries are lost and nothing
//! else happens: callers see a cache that has forgotten. A database that is
//! given up is never opened again under its name, since its last threads may
//! still write there; each has a directory of its own, counted upwards.

mod entry;

use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::files;

/// The largest entry, key and value together.
pub const CACHE_ENTRY_LIMIT_BYTES: usize = 1024 * 1024;

/// sled's page cache.
const MEMORY_BYTES: u64 = 8 * 1024 * 1024;
const FLUSH_EVERY_MS: u64 = 5000;
/// At this size everything is forgotten: strangers fill HTTP caches.
const DISK_LIMIT_BYTES: u64 = 512 * 1024 * 1024;
/// The size is looked at once in so many writes.
const WRITES_BETWEEN_LOOKS: u64 = 1024;
/// So often, and so long, an opening waits for a lock.
const LOCK_ATTEMPTS: u32 = 50;
const LOCK_PAUSE: Duration = Duration::from_millis(10);
/// How often in a row a fresh database is tried before the cache gives up
/// until the next call.
const ATTEMPTS: u32 = 2;

/// A cache of bytes by tree and key. Clones share it.
#[derive(Debug, Clone)]
pub struct Cache {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    open: Mutex<Option<Generation>>,
    writes: AtomicU64,
    disk_limit_bytes: u64,
}

/// One database.
#[derive(Clone)]
struct Generation {
    number: u64,
    directory: PathBuf,
    database: sled::Db,
    /// Where the files of long values are.
    long: PathBuf,
    long_bytes: Arc<AtomicU64>,
}

/// Why an operation failed.
#[derive(Debug, thiserror::Error)]
enum CacheFault {
    #[error("sled: {0}")]
    Sled(#[from] sled::Error),
    #[error("a file: {0}")]
    File(#[from] io::Error),
}

impl std::fmt::Debug for Generation {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Generation({})", self.number)
    }
}

impl Cache {
    /// Opens the cache in a directory of its own. It always opens: one that is
    /// damaged is removed, and one that can't be made holds nothing.
    pub fn open(path: &Path) -> Self {
        Self::open_bounded(path, DISK_LIMIT_BYTES)
    }

    fn open_bounded(path: &Path, disk_limit_bytes: u64) -> Self {
        let inner = Inner {
            path: path.to_owned(),
            open: Mutex::new(None),
            writes: AtomicU64::new(0),
            disk_limit_bytes,
        };
        let newest = generations(path).into_iter().max().unwrap_or(0);
        *inner.open() = open_generation(path, newest).or_else(|| open_generation(path, newest + 1));
        Self { inner: Arc::new(inner) }
    }

    /// An entry's value.
    pub fn get(&self, tree: &str, key: &[u8]) -> Option<Vec<u8>> {
        self.attempt(|open| {
            let value = open.database.open_tree(tree)?.get(entry::key(key))?;
            Ok(value.and_then(|value| entry::bytes(&open.long, &value)))
        })?
    }

    /// Keeps an entry; whether it was kept. One that is over
    /// [`CACHE_ENTRY_LIMIT_BYTES`] is not, and the one before it is gone.
    pub fn put(&self, tree: &str, key: &[u8], value: &[u8]) -> bool {
        self.tend();
        if !fits(key, Some(value)) {
            self.remove(tree, key);
            return false;
        }
        let kept = self.attempt(|open| {
            let stored = open.keep(value)?;
            open.database.open_tree(tree)?.insert(entry::key(key), stored)?;
            Ok(())
        });
        kept.is_some()
    }

    /// Puts `value` in the place of `expected`, where `None` is no entry;
    /// whether that was so. A value over [`CACHE_ENTRY_LIMIT_BYTES`] is never
    /// taken.
    pub fn swap(&self, tree: &str, key: &[u8], expected: Option<&[u8]>, value: Option<&[u8]>) -> bool {
        self.tend();
        if !fits(key, value) {
            return false;
        }
        let expected = expected.map(entry::value);
        let swapped = self.attempt(|open| {
            let stored = value.map(|value| open.keep(value)).transpose()?;
            let tree = open.database.open_tree(tree)?;
            let swapped = tree.compare_and_swap(entry::key(key), expected.as_deref(), stored)?;
            Ok(swapped.is_ok())
        });
        swapped == Some(true)
    }

    /// Forgets an entry.
    pub fn remove(&self, tree: &str, key: &[u8]) {
        self.attempt(|open| Ok(open.database.open_tree(tree)?.remove(entry::key(key))?));
    }

    /// Forgets all entries of a tree.
    pub fn remove_tree(&self, tree: &str) {
        self.attempt(|open| Ok(open.database.drop_tree(tree)?));
    }

    /// Runs an operation, again on a fresh database if it fails, and gives
    /// `None` if that fails too.
    fn attempt<T>(&self, operation: impl Fn(&Generation) -> Result<T, CacheFault>) -> Option<T> {
        for _ in 0..ATTEMPTS {
            let generation = self.current()?;
            // sled panics where its files are not what it expects.
            match catch_unwind(AssertUnwindSafe(|| operation(&generation))) {
                Ok(Ok(value)) => return Some(value),
                Ok(Err(error)) => tracing::warn!(%error, "the cache is made anew"),
                Err(_) => tracing::warn!("the cache is made anew after a panic in it"),
            }
            self.give_up(&generation);
        }
        None
    }

    fn current(&self) -> Option<Generation> {
        let mut open = self.inner.open();
        if open.is_none() {
            let path = &self.inner.path;
            let newest = generations(path).into_iter().max().unwrap_or(0);
            *open = open_generation(path, newest + 1);
        }
        open.clone()
    }

    /// Looks whether the directory is still there and not too large.
    fn tend(&self) {
        let Some(generation) = self.current() else {
            return;
        };
        let writes = self.inner.writes.fetch_add(1, Ordering::Relaxed);
        let gone = !generation.directory.exists();
        let look = writes % WRITES_BETWEEN_LOOKS == WRITES_BETWEEN_LOOKS - 1;
        if gone || self.is_large(&generation, look) {
            self.give_up(&generation);
        }
    }

    /// What sled takes is asked for by `look`: that reads its directory.
    fn is_large(&self, generation: &Generation, look: bool) -> bool {
        let long = generation.long_bytes.load(Ordering::Relaxed);
        let short = match look {
            true => generation.database.size_on_disk().unwrap_or(u64::MAX),
            false => 0,
        };
        long.saturating_add(short) > self.inner.disk_limit_bytes
    }

    /// Replaces a database that can't be used, unless somebody else has.
    fn give_up(&self, generation: &Generation) {
        let mut open = self.inner.open();
        let number = generation.number;
        if open.as_ref().is_some_and(|open| open.number != number) {
            return;
        }
        let given_up = open.take();
        *open = open_generation(&self.inner.path, number + 1);
        drop(open);
        let directory = generation.directory.clone();
        // Its last flush may wait for what has failed before, in vain; nobody
        // else waits for that.
        let retired = std::thread::Builder::new().name("cache-retired".to_owned()).spawn(move || {
            let _ = catch_unwind(AssertUnwindSafe(|| drop(given_up)));
            let _ = fs::remove_dir_all(directory);
        });
        if let Err(error) = retired {
            tracing::warn!(%error, "an old cache stays until the next start");
        }
    }
}

impl Generation {
    /// Writes what sled does not take of a value, and returns what it does.
    fn keep(&self, bytes: &[u8]) -> Result<Vec<u8>, CacheFault> {
        let value = entry::value(bytes);
        let written = entry::keep_long(&self.long, &value, bytes)?;
        self.long_bytes.fetch_add(written, Ordering::Relaxed);
        Ok(value)
    }
}

impl Inner {
    fn open(&self) -> MutexGuard<'_, Option<Generation>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn fits(key: &[u8], value: Option<&[u8]>) -> bool {
    key.len() + value.map_or(0, <[u8]>::len) <= CACHE_ENTRY_LIMIT_BYTES
}

/// The numbers of the databases in a directory.
fn generations(path: &Path) -> Vec<u64> {
    let Ok(entries) = fs::read_dir(path) else {
        return Vec::new();
    };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Opens the database of a number, and removes all others.
fn open_generation(path: &Path, number: u64) -> Option<Generation> {
    for other in generations(path).into_iter().filter(|other| *other != number) {
        let _ = fs::remove_dir_all(path.join(other.to_string()));
    }
    let directory = path.join(number.to_string());
    let long = directory.join("long");
    if let Err(error) = files::create_private_directory(&long) {
        let path = error.path.display();
        tracing::warn!(%path, error = %error.source, "the cache has no place to be");
        return None;
    }
    let config = sled::Config::new()
        .path(&directory)
        .cache_capacity(MEMORY_BYTES)
        .mode(sled::Mode::LowSpace)
        .flush_every_ms(Some(FLUSH_EVERY_MS));
    match catch_unwind(AssertUnwindSafe(|| open_patiently(&config))) {
        Ok(Ok(database)) => Some(Generation {
            number,
            directory,
            database,
            long_bytes: Arc::new(AtomicU64::new(entry::long_bytes(&long))),
            long,
        }),
        opened => {
            match opened {
                Ok(Err(error)) => tracing::warn!(%error, "a damaged cache is removed"),
                _ => tracing::warn!("a damaged cache is removed after a panic in it"),
            }
            let _ = fs::remove_dir_all(&directory);
            None
        }
    }
}

/// The threads of a database that this process has closed may keep its lock
/// for a moment; sled tells that no better than by an unnamed error.
fn open_patiently(config: &sled::Config) -> sled::Result<sled::Db> {
    for _ in 1..LOCK_ATTEMPTS {
        match config.open() {
            Err(sled::Error::Io(error)) if error.kind() == io::ErrorKind::Other => {
                std::thread::sleep(LOCK_PAUSE);
            }
            opened => return opened,
        }
    }
    config.open()
}

#[cfg(test)]
mod tests;
