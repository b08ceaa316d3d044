//! `farewell` of `executor:adapter/http` and `/stdio`: what an adapter has the
//! host say in its stead, where a call ends and it can say nothing any more.

use std::sync::Arc;
use std::time::Duration;

use executor_telemetry::Place;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::egress::{Egress, EgressError, Outgoing, RequestRecord, Scope};
use crate::processes::LastLine;

/// Bytes of a body and of a line.
pub(super) const BYTES: usize = 64 * 1024;
/// Requests under way at one time, over all workspaces: a program that begins
/// and gives up calls without end leaves no heap of them.
const AT_ONCE: usize = 64;
static PLACES: Semaphore = Semaphore::const_new(AT_ONCE);
/// The time that one has, with what it is answered.
const PATIENCE: Duration = Duration::from_secs(2);
const ANSWER_BYTES: usize = 64 * 1024;
/// How it stands among the requests of its call: nobody waited for the answer.
const UNHEARD: &str = "unheard";

/// What is said.
pub(super) enum Word {
    Line(LastLine),
    Request(Box<Parting>),
}

/// A request, and all that it needs to leave.
pub(super) struct Parting {
    egress: Arc<Egress>,
    scope: Scope,
    outgoing: Outgoing,
    record: RequestRecord,
}

/// What a call has left with the host. Dropping it says it.
#[derive(Default)]
pub(crate) struct Farewell(Option<Word>);

impl Farewell {
    /// Puts it in the place of what was left before, which is not said.
    pub(super) fn leave(&mut self, word: Option<Word>) {
        self.0 = word;
    }

    /// The adapter has returned: there is nothing to say.
    pub(crate) fn take_back(&mut self) {
        self.0 = None;
    }

    /// Says it, once.
    pub(crate) fn say(&mut self, scope: &Scope) {
        match self.0.take() {
            Some(Word::Line(line)) => {
                line.write();
                scope.observe(RequestRecord {
                    method: super::stdio::WRITE.into(),
                    origin: "stdio".into(),
                    path: String::new(),
                    status: None,
                    error: Some(UNHEARD),
                    challenge: None,
                    duration_us: 0,
                });
            }
            Some(Word::Request(parting)) => parting.send(),
            None => {}
        }
    }
}

impl Parting {
    /// # Errors
    /// As the request itself would have: it leads where the call may not go.
    pub(super) fn new(egress: &Arc<Egress>, scope: &Scope, outgoing: Outgoing) -> Result<Self, EgressError> {
        let (origin, path) = scope.reaches(&outgoing)?;
        let record = RequestRecord {
            method: outgoing.method.clone(),
            origin: origin.to_string(),
            path,
            status: None,
            error: Some(UNHEARD),
            challenge: None,
            duration_us: 0,
        };
        Ok(Self { egress: egress.clone(), scope: scope.clone(), outgoing, record })
    }

    /// Sends it in a task of its own. It is on record before its call's
    /// requests are written down, which is now.
    fn send(self) {
        let (Ok(runtime), Ok(place)) = (Handle::try_current(), PLACES.try_acquire()) else {
            return tracing::debug!("a farewell was dropped: too many are on their way");
        };
        let Self { egress, mut scope, outgoing, record } = self;
        scope.observe(record);
        (scope.observer, scope.trace) = (None, Place::default());
        runtime.spawn(async move {
            if let Err(error) = egress.ask(&scope, outgoing, ANSWER_BYTES, PATIENCE).await {
                tracing::debug!(code = error.code, "a farewell met a failure");
            }
            drop(place);
        });
    }
}
