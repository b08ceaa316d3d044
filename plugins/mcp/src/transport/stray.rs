//! Questions on the stream that belongs to no call (2025-11-25, streamable
//! HTTP, "Listening for Messages from the Server").
//!
//! What a server asks for the sake of a call may come there: the TypeScript
//! SDK sends all that is not tied to a request by hand. Who listens has nobody
//! to ask, so the question is put into what the instances of a connection
//! share, and a call of the same session that is under way takes it.

use serde::{Deserialize, Serialize};

use super::Streamable;
use crate::seam::World;
use crate::text::hash_of;

/// What calls take.
pub(crate) const QUESTION: &str = "elicitation/create";
/// How long a question waits for a call.
pub(crate) const PATIENCE_MS: u64 = 3_000;
/// How often calls, and who put a question, look.
pub(crate) const LOOK_MS: u32 = 500;
/// Nobody waits any more for a question of that age: who put it is gone.
const STALE_MS: u64 = 10_000;
/// Questions that wait at one time.
const MAX_WAITING: usize = 16;
/// Of each: together they fit into an entry of a session.
const MAX_PARAMS_BYTES: usize = 12 << 10;
/// Changes in a row that somebody else was quicker with.
const MAX_TRIES: u32 = 10;

/// A question that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stray {
    session: Option<String>,
    mark: u64,
    at_ms: u64,
    /// As the server wrote it.
    pub(crate) id: String,
    /// JSON.
    pub(crate) params: Option<String>,
}

impl Stray {
    /// Puts a question down for a call; none where there is no room for it.
    pub(crate) fn put(way: &Streamable<'_>, id: &str, params: Option<&str>) -> Option<Self> {
        let stray = Self {
            session: way.session().map(str::to_owned),
            mark: way.world.random(),
            at_ms: way.world.now_ms(),
            id: id.to_owned(),
            params: params.map(str::to_owned),
        };
        let fits = id.len() + params.map_or(0, str::len) <= MAX_PARAMS_BYTES;
        let put = |waiting: &mut Vec<Self>| {
            waiting.retain(|held| is_fresh(way.world, held));
            (waiting.len() < MAX_WAITING).then(|| waiting.push(stray.clone()))
        };
        (fits && change(way, put).is_some()).then_some(stray)
    }

    /// Takes it back; whether no call had taken it.
    pub(crate) fn withdraw(&self, way: &Streamable<'_>) -> bool {
        let withdrawn = change(way, |waiting| {
            let at = waiting.iter().position(|held| held == self)?;
            Some(waiting.remove(at))
        });
        withdrawn.is_some()
    }

    /// Takes the oldest of a call's session.
    pub(crate) fn take(way: &Streamable<'_>) -> Option<Self> {
        change(way, |waiting| {
            let at = waiting
                .iter()
                .position(|held| held.session.as_deref() == way.session() && is_fresh(way.world, held))?;
            Some(waiting.remove(at))
        })
    }
}

fn is_fresh(world: &dyn World, stray: &Stray) -> bool {
    world.now_ms().abs_diff(stray.at_ms) < STALE_MS
}

/// Changes what waits, unless `make` gives none.
fn change<T>(way: &Streamable<'_>, make: impl Fn(&mut Vec<Stray>) -> Option<T>) -> Option<T> {
    let key = format!("strays:{:016x}", hash_of(&way.url));
    for _ in 0..MAX_TRIES {
        let held = way.world.recall(&key);
        let known = held.as_ref().and_then(|bytes| serde_json::from_slice(bytes).ok());
        let mut waiting: Vec<Stray> = known.unwrap_or_default();
        let made = make(&mut waiting)?;
        let next = serde_json::to_vec(&waiting).ok().filter(|_| !waiting.is_empty());
        if way.world.swap(&key, held.as_deref(), next.as_deref()) {
            return Some(made);
        }
    }
    None
}
