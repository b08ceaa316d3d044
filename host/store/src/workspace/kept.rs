//! Rows that every call of a tool reads, kept in memory until anything of the
//! workspace is written.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{AuthMethodRow, ComponentRow, ConnectionRow, SourceRow, Unreviewed};
use crate::error::Result;
use crate::names::SourceName;

/// Rows of one kind that are kept; somebody who asks for ever more names
/// fills no memory.
const ROWS: usize = 1024;

/// What is kept, by kind.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) sources: HashMap<SourceName, Arc<SourceRow>>,
    pub(super) components: HashMap<String, Arc<ComponentRow>>,
    pub(super) connections: HashMap<SourceName, Arc<Vec<ConnectionRow>>>,
    pub(super) auth_methods: HashMap<SourceName, Arc<Vec<AuthMethodRow>>>,
    pub(super) unreviewed: HashMap<SourceName, Arc<Unreviewed>>,
}

#[derive(Debug, Default)]
struct State {
    rows: Rows,
    /// Writes under way: while there are any, nothing is kept.
    writes: usize,
    /// Moves on with every write, so that what was read before one is not
    /// kept after it.
    generation: u64,
}

/// The rows of one workspace.
#[derive(Debug, Default)]
pub(super) struct Kept(Mutex<State>);

/// A write that is under way until it is dropped, which the writer does after
/// the commit.
#[derive(Debug)]
pub(super) struct Writing(Arc<Kept>);

impl Kept {
    /// The row of a key, read where it is not kept.
    pub(super) fn get<K, Q, V>(
        &self,
        kind: impl Fn(&mut Rows) -> &mut HashMap<K, Arc<V>>,
        key: &Q,
        read: impl FnOnce() -> Result<Option<V>>,
    ) -> Result<Option<Arc<V>>>
    where
        K: Borrow<Q> + Hash + Eq,
        Q: ToOwned<Owned = K> + Hash + Eq + ?Sized,
    {
        let generation = {
            let mut state = self.lock();
            if let Some(row) = kind(&mut state.rows).get(key) {
                return Ok(Some(row.clone()));
            }
            state.generation
        };
        let Some(row) = read()?.map(Arc::new) else {
            return Ok(None);
        };
        let mut state = self.lock();
        if state.writes == 0 && state.generation == generation {
            let rows = kind(&mut state.rows);
            if rows.len() >= ROWS {
                rows.clear();
            }
            rows.insert(key.to_owned(), row.clone());
        }
        Ok(Some(row))
    }

    /// Forgets all, and keeps nothing until what this returns is dropped.
    pub(super) fn writing(self: &Arc<Self>) -> Writing {
        self.forget(|writes| writes + 1);
        Writing(self.clone())
    }

    fn forget(&self, writes: impl FnOnce(usize) -> usize) {
        let mut state = self.lock();
        state.writes = writes(state.writes);
        state.generation += 1;
        state.rows = Rows::default();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        self.0.forget(|writes| writes - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(kept: &Kept, read: impl FnOnce() -> Option<Vec<ConnectionRow>>) -> Option<usize> {
        let source = SourceName::parse("github").unwrap();
        let found = kept.get(|rows| &mut rows.connections, &source, || Ok(read())).unwrap();
        found.map(|rows| rows.len())
    }

    fn unread() -> Option<Vec<ConnectionRow>> {
        panic!("it is kept")
    }

    #[test]
    fn a_row_is_read_once_until_something_is_written() {
        let kept = Arc::new(Kept::default());
        assert_eq!(connections(&kept, || None), None);
        assert_eq!(connections(&kept, || Some(Vec::new())), Some(0), "what is not there is not kept");
        assert_eq!(connections(&kept, unread), Some(0));
        drop(kept.writing());
        assert_eq!(connections(&kept, || None), None);
    }

    #[test]
    fn nothing_that_was_read_beside_a_write_is_kept() {
        let kept = Arc::new(Kept::default());
        let (first, second) = (kept.writing(), kept.writing());
        assert_eq!(connections(&kept, || Some(Vec::new())), Some(0));
        drop(first);
        assert_eq!(connections(&kept, || Some(Vec::new())), Some(0), "one write is still under way");
        let beside = connections(&kept, || {
            drop(second);
            Some(Vec::new())
        });
        assert_eq!(beside, Some(0), "it was read before the write had ended");
        assert_eq!(connections(&kept, || None), None);
        assert_eq!(connections(&kept, || Some(Vec::new())), Some(0));
        assert_eq!(connections(&kept, unread), Some(0));
    }

    #[test]
    fn ever_more_names_fill_no_memory() {
        let kept = Kept::default();
        for number in 0..3 * ROWS {
            let source = SourceName::parse(&format!("s{number}")).unwrap();
            kept.get(|rows| &mut rows.connections, &source, || Ok(Some(Vec::new()))).unwrap();
            assert!(kept.lock().rows.connections.len() <= ROWS);
        }
    }
}
