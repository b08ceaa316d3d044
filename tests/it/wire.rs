//! HTTP as a program writes it, header by header.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use crate::daemon::Daemon;

/// How long an answer may take; a stream that is read says less.
const PATIENCE: Duration = Duration::from_secs(60);

/// An answer, whole.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Response {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The error's code, where the answer is an error of this status.
    #[track_caller]
    pub(crate) fn refused(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{:?} {}", self.head, String::from_utf8_lossy(&self.body));
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }
}

/// A daemon's port, and whose token is shown to it.
pub(crate) struct Wire {
    authority: String,
    token: Option<String>,
}

impl Wire {
    /// Over TCP, in the owner's name.
    pub(crate) fn owner(daemon: &Daemon) -> Self {
        let token = std::fs::read_to_string(daemon.home().join("token")).unwrap();
        Self::with(daemon, Some(token.trim()))
    }

    /// Over TCP, with a token or none.
    pub(crate) fn with(daemon: &Daemon, token: Option<&str>) -> Self {
        let status = std::fs::read_to_string(daemon.home().join("daemon.json")).unwrap();
        let status: Value = serde_json::from_str(&status).unwrap();
        let authority = status["address"].as_str().unwrap().trim_start_matches("http://").to_owned();
        Self { authority, token: token.map(str::to_owned) }
    }

    pub(crate) fn get(&self, path: &str) -> Response {
        self.send("GET", path, &[], None)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Response {
        self.send("POST", path, &[], Some(body))
    }

    /// A request with headers of its own; one that is named `host` stands in
    /// place of the usual one.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Response {
        self.send_text(method, path, headers, &body.map(Value::to_string).unwrap_or_default())
    }

    /// The same with a body that need not be JSON.
    pub(crate) fn send_text(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Response {
        self.send_bytes(method, path, headers, body.as_bytes())
    }

    /// The same with a body of any bytes.
    pub(crate) fn send_bytes(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Response {
        receive(self.open(method, path, headers, body, body.len()))
    }

    /// The head of a request whose body would have so many bytes.
    pub(crate) fn announce(&self, method: &str, path: &str, bytes: usize) -> Response {
        receive(self.open(method, path, &[], b"", bytes))
    }

    /// A stream of events, after its head.
    pub(crate) fn events(&self, path: &str) -> (String, BufReader<TcpStream>) {
        self.events_with(path, &[])
    }

    /// The same with headers.
    pub(crate) fn events_with(&self, path: &str, headers: &[(&str, &str)]) -> (String, BufReader<TcpStream>) {
        let mut reader = BufReader::new(self.open("GET", path, headers, b"", 0));
        let head = read_head(&mut reader);
        (head, reader)
    }

    /// What a browser calls the daemon's own pages' origin.
    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.authority)
    }

    fn open(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
        length: usize,
    ) -> TcpStream {
        let mut text =
            format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {length}\r\n");
        if !headers.iter().any(|(name, _)| *name == "host") {
            text += &format!("host: {}\r\n", self.authority);
        }
        if let Some(token) = &self.token {
            text += &format!("authorization: Bearer {token}\r\n");
        }
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        let mut stream = TcpStream::connect(&self.authority).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(format!("{text}\r\n").as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        stream
    }
}

fn receive(stream: TcpStream) -> Response {
    let mut reader = BufReader::new(stream);
    let head = read_head(&mut reader);
    let mut body = Vec::new();
    reader.read_to_end(&mut body).unwrap();
    if head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
        body = unchunked(&body);
    }
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Response { status, head, body }
}

fn read_head(reader: &mut impl std::io::BufRead) -> String {
    let mut head = String::new();
    loop {
        let before = head.len();
        reader.read_line(&mut head).unwrap();
        if head.len() - before <= 2 {
            return head;
        }
    }
}

fn unchunked(mut body: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    loop {
        let end = body.windows(2).position(|pair| pair == b"\r\n").unwrap();
        let length = usize::from_str_radix(std::str::from_utf8(&body[..end]).unwrap().trim(), 16).unwrap();
        if length == 0 {
            return whole;
        }
        whole.extend_from_slice(&body[end + 2..end + 2 + length]);
        body = &body[end + 2 + length + 2..];
    }
}

/// The next event's kind and data.
pub(crate) fn next_event(stream: &mut BufReader<TcpStream>) -> (String, Value) {
    let (mut kind, mut data) = (String::new(), Value::Null);
    loop {
        let mut line = String::new();
        assert!(stream.read_line(&mut line).unwrap() > 0, "the stream ended");
        // Chunk sizes stand between the lines, and are none of them.
        if let Some(text) = line.trim_end().strip_prefix("event: ") {
            kind = text.to_owned();
        } else if let Some(text) = line.trim_end().strip_prefix("data: ") {
            data = serde_json::from_str(text).unwrap();
        } else if line.trim().is_empty() && !kind.is_empty() {
            return (kind, data);
        }
    }
}
