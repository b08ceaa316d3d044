//! The home: one directory of one user, owned by one daemon at a time.
//!
//! ```text
//! lock          flock: who holds it owns the home; its text is that process
//! format        the version of this layout
//! token         the owner's token
//! secret.key    what the secrets in executor.db are sealed with
//! daemon.json   where the daemon listens; a hint
//! executor.sock the daemon's socket
//! executor.db   the installation
//! workspaces/   a directory each
//! components/   component bytes by digest
//! cache/        what can be made again
//! ```

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustix::fs::FlockOperation;

use crate::files::{self, At, FileError};
use crate::names::WorkspaceName;

/// The layout that this build writes.
const FORMAT: u32 = 1;
/// What brings a home from each older format to the next, first to last.
const UPGRADES: [fn(&Path) -> io::Result<()>; FORMAT as usize - 1] = [];

const TOKEN_BYTES: usize = 32;
/// A status or format file is ours and short; whatever else lies there is cut.
const SMALL_FILE_LIMIT_BYTES: u64 = 64 * 1024;
/// Somebody who only asks who the owner is holds the lock for a moment: so
/// often, and so long, an owner waits before it believes in another one.
const LOCK_ATTEMPTS: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// Why a home can't be opened.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// Another process owns the home.
    #[error("{} is in use{}", path.display(), by(*pid))]
    Locked {
        /// The home.
        path: PathBuf,
        /// The owner, where it has said so.
        pid: Option<u32>,
    },
    /// A newer executor wrote the home.
    #[error(
        "{} has format {found}, and this executor knows formats up to {known}: use a newer executor",
        path.display()
    )]
    Newer {
        /// The home.
        path: PathBuf,
        /// The format that it has.
        found: u32,
        /// The newest format that this build knows.
        known: u32,
    },
    /// The home's format file holds no format.
    #[error("{} does not hold a format number: is this directory an executor home?", path.display())]
    Format {
        /// The format file.
        path: PathBuf,
    },
    /// Something other than a directory stands where the home should be.
    #[error("{} is not a directory", path.display())]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// Another user could read the home, or owns it.
    #[error("{} {problem}", path.display())]
    Permissions {
        /// The home, or the file in it.
        path: PathBuf,
        /// What is wrong, and what would mend it.
        problem: String,
    },
    /// The token file holds no token.
    #[error("{} holds no token: remove the file, and the next start makes a new one", path.display())]
    Token {
        /// The token file.
        path: PathBuf,
    },
    /// The system gave no random bytes.
    #[error("the system gave no random bytes")]
    Random(#[source] getrandom::Error),
    /// A file of the home could not be used.
    #[error("cannot use {}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
}

impl From<FileError> for HomeError {
    fn from(error: FileError) -> Self {
        Self::Io { path: error.path, source: error.source }
    }
}

fn by(pid: Option<u32>) -> String {
    match pid {
        Some(pid) => format!(" by process {pid}"),
        None => String::new(),
    }
}

/// An open home. Clones share it; its lock is released when the last of them
/// is gone, and every open store of the home keeps one.
#[derive(Debug, Clone)]
pub struct Home {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    token: String,
    /// The files that are open for writing.
    claimed: Mutex<HashSet<PathBuf>>,
    /// Held for its lock alone.
    _lock: File,
}

