//! An emulator of a GraphQL API over real state: unions, interfaces, pages,
//! uploads, a `@oneOf` input, limits of depth, introspection that can be off,
//! and faults by request.
//!
//! ```no_run
//! # async fn example() -> std::io::Result<()> {
//! use executor_upstreams::graphql::{self, Config, Fault};
//!
//! let emulator = graphql::start(Config { depth: Some(9), ..Config::default() }).await?;
//! emulator.fault(Fault::Partial, 1);
//! // … POST to emulator.endpoint() …
//! assert_eq!(emulator.ledger.matching("POST", "/graphql").len(), 1);
//! # Ok(())
//! # }
//! ```

mod faults;
mod schema;
mod serve;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

pub use faults::Fault;

use crate::ledger::{Keep, Ledger};
use crate::plain::{self, Upstream};

/// What `require_token` asks for, as a bearer token.
pub const TOKEN: &str = "emulator-token";

/// How an emulator starts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Config {
    /// On 127.0.0.1; 0 takes one that is free.
    pub port: u16,
    /// Whether introspection is refused.
    pub introspection_off: bool,
    /// How deep a query may be.
    pub depth: Option<usize>,
    /// Whether every request needs [`TOKEN`].
    pub require_token: bool,
    /// The status of what is no POST; 400, with a body that is GraphQL's,
    /// unless it is said.
    pub on_get: Option<u16>,
}

/// A running emulator; ends when dropped.
pub struct Emulator {
    pub addr: SocketAddr,
    pub ledger: Ledger,
    shared: Arc<serve::Shared>,
    upstream: Upstream,
}

impl Emulator {
    /// Where it is: `http://127.0.0.1:4000`.
    pub fn origin(&self) -> &str {
        self.upstream.origin()
    }

    /// Where it takes operations.
    pub fn endpoint(&self) -> String {
        format!("{}/graphql", self.origin())
    }

    /// Makes the next so many operations misbehave.
    pub fn fault(&self, fault: Fault, times: u32) {
        self.shared.faults.add(fault, times);
    }

    /// The titles of the books that there are now.
    pub fn titles(&self) -> Vec<String> {
        self.shared.state.titles()
    }
}

/// Starts an emulator.
///
/// # Errors
/// Where the port can't be bound, or no thread be had.
pub async fn start(config: Config) -> io::Result<Emulator> {
    let shared = Arc::new(serve::Shared::new(config));
    let served = Arc::clone(&shared);
    let plain = plain::Config { port: config.port, keep: Keep::Entries };
    let upstream = plain::start_with(plain, move |request| serve::answer(&served, request)).await?;
    Ok(Emulator { addr: upstream.addr, ledger: upstream.ledger.clone(), shared, upstream })
}
