//! What a test may ask to go wrong, and for how many requests.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use crate::pattern::{method_matches, path_matches};

/// Makes requests misbehave. As JSON, for `POST /_emulator/faults`:
/// `{"method": "GET", "path": "/user", "times": 2, "kind": "server-error"}` or
/// `{"path": "/repos/**", "kind": {"slow-body": {"delay_ms": 50, "pieces": 4}}}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// `*` for any, which is what stands where JSON leaves it out.
    #[serde(default = "any_method")]
    pub method: String,
    /// As sent, percent-encoded; `*` stands for one segment, a last `**` for
    /// the rest.
    pub path: String,
    /// How many requests it takes; 1 where JSON leaves it out.
    #[serde(default = "once")]
    pub times: u32,
    pub kind: FaultKind,
}

/// What goes wrong. The first group answers in the operation's stead, so that
/// it has no effect; the second lets it run and spoils how its answer arrives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// 429 with Retry-After.
    TooManyRequests { retry_after_seconds: u64 },
    /// GitHub's 403 with `x-ratelimit-remaining: 0`.
    RateLimitExceeded { reset_after_seconds: u64 },
    /// 401, though the token may be valid.
    BadCredentials,
    /// 403
    Forbidden,
    /// 500 in GitHub's error shape.
    ServerError,
    /// 502 with a page of HTML.
    BadGatewayPage,
    /// Whatever status, headers and body.
    Answer {
        status: u16,
        #[serde(default)]
        headers: BTreeMap<String, String>,
        #[serde(default)]
        body: String,
    },
    /// A redirect with this Location, also to another origin.
    Redirect { status: u16, location: String },
    /// 200 with the request's headers in the body, and its Authorization in
    /// the header `x-echo-authorization` too.
    EchoAuthorization,
    /// 200 with JSON that breaks off, though its length is as declared.
    InvalidJson,
    /// A body that goes on for as long as it is read.
    EndlessBody,
    /// Headers and the begin of a body, then silence on an open connection.
    StalledBody,
    /// A gzip body that expands about 1000-fold to this many bytes (rounded up
    /// to whole MiB) of JSON.
    GzipBomb { bytes: u64 },
    /// A connection reset before anything is answered.
    Reset,

    /// Waits before the answer begins.
    SlowHeaders { delay_ms: u64 },
    /// The body in so many pieces, waiting before each but the first.
    SlowBody { delay_ms: u64, pieces: u32 },
    /// Half the body, then the end of the connection.
    TruncatedBody,
    /// Half the body, then a reset of the connection.
    ResetMidBody,
}

impl Fault {
    /// For the next request that fits; see [`Self::times`].
    pub fn new(method: &str, path: &str, kind: FaultKind) -> Self {
        Self { method: method.to_owned(), path: path.to_owned(), times: 1, kind }
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

fn any_method() -> String {
    "*".to_owned()
}

fn once() -> u32 {
    1
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

    pub(crate) fn waiting(&self) -> Vec<Fault> {
        self.lock().clone()
    }

    /// What the request is to suffer; counts it.
    pub(crate) fn take(&self, method: &str, path: &str) -> Option<FaultKind> {
        let mut faults = self.lock();
        let position = faults
            .iter()
            .position(|fault| method_matches(&fault.method, method) && path_matches(&fault.path, path))?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_fault_goes_first_and_is_used_up() {
        let faults = Faults::default();
        faults.add(Fault::new("GET", "/user", FaultKind::ServerError).times(2));
        faults.add(Fault::new("*", "/**", FaultKind::Forbidden).always());
        faults.add(Fault::new("*", "/**", FaultKind::Reset).times(0));
        assert_eq!(faults.take("GET", "/user"), Some(FaultKind::ServerError));
        assert_eq!(faults.take("PUT", "/user"), Some(FaultKind::Forbidden));
        assert_eq!(faults.take("GET", "/user"), Some(FaultKind::ServerError));
        assert_eq!(faults.take("GET", "/user"), Some(FaultKind::Forbidden));
        assert_eq!(faults.waiting().len(), 1);
        faults.clear();
        assert_eq!(faults.take("GET", "/user"), None);
    }

    #[test]
    fn faults_are_written_as_json() {
        let read = |text: &str| serde_json::from_str::<Fault>(text).ok();
        assert_eq!(
            read(r#"{"path":"/user","kind":"server-error"}"#),
            Some(Fault::new("*", "/user", FaultKind::ServerError))
        );
        let slow = FaultKind::SlowBody { delay_ms: 5, pieces: 2 };
        assert_eq!(
            read(r#"{"method":"GET","path":"/**","times":3,"kind":{"slow-body":{"delay_ms":5,"pieces":2}}}"#),
            Some(Fault::new("GET", "/**", slow).times(3))
        );
        assert_eq!(read(r#"{"path":"/user","kind":"nonsense"}"#), None);
        assert_eq!(read(r#"{"path":"/user","kind":"reset","time":1}"#), None);
    }
}