impl Home {
    /// Takes ownership of the home at `path`, which is made if it is missing.
    ///
    /// # Errors
    /// A home that another process owns, that another user owns or could read,
    /// or that a newer executor wrote is refused, and nothing in it changed.
    pub fn open(path: &Path) -> Result<Self, HomeError> {
        let path = std::path::absolute(path).at(path)?;
        ensure_private_directory(&path)?;
        let lock = take_lock(&path)?;
        settle_format(&path)?;
        for name in ["workspaces", "components", "cache"] {
            files::create_private_directory(&path.join(name))?;
        }
        files::remove_leftovers(&path)?;
        files::remove_leftovers(&path.join("components"))?;
        let token = ensure_token(&path.join("token"))?;
        let inner = Inner { path, token, claimed: Mutex::default(), _lock: lock };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The home's own directory, absolute.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// The owner's token: 43 characters of base64url, the same at each start.
    pub fn token(&self) -> &str {
        &self.inner.token
    }

    /// Where the daemon's Unix socket is.
    pub fn socket(&self) -> PathBuf {
        self.inner.path.join("executor.sock")
    }

    /// The directory of a workspace, whether it exists or not.
    pub fn workspace_directory(&self, name: &WorkspaceName) -> PathBuf {
        self.inner.path.join("workspaces").join(name.as_str())
    }

    /// Where component bytes are.
    pub fn components_directory(&self) -> PathBuf {
        self.inner.path.join("components")
    }

    /// What can be deleted at any time.
    pub fn cache_directory(&self) -> PathBuf {
        self.inner.path.join("cache")
    }

    /// Says where the daemon listens, for whoever looks: a hint, since the
    /// process that wrote it may be gone.
    ///
    /// # Errors
    /// The file could not be written.
    pub fn write_status(&self, json: &str) -> Result<(), HomeError> {
        files::write_durably(&status_file(&self.inner.path), json.as_bytes())?;
        Ok(())
    }

    /// What the last daemon of the home at `path` said about itself.
    pub fn read_status(path: &Path) -> Option<String> {
        files::read_text(&status_file(path), SMALL_FILE_LIMIT_BYTES).ok().flatten()
    }

    /// How many bytes this user can still write to the home's file system.
    ///
    /// # Errors
    /// The system did not say.
    pub fn free_bytes(&self) -> Result<u64, HomeError> {
        let path = &self.inner.path;
        let status = rustix::fs::statvfs(path).map_err(io::Error::from).at(path)?;
        Ok(status.f_bavail.saturating_mul(status.f_frsize))
    }

    /// Takes a file for one who writes to it, or gives `None` if it is taken.
    pub(crate) fn claim(&self, file: &Path) -> Option<Claim> {
        let taken = self.inner.claimed().insert(file.to_owned());
        taken.then(|| Claim { home: self.clone(), file: file.to_owned() })
    }

    pub(crate) fn secret_key_file(&self) -> PathBuf {
        Self::secret_key_file_of(&self.inner.path)
    }

    pub(crate) fn secret_key_file_of(directory: &Path) -> PathBuf {
        directory.join("secret.key")
    }

    pub(crate) fn installation_file(&self) -> PathBuf {
        self.inner.path.join("executor.db")
    }
}

/// A file of the home that nobody else writes to until this is dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    home: Home,
    file: PathBuf,
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.home.inner.claimed().remove(&self.file);
    }
}

impl Inner {
    fn claimed(&self) -> MutexGuard<'_, HashSet<PathBuf>> {
        self.claimed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The process that owns the home now, or `None` if none does. The lock is
/// asked, not the file's text: a process that died owns nothing.
pub fn lock_owner(home: &Path) -> Option<u32> {
    let path = lock_file(home);
    let mut file = File::open(path).ok()?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
        // Closing the file gives it back.
        Ok(()) => None,
        Err(_) => read_pid(&mut file),
    }
}

fn lock_file(home: &Path) -> PathBuf {
    home.join("lock")
}

fn status_file(home: &Path) -> PathBuf {
    home.join("daemon.json")
}

fn ensure_private_directory(path: &Path) -> Result<(), HomeError> {
    if !path.exists() {
        files::create_private_directory(path)?;
    }
    let metadata = fs::metadata(path).at(path)?;
    if !metadata.is_dir() {
        return Err(HomeError::NotADirectory { path: path.to_owned() });
    }
    ensure_private(path, 0o700)
}

