//! A configuration file of another program: read whole, and replaced whole or
//! not at all.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::text;

/// Larger files are no configuration, or not one to be rewritten.
const SIZE_LIMIT_BYTES: u64 = 8 * 1024 * 1024;
/// Symbolic links that are followed to a file that is yet to be made.
const LINK_LIMIT: usize = 16;
/// The mark that some editors begin a UTF-8 text with.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// A file as it was read.
#[derive(Debug)]
pub(crate) struct Document {
    /// As the program knows it.
    pub(crate) path: PathBuf,
    /// Where symbolic links lead.
    target: PathBuf,
    /// Nothing where there is no file.
    found: Option<(Vec<u8>, Metadata)>,
    marked: bool,
    /// Without the mark; empty where there is no file.
    pub(crate) text: String,
}

impl Document {
    /// Reads a file, or sees that there is none.
    ///
    /// # Errors
    /// It can't be read, is no file, too large, or no text.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let target = target(path)?;
        let found = bytes(&target).map_err(|why| cannot(path, &why))?;
        let whole = match &found {
            Some((bytes, _)) => std::str::from_utf8(bytes).map_err(|error| {
                cannot(path, &format!("is no UTF-8 text, from byte {}", error.valid_up_to()))
            })?,
            None => "",
        };
        let text = whole.strip_prefix(BYTE_ORDER_MARK);
        Ok(Self {
            path: path.to_owned(),
            target,
            marked: text.is_some(),
            text: text.unwrap_or(whole).to_owned(),
            found,
        })
    }

    pub(crate) fn exists(&self) -> bool {
        self.found.is_some()
    }

    /// The bytes and permissions that were found, for a backup.
    pub(crate) fn original(&self) -> Option<(&[u8], u32)> {
        self.found.as_ref().map(|(bytes, metadata)| (bytes.as_slice(), metadata.mode() & 0o777))
    }

    /// Refuses what must not be written to, before anybody is asked about it.
    ///
    /// # Errors
    /// The file is read-only.
    pub(crate) fn check_writable(&self) -> Result<(), Failure> {
        let Some((_, metadata)) = &self.found else { return Ok(()) };
        let allowed = rustix::fs::access(&self.target, rustix::fs::Access::WRITE_OK).is_ok();
        if allowed && !metadata.permissions().readonly() {
            return Ok(());
        }
        Err(cannot(&self.path, "is read-only: nothing was changed").hint(
            "make it writable first; where another program makes it (a dotfiles manager, Nix), \
             add the entry there: `--print` prints it",
        ))
    }

    /// Puts a new text in the place of the old one. The old file is there
    /// until the new one is whole on disk; what it may be read by, its owner
    /// and links to it stay.
    ///
    /// # Errors
    /// Somebody else has changed it since it was read, or it can't be written.
    pub(crate) fn write(&self, text: &str) -> Result<(), Failure> {
        let mark = if self.marked { BYTE_ORDER_MARK } else { "" };
        self.write_bytes(&[mark.as_bytes(), text.as_bytes()].concat())
    }

    fn write_bytes(&self, bytes: &[u8]) -> Result<(), Failure> {
        let failed = |error: io::Error| {
            cannot(&self.path, &format!("can't be written: {error}")).hint("it is as it was before")
        };
        let directory = self.target.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(directory).map_err(failed)?;
        let fresh = Fresh::create(directory, &self.target).map_err(failed)?;
        fresh.fill(bytes, self.found.as_ref().map(|(_, metadata)| metadata)).map_err(failed)?;
        self.check_unchanged()?;
        fresh.put_at(&self.target).map_err(failed)
    }

    fn check_unchanged(&self) -> Result<(), Failure> {
        let now = bytes(&self.target).map_err(|why| cannot(&self.path, &why))?;
        let same = match (&now, &self.found) {
            (None, None) => true,
            (Some((now, _)), Some((before, _))) => now == before,
            _ => false,
        };
        if same {
            return Ok(());
        }
        Err(Failure::failed(format!(
            "{} was changed by another program meanwhile: nothing was written",
            self.path.display()
        ))
        .hint("run the command again; end the program first if it happens again"))
    }
}

/// A file beside the one that it will replace; gone unless it does.
struct Fresh {
    path: PathBuf,
    file: File,
    placed: bool,
}

impl Fresh {
    fn create(directory: &Path, target: &Path) -> io::Result<Self> {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let path = directory.join(format!(".{name}.executor-{}", std::process::id()));
        // Left behind by one that was killed and had this process's id.
        let _ = fs::remove_file(&path);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        Ok(Self { path, file, placed: false })
    }

    fn fill(&self, bytes: &[u8], before: Option<&Metadata>) -> io::Result<()> {
        (&self.file).write_all(bytes)?;
        let mode = match before {
            Some(before) => {
                let own = self.file.metadata()?;
                if (own.uid(), own.gid()) != (before.uid(), before.gid()) {
                    fchown(&self.file, Some(before.uid()), Some(before.gid()))?;
                }
                before.mode() & 0o7777
            }
            None => 0o600,
        };
        self.file.set_permissions(Permissions::from_mode(mode))?;
        self.file.sync_all()
    }

