//! What can be told of a call before anyone is asked to approve it.

use super::arguments::Arguments;
use super::binding::Binding;
use super::request;
use crate::seam::{Call, Failure};
use crate::settings::Settings;

/// Builds the request and drops it: whatever would stop the call later stops
/// it here.
///
/// # Errors
/// `invalid-arguments`, `settings-invalid`, `binding-invalid`.
pub fn validate(call: &Call) -> Result<(), Failure> {
    let binding = Binding::from_bytes(&call.binding)?;
    let settings = Settings::read(&call.settings)?;
    let arguments = Arguments::read(&call.arguments, &binding)?;
    request::build(&binding, &arguments, &settings).map(drop)
}
