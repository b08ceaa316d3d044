//! One call: operation, request, answer.

use super::binding::{Binding, Operation};
use super::operation::{Prepared, prepare};
use super::send::send;
use super::{answer, files};
use crate::seam::{Answer, Call, Failure, Http, HttpRequest};
use crate::settings::Settings;

/// What the sandbox takes of one answer.
const MAX_ANSWER_BYTES: usize = 16 << 20;

/// Sends a call and reads what comes back.
///
/// # Errors
/// `invalid-arguments`, `settings-invalid` and `binding-invalid` before
/// anything is sent; the host's failures unchanged; `upstream-*` for what the
/// API answered.
pub fn invoke<H: Http>(call: &Call, http: &mut H) -> Result<Answer, Failure> {
    let (binding, settings, prepared, request) = built(call, http)?;
    let reply = send(http, request, MAX_ANSWER_BYTES).map_err(|failure| lost(&binding, failure))?;
    answer::read(
        &answer::Asked { binding: &binding, settings: &settings, chosen: prepared.chosen },
        http,
        &reply,
    )
}

/// The host can't know that a POST was only a query: one whose answer was lost
/// may be asked again.
fn lost(binding: &Binding, failure: Failure) -> Failure {
    if binding.operation == Operation::Query && failure.code == "outcome-unknown" {
        let message = "the answer was lost; a query changes nothing, so it may be asked again";
        return Failure { retryable: true, ..Failure::new("connection-lost", message) };
    }
    failure
}

/// Builds the request and drops it: whatever would stop the call later stops
/// it here.
///
/// # Errors
/// `invalid-arguments`, `settings-invalid`, `binding-invalid`.
pub fn validate<H: Http>(call: &Call, http: &mut H) -> Result<(), Failure> {
    built(call, http).map(drop)
}

fn built<H: Http>(call: &Call, http: &mut H) -> Result<(Binding, Settings, Prepared, HttpRequest), Failure> {
    let binding = Binding::from_bytes(&call.binding)?;
    let settings = Settings::read(&call.settings)?;
    let prepared = prepare(&binding, &call.arguments, &settings, http)?;
    let request = files::build(prepared.clone(), binding.uploads)?;
    Ok((binding, settings, prepared, request))
}
