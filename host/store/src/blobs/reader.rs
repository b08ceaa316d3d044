//! Blobs that are read.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use sha2::{Digest as _, Sha256};

use super::{BLOB_READ_LIMIT_BYTES, BlobRow, damaged};
use crate::digest::Digest;
use crate::error::Result;
use crate::files::At;

/// An open blob.
#[derive(Debug)]
pub struct BlobReader {
    row: BlobRow,
    file: File,
    path: PathBuf,
}

impl BlobReader {
    pub(super) fn new(row: BlobRow, file: File, path: PathBuf) -> Self {
        Self { row, file, path }
    }

    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        self.row.size
    }

    /// What is known of it.
    pub fn row(&self) -> &BlobRow {
        &self.row
    }

    /// The bytes from `offset` on: `length` of them, fewer at the end, and at
    /// most [`BLOB_READ_LIMIT_BYTES`].
    ///
    /// # Errors
    /// The file could not be read, or is shorter than it was.
    pub fn read(&self, offset: u64, length: usize) -> Result<Vec<u8>> {
        let left = self.row.size.saturating_sub(offset);
        let length = length.min(BLOB_READ_LIMIT_BYTES).min(usize::try_from(left).unwrap_or(usize::MAX));
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, offset).at(&self.path)?;
        Ok(bytes)
    }

    /// Reads all of it and compares its digest. Blocks for as long as that
    /// takes.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when the bytes are others.
    pub fn verify(&self) -> Result<()> {
        let mut hash = Sha256::new();
        let mut chunk = vec![0; 128 * 1024];
        let mut offset = 0;
        loop {
            let count = self.file.read_at(&mut chunk, offset).at(&self.path)?;
            if count == 0 {
                break;
            }
            hash.update(&chunk[..count]);
            offset += count as u64;
        }
        if Digest::from_bytes(hash.finalize().into()) == self.row.digest {
            Ok(())
        } else {
            Err(damaged(&self.row.digest, "its bytes are others"))
        }
    }
}
