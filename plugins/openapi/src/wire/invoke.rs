//! One call: request, response, answer.

use super::arguments::Arguments;
use super::binding::Binding;
use super::{answer, rejection, request};
use crate::seam::{Answer, Call, Failure, Http, HttpResponse};
use crate::settings::Settings;

/// Sends a call and reads what comes back.
///
/// # Errors
/// `invalid-arguments`, `settings-invalid` and `binding-invalid` before
/// anything is sent; the host's failures unchanged; `upstream-*` for what the
/// API answered.
pub fn invoke<H: Http>(call: &Call, http: &mut H) -> Result<Answer, Failure> {
    let binding = Binding::from_bytes(&call.binding)?;
    let settings = Settings::read(&call.settings)?;
    let arguments = Arguments::read(&call.arguments, &binding)?;
    let request = request::build(&binding, &arguments, &settings)?;
    let url = request.url.clone();
    let response = http.send(request)?;
    match response.status() {
        // Nothing has changed since the caller's `If-None-Match`.
        304 | 200..=299 => {
            let mut read = answer::read(http, &binding, response)?;
            if binding.next {
                read.add_next(&call.arguments, &url);
            }
            Ok(read.into_answer())
        }
        _ => Err(rejection::read(&binding, response)),
    }
}
