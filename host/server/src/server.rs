//! A daemon's sockets, from bound to closed.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use executor_control::Control;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::access::{Access, Shown};
use crate::connection::{self, Door, Transport};
use crate::http::{App, Tickets, router};
use crate::listen::{self, ServeError};
use crate::mcp::{McpServer, McpTransport};
use crate::options::{Sealing, ServeOptions};
use crate::tls;

/// Connections at once; more wait until one ends.
const CONNECTION_LIMIT: usize = 4096;
/// What running requests get when the daemon is to end.
const GRACE: Duration = Duration::from_secs(5);
/// How long a client may take over a TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// The pause after a connection could not be taken, as when the process has
/// too many files open.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A daemon whose sockets are open: connections wait until it serves.
pub struct Server {
    tcp: TcpListener,
    tls: Option<TlsAcceptor>,
    unix: UnixListener,
    socket: PathBuf,
    url: String,
    door: Arc<Door>,
    stop: watch::Sender<bool>,
}

/// Binds the sockets and serves until `shutdown` resolves or somebody posts
/// `/v1/shutdown`.
///
/// # Errors
/// As [`Server::bind`].
pub async fn serve(
    control: Control,
    options: ServeOptions,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    Server::bind(control, options).await?.serve(shutdown).await;
    Ok(())
}

impl Server {
    /// Opens the loopback port and the home's socket, and leaves a note in
    /// the home of where that is.
    ///
    /// # Errors
    /// The address is not loopback, the port or the socket is taken or
    /// refused, or an allowed host is no name.
    pub async fn bind(control: Control, options: ServeOptions) -> Result<Self, ServeError> {
        let tls = match &options.sealing {
            Sealing::Tls { certificate, key } => Some(tls::acceptor(certificate, key)?),
            Sealing::Nothing | Sealing::Proxy => None,
        };
        let sealed = options.sealing != Sealing::Nothing;
        let tcp = listen::tcp(options.host, options.port, sealed).await?;
        let asked = SocketAddr::new(options.host, 0);
        let address = tcp.local_addr().map_err(|source| ServeError::Address { address: asked, source })?;
        let checking = control.clone();
        let access = Access::new(address, &options.allow_hosts, move |shown, asking| match shown {
            Shown::Token(token) => checking.authenticate(token, asking.client, asking.surface),
            Shown::Session(secret) => checking.authenticate_session(secret, asking.surface),
            Shown::Socket => Some(checking.at_the_machine(asking.client, asking.surface)),
        })?;
        let socket = control.socket();
        let unix = listen::unix(&socket).await?;
        let (stop, _) = watch::channel(false);
        let url = format!("{}://{address}", if tls.is_some() { "https" } else { "http" });
        let tickets = Arc::<Tickets>::default();
        let note = json!({
            "pid": std::process::id(), "address": url, "socket": socket.display().to_string(),
            "version": env!("CARGO_PKG_VERSION"),
        });
        control.write_status(&note.to_string());
        let mcp = {
            let (control, stopping) = (control.clone(), stop.subscribe());
            McpTransport::new(move || McpServer::new(control.clone(), stopping.clone()), stop.subscribe())
        };
        let app = App {
            control,
            address: url.clone(),
            public: public_url(&options, &url, address.port()),
            sealed,
            stop: stop.clone(),
            tickets: tickets.clone(),
            mcp,
        };
        let proxied = options.sealing == Sealing::Proxy;
        let door = Arc::new(Door { access, router: router(Arc::new(app)), tickets, proxied });
        Ok(Self { tcp, tls, unix, socket, url, door, stop })
    }

    /// Where it listens: `http://127.0.0.1:4788`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Serves until `shutdown` resolves or somebody posts `/v1/shutdown`.
    /// Running requests get five seconds more.
    pub async fn serve(self, shutdown: impl Future<Output = ()>) {
        let mut connections = JoinSet::new();
        self.accept(&mut connections, shutdown).await;
        self.stop.send_replace(true);
        let Self { tcp, unix, socket, .. } = self;
        drop((tcp, unix));
        // The next daemon replaces it too; this is for whoever looks.
        let _ = std::fs::remove_file(&socket);
        let finished = async { while connections.join_next().await.is_some() {} };
        if tokio::time::timeout(GRACE, finished).await.is_err() {
            tracing::warn!(connections = connections.len(), "requests were still running and are cut off");
            connections.shutdown().await;
        }
    }

    async fn accept(&self, connections: &mut JoinSet<()>, shutdown: impl Future<Output = ()>) {
        let mut shutdown = pin!(shutdown);
        let mut stop = self.stop.subscribe();
        loop {
            let room = connections.len() < CONNECTION_LIMIT;
            let taken = tokio::select! {
                biased;
                () = shutdown.as_mut() => return,
                () = connection::stopped(&mut stop) => return,
                taken = self.tcp.accept(), if room => taken.map(|(stream, peer)| Taken::Tcp(stream, peer.ip())),
                taken = self.unix.accept(), if room => taken.map(|(stream, _)| Taken::Unix(stream)),
                Some(_) = connections.join_next(), if !connections.is_empty() => continue,
            };
            match taken {
                Ok(Taken::Tcp(stream, peer)) => self.take_tcp(connections, stream, peer),
                Ok(Taken::Unix(stream)) => self.take_unix(connections, stream),
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be taken");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    fn take_tcp(&self, connections: &mut JoinSet<()>, stream: TcpStream, peer: IpAddr) {
        // Without it small answers wait for acknowledgements.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY was refused");
        }
        let (door, stop) = (self.door.clone(), self.stop.subscribe());
        match self.tls.clone() {
            None => connections.spawn(connection::serve(door, stream, Transport::Tcp(peer), stop)),
            Some(tls) => connections.spawn(async move {
                match tokio::time::timeout(HANDSHAKE_TIMEOUT, tls.accept(stream)).await {
                    Ok(Ok(stream)) => connection::serve(door, stream, Transport::Tcp(peer), stop).await,
                    Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
                    Err(_) => tracing::debug!("a TLS handshake took too long"),
                }
            }),
        };
    }

    fn take_unix(&self, connections: &mut JoinSet<()>, stream: UnixStream) {
        match same_user(&stream) {
            Ok(true) => {
                let serving =
                    connection::serve(self.door.clone(), stream, Transport::Unix, self.stop.subscribe());
                connections.spawn(serving);
            }
            Ok(false) => tracing::warn!("a process of another user tried the socket"),
            Err(error) => tracing::warn!(%error, "the system does not say who tried the socket"),
        }
    }
}

enum Taken {
    Tcp(TcpStream, IpAddr),
    Unix(UnixStream),
}

/// The address to give to people: by the first name that was allowed where
/// what goes over the network is sealed, since its certificate is for names.
fn public_url(options: &ServeOptions, url: &str, port: u16) -> String {
    match (options.allow_hosts.first(), &options.sealing) {
        (Some(name), Sealing::Proxy) => format!("https://{name}"),
        (Some(name), Sealing::Tls { .. }) if name.contains(':') || port == 443 => format!("https://{name}"),
        (Some(name), Sealing::Tls { .. }) => format!("https://{name}:{port}"),
        _ => url.to_owned(),
    }
}

fn same_user(stream: &UnixStream) -> io::Result<bool> {
    Ok(stream.peer_cred()?.uid() == rustix::process::geteuid().as_raw())
}
