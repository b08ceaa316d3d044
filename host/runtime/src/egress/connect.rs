//! Connects to the address that was checked: names are resolved once, every
//! special address is refused unless that very host was granted, and the
//! connection goes to the address that passed.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use rustls::CertificateError;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::HostPort;
use super::address::special;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long an address has to itself before the next is tried beside it (RFC
/// 8305, section 5).
const NEXT_ADDRESS: Duration = Duration::from_millis(250);

/// Why no connection came about. Nothing was sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    #[error("{host} has no address: {source}")]
    Resolve { host: String, source: io::Error },
    #[error("{host} resolves to {address}, which is {range}")]
    Special { host: HostPort, address: SocketAddr, range: &'static str },
    #[error("{host} does not answer: {source}")]
    Refused { host: HostPort, source: io::Error },
    #[error("{host} does not answer within {} s", CONNECT_TIMEOUT.as_secs())]
    Timeout { host: HostPort },
    #[error("{host} {}", tls_reason(.source))]
    Tls { host: HostPort, source: io::Error },
}

/// Makes connections for one source.
#[derive(Clone)]
pub(crate) struct Connector {
    granted: Arc<[HostPort]>,
}

impl Connector {
    pub(crate) fn new(granted: &[HostPort]) -> Self {
        Self { granted: granted.into() }
    }

    async fn connect(self, uri: Uri) -> Result<Stream, ConnectError> {
        let host = uri.host().unwrap_or_default().to_owned();
        let tls = uri.scheme_str() == Some("https");
        let port = uri.port_u16().unwrap_or(if tls { 443 } else { 80 });
        let name = HostPort::new(&host, port);
        let timeout = || ConnectError::Timeout { host: name.clone() };
        let tcp = tokio::time::timeout(CONNECT_TIMEOUT, self.connect_tcp(&host, port, &name));
        let tcp = tcp.await.map_err(|_| timeout())??;
        if !tls {
            return Ok(Stream::Plain(TokioIo::new(tcp)));
        }
        let handshake = tokio::time::timeout(CONNECT_TIMEOUT, connect_tls(&host, tcp));
        let tls = handshake.await.map_err(|_| timeout())?;
        let tls = tls.map_err(|source| ConnectError::Tls { host: name.clone(), source })?;
        Ok(Stream::Tls(Box::new(TokioIo::new(tls))))
    }

    async fn connect_tcp(&self, host: &str, port: u16, name: &HostPort) -> Result<TcpStream, ConnectError> {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let resolve = |source| ConnectError::Resolve { host: host.to_owned(), source };
        let addresses: Vec<SocketAddr> =
            tokio::net::lookup_host((bare, port)).await.map_err(resolve)?.collect();
        self.check(name, &addresses)?;
        let stream = first_of(addresses).await;
        let stream = stream.map_err(|source| ConnectError::Refused { host: name.clone(), source })?;
        stream.set_nodelay(true).ok();
        Ok(stream)
    }

    /// One special address among several is enough to refuse the name.
    fn check(&self, name: &HostPort, addresses: &[SocketAddr]) -> Result<(), ConnectError> {
        if self.granted.contains(name) {
            return Ok(());
        }
        match addresses.iter().find_map(|address| Some((*address, special(address.ip())?))) {
            Some((address, range)) => Err(ConnectError::Special { host: name.clone(), address, range }),
            None => Ok(()),
        }
    }
}

/// Connects to whichever address answers first, tried in their order. One that
/// says nothing, as behind a route that leads nowhere, holds up no other.
async fn first_of(addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
    let (mut waiting, mut tried) = (addresses.into_iter(), FuturesUnordered::new());
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    loop {
        tried.extend(waiting.next().map(TcpStream::connect));
        let answered = if waiting.len() == 0 {
            tried.next().await
        } else {
            match tokio::time::timeout(NEXT_ADDRESS, tried.next()).await {
                Ok(answered) => answered,
                Err(_) => continue,
            }
        };
        match answered {
            Some(Ok(stream)) => return Ok(stream),
            Some(Err(error)) => last = error,
            None => return Err(last),
        }
    }
}

async fn connect_tls(host: &str, tcp: TcpStream) -> io::Result<TlsStream<TcpStream>> {
    let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let name =
        ServerName::try_from(bare).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    tls_connector()?.connect(name, tcp).await
}

/// What is wrong with a server's TLS, and what can be done about it.
fn tls_reason(error: &io::Error) -> String {
    let Some(error) = error.get_ref().and_then(|error| error.downcast_ref::<rustls::Error>()) else {
        return format!("can't be talked to by TLS: {error}");
    };
    match error {
        rustls::Error::InvalidMessage(_) => "speaks no TLS on this port: is it http?".to_owned(),
        rustls::Error::InvalidCertificate(fault) => match fault {
            CertificateError::UnknownIssuer | CertificateError::Other(_) => {
                "has a certificate that is self-signed, or of an authority that this machine does not trust: add that one to the machine's (`update-ca-certificates`), then restart the daemon".to_owned()
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "has a certificate that has expired (or this machine's clock is wrong)".to_owned()
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "has a certificate of another name".to_owned()
            }
            fault => format!("has a certificate that can't be trusted: {fault}"),
        },
        error => format!("can't be talked to by TLS: {error}"),
    }
}

/// The machine's own certificate authorities, read when TLS is first used.
fn tls_connector() -> io::Result<TlsConnector> {
    static CONFIG: OnceLock<Result<Arc<rustls::ClientConfig>, String>> = OnceLock::new();
    let config = CONFIG.get_or_init(|| {
        let mut roots = rustls::RootCertStore::empty();
        let found = rustls_native_certs::load_native_certs();
        let (added, _) = roots.add_parsable_certificates(found.certs);
        if added == 0 {
            return Err("this machine has no certificate authorities: install ca-certificates".into());
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
    });
    match config {
        Ok(config) => Ok(TlsConnector::from(config.clone())),
        Err(message) => Err(io::Error::new(io::ErrorKind::NotFound, message.clone())),
    }
}

impl tower_service::Service<Uri> for Connector {
    type Response = Stream;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<Stream, ConnectError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        Box::pin(self.clone().connect(uri))
    }
}

/// A connection, with or without TLS.
pub(crate) enum Stream {
    Plain(TokioIo<TcpStream>),
    Tls(Box<TokioIo<TlsStream<TcpStream>>>),
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl Read for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_read(cx, buffer),
        }
    }
}

