//! The last that a process wrote to its standard error.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// Bytes that are kept.
const KEPT_BYTES: usize = 64 * 1024;

/// The last bytes of a stream.
#[derive(Default)]
pub(super) struct Tail(Mutex<VecDeque<u8>>);

impl Tail {
    pub(super) fn push(&self, new: &[u8]) {
        let mut bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = &new[new.len().saturating_sub(KEPT_BYTES)..];
        let excess = (bytes.len() + kept.len()).saturating_sub(KEPT_BYTES);
        bytes.drain(..excess);
        bytes.extend(kept);
    }

    /// A line of the host's own among the process's.
    pub(super) fn note(&self, note: &str) {
        self.push(format!("[executor: {note}]\n").as_bytes());
    }

    pub(super) fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = bytes.iter().copied().collect();
        String::from_utf8_lossy(&bytes).trim().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_kept() {
        let tail = Tail::default();
        tail.push(&vec![b'a'; KEPT_BYTES * 2]);
        tail.push(b"bc\n");
        let text = tail.text();
        assert_eq!(text.len(), KEPT_BYTES - 1);
        assert!(text.ends_with("abc"));
        tail.note("a line was dropped");
        assert!(tail.text().ends_with("bc\n[executor: a line was dropped]"));
    }
}
