//! What an adapter may ask before there is a source. An API that is read by
//! POST has no document at its URL, so an adapter whose component was granted
//! that asks the API itself.

use executor_runtime::{MethodRule, Scope};
use executor_store::ComponentRow;

use crate::components::Grant;
use crate::discovery;
use crate::document::Found;
use crate::problem::Problem;

/// Whether a component was granted reads by POST.
pub(crate) fn reads_by_post(component: &ComponentRow) -> bool {
    Grant::of(component).reads_by_post
}

/// A scope of safe methods, with POST where the component was granted it.
pub(crate) fn may_ask(component: &ComponentRow, mut scope: Scope) -> Scope {
    scope.methods = if reads_by_post(component) { MethodRule::SafeOrPost } else { MethodRule::Safe };
    scope
}

impl Found {
    /// Whether it is a file, or a URL answered well.
    pub(crate) fn is_success(&self) -> bool {
        self.status.is_none_or(|status| (200..300).contains(&status))
    }

    /// Refuses what a URL answered with an error, but to an adapter that may
    /// ask the URL itself: an endpoint that takes only operations answers so.
    pub(crate) fn readable_by(&self, component: &ComponentRow) -> Result<(), Problem> {
        if self.is_success() || reads_by_post(component) { Ok(()) } else { Err(discovery::refusal(self)) }
    }
}
