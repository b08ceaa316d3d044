//! What a test may ask to go wrong, and for how many requests.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::json;
use tokio::sync::watch;

use crate::pattern::{method_matches, path_matches};
use crate::plain::Answer;

/// Makes requests misbehave; of several that fit, the oldest is taken.
#[derive(Clone, Debug)]
pub struct Fault {
    method: String,
    path: String,
    times: u32,
    kind: FaultKind,
}

/// What goes wrong. [`FaultKind::Instead`] and what is made of it answer in the
/// endpoint's stead, so that nothing was done; the others let the endpoint act
/// (a code is used up, a refresh token rotated) and spoil how its answer
/// arrives.
#[derive(Clone, Debug)]
pub enum FaultKind {
    /// This answer, whatever it is.
    Instead(Answer),
    /// No answer: the connection is reset.
    Lost,
    /// The answer's head and half of its body, then the end of the connection.
    Cut,
    /// The answer, begun after a while.
    Slow(Duration),
    /// The answer, begun once the emulator is told to release what it holds.
    Held,
}

impl FaultKind {
    /// A status with a JSON body that is no error of OAuth's.
    pub fn status(status: u16) -> Self {
        Self::Instead(Answer::json(status, &json!({ "message": "the emulator was asked to fail" })))
    }

    /// A status with Retry-After.
    pub fn retry_after(status: u16, seconds: u64) -> Self {
        let seconds = seconds.to_string();
        let headers = [("content-type", "application/json"), ("retry-after", seconds.as_str())];
        Self::Instead(Answer::new(status, &headers, "{}"))
    }

    /// A page of HTML with this status, as proxies answer.
    pub fn page(status: u16) -> Self {
        let body =
            "<!DOCTYPE html><html><head><title>Sign in</title></head><body><h1>Sign in</h1></body></html>";
        Self::Instead(Answer::new(status, &[("content-type", "text/html; charset=utf-8")], body))
    }

    /// An error of OAuth's, with whatever status: 400 or 401 as RFC 6749 has
    /// it, or 200 as GitHub does.
    pub fn error(status: u16, error: &str) -> Self {
        let body = json!({ "error": error, "error_description": "the emulator was asked to refuse" });
        Self::Instead(Answer::json(status, &body))
    }

    /// A connection that is reset before the endpoint acts.
    pub fn reset() -> Self {
        Self::Instead(Answer::reset())
    }

    /// Whether the endpoint is not to act.
    pub(crate) fn is_instead(&self) -> bool {
        matches!(self, Self::Instead(_))
    }

    /// What arrives in place of `answer`, which the endpoint gave.
    pub(crate) fn spoil(&self, answer: Answer, release: &watch::Sender<u64>) -> Answer {
        match self {
            Self::Instead(other) => other.clone(),
            Self::Lost => Answer::reset(),
            Self::Cut => answer.half(),
            Self::Slow(delay) => answer.after(*delay),
            Self::Held => answer.held(release.subscribe()),
        }
    }
}

impl Fault {
    /// For the next request that fits; see [`Self::times`]. The method may be
    /// `*`; in the path `*` stands for one segment and a last `**` for the
    /// rest.
    pub fn new(method: &str, path: &str, kind: FaultKind) -> Self {
        Self { method: method.to_owned(), path: path.to_owned(), times: 1, kind }
    }

    /// For the next request to `/token`.
    pub fn token(kind: FaultKind) -> Self {
        Self::new("POST", "/token", kind)
    }

    /// For the next so many requests that fit.
    pub fn times(mut self, times: u32) -> Self {
        self.times = times;
        self
    }

    /// For every request that fits.
    pub fn always(self) -> Self {
        self.times(u32::MAX)
    }
}

/// The faults that still wait for requests, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Faults(Mutex<Vec<Fault>>);

impl Faults {
    pub(crate) fn add(&self, fault: Fault) {
        if fault.times > 0 {
            self.lock().push(fault);
        }
    }

    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    /// What the request is to suffer; counts it.
    pub(crate) fn take(&self, method: &str, path: &str) -> Option<FaultKind> {
        let mut faults = self.lock();
        let fits = |fault: &Fault| method_matches(&fault.method, method) && path_matches(&fault.path, path);
        let position = faults.iter().position(fits)?;
        let fault = &mut faults[position];
        let kind = fault.kind.clone();
        if fault.times != u32::MAX {
            fault.times -= 1;
        }
        if fault.times == 0 {
            faults.remove(position);
        }
        Some(kind)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Fault>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
