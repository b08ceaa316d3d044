//! Requests that are to be done once, however often they are sent.

use executor_store::{Digest, OnceRow, StoreError};

use crate::caller::Caller;
use crate::problem::{Problem, ProblemKind};

/// The longest key, in bytes.
const KEY_LIMIT_BYTES: usize = 255;

/// An `Idempotency-Key`, and what was asked under it.
#[derive(Debug, Clone)]
pub struct Once(executor_store::Once);

impl Once {
    /// Takes a key that a client chose. `request` is all that makes two
    /// requests the same: method, path and body.
    ///
    /// # Errors
    /// When the key is empty, too long, or not of printable ASCII.
    pub fn new(caller: &Caller, key: &str, request: &[&[u8]], at_ms: i64) -> Result<Self, Problem> {
        let sound = !key.is_empty()
            && key.len() <= KEY_LIMIT_BYTES
            && key.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
        if !sound {
            let message = format!("an Idempotency-Key is 1 to {KEY_LIMIT_BYTES} printable ASCII characters");
            return Err(Problem::invalid(message));
        }
        let mut whole = Vec::new();
        for part in request {
            whole.extend_from_slice(&(part.len() as u64).to_le_bytes());
            whole.extend_from_slice(part);
        }
        let request = Digest::of(&whole);
        Ok(Self(executor_store::Once { key: caller.key(key), request, at_ms }))
    }

    /// What was created under the key before; `find` looks where it would be.
    pub(crate) fn earlier(
        once: Option<&Self>,
        find: impl FnOnce(&executor_store::Once) -> Result<Option<OnceRow>, StoreError>,
    ) -> Result<Option<String>, Problem> {
        let Some(Self(once)) = once else { return Ok(None) };
        match find(once)? {
            None => Ok(None),
            Some(row) if row.request == once.request => Ok(Some(row.created)),
            Some(_) => Err(Problem::new(
                ProblemKind::Unprocessable,
                "idempotency-key-reused",
                "another request was made under this Idempotency-Key",
            )
            .hint("a key belongs to one request: choose a new one for each")),
        }
    }

    pub(crate) fn into_store(self) -> executor_store::Once {
        self.0
    }
}
