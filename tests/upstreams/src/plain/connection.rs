//! One connection: a request is read, answered, and the next one read.

use std::io;

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::answer::{Answer, Step, filling};
use super::request::{
    Chunk, Framing, Head, LIMIT_BODY_BYTES, Malformed, Request, parse_chunk, parse_head, with_request,
};
use crate::ledger::Ledger;

const READ_BYTES: usize = 16 * 1024;

/// What the connections of one upstream share.
#[derive(Debug)]
pub(crate) struct Shared<Handler> {
    pub(crate) handler: Handler,
    pub(crate) ledger: Ledger,
}

/// Why a request can't be read to its end.
enum Failed {
    Broken(io::Error),
    Malformed(Malformed),
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::Broken(error)
    }
}

impl From<Malformed> for Failed {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

/// Serves requests until the client or an answer ends the connection.
pub(crate) async fn serve<Handler>(
    mut stream: TcpStream,
    number: u64,
    shared: &Shared<Handler>,
) -> io::Result<()>
where
    Handler: Fn(&Request<'_>) -> Answer,
{
    let mut buffer = BytesMut::with_capacity(READ_BYTES);
    loop {
        match exchange(&mut stream, &mut buffer, number, shared).await {
            Ok(true) => {}
            Ok(false) => return stream.shutdown().await,
            Err(Failed::Broken(error)) => return Err(error),
            Err(Failed::Malformed(malformed)) => {
                let refusal = Answer::new(malformed.status(), &[("connection", "close")], "");
                perform(&mut stream, &refusal, false).await?;
                return stream.shutdown().await;
            }
        }
    }
}

/// Answers one request; false where none may follow.
async fn exchange<Handler>(
    stream: &mut TcpStream,
    buffer: &mut BytesMut,
    number: u64,
    shared: &Shared<Handler>,
) -> Result<bool, Failed>
where
    Handler: Fn(&Request<'_>) -> Answer,
{
    let Some(head) = read_head(stream, buffer).await? else {
        return Ok(false);
    };
    if head.expects_continue {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
    }
    let act = |request: &Request<'_>| {
        match shared.ledger.only_counts() {
            true => shared.ledger.tick(),
            false => _ = shared.ledger.record(request.entry(number)),
        }
        ((shared.handler)(request), request.method == "HEAD")
    };
    let (answer, is_head) = match head.framing {
        Framing::Length(length) => {
            let end = head.bytes + length;
            while buffer.len() < end {
                read_more(stream, buffer).await?;
            }
            let acted = with_request(&buffer[..head.bytes], &buffer[head.bytes..end], act)?;
            buffer.advance(end);
            acted
        }
        Framing::Chunked => {
            let begin = buffer.split_to(head.bytes);
            let body = read_chunks(stream, buffer).await?;
            with_request(&begin, &body, act)?
        }
    };
    perform(stream, &answer, is_head).await?;
    Ok(head.keep_alive && answer.keep_alive)
}

/// None where the client ended the connection between two requests.
async fn read_head(stream: &mut TcpStream, buffer: &mut BytesMut) -> Result<Option<Head>, Failed> {
    loop {
        if !buffer.is_empty()
            && let Some(head) = parse_head(buffer)?
        {
            return Ok(Some(head));
        }
        buffer.reserve(READ_BYTES);
        if stream.read_buf(buffer).await? == 0 {
            return match buffer.is_empty() {
                true => Ok(None),
                false => Err(Failed::Broken(io::ErrorKind::UnexpectedEof.into())),
            };
        }
    }
}

async fn read_more(stream: &mut TcpStream, buffer: &mut BytesMut) -> io::Result<()> {
    buffer.reserve(READ_BYTES);
    match stream.read_buf(buffer).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

async fn read_chunks(stream: &mut TcpStream, buffer: &mut BytesMut) -> Result<Vec<u8>, Failed> {
    let mut body = Vec::new();
    loop {
        match parse_chunk(buffer)? {
            Chunk::Partial => read_more(stream, buffer).await?,
            Chunk::Data { range, bytes } => {
                if body.len() + range.len() > LIMIT_BODY_BYTES {
                    return Err(Malformed::TooLarge.into());
                }
                body.extend_from_slice(&buffer[range]);
                buffer.advance(bytes);
            }
            Chunk::End { bytes } => {
                buffer.advance(bytes);
                return Ok(body);
            }
        }
    }
}

/// Sends an answer step by step; its head alone where the request was HEAD.
async fn perform(stream: &mut TcpStream, answer: &Answer, is_head: bool) -> io::Result<()> {
    for step in answer.steps.iter() {
        match step {
            Step::Send(bytes) if is_head && answer.head_bytes > 0 => {
                let head = &bytes[..answer.head_bytes.min(bytes.len())];
                return stream.write_all(head).await;
            }
            Step::Send(bytes) => stream.write_all(bytes).await?,
            Step::Fill(bytes) => fill(stream, *bytes).await?,
            Step::Wait(delay) => tokio::time::sleep(*delay).await,
            // Whoever could change it may be gone, which lets it go on as well.
            Step::Hold(watched) => _ = watched.clone().changed().await,
            Step::Hang => return until_closed(stream).await,
            Step::Reset => {
                stream.set_zero_linger()?;
                return Err(io::ErrorKind::ConnectionReset.into());
            }
        }
    }
    Ok(())
}

async fn fill(stream: &mut TcpStream, bytes: u64) -> io::Result<()> {
    let mut left = bytes;
    while left > 0 {
        let piece = filling();
        let count = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
        stream.write_all(&piece[..count]).await?;
        // A number that nobody reaches stands for no end.
        left -= match bytes {
            u64::MAX => 0,
            _ => count as u64,
        };
    }
    Ok(())
}

/// Reads on, so that the client's end is noticed.
async fn until_closed(stream: &mut TcpStream) -> io::Result<()> {
    let mut ignored = [0; 1024];
    while stream.read(&mut ignored).await? > 0 {}
    Ok(())
}
