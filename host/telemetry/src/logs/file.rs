//! A file that is set aside when it is full: `daemon.log`, `daemon.log.1`, …

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::Bounds;

/// The newest of several files, and the only one that is written to.
pub(super) struct RotatingFile {
    path: PathBuf,
    bounds: Bounds,
    file: File,
    length: u64,
    /// The last line was not written to its end.
    torn: bool,
}

impl RotatingFile {
    /// Opens it for appending, and keeps others from reading it. Files beyond
    /// the bound, of a time when there were more, are removed.
    pub(super) fn open(path: &Path, bounds: Bounds) -> io::Result<Self> {
        if let Some(directory) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        }
        let (file, length) = append_to(path)?;
        let rotating = Self { path: path.to_owned(), bounds, file, length, torn: false };
        for number in bounds.files.max(1).. {
            match fs::remove_file(rotating.numbered(number)) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => break,
                Err(error) => return Err(error),
            }
        }
        Ok(rotating)
    }

    /// Appends a line, after a turn of the files where it would not fit. A
    /// line that is longer than a file is not written.
    pub(super) fn write_line(&mut self, line: &str) -> io::Result<()> {
        let bytes = line.len() as u64 + u64::from(self.torn);
        if bytes > self.bounds.file_bytes {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        if self.length + bytes > self.bounds.file_bytes {
            self.turn()?;
        }
        if self.torn {
            self.file.write_all(b"\n")?;
            self.length += 1;
            self.torn = false;
        }
        let written = self.file.write_all(line.as_bytes());
        match written {
            Ok(()) => self.length += line.len() as u64,
            Err(_) => {
                self.torn = true;
                self.length = self.file.metadata().map_or(self.length, |metadata| metadata.len());
            }
        }
        written
    }

    /// Sets the file aside. Where that fails nothing is written: the file
    /// does not grow past its bound.
    fn turn(&mut self) -> io::Result<()> {
        let last = self.bounds.files.max(1) - 1;
        if last == 0 {
            self.file.set_len(0)?;
            self.length = 0;
            return Ok(());
        }
        for number in (1..last).rev() {
            rename(&self.numbered(number), &self.numbered(number + 1))?;
        }
        rename(&self.path, &self.numbered(1))?;
        (self.file, self.length) = append_to(&self.path)?;
        self.torn = false;
        Ok(())
    }

    fn numbered(&self, number: u32) -> PathBuf {
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{number}"));
        self.path.with_file_name(name)
    }
}

/// Somebody may have removed a file meanwhile.
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn append_to(path: &Path) -> io::Result<(File, u64)> {
    let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
    let metadata = file.metadata()?;
    if metadata.permissions().mode() & 0o077 != 0 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok((file, metadata.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(files: u32) -> Bounds {
        Bounds { file_bytes: 10, files }
    }

    fn content(directory: &Path) -> Vec<(String, String)> {
        let mut found: Vec<_> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| {
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                (name, fs::read_to_string(path).unwrap())
            })
            .collect();
        found.sort();
        found
    }

    #[test]
    fn the_oldest_file_goes_when_a_new_one_comes() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.log");
        fs::write(&path, "old\n").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        fs::write(directory.path().join("a.log.3"), "of a time with more files").unwrap();
        let mut file = RotatingFile::open(&path, bounds(3)).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        for line in ["aaaa\n", "bbbb\n", "cccc\n", "dddd\n", "eeee\n"] {
            file.write_line(line).unwrap();
        }
        let shown = content(directory.path());
        let expect = [("a.log", "dddd\neeee\n"), ("a.log.1", "bbbb\ncccc\n"), ("a.log.2", "old\naaaa\n")];
        assert_eq!(shown, expect.map(|(name, text)| (name.to_owned(), text.to_owned())));
        file.write_line("ffff\n").unwrap();
        assert_eq!(content(directory.path()).len(), 3, "no more than three");
        assert!(file.write_line("longer than a file\n").is_err());
    }

    #[test]
    fn one_file_begins_anew() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.log");
        let mut file = RotatingFile::open(&path, bounds(1)).unwrap();
        for line in ["aaaa\n", "bbbb\n", "cccc\n"] {
            file.write_line(line).unwrap();
        }
        assert_eq!(content(directory.path()), [("a.log".to_owned(), "cccc\n".to_owned())]);
    }

    #[test]
    fn files_that_were_removed_meanwhile_stop_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.log");
        let mut file = RotatingFile::open(&path, bounds(3)).unwrap();
        file.write_line("aaaa\n").unwrap();
        fs::remove_file(&path).unwrap();
        for _ in 0..3 {
            file.write_line("bbbb\n").unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "bbbb\nbbbb\n");
    }

    #[test]
    fn a_full_disk_stops_the_log_alone() {
        let full = Path::new("/dev/full");
        if !full.exists() {
            return;
        }
        let file = OpenOptions::new().append(true).open(full).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.log");
        let mut rotating = RotatingFile { path, bounds: bounds(2), file, length: 0, torn: false };
        assert!(rotating.write_line("aaaa\n").is_err());
        assert!(rotating.write_line("bbbb\n").is_err());
        // There is room again.
        rotating.file = append_to(&rotating.path).unwrap().0;
        rotating.write_line("cccc\n").unwrap();
        assert_eq!(fs::read_to_string(&rotating.path).unwrap(), "\ncccc\n", "what is torn is ended first");
    }
}