/// Refuses what another user owns; takes every right from everybody else.
fn ensure_private(path: &Path, mode: u32) -> Result<(), HomeError> {
    let metadata = fs::metadata(path).at(path)?;
    let user = rustix::process::geteuid().as_raw();
    if metadata.uid() != user {
        return Err(HomeError::Permissions {
            path: path.to_owned(),
            problem: format!(
                "belongs to user {}, and this is user {user}: choose a home of your own",
                metadata.uid()
            ),
        });
    }
    if metadata.mode() & 0o077 == 0 {
        return Ok(());
    }
    // Whether it worked is seen by looking: some file systems have no modes.
    let _ = fs::set_permissions(path, Permissions::from_mode(mode));
    if fs::metadata(path).at(path)?.mode() & 0o077 == 0 {
        return Ok(());
    }
    Err(HomeError::Permissions {
        path: path.to_owned(),
        problem: format!("can be read by other users: set its mode to {mode:o}"),
    })
}

fn take_lock(home: &Path) -> Result<File, HomeError> {
    let path = lock_file(home);
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .at(&path)?;
    for attempt in 1.. {
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => break,
            Err(rustix::io::Errno::WOULDBLOCK) if attempt < LOCK_ATTEMPTS => {
                std::thread::sleep(LOCK_PAUSE);
            }
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(HomeError::Locked { path: home.to_owned(), pid: read_pid(&mut file) });
            }
            Err(error) => return Err(io::Error::from(error)).at(&path)?,
        }
    }
    let pid = std::process::id().to_string();
    file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(pid.as_bytes())).at(&path)?;
    Ok(file)
}

