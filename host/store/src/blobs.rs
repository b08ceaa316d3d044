//! Bytes that a workspace holds, each under its digest, once.
//!
//! The files are `blobs/<2 hex>/<hex>`; the rows are in `workspace.db`. A file
//! comes to its place before its row is committed and leaves after the row is
//! gone, both on the writer's thread: a row has its file, and a file without
//! a row is overwritten by the next blob of that content.

mod reader;
mod retention;
mod writer;

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

pub use reader::BlobReader;
pub use writer::BlobWriter;

use rusqlite::{Connection, params};

use crate::database::Database;
use crate::digest::{Digest, DigestError};
use crate::error::{Fault, Result, StoreError};
use crate::files::{self, At};
use crate::sql::{self, Columns, bits};

/// The largest blob of [`Blobs::create`].
pub const BLOB_LIMIT_BYTES: u64 = 1 << 30;
/// The most that one read gives.
pub const BLOB_READ_LIMIT_BYTES: usize = 16 * 1024 * 1024;

/// A file name may be this long on every file system.
const NAME_LIMIT_CHARACTERS: usize = 255;
/// Blobs up to this size are checked against their digest when they are first
/// opened; that takes some 10 ms. Larger ones are by [`BlobReader::verify`].
const VERIFIED_LIMIT_BYTES: u64 = 16 * 1024 * 1024;
/// How many files are remembered as checked.
const REMEMBERED: usize = 4096;
const REFERENCE_PREFIX: &str = "blob:";

/// A workspace's blobs. Clones share them.
#[derive(Debug, Clone)]
pub struct Blobs {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    database: Arc<Database>,
    directory: PathBuf,
    created: AtomicU64,
    verified: Mutex<HashMap<Digest, Identity>>,
}

/// What changes when a file's bytes do, short of malice by its own user:
/// inode, size, and time of change in seconds and nanoseconds.
type Identity = (u64, u64, i64, i64);

/// What is known of a blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobRow {
    /// Its content's digest.
    pub digest: Digest,
    /// Its size in bytes.
    pub size: u64,
    /// The name that it was last given.
    pub name: Option<String>,
    /// The media type that it was last given.
    pub media_type: Option<String>,
    /// When it was first stored.
    pub created_ms: i64,
    /// When it was last stored or used, within a day.
    pub used_ms: i64,
}

impl BlobRow {
    /// How arguments and results name it: `blob:<hex>`.
    pub fn reference(&self) -> String {
        blob_reference(&self.digest)
    }
}

/// How many blobs there are, and their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlobTotal {
    /// How many.
    pub count: u64,
    /// Their sizes added.
    pub bytes: u64,
}

/// How arguments and results name a blob: `blob:<hex>`.
pub fn blob_reference(digest: &Digest) -> String {
    format!("{REFERENCE_PREFIX}{}", digest.hex())
}

/// The digest that a reference `blob:<hex>` names.
///
/// # Errors
/// The text is no reference.
pub fn parse_blob_reference(text: &str) -> std::result::Result<Digest, DigestError> {
    let hex = text.strip_prefix(REFERENCE_PREFIX).ok_or(DigestError)?;
    match hex.len() {
        64 => Digest::parse(hex),
        _ => Err(DigestError),
    }
}

impl Blobs {
    pub(crate) fn attach(database: Arc<Database>, directory: PathBuf) -> Result<Self> {
        let incoming = directory.join("incoming");
        if incoming.exists() {
            // What a process that is gone has left half written.
            fs::remove_dir_all(&incoming).at(&incoming)?;
        }
        files::create_private_directory(&incoming)?;
        Ok(Self {
            inner: Arc::new(Inner {
                database,
                directory,
                created: AtomicU64::new(0),
                verified: Mutex::default(),
            }),
        })
    }

    /// Begins a blob of at most [`BLOB_LIMIT_BYTES`]. Name and media type are
    /// cut at 255 characters.
    ///
    /// # Errors
    /// The file could not be made.
    pub fn create(&self, name: Option<&str>, media_type: Option<&str>) -> Result<BlobWriter> {
        self.create_bounded(name, media_type, BLOB_LIMIT_BYTES)
    }

