//! HTTP/1.1 as a client, over any stream: one request, one answer.
//!
//! Blocking and small on purpose: a command makes one or two requests of a
//! daemon on the same machine, and should cost no more than they do.

use std::io::{self, BufRead, BufReader, Read, Write};

/// Bytes that an answer's head may have.
const HEAD_LIMIT_BYTES: u64 = 64 * 1024;
/// Headers that an answer may have.
const HEADER_LIMIT: usize = 64;
/// Bytes that an answer's body may have: the largest result many times over.
pub(crate) const BODY_LIMIT_BYTES: u64 = 256 * 1024 * 1024;
/// Bytes of a streamed body that are sent at once.
const PIECE_BYTES: usize = 256 * 1024;
/// Bytes of one line of a body that comes in lines.
const LINE_LIMIT_BYTES: u64 = 64 * 1024 * 1024;

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum HttpError {
    /// The stream broke or ended.
    Stream(io::Error),
    /// What came is no HTTP, or more than is allowed.
    Answer(&'static str),
}

impl From<io::Error> for HttpError {
    fn from(error: io::Error) -> Self {
        Self::Stream(error)
    }
}

/// A request with a JSON body, or none.
#[derive(Debug)]
pub(crate) struct Request<'r> {
    pub(crate) method: &'r str,
    /// Path and query, encoded.
    pub(crate) target: &'r str,
    pub(crate) accept: &'r str,
    pub(crate) body: Option<&'r [u8]>,
    /// More of them; names in lower case.
    pub(crate) headers: &'r [(&'r str, &'r str)],
}

/// The beginning of an answer; its body is read from the stream.
#[derive(Debug)]
pub(crate) struct Response<S> {
    pub(crate) status: u16,
    /// In lower case, without parameters.
    pub(crate) media_type: String,
    /// The MCP session that the answer began.
    pub(crate) session: Option<String>,
    body: Body<S>,
}

/// Sends `request` and reads the head of its answer.
pub(crate) fn exchange<S: Read + Write>(
    mut stream: S,
    request: &Request<'_>,
) -> Result<Response<S>, HttpError> {
    match send(&mut stream, request) {
        // A request that is refused before it was read is answered all the
        // same, and the answer says more than that nobody reads.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            receive(stream).map_err(|_| HttpError::Stream(error))
        }
        sent => {
            sent?;
            receive(stream)
        }
    }
}

/// A body that is read while it is sent.
pub(crate) struct Stream<'b> {
    pub(crate) media_type: Option<&'b str>,
    /// Where it is known; without it the body goes in chunks.
    pub(crate) length: Option<u64>,
    pub(crate) reader: &'b mut dyn Read,
}

/// Sends a request whose body is read as it goes, and reads the head of its
/// answer, which may come before the body has gone.
///
/// # Errors
/// The outer one where the body can't be read, the inner one where there is no
/// answer.
pub(crate) fn upload<S: Read + Write>(
    mut stream: S,
    request: &Request<'_>,
    body: Stream<'_>,
) -> io::Result<Result<Response<S>, HttpError>> {
    let mut head = encode(request);
    head.truncate(head.len() - 2);
    if let Some(media_type) = body.media_type {
        head.extend_from_slice(format!("content-type: {media_type}\r\n").as_bytes());
    }
    let framing = match body.length {
        Some(length) => format!("content-length: {length}\r\n\r\n"),
        None => "transfer-encoding: chunked\r\n\r\n".to_owned(),
    };
    head.extend_from_slice(framing.as_bytes());
    let mut sent = stream.write_all(&head).is_ok();
    let mut left = body.length.unwrap_or(u64::MAX);
    let mut piece = vec![0; PIECE_BYTES];
    while sent && left > 0 {
        let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
        let count = body.reader.read(&mut piece[..wanted])?;
        if count == 0 {
            break;
        }
        left -= count as u64;
        sent = match body.length {
            Some(_) => stream.write_all(&piece[..count]),
            None => write_chunk(&mut stream, &piece[..count]),
        }
        .is_ok();
    }
    if sent && body.length.is_some() && left > 0 {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it became shorter while it was read"));
    }
    if sent && body.length.is_none() {
        sent = stream.write_all(b"0\r\n\r\n").is_ok();
    }
    if sent {
        // What is wrong with the stream shows when the answer is read.
        let _ = stream.flush();
    }
    Ok(receive(stream))
}