fn read_pid(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn settle_format(home: &Path) -> Result<(), HomeError> {
    let path = home.join("format");
    let Some(text) = files::read_text(&path, SMALL_FILE_LIMIT_BYTES)? else {
        files::write_durably(&path, format!("{FORMAT}\n").as_bytes())?;
        return Ok(());
    };
    let found: u32 = match text.trim().parse() {
        Ok(found) if found > 0 => found,
        _ => return Err(HomeError::Format { path }),
    };
    if found > FORMAT {
        return Err(HomeError::Newer { path: home.to_owned(), found, known: FORMAT });
    }
    for (upgrade, reached) in UPGRADES.iter().zip(2_u32..).skip(found as usize - 1) {
        upgrade(home).at(home)?;
        files::write_durably(&path, format!("{reached}\n").as_bytes())?;
    }
    Ok(())
}

fn ensure_token(path: &Path) -> Result<String, HomeError> {
    if let Some(text) = files::read_text(path, SMALL_FILE_LIMIT_BYTES)? {
        ensure_private(path, 0o600)?;
        let token = text.trim();
        return match URL_SAFE_NO_PAD.decode(token) {
            Ok(bytes) if bytes.len() == TOKEN_BYTES => Ok(token.to_owned()),
            _ => Err(HomeError::Token { path: path.to_owned() }),
        };
    }
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(HomeError::Random)?;
    let token = URL_SAFE_NO_PAD.encode(bytes);
    files::write_durably(path, token.as_bytes())?;
    Ok(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    fn directory() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().join("deep").join("home");
        (directory, home)
    }

    #[test]
    fn a_second_owner_is_refused_and_told_who_the_first_is() {
        let (_directory, path) = directory();
        assert_eq!(lock_owner(&path), None);
        let home = Home::open(&path).unwrap();
        let own = std::process::id();
        assert_eq!(lock_owner(&path), Some(own));
        let error = Home::open(&path).unwrap_err();
        assert!(matches!(error, HomeError::Locked { pid: Some(pid), .. } if pid == own), "{error}");
        assert!(error.to_string().contains(&own.to_string()), "{error}");
        let clone = home.clone();
        drop(home);
        assert_eq!(lock_owner(&path), Some(own));
        drop(clone);
        assert_eq!(lock_owner(&path), None);
        Home::open(&path).unwrap();
    }

    #[test]
    fn asking_for_the_owner_does_not_keep_an_owner_out() {
        let (_directory, path) = directory();
        drop(Home::open(&path).unwrap());
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    lock_owner(&path);
                }
            });
            let opened: Vec<_> = (0..50).map(|_| Home::open(&path).map(drop)).collect();
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            opened.into_iter().for_each(|opened| opened.unwrap());
        });
    }

    #[test]
    fn a_home_is_private_and_made_so_where_it_is_not() {
        let (_directory, path) = directory();
        drop(Home::open(&path).unwrap());
        assert_eq!(mode(&path), 0o700);
        for name in ["token", "lock", "format"] {
            assert_eq!(mode(&path.join(name)), 0o600, "{name}");
        }
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(path.join("token"), Permissions::from_mode(0o644)).unwrap();
        Home::open(&path).unwrap();
        assert_eq!(mode(&path), 0o700);
        assert_eq!(mode(&path.join("token")), 0o600);
    }

    #[test]
    fn a_home_of_another_user_is_refused() {
        // Only root can give a directory away; for others there is nothing to
        // try, since they cannot make one that is not theirs.
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let (_directory, path) = directory();
        fs::create_dir_all(&path).unwrap();
        std::os::unix::fs::chown(&path, Some(12_345), None).unwrap();
        let error = Home::open(&path).unwrap_err();
        assert!(matches!(error, HomeError::Permissions { .. }), "{error}");
        assert!(error.to_string().contains("12345"), "{error}");
        assert!(!path.join("lock").exists());
    }

    #[test]
    fn a_file_in_the_homes_place_is_refused() {
        let (directory, _) = directory();
        let path = directory.path().join("file");
        fs::write(&path, "").unwrap();
        let error = Home::open(&path).unwrap_err();
        assert!(matches!(error, HomeError::NotADirectory { .. }), "{error}");
    }

    #[test]
    fn a_newer_format_is_refused_with_both_versions_and_left_alone() {
        let (_directory, path) = directory();
        drop(Home::open(&path).unwrap());
        fs::write(path.join("format"), "7\n").unwrap();
        let error = Home::open(&path).unwrap_err();
        assert!(matches!(error, HomeError::Newer { found: 7, known: FORMAT, .. }), "{error}");
        assert_eq!(fs::read_to_string(path.join("format")).unwrap(), "7\n");
        for text in ["", "0", "one", "-1"] {
            fs::write(path.join("format"), text).unwrap();
            let error = Home::open(&path).unwrap_err();
            assert!(matches!(error, HomeError::Format { .. }), "{error}");
        }
    }

    #[test]
    fn the_token_is_stable_and_a_damaged_one_is_not_taken() {
        let (_directory, path) = directory();
        let first = Home::open(&path).unwrap().token().to_owned();
        assert_eq!(first.len(), 43);
        assert_eq!(Home::open(&path).unwrap().token(), first);
        fs::write(path.join("token"), &first[..20]).unwrap();
        let error = Home::open(&path).unwrap_err();
        assert!(matches!(error, HomeError::Token { .. }), "{error}");
        assert!(!error.to_string().contains(&first[..20]), "{error}");
        fs::remove_file(path.join("token")).unwrap();
        assert_ne!(Home::open(&path).unwrap().token(), first);
    }

    #[test]
    fn the_status_is_what_was_written_last() {
        let (_directory, path) = directory();
        assert_eq!(Home::read_status(&path), None);
        fs::create_dir_all(&path).unwrap();
        let leftover = path.join("daemon.json.1-0.tmp");
        fs::write(&leftover, "{").unwrap();
        let home = Home::open(&path).unwrap();
        home.write_status("{\"port\":1}").unwrap();
        home.write_status("{\"port\":2}").unwrap();
        assert_eq!(Home::read_status(&path).as_deref(), Some("{\"port\":2}"));
        assert!(home.free_bytes().unwrap() > 0);
        assert!(!leftover.exists());
    }
}
