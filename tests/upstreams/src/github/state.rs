//! What the emulated GitHub holds.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::accounts::Account;
use super::clock::{Clock, Timestamp};
use super::gists::Gist;
use super::repositories::{Repository, RepositoryId};

#[derive(Debug)]
pub(crate) struct World {
    /// What URLs in answers begin with, without a slash at the end.
    pub(crate) origin: String,
    /// By login in lower case.
    pub(crate) accounts: BTreeMap<String, Account>,
    pub(crate) repositories: BTreeMap<RepositoryId, Repository>,
    /// By `owner/name` in lower case, former names included.
    pub(crate) names: BTreeMap<String, RepositoryId>,
    pub(crate) gists: BTreeMap<String, Gist>,
    /// By login: what it starred, oldest first.
    pub(crate) stars: BTreeMap<String, Vec<RepositoryId>>,
    clock: Clock,
    last_id: u64,
}

impl World {
    /// Nothing yet.
    pub(crate) fn new(origin: &str) -> Self {
        Self {
            origin: origin.to_owned(),
            accounts: BTreeMap::new(),
            repositories: BTreeMap::new(),
            names: BTreeMap::new(),
            gists: BTreeMap::new(),
            stars: BTreeMap::new(),
            clock: Clock::default(),
            last_id: 0,
        }
    }

    /// The moment of the next change.
    pub(crate) fn tick(&mut self) -> Timestamp {
        self.clock.tick()
    }

    /// An id that nothing else has, whatever its kind.
    pub(crate) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// `/path` as an absolute URL.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }
}

/// GitHub's second, opaque kind of id.
pub(crate) fn node_id(kind: &str, id: impl std::fmt::Display) -> String {
    STANDARD.encode(format!("{:03}:{kind}{id}", kind.len()))
}
