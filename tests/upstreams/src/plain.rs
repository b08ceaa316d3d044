//! A bare HTTP/1.1 server over a socket: each answer is bytes that were made
//! beforehand, sent in one write. For benchmarks, and for what an HTTP library
//! would not send.
//!
//! ```no_run
//! # async fn example() -> std::io::Result<()> {
//! use executor_upstreams::plain::{self, Answer, Routes};
//!
//! let routes = Routes::new()
//!     .on("GET", "/hello", Answer::text(200, "hello"))
//!     .on("GET", "/flood", Answer::headers_flood(100_000));
//! let upstream = plain::start(routes.handler()).await?;
//! // … call http://{upstream.addr}/hello …
//! assert_eq!(upstream.ledger.matching("GET", "/hello").len(), 1);
//! # Ok(())
//! # }
//! ```

mod answer;
mod connection;
mod request;
mod routes;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

pub use answer::Answer;
pub use request::Request;
pub use routes::Routes;

use crate::ledger::{Keep, Ledger};
use crate::serving::{self, Server};

/// How a plain upstream starts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Config {
    /// On 127.0.0.1; 0 takes one that is free.
    pub port: u16,
    /// What the ledger keeps; a benchmark wants [`Keep::Count`].
    pub keep: Keep,
}

/// A running upstream; ends when dropped.
#[derive(Debug)]
pub struct Upstream {
    pub addr: SocketAddr,
    pub ledger: Ledger,
    origin: String,
    _server: Server,
}

impl Upstream {
    /// Where it is, without a slash at the end: `http://127.0.0.1:4000`.
    pub fn origin(&self) -> &str {
        &self.origin
    }
}

/// Starts an upstream that answers each request with what `handler` says.
///
/// # Errors
/// Where no port can be bound, or no thread be had.
pub async fn start<Handler>(handler: Handler) -> io::Result<Upstream>
where
    Handler: Fn(&Request<'_>) -> Answer + Send + Sync + 'static,
{
    start_with(Config::default(), handler).await
}

/// As [`start`], with a port or a ledger of one's choice.
///
/// # Errors
/// Where the port can't be bound, or no thread be had.
pub async fn start_with<Handler>(config: Config, handler: Handler) -> io::Result<Upstream>
where
    Handler: Fn(&Request<'_>) -> Answer + Send + Sync + 'static,
{
    start_at(config, |_| handler)
}

/// As [`start_with`], for a handler that has to know where it is.
///
/// # Errors
/// Where the port can't be bound, or no thread be had.
pub(crate) fn start_at<Handler>(
    config: Config,
    handler: impl FnOnce(SocketAddr) -> Handler,
) -> io::Result<Upstream>
where
    Handler: Fn(&Request<'_>) -> Answer + Send + Sync + 'static,
{
    let bound = serving::bind(config.port)?;
    let addr = bound.addr;
    let handler = handler(addr);
    let ledger = Ledger::new(config.keep);
    let shared = Arc::new(connection::Shared { handler, ledger: ledger.clone() });
    let server = bound.serve(move |stream, number| {
        let shared = Arc::clone(&shared);
        async move {
            // A connection that breaks is the client's affair, or was asked for.
            let _ = connection::serve(stream, number, &shared).await;
        }
    })?;
    Ok(Upstream { addr, ledger, origin: format!("http://{addr}"), _server: server })
}
