//! `executor:adapter/blobs`: bytes that the host holds.

use std::time::{SystemTime, UNIX_EPOCH};

use executor_bindings::adapter::executor::adapter::{blobs, types::Failure};
use executor_store::{BlobReader, BlobRow, BlobWriter, Blobs, parse_blob_reference};
use wasmtime::component::Resource;

use super::{AdapterSeam, host_failure};
use crate::guest::Guest;

/// The largest read at once.
const READ_BYTES: u32 = 4 * 1024 * 1024;

/// Characters of a reference that is told back.
const SHOWN_CHARACTERS: usize = 100;

/// A blob's state behind the guest's handle.
pub(super) enum Blob {
    Reading(BlobReader),
    Writing(Option<BlobWriter>),
    Finished(BlobRow),
}

impl Blob {
    pub(super) fn create(
        store: &Blobs,
        name: Option<&str>,
        media_type: Option<&str>,
    ) -> Result<Self, Failure> {
        let writer =
            store.create(name, media_type).map_err(|error| host_failure("blob", error.to_string()))?;
        Ok(Self::Writing(Some(writer)))
    }

    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match self {
            Self::Writing(Some(writer)) => {
                writer.append(bytes).map_err(|error| host_failure("blob", error.to_string()))
            }
            _ => Err(host_failure("blob", "this blob is complete: it can't be appended to")),
        }
    }

    /// Completes a blob that is being written, and names it.
    pub(super) async fn finish(&mut self) -> Result<String, Failure> {
        if let Self::Writing(writer) = self {
            let writer =
                writer.take().ok_or_else(|| host_failure("blob", "this blob failed to be written"))?;
            let row =
                writer.finish(now_ms()).await.map_err(|error| host_failure("blob", error.to_string()))?;
            *self = Self::Finished(row);
        }
        match self {
            Self::Reading(reader) => Ok(reader.row().reference()),
            Self::Finished(row) => Ok(row.reference()),
            Self::Writing(_) => Err(host_failure("blob", "this blob failed to be written")),
        }
    }

    pub(super) fn read(&self, offset: u64, len: u32) -> Result<Vec<u8>, Failure> {
        match self {
            Self::Reading(reader) => reader
                .read(offset, len.min(READ_BYTES) as usize)
                .map_err(|error| host_failure("blob", error.to_string())),
            _ => Err(host_failure("blob", "a blob is read once it is complete: open its reference")),
        }
    }

    pub(super) fn size(&self) -> Option<u64> {
        match self {
            Self::Reading(reader) => Some(reader.size()),
            Self::Finished(row) => Some(row.size),
            Self::Writing(_) => None,
        }
    }
}

pub(super) fn own(blob: &Resource<blobs::Blob>) -> Resource<Blob> {
    Resource::new_own(blob.rep())
}

fn borrowed(blob: &Resource<blobs::Blob>) -> Resource<Blob> {
    Resource::new_borrow(blob.rep())
}

impl AdapterSeam {
    /// Accounts for bytes about to be kept.
    pub(super) fn keep(&mut self, bytes: usize) -> Result<(), Failure> {
        self.kept_bytes = self.kept_bytes.saturating_add(bytes);
        if self.kept_bytes > self.max_kept_bytes {
            let message = format!("one call keeps at most {} bytes", self.max_kept_bytes);
            return Err(host_failure("too-large", message));
        }
        Ok(())
    }
}

impl Guest<AdapterSeam> {
    pub(super) fn hold_blob(&mut self, blob: Blob) -> wasmtime::Result<Resource<blobs::Blob>> {
        let held = self.table.push(blob)?;
        Ok(Resource::new_own(held.rep()))
    }
}

impl blobs::Host for Guest<AdapterSeam> {}

impl blobs::HostBlob for Guest<AdapterSeam> {
    async fn open(&mut self, reference: String) -> wasmtime::Result<Result<Resource<blobs::Blob>, Failure>> {
        let opened = self.seam.context.blobs.open_reference(&reference);
        match opened {
            Ok(Some(reader)) => {
                // A disk that is full keeps nothing from being read.
                let _ = self.seam.context.blobs.mark_used(reader.row(), now_ms()).await;
                Ok(Ok(self.hold_blob(Blob::Reading(reader))?))
            }
            Ok(None) => Ok(Err(host_failure("not-found", missing(&reference)))),
            Err(error) => Ok(Err(host_failure("blob", error.to_string()))),
        }
    }

    async fn create(
        &mut self,
        name: Option<String>,
        media_type: Option<String>,
    ) -> wasmtime::Result<Result<Resource<blobs::Blob>, Failure>> {
        match Blob::create(&self.seam.context.blobs, name.as_deref(), media_type.as_deref()) {
            Ok(blob) => Ok(Ok(self.hold_blob(blob)?)),
            Err(failure) => Ok(Err(failure)),
        }
    }

    async fn size(&mut self, blob: Resource<blobs::Blob>) -> wasmtime::Result<Option<u64>> {
        Ok(self.table.get(&borrowed(&blob))?.size())
    }

    async fn read(
        &mut self,
        blob: Resource<blobs::Blob>,
        offset: u64,
        len: u32,
    ) -> wasmtime::Result<Result<Vec<u8>, Failure>> {
        let read = self.table.get(&borrowed(&blob))?.read(offset, len);
        tokio::task::yield_now().await;
        Ok(read)
    }

    async fn append(
        &mut self,
        blob: Resource<blobs::Blob>,
        bytes: Vec<u8>,
    ) -> wasmtime::Result<Result<(), Failure>> {
        if let Err(failure) = self.seam.keep(bytes.len()) {
            return Ok(Err(failure));
        }
        let appended = self.table.get_mut(&borrowed(&blob))?.append(&bytes);
        tokio::task::yield_now().await;
        Ok(appended)
    }

    async fn reference(&mut self, blob: Resource<blobs::Blob>) -> wasmtime::Result<String> {
        let held = self.table.get_mut(&borrowed(&blob))?;
        held.finish().await.map_err(|failure| wasmtime::Error::msg(failure.message))
    }

    async fn drop(&mut self, blob: Resource<blobs::Blob>) -> wasmtime::Result<()> {
        self.table.delete(own(&blob))?;
        Ok(())
    }
}

fn missing(reference: &str) -> String {
    let shown: String = reference.chars().take(SHOWN_CHARACTERS).collect();
    let missing = format!("there is no file {shown:?}");
    match parse_blob_reference(reference) {
        Ok(_) => format!("{missing} in this workspace"),
        Err(_) => {
            format!("{missing}: a reference is `blob:` and 64 digits, as an upload or an answer gives it")
        }
    }
}

fn now_ms() -> i64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX)
}
