//! Reading a request from a connection's buffer.

use std::ops::Range;

use bytes::Bytes;

use crate::ledger::Entry;

/// More headers are answered 431.
pub(crate) const LIMIT_HEADERS: usize = 256;
/// A longer head is answered 431.
pub(crate) const LIMIT_HEAD_BYTES: usize = 256 * 1024;
/// A longer body is answered 413.
pub(crate) const LIMIT_BODY_BYTES: usize = 256 * 1024 * 1024;

/// A request as a handler sees it: the bytes that arrived.
#[derive(Debug)]
pub struct Request<'a> {
    pub method: &'a str,
    /// As sent, percent-encoded, without the query.
    pub path: &'a str,
    /// What followed the `?`; empty where there was none.
    pub query: &'a str,
    pub(crate) headers: &'a [httparse::Header<'a>],
    /// The whole body, transfer encoding undone.
    pub body: &'a [u8],
}

impl Request<'_> {
    /// The first header of that name, in any case.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        header(self.headers, name)
    }

    pub(crate) fn entry(&self, connection: u64) -> Entry {
        Entry {
            sequence: 0,
            connection,
            at_ms: 0,
            method: self.method.to_owned(),
            path: self.path.to_owned(),
            query: self.query.to_owned(),
            headers: self
                .headers
                .iter()
                .map(|one| (one.name.to_ascii_lowercase(), Bytes::copy_from_slice(one.value)))
                .collect(),
            body: Bytes::copy_from_slice(self.body),
        }
    }
}

/// Why a request can't be answered by the handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Malformed {
    Syntax,
    TooManyHeaders,
    TooLarge,
}

impl Malformed {
    pub(crate) fn status(self) -> u16 {
        match self {
            Self::Syntax => 400,
            Self::TooManyHeaders => 431,
            Self::TooLarge => 413,
        }
    }
}

/// How the body is delimited (RFC 9112, section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    Length(usize),
    Chunked,
}

/// What has to be known of a head to read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) bytes: usize,
    pub(crate) framing: Framing,
    pub(crate) keep_alive: bool,
    pub(crate) expects_continue: bool,
}

/// The head at the begin of the buffer; none where it has not all arrived.
pub(crate) fn parse_head(buffer: &[u8]) -> Result<Option<Head>, Malformed> {
    let mut space = [httparse::EMPTY_HEADER; LIMIT_HEADERS];
    let mut request = httparse::Request::new(&mut space);
    let bytes = match request.parse(buffer) {
        Ok(httparse::Status::Complete(bytes)) => bytes,
        Ok(httparse::Status::Partial) if buffer.len() > LIMIT_HEAD_BYTES => {
            return Err(Malformed::TooManyHeaders);
        }
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Malformed::TooManyHeaders),
        Err(_) => return Err(Malformed::Syntax),
    };
    let says = |name: &str, value: &str| {
        header(request.headers, name).is_some_and(|have| have.eq_ignore_ascii_case(value.as_bytes()))
    };
    Ok(Some(Head {
        bytes,
        framing: framing(request.headers)?,
        keep_alive: request.version == Some(1) && !says("connection", "close"),
        expects_continue: says("expect", "100-continue"),
    }))
}

fn framing(headers: &[httparse::Header<'_>]) -> Result<Framing, Malformed> {
    if let Some(coding) = header(headers, "transfer-encoding") {
        return match coding.eq_ignore_ascii_case(b"chunked") {
            true => Ok(Framing::Chunked),
            false => Err(Malformed::Syntax),
        };
    }
    let Some(length) = header(headers, "content-length") else {
        return Ok(Framing::Length(0));
    };
    let length = std::str::from_utf8(length).ok().and_then(|text| text.trim().parse().ok());
    match length {
        Some(length) if length <= LIMIT_BODY_BYTES => Ok(Framing::Length(length)),
        Some(_) => Err(Malformed::TooLarge),
        None => Err(Malformed::Syntax),
    }
}

/// Runs `act` with the request whose head and body have arrived.
pub(crate) fn with_request<T>(
    head: &[u8],
    body: &[u8],
    act: impl FnOnce(&Request<'_>) -> T,
) -> Result<T, Malformed> {
    let mut space = [httparse::EMPTY_HEADER; LIMIT_HEADERS];
    let mut parsed = httparse::Request::new(&mut space);
    parsed.parse(head).map_err(|_| Malformed::Syntax)?;
    let target = parsed.path.unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    Ok(act(&Request {
        method: parsed.method.unwrap_or_default(),
        path,
        query,
        headers: parsed.headers,
        body,
    }))
}

fn header<'a>(headers: &[httparse::Header<'a>], name: &str) -> Option<&'a [u8]> {
    let found = headers.iter().find(|one| one.name.eq_ignore_ascii_case(name));
    found.map(|one| one.value)
}