    /// Begins a blob of at most `limit_bytes`.
    ///
    /// # Errors
    /// The file could not be made.
    pub fn create_bounded(
        &self,
        name: Option<&str>,
        media_type: Option<&str>,
        limit_bytes: u64,
    ) -> Result<BlobWriter> {
        let number = self.inner.created.fetch_add(1, Ordering::Relaxed);
        let path = self.inner.directory.join("incoming").join(number.to_string());
        let cut = |text: &str| text.chars().take(NAME_LIMIT_CHARACTERS).collect();
        let mut writer = BlobWriter::begin(self.clone(), path, limit_bytes)?;
        writer.name = name.map(cut);
        writer.media_type = media_type.map(cut);
        Ok(writer)
    }

    /// Opens a blob for reading, or gives `None` where there is none.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when its file is missing, has another size, or
    /// (up to 16 MiB, once a process) another digest.
    pub fn open(&self, digest: &Digest) -> Result<Option<BlobReader>> {
        let Some(row) = self.row(digest)? else {
            return Ok(None);
        };
        let path = self.inner.path(digest);
        let file = match File::open(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return match self.row(digest)? {
                    // It was removed between the two looks.
                    None => Ok(None),
                    Some(_) => Err(damaged(digest, "its file is missing")),
                };
            }
            file => file.at(&path)?,
        };
        let identity = identity(&file, &path)?;
        if identity.1 != row.size {
            return Err(damaged(digest, "its file has another size"));
        }
        let reader = BlobReader::new(row, file, path);
        if reader.size() <= VERIFIED_LIMIT_BYTES && !self.inner.remembers(digest, identity) {
            reader.verify()?;
            self.inner.remember(*digest, identity);
        }
        Ok(Some(reader))
    }

    /// Opens the blob that a reference `blob:<hex>` names; a text that is no
    /// reference names none.
    ///
    /// # Errors
    /// As [`Blobs::open`].
    pub fn open_reference(&self, text: &str) -> Result<Option<BlobReader>> {
        match parse_blob_reference(text) {
            Ok(digest) => self.open(&digest),
            Err(_) => Ok(None),
        }
    }

    /// What is known of a blob, without its file.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn row(&self, digest: &Digest) -> Result<Option<BlobRow>> {
        self.inner.database.read("reading a blob's record", |connection| find(connection, digest))
    }

    /// At most `limit` blobs, the newest first: those after the one that was
    /// stored at a time and has a digest, where that is given.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn list(&self, after: Option<(i64, Digest)>, limit: usize) -> Result<Vec<BlobRow>> {
        self.inner.database.read("listing blobs", |connection| {
            let (created_ms, digest) = after.map_or((i64::MAX, None), |(at, digest)| (at, Some(digest)));
            let sql = "SELECT digest, size, name, media_type, created_ms, used_ms FROM blobs
                WHERE created_ms < ?1 OR (created_ms = ?1 AND digest > ?2)
                ORDER BY created_ms DESC, digest LIMIT ?3";
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            sql::all(connection, sql, params![created_ms, digest, limit], read_row)
        })
    }

    /// How many blobs there are, and their bytes.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn total(&self) -> Result<BlobTotal> {
        self.inner.database.read("counting blobs", |connection| {
            let sql = "SELECT count(*), ifnull(sum(size), 0) FROM blobs";
            let total = sql::first(connection, sql, [], |row| {
                Ok(BlobTotal { count: row.unsigned()?, bytes: row.unsigned()? })
            })?;
            total.ok_or_else(|| Fault::corrupt("nothing could be counted"))
        })
    }

    /// Removes a blob; whether there was one. Readers that are open read on.
    ///
    /// # Errors
    /// The database could not be written.
    pub async fn remove(&self, digest: &Digest) -> Result<bool> {
        let database = &self.inner.database;
        let digest = *digest;
        let removed = database.write("removing a blob", move |connection| {
            let sql = "DELETE FROM blobs WHERE digest = ?1";
            Ok(sql::execute(connection, sql, [digest])? > 0)
        });
        if !removed.await? {
            return Ok(false);
        }
        self.remove_file(digest).await?;
        Ok(true)
    }

    /// Removes the file of a blob whose row is gone.
    async fn remove_file(&self, digest: Digest) -> Result<()> {
        let inner = Arc::clone(&self.inner);
        let removed = self.inner.database.write("removing a blob's file", move |connection| {
            // It may have been stored again since.
            if find(connection, &digest)?.is_none() {
                // A file that stays is overwritten or removed later.
                let _ = fs::remove_file(inner.path(&digest));
                inner.forget(&digest);
            }
            Ok(())
        });
        removed.await
    }

    /// Puts a complete file in its place, and its row.
    async fn adopt(&self, row: BlobRow, incoming: PathBuf) -> Result<BlobRow> {
        let inner = Arc::clone(&self.inner);
        let stored = self.inner.database.write("storing a blob", move |connection| {
            inner.place(&incoming, &row.digest)?;
            let sql = "INSERT INTO blobs (digest, size, name, media_type, created_ms, used_ms)
                VALUES (?1, ?2, ?3, ?4, ?5, ?5)
                ON CONFLICT DO UPDATE SET name = ifnull(excluded.name, name),
                media_type = ifnull(excluded.media_type, media_type),
                used_ms = max(used_ms, excluded.used_ms)";
            let size = bits(row.size);
            let params = params![row.digest, size, row.name, row.media_type, row.created_ms];
            sql::execute(connection, sql, params)?;
            find(connection, &row.digest)?.ok_or_else(|| Fault::corrupt("a blob's record is gone at once"))
        });
        stored.await
    }
}

