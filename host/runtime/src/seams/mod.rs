//! What an adapter imports, one file an interface. This list is the host as
//! an adapter sees it.

mod blobs;
mod catalog_sink;
mod farewell;
mod http;
mod interaction;
mod session;
mod source_events;
mod stdio;

use std::sync::Arc;

use executor_bindings::adapter::executor::adapter as wit;
use executor_store::Staged;
use executor_telemetry::Place;
use wasmtime::component::{HasSelf, Linker};

use crate::adapter::{AdapterContext, AdapterFailure};
use crate::egress::{Egress, EgressError};
use crate::guest::Guest;
use crate::limits::Limits;
use crate::processes::Processes;

/// The state of one adapter call.
pub(crate) struct AdapterSeam {
    egress: Arc<Egress>,
    processes: Arc<Processes>,
    context: AdapterContext,
    sink: Option<catalog_sink::Sink>,
    sent_bytes: usize,
    kept_bytes: usize,
    max_kept_bytes: usize,
    processes_held: usize,
    farewell: farewell::Farewell,
}

impl Drop for AdapterSeam {
    /// The caller of a call that is still under way went away.
    fn drop(&mut self) {
        self.farewell.say(&self.context.scope);
    }
}

impl AdapterSeam {
    /// A call may write to the sink where its context hears of progress,
    /// which is where it indexes.
    pub(crate) fn new(
        egress: Arc<Egress>,
        processes: Arc<Processes>,
        context: AdapterContext,
        limits: &Limits,
    ) -> Self {
        let sink = context.progress.clone().map(catalog_sink::Sink::new);
        Self {
            egress,
            processes,
            context,
            sink,
            sent_bytes: 0,
            kept_bytes: 0,
            max_kept_bytes: limits.kept_bytes,
            processes_held: 0,
            farewell: farewell::Farewell::default(),
        }
    }

    /// The call has ended, with an answer of its adapter's or without one.
    pub(crate) fn ended(&mut self, returned: bool) {
        if returned {
            self.farewell.take_back();
        }
        self.farewell.say(&self.context.scope);
    }

    /// Where the spans of its requests go.
    pub(crate) fn trace_requests(&mut self, place: &Place) {
        self.context.scope.trace = place.clone();
    }

    pub(crate) fn take_staged(&mut self) -> Staged {
        self.sink.take().map(catalog_sink::Sink::into_staged).unwrap_or_default()
    }
}

pub(crate) fn add_to_linker(linker: &mut Linker<Guest<AdapterSeam>>) -> wasmtime::Result<()> {
    crate::wasi::add_to_linker(linker)?;
    wit::types::add_to_linker::<_, HasSelf<_>>(linker, |guest| guest)?;
    wit::blobs::add_to_linker::<_, HasSelf<_>>(linker, |guest| guest)?;
    wit::http::add_to_linker::<_, HasSelf<_>>(linker, |guest| guest)?;
    wit::catalog_sink::add_to_linker::<_, HasSelf<_>>(linker, |guest| guest)?;
    wit::session::add_to_linker::<_, HasSelf<_>>(linker, |guest| guest)?;
    wit::stdio::add_to_linker::<_, HasSelf<_>>(linker, |guest| guest)?;
    wit::source_events::add_to_linker::<_, HasSelf<_>>(linker, |guest| guest)?;
    wit::interaction::add_to_linker::<_, HasSelf<_>>(linker, |guest| guest)
}

impl wit::types::Host for Guest<AdapterSeam> {}

/// A guest's failure, its texts made harmless.
pub(crate) fn failure(failure: wit::types::Failure) -> AdapterFailure {
    AdapterFailure {
        code: plain_text(&failure.code, 64),
        message: plain_text(&failure.message, 4_000),
        status: failure.status,
        retryable: failure.retryable,
        retry_after_ms: failure.retry_after_ms,
        details: failure
            .details
            .filter(|details| details.len() <= 256 * 1024)
            .filter(|details| serde_json::from_str::<serde::de::IgnoredAny>(details).is_ok()),
    }
}

/// A failure as the host tells it to a guest.
fn host_failure(code: &str, message: impl Into<String>) -> wit::types::Failure {
    wit::types::Failure {
        code: code.into(),
        message: message.into(),
        status: None,
        retryable: false,
        retry_after_ms: None,
        details: None,
    }
}

fn egress_failure(error: &EgressError) -> wit::types::Failure {
    wit::types::Failure { retryable: error.retryable, ..host_failure(error.code, error.message.clone()) }
}

/// A text from outside without control characters but newlines and tabs, and
/// no longer than `limit` characters.
pub(crate) fn plain_text(text: &str, limit: usize) -> String {
    text.chars()
        .filter(|character| matches!(character, '\n' | '\t') || !is_control(*character))
        .take(limit)
        .collect()
}

/// Controls of terminals, and of the direction that text is shown in.
fn is_control(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}
