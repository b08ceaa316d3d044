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

use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::HostPort;
use super::address::special;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

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
    #[error("{host} has no trustworthy certificate: {source}")]
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
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for address in addresses {
            match TcpStream::connect(address).await {
                Ok(stream) => {
                    stream.set_nodelay(true).ok();
                    return Ok(stream);
                }
                Err(error) => last = error,
            }
        }
        Err(ConnectError::Refused { host: name.clone(), source: last })
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

async fn connect_tls(host: &str, tcp: TcpStream) -> io::Result<TlsStream<TcpStream>> {
    let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let name =
        ServerName::try_from(bare).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    tls_connector()?.connect(name, tcp).await
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
