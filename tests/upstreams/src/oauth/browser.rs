//! A person's browser, for tests: it blocks, follows nothing by itself, and
//! knows no more than plain HTTP on loopback.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use url::Url;

/// A page that stands still longer is an error.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a browser was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Of the answer.
    pub status: u16,
    /// Where a redirect leads to, as it was sent.
    pub location: Option<String>,
    /// As text.
    pub body: String,
}

/// Opens a URL and follows nothing.
///
/// # Errors
/// Where the URL is none of `http`, nobody listens there, or what is answered
/// is no HTTP.
pub fn open(url: &str) -> io::Result<Page> {
    let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    let url = Url::parse(url).map_err(|error| invalid(format!("{url:?}: {error}")))?;
    let host = url.host_str().filter(|_| url.scheme() == "http");
    let host = host.ok_or_else(|| invalid(format!("{url} is not plain HTTP")))?;
    let port = url.port().unwrap_or(80);
    let mut stream = TcpStream::connect((host.trim_matches(['[', ']']), port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let target = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    write!(stream, "GET {target} HTTP/1.1\r\nhost: {host}:{port}\r\nconnection: close\r\n\r\n")?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    page(&bytes).ok_or_else(|| invalid(format!("{url} answered no HTTP")))
}

/// Opens what `/authorize` is asked with, and where that leads to: the client's
/// own page, which gets the code. Answers that page.
///
/// # Errors
/// As [`open`], and where `/authorize` leads nowhere.
pub fn consent(authorize: &str) -> io::Result<Page> {
    let first = open(authorize)?;
    match &first.location {
        Some(location) => open(location),
        None => Err(io::Error::other(format!("/authorize answered {}: {}", first.status, first.body))),
    }
}

fn page(bytes: &[u8]) -> Option<Page> {
    let mut space = [httparse::EMPTY_HEADER; 128];
    let mut response = httparse::Response::new(&mut space);
    let httparse::Status::Complete(start) = response.parse(bytes).ok()? else {
        return None;
    };
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    let location = response.headers.iter().find(|one| one.name.eq_ignore_ascii_case("location"));
    Some(Page {
        status: response.code?,
        location: location.map(|one| text(one.value)),
        body: text(&bytes[start..]),
    })
}
