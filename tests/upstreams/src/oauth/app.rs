//! Everything one emulator holds, and one request's view of it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::call;
use super::clients::Client;
use super::clock::Clock;
use super::faults::Faults;
use super::refusals::Refusal;
use super::script::Script;
use super::state::State;
use crate::plain::Request;

#[derive(Debug)]
pub(crate) struct App {
    /// `http://127.0.0.1:PORT`
    pub(crate) origin: String,
    pub(crate) clock: Clock,
    pub(crate) faults: Faults,
    pub(crate) release: watch::Sender<u64>,
    script: Mutex<Script>,
    state: Mutex<State>,
}

impl App {
    pub(crate) fn new(origin: String, script: Script) -> Self {
        Self {
            clock: Clock::default(),
            faults: Faults::default(),
            release: watch::Sender::new(0),
            script: Mutex::new(script),
            state: Mutex::new(State::new(origin.clone())),
            origin,
        }
    }

    pub(crate) fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What answering one request may read and change.
pub(crate) struct Turn<'a> {
    pub(crate) origin: &'a str,
    pub(crate) script: &'a mut Script,
    pub(crate) state: &'a mut State,
    pub(crate) now_ms: i64,
    pub(crate) request: &'a Request<'a>,
}

impl Turn<'_> {
    pub(crate) fn issuer(&self) -> String {
        format!("{}{}", self.origin, self.script.issuer_path)
    }

    pub(crate) fn client(&self, id: &str) -> Option<&Client> {
        self.script.clients.iter().chain(&self.state.registered).find(|one| one.id == id)
    }

    /// The scopes of a request's `scope`, all of which must be known.
    pub(crate) fn scopes(&self, asked: Option<&str>) -> Result<Vec<String>, Refusal> {
        let asked = call::scopes(asked.unwrap_or_default());
        match asked.iter().find(|one| !self.script.scopes.contains(one)) {
            Some(unknown) => Err(Refusal::new("invalid_scope", format!("there is no scope {unknown:?}"))),
            None => Ok(asked),
        }
    }

    /// What of these scopes is granted.
    pub(crate) fn granted(&self, asked: Vec<String>) -> Vec<String> {
        match &self.script.tokens.granted {
            Some(granted) => asked.into_iter().filter(|one| granted.contains(one)).collect(),
            None => asked,
        }
    }

    /// The `resource` parameters (RFC 8707), each of which must be known.
    pub(crate) fn resources(&self, parameters: &call::Parameters) -> Result<Vec<String>, Refusal> {
        let asked: Vec<String> = parameters.all("resource").map(str::to_owned).collect();
        if asked.is_empty() && self.script.requires_resource {
            return Err(Refusal::new("invalid_target", "resource is missing"));
        }
        let known = |url: &String| {
            let own = std::iter::once(self.origin).chain(self.script.resources.iter().map(String::as_str));
            !url.contains('#') && own.into_iter().any(|prefix| is_within(url, prefix))
        };
        match asked.iter().find(|one| !known(one)) {
            Some(other) => Err(Refusal::new("invalid_target", format!("{other:?} is no resource of ours"))),
            None => Ok(asked),
        }
    }
}

/// True where `url` is `prefix` or something below it.
pub(crate) fn is_within(url: &str, prefix: &str) -> bool {
    match url.strip_prefix(prefix.trim_end_matches('/')) {
        Some(rest) => rest.is_empty() || rest.starts_with(['/', '?']),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_within;

    #[test]
    fn resources_lie_below_whole_segments() {
        let origin = "http://127.0.0.1:4000";
        assert!(is_within(origin, origin));
        assert!(is_within("http://127.0.0.1:4000/", origin));
        assert!(is_within("http://127.0.0.1:4000/mcp", "http://127.0.0.1:4000/"));
        assert!(!is_within("http://127.0.0.1:40001/mcp", origin));
        assert!(!is_within("http://127.0.0.1:4000/mcp2", "http://127.0.0.1:4000/mcp"));
    }
}