impl Inner {
    fn path(&self, digest: &Digest) -> PathBuf {
        let hex = digest.hex();
        self.directory.join(&hex[..2]).join(hex)
    }

    /// Moves an incoming file to where its content belongs. A second run finds
    /// it there.
    fn place(&self, incoming: &Path, digest: &Digest) -> std::result::Result<(), Fault> {
        let path = self.path(digest);
        let directory = path.parent().expect("a blob lies in a directory");
        files::create_private_directory(directory)?;
        if incoming.exists() || !path.exists() {
            fs::rename(incoming, &path).at(incoming)?;
        }
        files::sync_directory(directory)?;
        let file = File::open(&path).at(&path)?;
        self.remember(*digest, identity(&file, &path)?);
        Ok(())
    }

    fn remembers(&self, digest: &Digest, identity: Identity) -> bool {
        self.verified().get(digest) == Some(&identity)
    }

    fn remember(&self, digest: Digest, identity: Identity) {
        let mut verified = self.verified();
        if verified.len() >= REMEMBERED {
            verified.clear();
        }
        verified.insert(digest, identity);
    }

    fn forget(&self, digest: &Digest) {
        self.verified().remove(digest);
    }

    fn verified(&self) -> std::sync::MutexGuard<'_, HashMap<Digest, Identity>> {
        self.verified.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn find(connection: &Connection, digest: &Digest) -> std::result::Result<Option<BlobRow>, Fault> {
    let sql = "SELECT digest, size, name, media_type, created_ms, used_ms FROM blobs WHERE digest = ?1";
    sql::first(connection, sql, [digest], read_row)
}

fn read_row(row: &mut Columns<'_, '_>) -> std::result::Result<BlobRow, Fault> {
    Ok(BlobRow {
        digest: row.get()?,
        size: row.unsigned()?,
        name: row.get()?,
        media_type: row.get()?,
        created_ms: row.get()?,
        used_ms: row.get()?,
    })
}

fn identity(file: &File, path: &Path) -> Result<Identity> {
    let metadata = file.metadata().at(path)?;
    Ok((metadata.ino(), metadata.len(), metadata.mtime(), metadata.mtime_nsec()))
}

fn damaged(digest: &Digest, how: &str) -> StoreError {
    StoreError::Corrupt { what: format!("blob {}: {how}", digest.hex()) }
}

#[cfg(test)]
mod tests;
