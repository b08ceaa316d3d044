//! An emulator of GitHub's REST API over real state.
//!
//! Its operations, shapes and refusals follow GitHub's own OpenAPI document
//! (npm `@octokit/openapi` 23.0.2, `generated/api.github.com.json`); the seed
//! data is the same at each start, and so are ids, times and hashes.
//!
//! ```no_run
//! # async fn example() -> std::io::Result<()> {
//! use executor_upstreams::github::{self, Config, Fault, FaultKind};
//!
//! let emulator = github::start(Config::default()).await?;
//! emulator.fault(Fault::new("GET", "/user", FaultKind::ServerError).times(2));
//! // … call http://{emulator.addr}/user …
//! assert_eq!(emulator.ledger.matching("GET", "/user").len(), 3);
//! # Ok(())
//! # }
//! ```

mod accounts;
mod answers;
mod app;
mod authentication;
mod branches;
mod call;
mod clock;
mod comments;
mod commits;
mod contents;
mod control;
mod document;
mod encoding;
mod faults;
mod fields;
mod gists;
mod history;
mod issues;
mod labels;
mod listing;
mod meta;
mod milestones;
mod misbehaviour;
mod organizations;
mod pages;
mod pipeline;
mod pulls;
mod rates;
mod reactions;
mod refusals;
mod repositories;
mod routes;
mod search;
mod seed;
mod stars;
mod state;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;

pub use faults::{Fault, FaultKind};

use crate::ledger::Ledger;
use crate::serving::{self, Server};
use crate::wire::Wire;
use app::App;

/// The token that [`Config::default`] accepts, as `octocat`.
pub const TOKEN: &str = "emulator-token";

/// How an emulator starts.
#[derive(Clone, Debug)]
pub struct Config {
    /// On 127.0.0.1; 0 takes one that is free.
    pub port: u16,
    /// The tokens that are valid, each with the login it stands for. Any other
    /// is answered 401.
    pub tokens: Vec<(String, String)>,
    /// Whether requests without a token are refused. Where they are not, they
    /// read what is public; writes need a token in any case.
    pub require_token: bool,
    /// What `GET /openapi.json` answers, unchanged; 404 without.
    pub document: Option<Bytes>,
    /// Requests an hour, for each caller; past it come 403s.
    pub rate_limit: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            port: 0,
            tokens: vec![(TOKEN.to_owned(), "octocat".to_owned())],
            require_token: false,
            document: None,
            rate_limit: 1_000_000,
        }
    }
}

/// A running emulator; ends when dropped.
#[derive(Debug)]
pub struct Emulator {
    pub addr: SocketAddr,
    /// Every request but those to `/_emulator/`.
    pub ledger: Ledger,
    app: Arc<App>,
    _server: Server,
}

impl Emulator {
    /// Where it is, without a slash at the end: `http://127.0.0.1:4000`.
    pub fn origin(&self) -> &str {
        &self.app.origin
    }

    /// Makes the next requests that fit misbehave. Of several faults that fit
    /// a request the oldest is taken.
    pub fn fault(&self, fault: Fault) {
        self.app.faults.add(fault);
    }

    /// Takes back every fault that was asked for.
    pub fn clear_faults(&self) {
        self.app.faults.clear();
    }

    /// Makes `token` valid for `login` from now on.
    pub fn allow_token(&self, token: &str, login: &str) {
        self.app.tokens.allow(token, login);
    }

    /// Makes `token` invalid from now on.
    pub fn revoke_token(&self, token: &str) {
        self.app.tokens.revoke(token);
    }
}

/// Starts an emulator.
///
/// # Errors
/// Where the port can't be bound, or no thread be had.
pub async fn start(config: Config) -> io::Result<Emulator> {
    let bound = serving::bind(config.port)?;
    let addr = bound.addr;
    let app = Arc::new(App::new(config, addr));
    let router = routes::router();
    let shared = Arc::clone(&app);
    let server = bound.serve(move |stream, number| {
        let (wire, reset) = Wire::new(stream);
        let connection = pipeline::Connection { number, reset };
        let (app, router) = (Arc::clone(&shared), router.clone());
        let service = service_fn(move |request| {
            pipeline::answer(Arc::clone(&app), router.clone(), connection.clone(), request)
        });
        async move {
            // A connection that breaks is the client's affair, or was asked for.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(wire), service)
                .await;
        }
    })?;
    Ok(Emulator { addr, ledger: app.ledger.clone(), app, _server: server })
}