impl Write for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_shutdown(cx),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, TcpSocket};

    use super::*;

    /// An address that answers no more: as many as it takes wait already.
    async fn silent() -> (SocketAddr, Vec<TcpStream>, TcpListener) {
        let socket = TcpSocket::new_v4().expect("loopback works");
        socket.bind("127.0.0.1:0".parse().expect("loopback works")).expect("loopback works");
        let listener = socket.listen(1).expect("loopback works");
        let (address, mut waiting) = (listener.local_addr().expect("loopback works"), Vec::new());
        while let Ok(stream) =
            tokio::time::timeout(Duration::from_millis(200), TcpStream::connect(address)).await
        {
            waiting.push(stream.expect("loopback works"));
        }
        (address, waiting, listener)
    }

    #[test]
    fn what_is_wrong_with_tls_is_said_in_words() {
        let check = |error: rustls::Error, part: &str| {
            let error = ConnectError::Tls {
                host: HostPort::new("api.test", 443),
                source: io::Error::new(io::ErrorKind::InvalidData, error),
            };
            let said = error.to_string();
            assert!(said.starts_with("api.test:443 ") && said.contains(part), "{said}");
        };
        check(rustls::InvalidMessage::InvalidContentType.into(), "speaks no TLS");
        check(CertificateError::UnknownIssuer.into(), "self-signed");
        check(CertificateError::Expired.into(), "has expired");
        check(CertificateError::NotValidForName.into(), "of another name");
        check(CertificateError::Revoked.into(), "can't be trusted: Revoked");
        check(rustls::Error::HandshakeNotComplete, "by TLS: handshake not complete");
    }

    #[tokio::test]
    async fn an_address_that_says_nothing_holds_up_no_other() {
        let (silent, _waiting, _listener) = silent().await;
        let live = TcpListener::bind("127.0.0.1:0").await.expect("loopback works");
        let refused = TcpListener::bind("127.0.0.1:0")
            .await
            .expect("loopback works")
            .local_addr()
            .expect("loopback works");
        let live_at = live.local_addr().expect("loopback works");
        for addresses in [vec![silent, live_at], vec![refused, silent, live_at], vec![live_at, silent]] {
            let connected = tokio::time::timeout(Duration::from_secs(5), first_of(addresses.clone())).await;
            let stream =
                connected.unwrap_or_else(|_| panic!("{addresses:?} took too long")).expect("loopback works");
            assert_eq!(stream.peer_addr().expect("loopback works"), live_at);
        }
        let error = first_of(vec![refused, refused]).await.expect_err("nobody answers");
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        assert_eq!(first_of(Vec::new()).await.expect_err("nobody answers").kind(), io::ErrorKind::NotFound);
    }
}
