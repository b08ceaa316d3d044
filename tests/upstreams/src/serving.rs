//! A listener on loopback, served by a thread of its own.
//!
//! The thread is not the caller's runtime: a test that blocks its only worker
//! (by waiting for a child process, say) would otherwise wait for an upstream
//! that waits for it.

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// A bound listener that serves nothing yet, so that the server may be built
/// knowing its own address.
pub(crate) struct Bound {
    listener: TcpListener,
    pub(crate) addr: SocketAddr,
}

/// Binds `port` of 127.0.0.1, or one that is free where it is 0.
pub(crate) fn bind(port: u16) -> io::Result<Bound> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    listener.set_nonblocking(true)?;
    let addr = listener.local_addr()?;
    Ok(Bound { listener, addr })
}

/// A running server. Dropping it closes the port and every connection before
/// the drop returns.
#[derive(Debug)]
pub(crate) struct Server {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Bound {
    /// Serves each connection with `serve`, which also gets the connection's
    /// number, counted from 1.
    pub(crate) fn serve<Serve, Connection>(self, serve: Serve) -> io::Result<Server>
    where
        Serve: Fn(TcpStream, u64) -> Connection + Send + 'static,
        Connection: Future<Output = ()> + Send + 'static,
    {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let thread =
            std::thread::Builder::new().name(format!("upstream-{}", self.addr.port())).spawn(move || {
                if let Err(error) = runtime.block_on(accept(self.listener, serve, stopped)) {
                    eprintln!("an upstream stopped: {error}");
                }
            })?;
        Ok(Server { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was printed where it happened.
            let _ = thread.join();
        }
    }
}

async fn accept<Serve, Connection>(
    listener: TcpListener,
    serve: Serve,
    mut stopped: oneshot::Receiver<()>,
) -> io::Result<()>
where
    Serve: Fn(TcpStream, u64) -> Connection,
    Connection: Future<Output = ()> + Send + 'static,
{
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let mut connections = JoinSet::new();
    let mut last_connection = 0;
    loop {
        tokio::select! {
            _ = &mut stopped => return Ok(()),
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    // Without it the second write of an answer waits for an
                    // acknowledgement of the first, 40 ms on Linux.
                    let _ = stream.set_nodelay(true);
                    last_connection += 1;
                    connections.spawn(serve(stream, last_connection));
                }
                // Out of descriptors: some are freed as connections end.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            },
        }
    }
}
