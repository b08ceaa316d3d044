//! Everything one emulator holds.

use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Config;
use super::authentication::Tokens;
use super::document::Document;
use super::faults::Faults;
use super::rates::Rates;
use super::seed;
use super::state::World;
use crate::ledger::{Keep, Ledger};

#[derive(Debug)]
pub(crate) struct App {
    /// `http://127.0.0.1:PORT`, which the URLs in answers begin with.
    pub(crate) origin: String,
    pub(crate) ledger: Ledger,
    pub(crate) faults: Faults,
    pub(crate) tokens: Tokens,
    pub(crate) rates: Rates,
    pub(crate) document: Option<Document>,
    world: Mutex<World>,
}

impl App {
    pub(crate) fn new(config: Config, addr: SocketAddr) -> Self {
        let origin = format!("http://{addr}");
        let mut world = seed::world(&origin);
        for (_, login) in &config.tokens {
            world.ensure_user(login);
        }
        Self {
            ledger: Ledger::new(Keep::Entries),
            faults: Faults::default(),
            tokens: Tokens::new(config.tokens, config.require_token),
            rates: Rates::new(config.rate_limit),
            document: config.document.map(Document::new),
            world: Mutex::new(world),
            origin,
        }
    }

    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
