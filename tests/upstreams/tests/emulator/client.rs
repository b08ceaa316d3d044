//! A client that sends what it is told and hides nothing of what comes back.

use std::io;
use std::net::SocketAddr;

use executor_upstreams::github::TOKEN;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    /// Transfer encoding undone, content encoding not.
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(have, _)| have == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }
}

/// A request under construction.
#[derive(Debug)]
pub(crate) struct Call {
    addr: SocketAddr,
    method: String,
    target: String,
    headers: Vec<String>,
    body: Vec<u8>,
}

/// A request without a token.
pub(crate) fn anonymous(addr: SocketAddr, method: &str, target: &str) -> Call {
    Call { addr, method: method.to_owned(), target: target.to_owned(), headers: Vec::new(), body: Vec::new() }
}

/// A request with the emulator's own token.
pub(crate) fn call(addr: SocketAddr, method: &str, target: &str) -> Call {
    anonymous(addr, method, target).header("authorization", &format!("Bearer {TOKEN}"))
}

impl Call {
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push(format!("{name}: {value}\r\n"));
        self
    }

    pub(crate) fn json(self, body: Value) -> Self {
        self.header("content-type", "application/json").body(body.to_string())
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Everything that came back until the connection ended, and how it ended.
    pub(crate) async fn raw(self) -> (Vec<u8>, io::Result<()>) {
        let mut received = Vec::new();
        let ended = self.exchange(&mut received).await;
        (received, ended)
    }

    async fn exchange(self, received: &mut Vec<u8>) -> io::Result<()> {
        let mut stream = TcpStream::connect(self.addr).await?;
        let mut request = format!(
            "{} {} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: {}\r\n{}\r\n",
            self.method,
            self.target,
            self.addr,
            self.body.len(),
            self.headers.concat(),
        )
        .into_bytes();
        request.extend(self.body);
        stream.write_all(&request).await?;
        stream.read_to_end(received).await?;
        Ok(())
    }

    /// The answer, which must be whole.
    pub(crate) async fn send(self) -> Reply {
        let said = format!("{} {}", self.method, self.target);
        let (bytes, ended) = self.raw().await;
        ended.unwrap_or_else(|error| panic!("{said}: {error}"));
        parse(&bytes).unwrap_or_else(|| panic!("{said}: {}", String::from_utf8_lossy(&bytes)))
    }

    /// The body of an answer that must have this status.
    pub(crate) async fn expect(self, status: u16) -> Value {
        let said = format!("{} {}", self.method, self.target);
        let reply = self.send().await;
        assert_eq!(reply.status, status, "{said}: {}", reply.text());
        match reply.body.is_empty() {
            true => Value::Null,
            false => reply.json(),
        }
    }
}

/// None where head or body are not whole.
pub(crate) fn parse(bytes: &[u8]) -> Option<Reply> {
    let mut space = vec![httparse::EMPTY_HEADER; 200_000];
    let mut response = httparse::Response::new(&mut space);
    let httparse::Status::Complete(start) = response.parse(bytes).ok()? else {
        return None;
    };
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    let mut reply = Reply {
        status: response.code?,
        headers: response.headers.iter().map(|one| (one.name.to_lowercase(), text(one.value))).collect(),
        body: bytes[start..].to_vec(),
    };
    if reply.header("transfer-encoding") == Some("chunked") {
        reply.body = without_chunks(&reply.body)?;
    } else if let Some(length) = reply.header("content-length") {
        let length: usize = length.parse().ok()?;
        let has_body = !matches!(reply.status, 204 | 304);
        if has_body && reply.body.len() != length {
            return None;
        }
    }
    Some(reply)
}

fn without_chunks(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let httparse::Status::Complete((start, size)) = httparse::parse_chunk_size(bytes).ok()? else {
            return None;
        };
        let end = start + usize::try_from(size).ok()?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(bytes.get(start..end)?);
        bytes = bytes.get(end + 2..)?;
    }
}