fn write_chunk(stream: &mut impl Write, piece: &[u8]) -> io::Result<()> {
    stream.write_all(format!("{:x}\r\n", piece.len()).as_bytes())?;
    stream.write_all(piece)?;
    stream.write_all(b"\r\n")
}

/// Sends a request whose answer is read later.
pub(crate) fn send(stream: &mut impl Write, request: &Request<'_>) -> io::Result<()> {
    stream.write_all(&encode(request))?;
    stream.flush()
}

/// Reads the head of the answer to what was sent.
pub(crate) fn receive<S: Read>(stream: S) -> Result<Response<S>, HttpError> {
    let mut reader = BufReader::with_capacity(32 * 1024, stream);
    loop {
        let head = read_head(&mut reader)?;
        let Head { status, media_type, session, framing } = parse_head(&head)?;
        if status >= 200 {
            return Ok(Response { status, media_type, session, body: Body { reader, framing } });
        }
    }
}

impl<S: Read> Response<S> {
    /// The whole body.
    pub(crate) fn read(mut self) -> Result<Vec<u8>, HttpError> {
        let mut body = Vec::new();
        (&mut self.body).take(BODY_LIMIT_BYTES + 1).read_to_end(&mut body)?;
        if body.len() as u64 > BODY_LIMIT_BYTES {
            return Err(HttpError::Answer("the answer is too large"));
        }
        Ok(body)
    }

    /// The body, to be read as it comes.
    pub(crate) fn into_reader(self) -> impl BufRead {
        BufReader::new(self.body)
    }

    /// The body line by line, as it comes. `each` ends it by an error.
    pub(crate) fn read_lines<E: From<HttpError>>(
        self,
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut reader = BufReader::new(self.body);
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = (&mut reader).take(LINE_LIMIT_BYTES).read_until(b'\n', &mut line);
            let count = read.map_err(|error| E::from(HttpError::Stream(error)))?;
            if count == 0 {
                return Ok(());
            }
            if count as u64 == LINE_LIMIT_BYTES {
                return Err(E::from(HttpError::Answer("a line of the answer is too large")));
            }
            let text = line.trim_ascii();
            if !text.is_empty() {
                each(text)?;
            }
        }
    }
}

/// By which a client says what it is; the command line, where nothing is said.
pub(crate) const CLIENT_HEADER: &str = "x-executor-client";

