//! Blobs that are being written.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::{BlobRow, Blobs};
use crate::digest::Digest;
use crate::error::{Result, StoreError};
use crate::files::{self, At};

/// An incoming file, removed unless it was moved to its place.
#[derive(Debug)]
struct Incoming {
    path: PathBuf,
}

impl Drop for Incoming {
    fn drop(&mut self) {
        // Most often it is not there any more.
        let _ = fs::remove_file(&self.path);
    }
}

/// A blob that is being written. Dropping it leaves nothing.
#[derive(Debug)]
pub struct BlobWriter {
    blobs: Blobs,
    incoming: Incoming,
    file: Arc<File>,
    hash: Sha256,
    size: u64,
    limit_bytes: u64,
    /// Whether the file holds something else than the hash has seen.
    broken: bool,
    pub(super) name: Option<String>,
    pub(super) media_type: Option<String>,
}

impl BlobWriter {
    pub(super) fn begin(blobs: Blobs, path: PathBuf, limit_bytes: u64) -> Result<Self> {
        let file = files::create_private(&path)?;
        Ok(Self {
            blobs,
            incoming: Incoming { path },
            file: Arc::new(file),
            hash: Sha256::new(),
            size: 0,
            limit_bytes,
            broken: false,
            name: None,
            media_type: None,
        })
    }

    /// Adds bytes.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] when the blob would be over its limit: nothing
    /// of these bytes was added. After another error the blob can't be used.
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.expect_whole()?;
        let size = self.size.saturating_add(bytes.len() as u64);
        if size > self.limit_bytes {
            return Err(StoreError::TooLarge { what: "this file".to_owned(), limit_bytes: self.limit_bytes });
        }
        if let Err(error) = self.file.as_ref().write_all(bytes) {
            self.broken = true;
            return Err(StoreError::io(&self.incoming.path, error));
        }
        self.hash.update(bytes);
        self.size = size;
        Ok(())
    }

    /// How many bytes were added so far.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Completes the blob: when this answers, it is synced. Content that is
    /// stored already is kept once, under the new name if one was given. Runs
    /// inside a tokio runtime.
    ///
    /// # Errors
    /// The file or the database could not be written.
    pub async fn finish(self, now_ms: i64) -> Result<BlobRow> {
        self.expect_whole()?;
        let path = self.incoming.path.clone();
        let file = Arc::clone(&self.file);
        let synced = tokio::task::spawn_blocking(move || file.sync_all()).await;
        synced.unwrap_or_else(|error| Err(std::io::Error::other(error))).at(&path)?;
        let row = BlobRow {
            digest: Digest::from_bytes(self.hash.finalize().into()),
            size: self.size,
            name: self.name,
            media_type: self.media_type,
            created_ms: now_ms,
            used_ms: now_ms,
        };
        self.blobs.adopt(row, path).await
    }

    fn expect_whole(&self) -> Result<()> {
        if !self.broken {
            return Ok(());
        }
        let source = std::io::Error::other("an earlier write to it failed");
        Err(StoreError::io(&self.incoming.path, source))
    }
}
