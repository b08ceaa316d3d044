//! The two sockets of a daemon.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tokio::net::{TcpListener, UnixListener};

use crate::holder::{PortHolder, port_holder};
use crate::options::Port;

/// Why a daemon can't listen.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Anybody on the network could read along.
    #[error(
        "{host} is no loopback address: without TLS anybody on the network could read along; give --tls-cert and --tls-key, or --behind-proxy where a proxy speaks TLS"
    )]
    NotLoopback {
        /// The address.
        host: IpAddr,
    },
    /// Another process listens there.
    #[error("port {port} is taken by {}", holder.as_ref().map_or_else(|| "another process".to_owned(), ToString::to_string))]
    PortTaken {
        /// The port.
        port: u16,
        /// Who listens there, where it can be known.
        holder: Option<PortHolder>,
    },
    /// The system refused the address.
    #[error("the daemon can't listen on {address}: {source}")]
    Address {
        /// The address.
        address: SocketAddr,
        /// The system's reason.
        source: io::Error,
    },
    /// Somebody answers on the socket of the home.
    #[error("another process answers on {}", path.display())]
    SocketTaken {
        /// The socket.
        path: PathBuf,
    },
    /// The system refused the socket.
    #[error("the daemon can't listen on {}: {source}", path.display())]
    Socket {
        /// The socket.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The certificate or its key can't be used.
    #[error("{}: {reason}", path.display())]
    Tls {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A name that no `Host` header can be.
    #[error("--allow-host takes a name, or a name and a port, and `{given}` is neither")]
    AllowHost {
        /// The text.
        given: String,
    },
}

/// Listens on a loopback address, or, where what goes over the network is
/// sealed, on any.
pub(crate) async fn tcp(host: IpAddr, port: Port, sealed: bool) -> Result<TcpListener, ServeError> {
    if !host.is_loopback() && !sealed {
        return Err(ServeError::NotLoopback { host });
    }
    let number = match port {
        Port::Fixed(port) => port,
        Port::Auto => 0,
    };
    let address = SocketAddr::new(host, number);
    TcpListener::bind(address).await.map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => ServeError::PortTaken { port: number, holder: port_holder(number) },
        _ => ServeError::Address { address, source },
    })
}

/// Listens on the home's socket. A file that a dead daemon left is replaced;
/// one that somebody answers on is not.
pub(crate) async fn unix(path: &Path) -> Result<UnixListener, ServeError> {
    let failed = |source| ServeError::Socket { path: path.to_owned(), source };
    match tokio::net::UnixStream::connect(path).await {
        Ok(_) => {
            return Err(ServeError::SocketTaken { path: path.to_owned() });
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path).map_err(failed)?
        }
        Err(error) => return Err(failed(error)),
    }
    let listener = UnixListener::bind(path).map_err(failed)?;
    // The home keeps others out already; the mode says so to whoever looks.
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).map_err(failed)?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_loopback_is_listened_on() {
        for host in ["0.0.0.0", "::", "192.0.2.1"] {
            let error = tcp(host.parse().unwrap(), Port::Auto, false).await.unwrap_err();
            assert!(matches!(error, ServeError::NotLoopback { .. }), "{error}");
        }
        tcp("127.0.0.1".parse().unwrap(), Port::Auto, false).await.unwrap();
        tcp("0.0.0.0".parse().unwrap(), Port::Auto, true).await.unwrap();
    }

    #[tokio::test]
    async fn a_taken_port_names_its_holder() {
        let first = tcp("127.0.0.1".parse().unwrap(), Port::Auto, false).await.unwrap();
        let port = first.local_addr().unwrap().port();
        let error =
            tcp("127.0.0.1".parse().unwrap(), Port::Fixed(port), false).await.unwrap_err().to_string();
        assert!(error.contains(&port.to_string()), "{error}");
        if Path::new("/proc/net/tcp").exists() {
            assert!(error.contains(&std::process::id().to_string()), "{error}");
        }
    }

    #[tokio::test]
    async fn a_socket_is_replaced_only_when_nobody_answers() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("executor.sock");
        let first = unix(&path).await.unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let taken = unix(&path).await.unwrap_err();
        assert!(matches!(taken, ServeError::SocketTaken { .. }), "{taken}");
        drop(first);
        unix(&path).await.unwrap();
        let deep = directory.path().join("x".repeat(200));
        assert!(matches!(unix(&deep).await.unwrap_err(), ServeError::Socket { .. }));
    }
}
