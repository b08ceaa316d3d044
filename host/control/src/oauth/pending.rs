//! Authorizations under way. They are in memory alone: a daemon that was
//! restarted has a person begin again.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use executor_store::Digest;
use tokio::task::AbortHandle;

use super::authorization::AuthorizationView;
use super::authorize::Draft;
use crate::caller::Caller;
use crate::connections::ConnectionView;
use crate::problem::{Problem, ProblemKind};

/// How long a person has.
pub(super) const LIFETIME_MS: i64 = 15 * 60 * 1000;

/// How long an outcome can be asked for.
const KEPT_MS: i64 = 15 * 60 * 1000;

/// Those that may be under way at once; the oldest go first.
const LIMIT: usize = 256;

/// One authorization.
pub(super) struct Entry {
    pub(super) workspace: String,
    pub(super) caller: Caller,
    pub(super) view: AuthorizationView,
    /// What is left to do; none once somebody does it or it is over.
    pub(super) open: Option<Box<Open>>,
    /// Finds it by what the authorization server sends back.
    pub(super) state: Option<Digest>,
    /// What polls for it.
    pub(super) poll: Option<AbortHandle>,
    pub(super) expires_ms: i64,
}

/// What is needed to end an authorization.
#[derive(Clone)]
pub(super) struct Open {
    pub(super) draft: Draft,
    /// The secret half of the code challenge (RFC 7636).
    pub(super) verifier: String,
    pub(super) redirect: String,
}

impl Drop for Entry {
    fn drop(&mut self) {
        if let Some(poll) = &self.poll {
            poll.abort();
        }
    }
}

/// Those of one daemon, by their ids.
#[derive(Default)]
pub(crate) struct Pending(Mutex<HashMap<String, Entry>>);

impl Pending {
    pub(super) fn insert(&self, id: String, entry: Entry, now_ms: i64) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|_, entry| entry.expires_ms + KEPT_MS > now_ms);
        if entries.len() >= LIMIT
            && let Some(oldest) =
                entries.iter().min_by_key(|(_, entry)| entry.expires_ms).map(|(id, _)| id.clone())
        {
            entries.remove(&oldest);
        }
        entries.insert(id, entry);
    }

    /// How one stands, for whoever may see the workspace that it is of.
    pub(super) fn view(&self, workspace: &str, id: &str, now_ms: i64) -> Result<AuthorizationView, Problem> {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.get_mut(id).filter(|entry| entry.workspace == workspace).ok_or_else(spent)?;
        if entry.view.is_waiting() && entry.expires_ms <= now_ms {
            entry.open = None;
            entry.view.fail(&late());
        }
        Ok(entry.view.clone())
    }

    /// Takes what is left to do, so that of two who answer at one time one
    /// does it.
    pub(super) fn take(&self, id: &str, now_ms: i64) -> Result<(String, Caller, Box<Open>), Problem> {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.get_mut(id).ok_or_else(spent)?;
        if entry.expires_ms <= now_ms {
            return Err(late());
        }
        let open = entry.open.take().ok_or_else(spent)?;
        Ok((entry.workspace.clone(), entry.caller.clone(), open))
    }

    /// The id of the one that a state belongs to.
    pub(super) fn find(&self, state: &str) -> Result<String, Problem> {
        let digest = Digest::of(state.as_bytes());
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = entries.iter().find(|(_, entry)| entry.state == Some(digest));
        found.map(|(id, _)| id.clone()).ok_or_else(spent)
    }

    /// What is shown of one that is asked for by its id alone.
    pub(super) fn has_state(&self, id: &str, state: &str) -> bool {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.get(id).is_some_and(|entry| entry.state == Some(Digest::of(state.as_bytes())))
    }

    /// Whether the server of one names itself in its answers.
    pub(super) fn names_issuer(&self, id: &str) -> bool {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let open = entries.get(id).and_then(|entry| entry.open.as_ref());
        open.is_some_and(|open| open.draft.grant.issuer_required)
    }

    pub(super) fn settle(&self, id: &str, outcome: &Result<ConnectionView, Problem>) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(entry) = entries.get_mut(id) else { return };
        match outcome {
            Ok(connection) => entry.view.connected(connection.clone()),
            Err(problem) => entry.view.fail(problem),
        }
    }

    pub(super) fn polled_by(&self, id: &str, poll: AbortHandle) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match entries.get_mut(id) {
            Some(entry) => entry.poll = Some(poll),
            None => poll.abort(),
        }
    }

    pub(super) fn remove(&self, workspace: &str, id: &str) -> Result<(), Problem> {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.get(id).is_some_and(|entry| entry.workspace == workspace) {
            entries.remove(id);
            return Ok(());
        }
        Err(spent())
    }
}

fn spent() -> Problem {
    Problem::new(
        ProblemKind::NotFound,
        "authorization-spent",
        "this authorization is over, is too old, or never was one",
    )
    .hint("begin again: `executor connections add SOURCE`, or `executor connections authorize SOURCE NAME`")
}

fn late() -> Problem {
    Problem::new(
        ProblemKind::NotFound,
        "authorization-spent",
        format!("nobody answered within {} minutes", LIFETIME_MS / 60_000),
    )
    .hint("begin again: `executor connections add SOURCE`, or `executor connections authorize SOURCE NAME`")
}