fn encode(request: &Request<'_>) -> Vec<u8> {
    let body = request.body.unwrap_or_default();
    let mut bytes = Vec::with_capacity(256 + body.len());
    let Request { method, target, accept, .. } = request;
    let named = request.headers.iter().any(|(name, _)| *name == CLIENT_HEADER);
    let client = if named { String::new() } else { format!("{CLIENT_HEADER}: cli\r\n") };
    let head = format!(
        "{method} {target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         {client}accept: {accept}\r\n"
    );
    bytes.extend_from_slice(head.as_bytes());
    for (name, value) in request.headers {
        bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    if request.body.is_some() {
        let length = body.len();
        bytes.extend_from_slice(
            format!("content-type: application/json\r\ncontent-length: {length}\r\n").as_bytes(),
        );
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body);
    bytes
}

fn read_head(reader: &mut impl BufRead) -> Result<Vec<u8>, HttpError> {
    let mut head = Vec::with_capacity(512);
    let mut limited = reader.take(HEAD_LIMIT_BYTES);
    loop {
        let count = limited.read_until(b'\n', &mut head)?;
        if count == 0 && limited.limit() == 0 {
            return Err(HttpError::Answer("the head of the answer is too large"));
        }
        if count == 0 {
            return Err(HttpError::Stream(io::ErrorKind::UnexpectedEof.into()));
        }
        if head.ends_with(b"\r\n\r\n") || head.ends_with(b"\n\n") {
            return Ok(head);
        }
    }
}

/// What is looked at of a head.
struct Head {
    status: u16,
    media_type: String,
    session: Option<String>,
    framing: Framing,
}

fn parse_head(head: &[u8]) -> Result<Head, HttpError> {
    let mut headers = [httparse::EMPTY_HEADER; HEADER_LIMIT];
    let mut parsed = httparse::Response::new(&mut headers);
    let complete = parsed.parse(head).map_err(|_| HttpError::Answer("the answer is no HTTP"))?;
    let (true, Some(status)) = (complete.is_complete(), parsed.code) else {
        return Err(HttpError::Answer("the answer is no HTTP"));
    };
    let (mut media_type, mut session) = (String::new(), None);
    let mut framing = Framing::UntilClose;
    for header in parsed.headers.iter() {
        let value = std::str::from_utf8(header.value).unwrap_or("").trim();
        if header.name.eq_ignore_ascii_case("content-type") {
            media_type = value.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
        } else if header.name.eq_ignore_ascii_case("mcp-session-id") {
            session = Some(value.to_owned());
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            framing = Framing::Chunk { left: 0, first: true };
        } else if header.name.eq_ignore_ascii_case("content-length")
            && !matches!(framing, Framing::Chunk { .. })
        {
            let length = value.parse().map_err(|_| HttpError::Answer("the answer has no valid length"))?;
            framing = Framing::Length(length);
        }
    }
    if matches!(status, 204 | 304) {
        framing = Framing::Length(0);
    }
    Ok(Head { status, media_type, session, framing })
}

/// Where a body ends.
#[derive(Debug)]
enum Framing {
    Length(u64),
    Chunk { left: u64, first: bool },
    UntilClose,
    Ended,
}

#[derive(Debug)]
struct Body<S> {
    reader: BufReader<S>,
    framing: Framing,
}

impl<S: Read> Read for Body<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Framing::Chunk { left: 0, first } = self.framing {
            self.framing = match next_chunk(&mut self.reader, first)? {
                0 => Framing::Ended,
                left => Framing::Chunk { left, first: false },
            };
        }
        match &mut self.framing {
            Framing::Ended | Framing::Length(0) => Ok(0),
            Framing::UntilClose => self.reader.read(buffer),
            Framing::Length(left) | Framing::Chunk { left, .. } => read_part(&mut self.reader, buffer, left),
        }
    }
}

fn read_part(reader: &mut impl Read, buffer: &mut [u8], left: &mut u64) -> io::Result<usize> {
    let wanted = usize::try_from(*left).unwrap_or(usize::MAX).min(buffer.len());
    let count = reader.read(&mut buffer[..wanted])?;
    if count == 0 && wanted > 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    *left -= count as u64;
    Ok(count)
}

/// The size of the next chunk; 0 is the end, its trailers read as well.
fn next_chunk(reader: &mut impl BufRead, first: bool) -> io::Result<u64> {
    let broken = || io::Error::new(io::ErrorKind::InvalidData, "the answer is no valid chunked body");
    if !first && !read_line(reader)?.is_empty() {
        return Err(broken());
    }
    let line = read_line(reader)?;
    let digits = line.split(';').next().unwrap_or("").trim();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(broken());
    }
    let size = u64::from_str_radix(digits, 16).map_err(|_| broken())?;
    if size == 0 {
        while !read_line(reader)?.is_empty() {}
    }
    Ok(size)
}

