//! Series for names that others choose: as many as there is room for, and
//! one for all the rest.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// The label of whatever came after the room was full.
pub(super) const OTHER: &str = "other";

/// Handles by name.
pub(super) struct Bounded<H> {
    handles: RwLock<HashMap<Box<str>, Arc<H>>>,
    limit: usize,
}

impl<H> Bounded<H> {
    pub(super) fn new(limit: usize) -> Self {
        Self { handles: RwLock::default(), limit }
    }

    /// The handle of a name. Looking one up that is known copies no text.
    pub(super) fn get(&self, name: &str, make: impl Fn(&str) -> H) -> Arc<H> {
        {
            let handles = self.handles.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(handle) = handles.get(name) {
                return handle.clone();
            }
            if handles.len() > self.limit {
                return handles[OTHER].clone();
            }
        }
        let mut handles = self.handles.write().unwrap_or_else(PoisonError::into_inner);
        let name = if handles.len() >= self.limit { OTHER } else { name };
        handles.entry(name.into()).or_insert_with(|| Arc::new(make(name))).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_have_their_own_and_the_rest_share_one() {
        let bounded = Bounded::new(3);
        for round in 0..2 {
            for name in ["a", "b", "c", "d", "e", "f"] {
                let expect = if "abc".contains(name) { name } else { OTHER };
                assert_eq!(*bounded.get(name, str::to_owned), expect, "round {round}");
            }
        }
        assert_eq!(bounded.handles.read().unwrap().len(), 4);
    }
}
