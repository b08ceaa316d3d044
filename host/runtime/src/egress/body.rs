//! What comes back: decompressed, bounded in size and in silence, with
//! echoed secrets taken out.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_compression::tokio::bufread::{BrotliDecoder, GzipDecoder, ZlibDecoder};
use bytes::Bytes;
use executor_telemetry::metrics::OriginMetrics;
use futures::TryStreamExt as _;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::io::{AsyncRead, AsyncReadExt as _, BufReader};
use tokio_util::io::StreamReader;

use super::redact::Redactor;

/// Silence after which a body is given up.
pub(crate) const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// Bytes of one read.
const READ_BYTES: usize = 64 * 1024;

/// Bytes of one body after decompression; what is larger is no API answer.
const BODY_BYTES: u64 = 2 * 1024 * 1024 * 1024;

/// Why a body ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BodyError {
    #[error("the upstream went silent for {} s in the middle of its answer", IDLE_TIMEOUT.as_secs())]
    Idle { safe: bool },
    #[error("the answer is larger than {BODY_BYTES} bytes")]
    TooLarge,
    #[error("the answer ended early: {source}")]
    Truncated { source: io::Error, safe: bool },
}

/// A response's body, read in order.
pub(crate) struct Body {
    reader: Option<Pin<Box<dyn AsyncRead + Send>>>,
    redactor: Redactor,
    ready: Vec<u8>,
    received: u64,
    /// Whether the request changes nothing, so that it may be made again.
    safe: bool,
    /// None: nothing comes over the wire.
    metrics: Option<Arc<OriginMetrics>>,
}

impl Body {
    /// What is at hand already.
    pub(super) fn of(bytes: Bytes) -> Self {
        Self {
            reader: Some(Box::pin(io::Cursor::new(bytes))),
            redactor: Redactor::default(),
            ready: Vec::new(),
            received: 0,
            safe: true,
            metrics: None,
        }
    }

    pub(crate) fn new(
        headers: &mut HeaderMap,
        incoming: Incoming,
        redactor: Redactor,
        safe: bool,
        metrics: Arc<OriginMetrics>,
    ) -> Self {
        let stream = incoming.into_data_stream().map_err(io::Error::other);
        let raw = BufReader::new(StreamReader::new(stream));
        let encoding = headers.get(CONTENT_ENCODING).and_then(|value| value.to_str().ok());
        let (reader, unpacked): (Pin<Box<dyn AsyncRead + Send>>, bool) =
            match encoding.map(str::to_ascii_lowercase).as_deref() {
                Some("gzip" | "x-gzip") => (Box::pin(GzipDecoder::new(raw)), true),
                Some("deflate") => (Box::pin(ZlibDecoder::new(raw)), true),
                Some("br") => (Box::pin(BrotliDecoder::new(raw)), true),
                _ => (Box::pin(raw), false),
            };
        if unpacked {
            headers.remove(CONTENT_ENCODING);
        }
        // What the guest reads is not as long as what was sent, once it was
        // unpacked or has marks where secrets stood.
        if unpacked || redactor.may_change() {
            headers.remove(CONTENT_LENGTH);
        }
        let metrics = Some(metrics);
        Self { reader: Some(reader), redactor, ready: Vec::new(), received: 0, safe, metrics }
    }

    /// Up to `len` bytes; empty at the end; none when `wait` passes first.
    pub(crate) async fn read(&mut self, len: usize, wait: Duration) -> Result<Option<Vec<u8>>, BodyError> {
        while self.ready.is_empty() && self.reader.is_some() {
            let Ok(filled) = tokio::time::timeout(wait, self.fill()).await else {
                return Ok(None);
            };
            filled?;
        }
        let rest = self.ready.split_off(self.ready.len().min(len));
        Ok(Some(std::mem::replace(&mut self.ready, rest)))
    }

    /// The whole body as far as `limit`.
    pub(crate) async fn read_all(&mut self, limit: usize) -> Result<Vec<u8>, BodyError> {
        let mut all = Vec::new();
        loop {
            let chunk =
                self.read(READ_BYTES, IDLE_TIMEOUT).await?.ok_or(BodyError::Idle { safe: self.safe })?;
            if chunk.is_empty() {
                return Ok(all);
            }
            all.extend_from_slice(&chunk);
            if all.len() > limit {
                return Err(BodyError::TooLarge);
            }
        }
    }

    async fn fill(&mut self) -> Result<(), BodyError> {
        let Some(reader) = &mut self.reader else {
            return Ok(());
        };
        let mut chunk = Vec::with_capacity(READ_BYTES);
        let read = tokio::time::timeout(IDLE_TIMEOUT, reader.read_buf(&mut chunk)).await;
        let safe = self.safe;
        let count = read
            .map_err(|_| BodyError::Idle { safe })?
            .map_err(|source| BodyError::Truncated { source, safe })?;
        self.received += count as u64;
        if let Some(metrics) = &self.metrics {
            metrics.received(count);
        }
        if self.received > BODY_BYTES {
            return Err(BodyError::TooLarge);
        }
        if count == 0 {
            self.reader = None;
            self.ready.extend(self.redactor.finish());
        } else {
            self.ready.extend(self.redactor.push(chunk));
        }
        Ok(())
    }
}
