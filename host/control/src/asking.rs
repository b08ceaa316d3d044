//! What an adapter may ask before there is a source. An API that is read by
//! POST has no document at its URL, so an adapter whose component was granted
//! that asks the API itself.

use executor_runtime::{MethodRule, Scope};
use executor_store::ComponentRow;

use crate::components::Grant;
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
    /// Refuses what a URL answered with an error, but to an adapter that may
    /// ask the URL itself.
    pub(crate) fn readable_by(&self, component: &ComponentRow) -> Result<(), Problem> {
        match &self.refusal {
            Some(refusal) if !reads_by_post(component) => Err(refusal.clone()),
            _ => Ok(()),
        }
    }
}
