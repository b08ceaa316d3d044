//! Connections to the collector, with TLS where its URL says https.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::Config;

/// Makes connections.
#[derive(Clone)]
pub(super) struct Connector {
    tls: Option<TlsConnector>,
}

impl std::fmt::Debug for Connector {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Connector").field("tls", &self.tls.is_some()).finish()
    }
}

impl Connector {
    /// Reads the certificate authorities that are to be trusted, where TLS is
    /// spoken at all.
    pub(super) fn new(config: &Config) -> Result<Self, String> {
        if !config.endpoint.starts_with("https:") {
            return Ok(Self { tls: None });
        }
        let roots = match &config.certificate {
            Some(path) => given(path).map_err(|error| format!("{}: {error}", path.display()))?,
            None => machines()?,
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self { tls: Some(Arc::new(tls).into()) })
    }

    async fn connect(self, uri: Uri) -> io::Result<TokioIo<Stream>> {
        let host = uri.host().unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = uri.port_u16().unwrap_or(if self.tls.is_some() { 443 } else { 80 });
        let tcp = TcpStream::connect((bare.as_str(), port)).await?;
        let Some(tls) = self.tls else {
            return Ok(TokioIo::new(Stream(Box::pin(tcp))));
        };
        let name =
            ServerName::try_from(bare).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        Ok(TokioIo::new(Stream(Box::pin(tls.connect(name, tcp).await?))))
    }
}

fn given(path: &std::path::Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| error.to_string())? {
        let certificate = certificate.map_err(|error| error.to_string())?;
        roots.add(certificate).map_err(|error| error.to_string())?;
    }
    if roots.is_empty() { Err("it holds no certificate".into()) } else { Ok(roots) }
}

fn machines() -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if added == 0 {
        return Err("this machine has no certificate authorities: install ca-certificates, or name a file in OTEL_EXPORTER_OTLP_CERTIFICATE".into());
    }
    Ok(roots)
}

impl tower_service::Service<Uri> for Connector {
    type Response = TokioIo<Stream>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<TokioIo<Stream>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        Box::pin(self.clone().connect(uri))
    }
}

trait Bytes: AsyncRead + AsyncWrite + Send {}

impl<T: AsyncRead + AsyncWrite + Send> Bytes for T {}

/// A connection, with or without TLS.
pub(super) struct Stream(Pin<Box<dyn Bytes>>);

impl Connection for Stream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.0.as_mut().poll_read(cx, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.as_mut().poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.as_mut().poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.as_mut().poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::otlp::Variables;
    use rustls::pki_types::PrivateKeyDer;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    /// Of `localhost`, made for this test, good for a hundred years.
    const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\n\
        MIIBkzCCATigAwIBAgIUDJLKHl41k0EKnbKZCNkuwmwfAtswCgYIKoZIzj0EAwIw\n\
        FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEzMDE1MjEwOFoYDzIxMjYxMTA2\n\
        MTUyMTA4WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO\n\
        PQMBBwNCAAQWqJj/5OUUcYSxveIK+60V+RjI4ysRKZLR8F5skWt1Lta17j6r7Lgk\n\
        6Uy/tapJMEilR/KrSM49ZzE7i8W+t1VXo2YwZDAdBgNVHQ4EFgQU/9RP45no4uBE\n\
        Fswqe2AG9wm+MkMwHwYDVR0jBBgwFoAU/9RP45no4uBEFswqe2AG9wm+MkMwFAYD\n\
        VR0RBA0wC4IJbG9jYWxob3N0MAwGA1UdEwEB/wQCMAAwCgYIKoZIzj0EAwIDSQAw\n\
        RgIhAKATS9H1lQuqRmge2RCJvP+/EqTpWEj6tTfOGiElOGRJAiEAzfsYAR2pzkvf\n\
        407YaB83PWj3IIlXmO9yCEqoYFjt3HI=\n\
        -----END CERTIFICATE-----";
    const KEY: &str = "-----BEGIN PRIVATE KEY-----\n\
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgqRt7YqSTRzViGHqE\n\
        +8jJmS92mgKH7kkaPFQcSVbQB22hRANCAAQWqJj/5OUUcYSxveIK+60V+RjI4ysR\n\
        KZLR8F5skWt1Lta17j6r7Lgk6Uy/tapJMEilR/KrSM49ZzE7i8W+t1VX\n\
        -----END PRIVATE KEY-----";

    fn acceptor() -> tokio_rustls::TlsAcceptor {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let certificate = CertificateDer::from_pem_slice(CERTIFICATE.as_bytes()).unwrap();
        let key = PrivateKeyDer::from_pem_slice(KEY.as_bytes()).unwrap();
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        Arc::new(config).into()
    }

    fn config(endpoint: &str, certificate: Option<&std::path::Path>) -> Config {
        let certificate = certificate.map(|path| path.display().to_string());
        let variables =
            Variables { traces_endpoint: Some(endpoint.into()), certificate, ..Variables::default() };
        Config::of(&variables).unwrap().unwrap()
    }

    #[tokio::test]
    async fn tls_is_spoken_with_whom_the_given_authorities_vouch_for() {
        let directory = tempfile::tempdir().unwrap();
        let trusted = directory.path().join("ca.pem");
        std::fs::write(&trusted, CERTIFICATE).unwrap();
        let listener = TcpListener::bind("localhost:0").await.unwrap();
        let local = listener.local_addr().unwrap();
        let (port, address) = (local.port(), if local.is_ipv6() { "[::1]" } else { "127.0.0.1" });
        let accepted = tokio::spawn(async move {
            let acceptor = acceptor();
            let (stream, _) = listener.accept().await.unwrap();
            let mut stream = acceptor.accept(stream).await.unwrap();
            let mut said = [0; 5];
            stream.read_exact(&mut said).await.unwrap();
            let (other, _) = listener.accept().await.unwrap();
            assert!(acceptor.accept(other).await.is_err(), "the client hangs up");
            said
        });
        let uri = |host: &str| format!("https://{host}:{port}/").parse::<Uri>().unwrap();
        let connector = Connector::new(&config("https://localhost/", Some(&trusted))).unwrap();
        let stream = connector.clone().connect(uri("localhost")).await.unwrap();
        stream.into_inner().write_all(b"hello").await.unwrap();
        let refused = connector.connect(uri(address)).await;
        assert!(refused.is_err(), "the certificate is of another name");
        let said = accepted.await.unwrap();
        assert_eq!(&said, b"hello");
    }

    #[test]
    fn authorities_that_cannot_be_read_are_named() {
        let directory = tempfile::tempdir().unwrap();
        let empty = directory.path().join("empty.pem");
        std::fs::write(&empty, "").unwrap();
        for path in [empty, directory.path().join("missing.pem")] {
            let error = Connector::new(&config("https://localhost/", Some(&path))).unwrap_err();
            assert!(error.contains(path.to_str().unwrap()), "{error}");
        }
        Connector::new(&config("http://localhost/", None)).unwrap();
    }
}
