//! Copies of a configuration as it was before a change, beside it.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use time::OffsetDateTime;

use super::document::Document;
use crate::failure::Failure;

/// As many are kept.
const KEPT: usize = 5;
const MARK: &str = ".executor-backup-";

/// Makes a copy, and removes the oldest where there are too many. Nothing
/// where there is no file yet. Nobody may read a copy who may not read the
/// file.
///
/// # Errors
/// It can't be written.
pub(crate) fn make(document: &Document, now: OffsetDateTime) -> Result<Option<PathBuf>, Failure> {
    let Some((bytes, mode)) = document.original() else { return Ok(None) };
    let backup = write(&document.path, bytes, mode, now).map_err(|error| {
        Failure::failed(format!("{} can't be backed up: {error}", document.path.display()))
            .hint("nothing was changed")
    })?;
    prune(&document.path);
    Ok(Some(backup))
}

fn write(path: &Path, bytes: &[u8], mode: u32, now: OffsetDateTime) -> io::Result<PathBuf> {
    let (date, time) = (now.date(), now.time());
    let stamp = format!(
        "{:04}{:02}{:02}T{:02}{:02}{:02}.{:03}Z",
        date.year(),
        u8::from(date.month()),
        date.day(),
        time.hour(),
        time.minute(),
        time.second(),
        time.millisecond()
    );
    let mut name = path.as_os_str().to_owned();
    name.push(format!("{MARK}{stamp}"));
    let backup = PathBuf::from(name);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&backup)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    if written.is_err() {
        // Half a copy is worse than none.
        let _ = fs::remove_file(&backup);
    }
    written.map(|()| backup)
}

/// Removes all but the newest. What can't be removed stays.
fn prune(path: &Path) {
    let mut backups = all(path);
    backups.sort();
    for old in backups.iter().rev().skip(KEPT) {
        let _ = fs::remove_file(old);
    }
}

fn all(path: &Path) -> Vec<PathBuf> {
    let prefix = format!("{}{MARK}", path.file_name().unwrap_or_default().to_string_lossy());
    let entries = path.parent().and_then(|directory| fs::read_dir(directory).ok()).into_iter().flatten();
    let ours = |name: &str| {
        let stamp = name.strip_prefix(&prefix)?;
        stamp.bytes().all(|byte| byte.is_ascii_digit() || b"TZ.".contains(&byte)).then_some(())
    };
    entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .filter(|entry| entry.file_name().to_str().and_then(ours).is_some())
        .map(|entry| entry.path())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::Duration;

    #[test]
    fn the_newest_are_kept_and_as_closed_as_the_file() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(".claude.json");
        fs::write(&path, "secret").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let own = home.path().join(".claude.json.executor-backup-of-mine");
        fs::write(&own, "").unwrap();
        let document = Document::read(&path).unwrap();
        let start = OffsetDateTime::from_unix_timestamp(1_796_000_000).unwrap();
        let made: Vec<PathBuf> = (0..8)
            .map(|number| make(&document, start + Duration::from_millis(number * 700)).unwrap().unwrap())
            .collect();
        let mut left = all(&path);
        left.sort();
        assert_eq!(left, made[3..]);
        assert!(
            left[0].display().to_string().ends_with(".claude.json.executor-backup-20261130T005322.100Z"),
            "{left:?}"
        );
        assert_eq!(fs::metadata(&left[0]).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_to_string(&left[0]).unwrap(), "secret");
        assert!(own.exists());
        assert!(make(&document, start + Duration::from_millis(4_900)).is_err(), "none is overwritten");
    }

    #[test]
    fn what_is_not_there_needs_none() {
        let document = Document::read(Path::new("/nonexistent/c.json")).unwrap();
        assert_eq!(make(&document, OffsetDateTime::UNIX_EPOCH).unwrap(), None);
    }
}
