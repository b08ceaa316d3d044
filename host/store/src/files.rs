//! Files that are there as a whole or not at all, and readable by one user.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const TEMPORARY: &[u8] = b".tmp";

/// An operation of the file system that failed, and on what.
#[derive(Debug)]
pub(crate) struct FileError {
    pub(crate) path: PathBuf,
    pub(crate) source: io::Error,
}

/// Says on which path an operation failed.
pub(crate) trait At<T> {
    fn at(self, path: &Path) -> Result<T, FileError>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, path: &Path) -> Result<T, FileError> {
        self.map_err(|source| FileError { path: path.to_owned(), source })
    }
}

/// Makes a directory and its missing parents, each with mode 0700, and syncs
/// the parent, so that a file that is synced in it can be found after a crash.
pub(crate) fn create_private_directory(path: &Path) -> Result<(), FileError> {
    if path.is_dir() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(path).at(path)?;
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => sync_directory(parent),
        _ => Ok(()),
    }
}

/// Makes the names in a directory durable.
pub(crate) fn sync_directory(path: &Path) -> Result<(), FileError> {
    sync_file(path)
}

/// Makes a file's bytes durable.
pub(crate) fn sync_file(path: &Path) -> Result<(), FileError> {
    File::open(path).and_then(|file| file.sync_all()).at(path)
}

/// Opens a new file that only this user can read; one that exists is an error.
pub(crate) fn create_private(path: &Path) -> Result<File, FileError> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).at(path)
}

/// Replaces a file with mode 0600: a reader sees the old bytes or the new
/// ones, and after this returns a crash leaves the new ones.
pub(crate) fn write_durably(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let temporary = temporary_beside(path);
    let written = create_private(&temporary)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()).at(&temporary))
        .and_then(|()| fs::rename(&temporary, path).at(path));
    if written.is_err() {
        // The first error is the one to report; a file left over is harmless.
        let _ = fs::remove_file(&temporary);
    }
    written?;
    match path.parent() {
        Some(parent) => sync_directory(parent),
        None => Ok(()),
    }
}

/// The text of a small file, or `None` if it does not exist.
pub(crate) fn read_text(path: &Path, limit_bytes: u64) -> Result<Option<String>, FileError> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.at(path)?,
    };
    let mut text = String::new();
    file.take(limit_bytes).read_to_string(&mut text).at(path)?;
    Ok(Some(text))
}

/// Removes what [`write_durably`] has left where a process died in it. Nobody
/// else may be writing to the directory.
pub(crate) fn remove_leftovers(directory: &Path) -> Result<(), FileError> {
    for entry in fs::read_dir(directory).at(directory)?.flatten() {
        if entry.file_name().as_encoded_bytes().ends_with(TEMPORARY) {
            // One that stays does no harm.
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(())
}

/// A name in the same directory that no other thread or process uses: one
/// process owns a home, and the count is this process's.
fn temporary_beside(path: &Path) -> PathBuf {
    use std::sync::atomic::{AtomicU64, Ordering};
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}-{count}.tmp", std::process::id()));
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_replaced_file_is_private_and_leaves_nothing_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("token");
        write_durably(&path, b"one").unwrap();
        write_durably(&path, b"two").unwrap();
        assert_eq!(read_text(&path, 100).unwrap().as_deref(), Some("two"));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_write_that_fails_names_the_path_and_leaves_no_temporary_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("taken");
        fs::create_dir(&path).unwrap();
        let error = write_durably(&path, b"one").unwrap_err();
        assert_eq!(error.path, path);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