/// What stands next in a chunked body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Chunk {
    /// It has not all arrived.
    Partial,
    /// Where its bytes are, and how long it is with what delimits it.
    Data { range: Range<usize>, bytes: usize },
    /// The last one, and how long it is with its trailers.
    End { bytes: usize },
}

/// The chunk at the begin of the buffer.
pub(crate) fn parse_chunk(buffer: &[u8]) -> Result<Chunk, Malformed> {
    let (start, size) = match httparse::parse_chunk_size(buffer) {
        Ok(httparse::Status::Complete((start, size))) => (start, size),
        Ok(httparse::Status::Partial) if buffer.len() > LIMIT_HEAD_BYTES => {
            return Err(Malformed::Syntax);
        }
        Ok(httparse::Status::Partial) => return Ok(Chunk::Partial),
        Err(_) => return Err(Malformed::Syntax),
    };
    let size = usize::try_from(size).ok().filter(|size| *size <= LIMIT_BODY_BYTES);
    let size = size.ok_or(Malformed::TooLarge)?;
    if size == 0 {
        return parse_trailers(&buffer[start..], start);
    }
    match buffer.get(start + size..start + size + 2) {
        None => Ok(Chunk::Partial),
        Some(b"\r\n") => Ok(Chunk::Data { range: start..start + size, bytes: start + size + 2 }),
        Some(_) => Err(Malformed::Syntax),
    }
}

fn parse_trailers(buffer: &[u8], start: usize) -> Result<Chunk, Malformed> {
    let mut space = [httparse::EMPTY_HEADER; LIMIT_HEADERS];
    match httparse::parse_headers(buffer, &mut space) {
        Ok(httparse::Status::Complete((bytes, _))) => Ok(Chunk::End { bytes: start + bytes }),
        Ok(httparse::Status::Partial) if buffer.len() > LIMIT_HEAD_BYTES => Err(Malformed::Syntax),
        Ok(httparse::Status::Partial) => Ok(Chunk::Partial),
        Err(_) => Err(Malformed::Syntax),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Option<Head>, Malformed> {
        parse_head(text.as_bytes())
    }

    #[test]
    fn heads_say_how_the_body_is_delimited() {
        let framing = |text: &str| parsed(text).map(|head| head.map(|head| head.framing));
        assert_eq!(framing("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), Ok(Some(Framing::Length(0))));
        assert_eq!(framing("PUT / HTTP/1.1\r\nContent-Length: 7\r\n\r\n"), Ok(Some(Framing::Length(7))));
        assert_eq!(
            framing("PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"),
            Ok(Some(Framing::Chunked))
        );
        assert_eq!(framing("PUT / HTTP/1.1\r\nContent-Length: x\r\n\r\n"), Err(Malformed::Syntax));
        assert_eq!(
            framing("PUT / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n"),
            Err(Malformed::TooLarge)
        );
        assert_eq!(framing("GET / HTTP/1.1\r\nHost: a\r\n"), Ok(None));
        assert_eq!(framing("nonsense\r\n\r\n"), Err(Malformed::Syntax));
    }

    #[test]
    fn heads_are_bounded() {
        let many: String = (0..LIMIT_HEADERS + 1).map(|number| format!("x{number}: 1\r\n")).collect();
        assert_eq!(parsed(&format!("GET / HTTP/1.1\r\n{many}\r\n")), Err(Malformed::TooManyHeaders));
        let long = "a".repeat(LIMIT_HEAD_BYTES);
        assert_eq!(parsed(&format!("GET /{long}")), Err(Malformed::TooManyHeaders));
    }

    #[test]
    fn chunks_are_read_one_by_one() {
        assert_eq!(parse_chunk(b"5\r\nhello\r\n0"), Ok(Chunk::Data { range: 3..8, bytes: 10 }));
        assert_eq!(parse_chunk(b"5\r\nhel"), Ok(Chunk::Partial));
        assert_eq!(parse_chunk(b"0\r\n\r\n"), Ok(Chunk::End { bytes: 5 }));
        assert_eq!(parse_chunk(b"0\r\nx: 1\r\n\r\nGET"), Ok(Chunk::End { bytes: 11 }));
        assert_eq!(parse_chunk(b"5\r\nhello!!"), Err(Malformed::Syntax));
        assert_eq!(parse_chunk(b"fffffffff\r\n"), Err(Malformed::TooLarge));
    }
}
