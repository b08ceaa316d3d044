//! What the emulator gave out.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use super::clients::Client;

/// What a client was granted. Codes, refresh tokens and access tokens that came
/// of one consent are a family, and end together.
#[derive(Clone, Debug)]
pub(crate) struct Grant {
    pub(crate) client: String,
    pub(crate) scopes: Vec<String>,
    /// What the tokens are for; anything where none was named.
    pub(crate) resources: Vec<String>,
    pub(crate) family: u64,
    /// The grant type that it came by first.
    pub(crate) kind: &'static str,
}

#[derive(Clone, Debug)]
pub(crate) struct Code {
    pub(crate) grant: Grant,
    pub(crate) redirect_uri: String,
    pub(crate) challenge: String,
    pub(crate) expires_at_ms: i64,
    pub(crate) used: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(crate) grant: Grant,
    pub(crate) expires_at_ms: i64,
    pub(crate) revoked: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Refreshing {
    pub(crate) grant: Grant,
    pub(crate) expires_at_ms: Option<i64>,
    pub(crate) used: bool,
    pub(crate) revoked: bool,
}

/// What the person said of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Waiting,
    Approved,
    Denied,
}

#[derive(Clone, Debug)]
pub(crate) struct Device {
    pub(crate) grant: Grant,
    pub(crate) user_code: String,
    pub(crate) verdict: Verdict,
    pub(crate) expires_at_ms: i64,
    pub(crate) interval_s: i64,
    pub(crate) asked_at_ms: Option<i64>,
}

#[derive(Debug)]
pub(crate) struct State {
    /// So that two emulators never give out the same.
    seed: String,
    count: u64,
    pub(crate) registered: Vec<Client>,
    pub(crate) codes: BTreeMap<String, Code>,
    pub(crate) access: BTreeMap<String, Access>,
    pub(crate) refresh: BTreeMap<String, Refreshing>,
    pub(crate) devices: BTreeMap<String, Device>,
    /// The names of what `POST /items` made.
    pub(crate) items: Vec<String>,
    /// Everything that nobody but its client should ever see.
    pub(crate) secrets: Vec<String>,
}

impl State {
    pub(crate) fn new(seed: String) -> Self {
        Self {
            seed,
            count: 0,
            registered: Vec::new(),
            codes: BTreeMap::new(),
            access: BTreeMap::new(),
            refresh: BTreeMap::new(),
            devices: BTreeMap::new(),
            items: Vec::new(),
            secrets: Vec::new(),
        }
    }

    pub(crate) fn next_number(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// A new value of this kind. `marks` are characters that a client has to
    /// carry over as they are and to encode where it sends them in a form.
    pub(crate) fn next_secret(&mut self, kind: &str, marks: &str) -> String {
        let secret = self.next_name(kind, marks);
        self.secrets.push(secret.clone());
        secret
    }

    /// As [`Self::next_secret`], for what anybody may see.
    pub(crate) fn next_name(&mut self, kind: &str, marks: &str) -> String {
        let number = self.next_number();
        let digest = Sha256::digest(format!("{} {kind} {number}", self.seed));
        let digits: String = digest[..10].iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{kind}-{number}-{digits}{marks}")
    }

    /// Records what the person said of the device that shows this code; false
    /// where there is none.
    pub(crate) fn decide_device(&mut self, user_code: &str, verdict: Verdict) -> bool {
        let device = self.devices.values_mut().find(|one| one.user_code == user_code);
        device.map(|device| device.verdict = verdict).is_some()
    }

    /// Ends everything that came of one consent.
    pub(crate) fn end_family(&mut self, family: u64) {
        self.end_access(family);
        self.refresh.values_mut().filter(|one| one.grant.family == family).for_each(|one| one.revoked = true);
    }

    /// Ends its access tokens alone.
    pub(crate) fn end_access(&mut self, family: u64) {
        self.access.values_mut().filter(|one| one.grant.family == family).for_each(|one| one.revoked = true);
    }

    /// Ends this one token; with a refresh token, its family. False where there
    /// is no such token.
    pub(crate) fn revoke(&mut self, token: &str) -> bool {
        if let Some(access) = self.access.get_mut(token) {
            access.revoked = true;
            return true;
        }
        match self.refresh.get(token).map(|one| one.grant.family) {
            Some(family) => {
                self.end_family(family);
                true
            }
            None => false,
        }
    }
}
