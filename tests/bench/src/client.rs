//! The smallest client that keeps a connection: what is measured is the
//! daemon.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

/// The longest that one answer may take: the peer's memory hog needs 18 s.
const PATIENCE: Duration = Duration::from_secs(120);

/// One kept connection.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
    host: String,
    token: Option<String>,
}

/// What came back.
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) body: String,
    headers: Vec<(String, String)>,
}

impl Response {
    /// A header's value, by its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

impl Client {
    pub(crate) fn new(address: &str, token: Option<&str>) -> Result<Self> {
        let stream = TcpStream::connect(address).with_context(|| format!("connecting to {address}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { stream: BufReader::new(stream), host: address.into(), token: token.map(str::to_owned) })
    }

    pub(crate) fn get(&mut self, path: &str) -> Result<String> {
        self.succeed("GET", path, "")
    }

    pub(crate) fn post(&mut self, path: &str, body: &str) -> Result<String> {
        self.succeed("POST", path, body)
    }

    pub(crate) fn delete(&mut self, path: &str) -> Result<String> {
        self.succeed("DELETE", path, "")
    }

    fn succeed(&mut self, method: &str, path: &str, body: &str) -> Result<String> {
        let response = self.send(method, path, "", body)?;
        ensure!(
            (200..300).contains(&response.status),
            "{method} {path}: {}: {}",
            response.status,
            beginning(&response.body)
        );
        Ok(response.body)
    }

    /// One exchange; `more` is further header lines, each with its end.
    pub(crate) fn send(&mut self, method: &str, path: &str, more: &str, body: &str) -> Result<Response> {
        let authorization =
            self.token.as_ref().map(|token| format!("authorization: Bearer {token}\r\n")).unwrap_or_default();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\n{authorization}{more}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.host,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        let line = self.line()?;
        let status = line.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.with_context(|| format!("not a status line: {line:?}"))?;
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut response = Response { status, body: String::new(), headers };
        let body = match (response.header("content-length"), response.header("transfer-encoding")) {
            (Some(length), _) => self.bytes(length.parse()?)?,
            (None, Some(_)) => self.chunks()?,
            (None, None) => Vec::new(),
        };
        response.body = String::from_utf8(body)?;
        Ok(response)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        ensure!(self.stream.read_line(&mut line)? > 0, "{} closed the connection", self.host);
        Ok(line.trim_end().to_owned())
    }

    fn bytes(&mut self, count: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; count];
        self.stream.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn chunks(&mut self) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = self.line()?;
            let count = usize::from_str_radix(line.split(';').next().unwrap_or_default().trim(), 16)
                .with_context(|| format!("not a chunk's length: {line:?}"))?;
            body.extend(self.bytes(count)?);
            self.line()?;
            if count == 0 {
                return Ok(body);
            }
        }
    }
}

/// As much of an answer as a message should carry.
pub(crate) fn beginning(text: &str) -> &str {
    text.char_indices().nth(300).map_or(text, |(end, _)| &text[..end])
}