fn read_line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    reader.take(4096).read_line(&mut line)?;
    if !line.ends_with('\n') {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    line.truncate(line.trim_end_matches(['\r', '\n']).len());
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers what it was given, a few bytes at a time, and keeps what it got.
    struct Wire<'w> {
        answer: &'w [u8],
        sent: Vec<u8>,
    }

    impl Read for Wire<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.answer.len().min(buffer.len()).min(3);
            buffer[..count].copy_from_slice(&self.answer[..count]);
            self.answer = &self.answer[count..];
            Ok(count)
        }
    }

    impl Write for Wire<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.sent.extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    const GET: Request<'static> =
        Request { method: "GET", target: "/v1/health", accept: "application/json", body: None, headers: &[] };

    fn ask(answer: &str) -> Result<(u16, String), HttpError> {
        let response = exchange(Wire { answer: answer.as_bytes(), sent: Vec::new() }, &GET)?;
        let status = response.status;
        let body = response.read()?;
        Ok((status, String::from_utf8(body).unwrap()))
    }

    #[track_caller]
    fn check(answer: &str, status: u16, body: &str) {
        assert_eq!(ask(answer).unwrap(), (status, body.to_owned()), "{answer:?}");
    }

    #[test]
    fn bodies_end_where_they_say() {
        check("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello, world", 200, "hello");
        check("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", 404, "");
        check("HTTP/1.1 204 No Content\r\n\r\nnot mine", 204, "");
        check("HTTP/1.1 200 OK\r\n\r\nto the end", 200, "to the end");
        check("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\ncontent-length: 1\r\n\r\nx", 201, "x");
        check(
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n2;a=b\r\n!!\r\n0\r\nx: y\r\n\r\nrest",
            200,
            "hello!!",
        );
    }

    /// Answers without reading what it is given.
    struct Deaf<'w>(Wire<'w>);

    impl Read for Deaf<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0.read(buffer)
        }
    }

    impl Write for Deaf<'_> {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_refusal_is_heard_though_the_request_was_not_read() {
        let deaf = |answer: &'static str| Deaf(Wire { answer: answer.as_bytes(), sent: Vec::new() });
        let refused = exchange(deaf("HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno"), &GET).unwrap();
        assert_eq!((refused.status, refused.read().unwrap()), (413, b"no".to_vec()));
        let Err(HttpError::Stream(gone)) = exchange(deaf(""), &GET) else { panic!("nothing was answered") };
        assert_eq!(gone.kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn broken_answers_are_errors() {
        for answer in [
            "",
            "HTTP/1.1 200 OK\r\n",
            "nonsense\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: five\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n+5\r\nhello\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello0\r\n\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
        ] {
            assert!(ask(answer).is_err(), "{answer:?}");
        }
        let endless = format!("HTTP/1.1 200 OK\r\n{}", "x: y\r\n".repeat(20_000));
        assert!(matches!(ask(&endless), Err(HttpError::Answer(_))));
    }

    #[test]
    fn lines_come_one_by_one() {
        let answer = b"HTTP/1.1 200 OK\r\ncontent-type: Application/X-NDJSON; a=b\r\n\
            transfer-encoding: chunked\r\n\r\n4\r\n{}\n{\r\n3\r\n}\n\n\r\n1\r\nx\r\n0\r\n\r\n";
        let response = exchange(Wire { answer, sent: Vec::new() }, &GET).unwrap();
        assert_eq!(response.media_type, "application/x-ndjson");
        let mut lines = Vec::new();
        let outcome: Result<(), HttpError> = response.read_lines(|line| {
            lines.push(String::from_utf8(line.to_vec()).unwrap());
            Ok(())
        });
        outcome.unwrap();
        assert_eq!(lines, ["{}", "{}", "x"]);
    }

    #[test]
    fn a_streamed_body_is_framed_by_its_length_or_in_chunks() {
        let sent = |length, body: &[u8]| {
            let mut wire =
                Wire { answer: b"HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n", sent: Vec::new() };
            let request = Request { method: "POST", ..GET };
            let stream = Stream { media_type: Some("a/b"), length, reader: &mut { body } };
            let status = upload(&mut wire, &request, stream).map(|answer| answer.unwrap().status);
            status.map(|status| (status, String::from_utf8(wire.sent).unwrap()))
        };
        let (status, text) = sent(Some(5), b"hello, world").unwrap();
        assert_eq!(status, 413);
        assert!(text.ends_with("content-type: a/b\r\ncontent-length: 5\r\n\r\nhello"), "{text}");
        let (_, text) = sent(None, b"hello").unwrap();
        assert!(text.ends_with("transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"), "{text}");
        assert!(sent(Some(9), b"short").is_err());
    }

    #[test]
    fn a_request_is_framed() {
        let request = Request { method: "POST", body: Some(b"{}"), headers: &[("x-a", "b")], ..GET };
        let text = String::from_utf8(encode(&request)).unwrap();
        insta::assert_snapshot!(text.replace('\r', ""), @r"
        POST /v1/health HTTP/1.1
        host: localhost
        connection: close
        x-executor-client: cli
        accept: application/json
        x-a: b
        content-type: application/json
        content-length: 2

        {}
        ");
    }
}