    fn put_at(mut self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)?;
        self.placed = true;
        // The rename is whole either way; this makes it last.
        if let Some(directory) = target.parent()
            && let Ok(directory) = File::open(directory)
        {
            let _ = directory.sync_all();
        }
        Ok(())
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        if !self.placed {
            // There is nothing to be done about one that stays.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn cannot(path: &Path, why: &str) -> Failure {
    Failure::failed(format!("{} {why}", text::clean(&path.display().to_string())))
}

/// What a file holds; nothing where there is none.
fn bytes(path: &Path) -> Result<Option<(Vec<u8>, Metadata)>, String> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("can't be read: {error}")),
    };
    if metadata.is_dir() {
        return Err("is a directory, and should be a file".to_owned());
    }
    if !metadata.is_file() {
        return Err("is no regular file".to_owned());
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(SIZE_LIMIT_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| format!("can't be read: {error}"))?;
    if bytes.len() as u64 > SIZE_LIMIT_BYTES {
        return Err(format!("is larger than {}", text::bytes(SIZE_LIMIT_BYTES)));
    }
    Ok(Some((bytes, metadata)))
}

/// The file that a path means: links are written through, not replaced.
fn target(path: &Path) -> Result<PathBuf, Failure> {
    if let Ok(real) = fs::canonicalize(path) {
        return Ok(real);
    }
    let mut target = path.to_owned();
    for _ in 0..LINK_LIMIT {
        match fs::read_link(&target) {
            Ok(link) => target = target.parent().unwrap_or(Path::new("/")).join(link),
            Err(_) => return Ok(target),
        }
    }
    Err(cannot(path, "leads from link to link without end"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn write(path: &Path, text: &str) -> Result<(), Failure> {
        Document::read(path)?.write(text)
    }

    #[test]
    fn a_file_keeps_its_mode_mark_and_link() {
        let home = tempfile::tempdir().unwrap();
        let (real, link) = (home.path().join("dot files/c.json"), home.path().join("c.json"));
        fs::create_dir_all(real.parent().unwrap()).unwrap();
        fs::write(&real, "\u{feff}{}").unwrap();
        fs::set_permissions(&real, Permissions::from_mode(0o640)).unwrap();
        symlink("dot files/c.json", &link).unwrap();
        let document = Document::read(&link).unwrap();
        assert_eq!(document.text, "{}");
        document.write("{\"a\":1}").unwrap();
        assert_eq!(fs::read_to_string(&real).unwrap(), "\u{feff}{\"a\":1}");
        assert_eq!(fs::metadata(&real).unwrap().mode() & 0o777, 0o640);
        assert!(link.is_symlink());
        assert_eq!(fs::read_dir(real.parent().unwrap()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn a_file_that_is_not_there_is_made_with_its_directory() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("it's \"new\"/mcp.json");
        write(&path, "{}").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{}");
        let dangling = home.path().join("link");
        symlink("later/x.json", &dangling).unwrap();
        write(&dangling, "1").unwrap();
        assert_eq!(fs::read_to_string(home.path().join("later/x.json")).unwrap(), "1");
        symlink("b", home.path().join("a")).unwrap();
        symlink("a", home.path().join("b")).unwrap();
        assert!(Document::read(&home.path().join("a")).is_err());
    }

    #[test]
    fn a_change_by_somebody_else_is_not_lost() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("c.json");
        for (before, meanwhile) in [(None, Some("2")), (Some("1"), Some("2")), (Some("1"), None)] {
            let set = |text: Option<&str>| match text {
                Some(text) => fs::write(&path, text).unwrap(),
                None => drop(fs::remove_file(&path)),
            };
            set(before);
            let document = Document::read(&path).unwrap();
            set(meanwhile);
            let failure = document.write("ours").unwrap_err();
            assert!(failure.message.contains("meanwhile"), "{}", failure.message);
            assert_eq!(fs::read_to_string(&path).ok().as_deref(), meanwhile);
            assert!(fs::read_dir(home.path()).unwrap().count() <= 1);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_costs_nothing() {
        let home = tempfile::tempdir().unwrap();
        let (path, beside) = (home.path().join("c.json"), home.path().join(".c.json.executor-1"));
        fs::write(&path, "{}").unwrap();
        fs::write(&beside, "half of i").unwrap();
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let fresh = Fresh { path: beside.clone(), file: full, placed: false };
        assert_eq!(fresh.fill(b"{\"a\": 1}", None).unwrap_err().kind(), io::ErrorKind::StorageFull);
        drop(fresh);
        assert!(!beside.exists());
        assert_eq!(fs::read_to_string(&path).unwrap(), "{}");
    }

    #[test]
    fn what_is_no_configuration_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let refused = |path: &Path| Document::read(path).unwrap_err().message;
        assert!(refused(home.path()).contains("is a directory"));
        let path = home.path().join("c.json");
        fs::write(&path, b"{\"a\":\"\xff\"}").unwrap();
        assert!(refused(&path).contains("byte 6"));
        File::create(&path).unwrap().set_len(SIZE_LIMIT_BYTES + 1).unwrap();
        assert!(refused(&path).contains("larger than 8.0 MiB"));
        assert!(refused(Path::new("/dev/null")).contains("no regular file"));
        assert!(refused(&path.join("below")).contains("can't be read"));
    }

    #[test]
    fn what_is_read_only_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("c.json");
        fs::write(&path, "{}").unwrap();
        assert!(Document::read(&path).unwrap().check_writable().is_ok());
        fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
        let failure = Document::read(&path).unwrap().check_writable().unwrap_err();
        assert!(failure.message.contains("read-only"), "{}", failure.message);
    }
}
