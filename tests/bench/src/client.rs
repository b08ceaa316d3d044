//! The smallest client that keeps a connection: what is measured is the
//! daemon.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use anyhow::{Context as _, Result, ensure};

/// One kept connection.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
    host: String,
    token: Option<String>,
}

impl Client {
    pub(crate) fn new(address: &str, token: Option<&str>) -> Result<Self> {
        let stream = TcpStream::connect(address).with_context(|| format!("connecting to {address}"))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::new(stream), host: address.into(), token: token.map(str::to_owned) })
    }

    pub(crate) fn get(&mut self, path: &str) -> Result<String> {
        self.send("GET", path, "")
    }

    pub(crate) fn post(&mut self, path: &str, body: &str) -> Result<String> {
        self.send("POST", path, body)
    }

    fn send(&mut self, method: &str, path: &str, body: &str) -> Result<String> {
        let authorization =
            self.token.as_ref().map(|token| format!("authorization: Bearer {token}\r\n")).unwrap_or_default();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\n{authorization}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.host,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        let mut status = String::new();
        self.stream.read_line(&mut status)?;
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line)?;
            let lower = line.to_ascii_lowercase();
            if let Some(value) = lower.strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        let body = String::from_utf8(body)?;
        ensure!(status.contains(" 20"), "{method} {path}: {}: {body}", status.trim());
        Ok(body)
    }
}
