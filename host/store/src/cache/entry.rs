//! How an entry stands in sled.
//!
//! sled keeps up to seventeen entries in one page and writes a page over
//! 128 KiB to a file of its own; where that fails, because the directory is
//! gone, callers can wait forever. So entries are small: a long key stands for
//! its digest, and a long value is a file of ours, named by its digest.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::digest::Digest;

const KEY_LIMIT_BYTES: usize = 512;
const VALUE_LIMIT_BYTES: usize = 4096;

const AS_IT_IS: u8 = 0;
const BY_DIGEST: u8 = 1;

/// The key under which sled keeps an entry.
pub(super) fn key(key: &[u8]) -> Vec<u8> {
    tagged(key, KEY_LIMIT_BYTES)
}

/// The value that sled keeps: one and the same for the same bytes, so that
/// sled can compare it.
pub(super) fn value(bytes: &[u8]) -> Vec<u8> {
    tagged(bytes, VALUE_LIMIT_BYTES)
}

fn tagged(bytes: &[u8], limit: usize) -> Vec<u8> {
    let digest;
    let (tag, rest) = if bytes.len() <= limit {
        (AS_IT_IS, bytes)
    } else {
        digest = Digest::of(bytes);
        (BY_DIGEST, digest.as_bytes().as_slice())
    };
    let mut tagged = Vec::with_capacity(rest.len() + 1);
    tagged.push(tag);
    tagged.extend_from_slice(rest);
    tagged
}

/// Writes the file of a value that is long, and returns how many bytes that
/// took.
pub(super) fn keep_long(directory: &Path, value: &[u8], bytes: &[u8]) -> io::Result<u64> {
    let Some(digest) = long(value) else {
        return Ok(0);
    };
    let path = file(directory, &digest);
    let length = bytes.len() as u64;
    if fs::metadata(&path).is_ok_and(|metadata| metadata.len() == length) {
        return Ok(0);
    }
    fs::write(&path, bytes)?;
    Ok(length)
}

/// The bytes of a value, or `None` where its file is gone or incomplete.
pub(super) fn bytes(directory: &Path, value: &[u8]) -> Option<Vec<u8>> {
    match long(value) {
        None => Some(value.get(1..)?.to_vec()),
        Some(digest) => {
            let bytes = fs::read(file(directory, &digest)).ok()?;
            (Digest::of(&bytes) == digest).then_some(bytes)
        }
    }
}

/// How many bytes the files of long values take.
pub(super) fn long_bytes(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let sizes = entries.filter_map(|entry| Some(entry.metadata().ok()?.len()));
    sizes.sum()
}

fn long(value: &[u8]) -> Option<Digest> {
    match value.split_first()? {
        (&BY_DIGEST, digest) => Some(Digest::from_bytes(digest.try_into().ok()?)),
        _ => None,
    }
}

fn file(directory: &Path, digest: &Digest) -> PathBuf {
    directory.join(digest.hex())
}
