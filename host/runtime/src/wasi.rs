//! The inert WASI that every component of a standard library imports, even
//! one that never calls it: no environment, no arguments, closed input, no
//! directories, no network; output goes into the component's bounded log.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use wasmtime::component::Linker;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiView};

/// Bytes of the log that go along with a fault.
const TAIL_BYTES: usize = 2_000;

/// Bytes that one request for randomness may ask for.
const RANDOM_BYTES: u64 = 64 * 1024;

pub(crate) fn inert(log: &GuestLog) -> WasiCtx {
    WasiCtxBuilder::new()
        .stdout(log.clone())
        .stderr(log.clone())
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false)
        .max_random_size(RANDOM_BYTES)
        .build()
}

/// Links it. Sockets are linked too: a component that asks for one is told
/// that it is denied.
pub(crate) fn add_to_linker<T: WasiView + Send>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_async(linker)
}

/// The last bytes that a guest wrote to its standard output and error.
#[derive(Clone)]
pub(crate) struct GuestLog {
    bytes: Arc<Mutex<VecDeque<u8>>>,
    capacity: usize,
}

impl GuestLog {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { bytes: Arc::default(), capacity }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// The end of the log as text, without control characters but newlines.
    pub(crate) fn tail(&self) -> String {
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let skipped = bytes.len().saturating_sub(TAIL_BYTES);
        let tail: Vec<u8> = bytes.iter().skip(skipped).copied().collect();
        String::from_utf8_lossy(&tail)
            .chars()
            .filter(|character| *character == '\n' || !character.is_control())
            .collect()
    }

    pub(crate) fn append(&self, new: &[u8]) {
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = &new[new.len().saturating_sub(self.capacity)..];
        let excess = (bytes.len() + kept.len()).saturating_sub(self.capacity);
        bytes.drain(..excess);
        bytes.extend(kept);
    }
}

impl IsTerminal for GuestLog {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for GuestLog {
    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

impl OutputStream for GuestLog {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.append(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> Result<usize, StreamError> {
        Ok(64 * 1024)
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for GuestLog {
    async fn ready(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_end_and_nothing_more() {
        let log = GuestLog::new(8);
        log.append(b"0123456789");
        log.append(b"ab");
        assert_eq!(log.tail(), "456789ab");
        log.append(b"\x1b[2J\n");
        assert_eq!(log.tail(), "9ab[2J\n", "the escape character is gone");
        assert_eq!(log.bytes.lock().expect("no panic under the lock").len(), 8);
    }
}
