//! Whether somebody listens to the stream of a session that belongs to no
//! call. What a server asks there while nobody does is lost, and the call that
//! it asks for hangs: a call waits a moment for who is about to listen.

use serde::{Deserialize, Serialize};

use super::Streamable;
use crate::text::hash_of;

/// How often who listens shows it.
pub(crate) const SHOW_MS: u32 = 5_000;
/// After this without it, nobody listens any more.
const STALE_MS: u64 = 8_000;
/// How long a call waits: a stream opens within one exchange.
const PATIENCE_MS: u64 = 1_000;
const POLL_MS: u64 = 20;

/// What stands in the session.
#[derive(Serialize, Deserialize)]
struct Mark {
    session: String,
    at_ms: u64,
    /// None has to be waited for where there is no stream.
    is_open: bool,
}

/// Shows calls that the stream is open, or that there is none.
pub(crate) fn show(way: &Streamable<'_>, is_open: bool) {
    let Some(session) = way.session().map(str::to_owned) else { return };
    let mark = Mark { session, at_ms: way.world.now_ms(), is_open };
    let mark = serde_json::to_vec(&mark).unwrap_or_default();
    let held = way.world.recall(&key(way));
    // Whoever was quicker knows as much.
    way.world.swap(&key(way), held.as_deref(), Some(&mark));
}

/// Waits until somebody listens to this session, where there is one; in vain
/// once.
pub(crate) fn wait(way: &Streamable<'_>) {
    let Some(session) = way.session() else { return };
    let begun = way.world.ticks_ms();
    let is_shown = || {
        let held = way.world.recall(&key(way))?;
        let mark: Mark = serde_json::from_slice(&held).ok()?;
        let holds = !mark.is_open || way.world.now_ms().abs_diff(mark.at_ms) < STALE_MS;
        (mark.session == session && holds).then_some(())
    };
    while is_shown().is_none() {
        if way.world.ticks_ms().saturating_sub(begun) >= PATIENCE_MS {
            return show(way, false);
        }
        way.world.sleep_ms(POLL_MS);
    }
}

fn key(way: &Streamable<'_>) -> String {
    format!("listens:{:016x}", hash_of(&way.url))
}
