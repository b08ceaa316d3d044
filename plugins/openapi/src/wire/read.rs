//! Reads a response's body, up to what the caller's sandbox takes; what is
//! larger becomes a file that the host holds.

use super::headers::Headers;
use crate::seam::{Failure, FileWriter, Http, HttpResponse, StoredFile};

/// What the sandbox takes (CONTRACT, "Defaults of limits").
pub(crate) const MAX_BODY_BYTES: usize = 16 << 20;
/// Where a file ends that has to pass through here.
const MAX_FILE_BYTES: u64 = 1 << 30;
const CHUNK_BYTES: u32 = 256 << 10;
const IDLE_TIMEOUT_MS: u32 = 60_000;
/// A stream is asked this often whether it goes on.
const STREAM_STEP_MS: u32 = 5_000;
/// A stream that gave something and then nothing for so long has given all.
const STREAM_SILENCE_MS: u32 = 15_000;
/// What the host may say on its own behalf while a body is read.
const HOSTS_OWN: [&str; 6] = ["cancelled", "denied", "timeout", "out-of-fuel", "out-of-memory", "too-large"];

/// A body, here or with the host.
#[derive(Debug)]
pub(crate) enum Received {
    Bytes(Vec<u8>),
    File(StoredFile),
}

/// Reads all of a body.
///
/// # Errors
/// `upstream-malformed` where it ended early, `upstream-timeout` where it
/// stalled, and the host's own failures.
pub(crate) fn all<H: Http>(
    http: &mut H,
    mut response: H::Response,
    headers: &Headers,
    idempotent: bool,
) -> Result<Received, Failure> {
    let declared = headers.content_length();
    if declared.is_some_and(|length| length > MAX_BODY_BYTES as u64) {
        return response.into_file(media_type(headers)).map(Received::File);
    }
    let status = response.status();
    let mut bytes = Vec::new();
    loop {
        let chunk = chunk(&mut response, status, bytes.len() as u64, idempotent)?;
        if chunk.is_empty() {
            break;
        }
        bytes.extend_from_slice(&chunk);
        if bytes.len() > MAX_BODY_BYTES {
            return spill(http, response, headers, &bytes, idempotent).map(Received::File);
        }
    }
    match declared {
        Some(length) if (bytes.len() as u64) < length => {
            Err(malformed(status, format!("the body ended after {} of {length} bytes", bytes.len())))
        }
        _ => Ok(Received::Bytes(bytes)),
    }
}

/// Reads a stream of lines or events, which need not end by itself: up to what
/// the sandbox takes, and until it falls silent after something came. Says why
/// where that was not its end.
///
/// # Errors
/// `upstream-malformed` where it ended early, `upstream-timeout` where nothing
/// came at all, and the host's own failures.
pub(crate) fn stream<R: HttpResponse>(
    response: &mut R,
    idempotent: bool,
) -> Result<(Vec<u8>, Option<&'static str>), Failure> {
    let status = response.status();
    let mut bytes = Vec::new();
    let mut silent_ms = 0;
    loop {
        let chunk = match response.read(CHUNK_BYTES, STREAM_STEP_MS) {
            Ok(None) if bytes.is_empty() && silent_ms < IDLE_TIMEOUT_MS => None,
            Ok(None) if bytes.is_empty() => return Err(stalled(status, 0, idempotent)),
            Ok(None) if silent_ms >= STREAM_SILENCE_MS => return Ok((bytes, Some("the stream fell silent"))),
            Ok(None) => None,
            Ok(Some(chunk)) => Some(chunk),
            Err(failure) => return Err(broken(failure, status, bytes.len() as u64)),
        };
        let Some(chunk) = chunk else {
            silent_ms += STREAM_STEP_MS;
            continue;
        };
        silent_ms = 0;
        if chunk.is_empty() {
            return Ok((bytes, None));
        }
        bytes.extend_from_slice(&chunk);
        if bytes.len() > MAX_BODY_BYTES {
            bytes.truncate(MAX_BODY_BYTES);
            return Ok((bytes, Some("the stream is longer than is kept")));
        }
    }
}

/// Reads the start of a body, as far as it comes.
pub(crate) fn start<R: HttpResponse>(response: &mut R, max_bytes: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while bytes.len() < max_bytes {
        match response.read(CHUNK_BYTES, IDLE_TIMEOUT_MS) {
            Ok(Some(chunk)) if !chunk.is_empty() => bytes.extend_from_slice(&chunk),
            _ => break,
        }
    }
    bytes.truncate(max_bytes);
    bytes
}

/// Gives bytes to the host to hold.
///
/// # Errors
/// The host's.
pub(crate) fn store<H: Http>(
    http: &mut H,
    media_type: Option<&str>,
    bytes: &[u8],
) -> Result<StoredFile, Failure> {
    let mut file = http.create_file(None, media_type)?;
    file.append(bytes)?;
    Ok(file.finish())
}

fn spill<H: Http>(
    http: &mut H,
    mut response: H::Response,
    headers: &Headers,
    start: &[u8],
    idempotent: bool,
) -> Result<StoredFile, Failure> {
    let status = response.status();
    let mut file = http.create_file(None, media_type(headers))?;
    file.append(start)?;
    let mut size = start.len() as u64;
    loop {
        let chunk = chunk(&mut response, status, size, idempotent)?;
        if chunk.is_empty() {
            return Ok(file.finish());
        }
        size += chunk.len() as u64;
        if size > MAX_FILE_BYTES {
            return Err(malformed(status, format!("the body has more than {MAX_FILE_BYTES} bytes")));
        }
        file.append(&chunk)?;
    }
}

fn chunk<R: HttpResponse>(
    response: &mut R,
    status: u16,
    so_far: u64,
    idempotent: bool,
) -> Result<Vec<u8>, Failure> {
    match response.read(CHUNK_BYTES, IDLE_TIMEOUT_MS) {
        Ok(Some(chunk)) => Ok(chunk),
        Ok(None) => Err(stalled(status, so_far, idempotent)),
        Err(failure) => Err(broken(failure, status, so_far)),
    }
}

fn stalled(status: u16, so_far: u64, idempotent: bool) -> Failure {
    Failure {
        status: Some(status),
        retryable: idempotent,
        ..Failure::new(
            "upstream-timeout",
            format!("the body stalled for {} s after {so_far} bytes", IDLE_TIMEOUT_MS / 1000),
        )
    }
}

/// What the host says while a body is read: its own, or that of the upstream.
fn broken(failure: Failure, status: u16, so_far: u64) -> Failure {
    if HOSTS_OWN.contains(&failure.code.as_str()) || failure.code.contains("timeout") {
        return failure;
    }
    Failure {
        retryable: failure.retryable,
        ..malformed(status, format!("the body ended after {so_far} bytes: {}", failure.message))
    }
}

fn media_type(headers: &Headers) -> Option<&str> {
    Some(headers.content_type()).filter(|text| !text.is_empty())
}

/// An answer that can't be read.
pub(crate) fn malformed(status: u16, message: String) -> Failure {
    Failure { status: Some(status), ..Failure::new("upstream-malformed", message) }
}
