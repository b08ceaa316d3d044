//! What was agreed on with a server, in the session that all calls of a
//! connection share: whoever comes first greets, the others wait for it.

use serde::{Deserialize, Serialize};

use super::Peer;
use crate::seam::World;
use crate::transport::Lost;

/// After this, who began to greet is taken for dead.
const STALE_MS: u64 = 15_000;
const POLL_MS: u64 = 50;
/// Waiting for others ends, whatever they do.
const PATIENCE_MS: u64 = 60_000;
/// Swaps in a row that fail with nobody else in sight: nothing can be kept.
const MAX_REFUSED: u32 = 5;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Greeting { at_ms: u64, by: u64 },
    Ready(Peer),
}

/// An entry of the session, as it was when it was read or written.
pub(crate) struct Kept {
    key: String,
    bytes: Vec<u8>,
}

impl Kept {
    /// Removes it, unless somebody put another in its place.
    pub(crate) fn forget(self, world: &dyn World) {
        world.swap(&self.key, Some(&self.bytes), None);
    }
}

/// How a peer came about.
pub(crate) struct Shared {
    pub(crate) peer: Peer,
    pub(crate) recalled: bool,
    pub(crate) kept: Option<Kept>,
}

/// Gives the peer that is kept under `key`, or has `greet` make one, once for
/// all who ask at the same time. `first` says that what is kept is of another
/// process.
///
/// # Errors
/// What `greet` fails with; the next one tries again.
pub(crate) fn shared(
    world: &dyn World,
    key: &str,
    mut first: bool,
    greet: impl FnOnce() -> Result<Peer, Lost>,
) -> Result<Shared, Lost> {
    let claim = State::Greeting { at_ms: world.now_ms(), by: world.random() };
    let claim = serde_json::to_vec(&claim).unwrap_or_default();
    let begun = world.ticks_ms();
    let mut refused = 0;
    let claimed = loop {
        let held = world.recall(key);
        let state = held.as_ref().and_then(|bytes| serde_json::from_slice(bytes).ok());
        match (state, held) {
            (Some(State::Ready(peer)), Some(bytes)) if !first => {
                let kept = Some(Kept { key: key.to_owned(), bytes });
                return Ok(Shared { peer, recalled: true, kept });
            }
            (Some(State::Greeting { at_ms, .. }), _) if !first && is_fresh(world, at_ms) => {
                if world.ticks_ms().saturating_sub(begun) > PATIENCE_MS {
                    break false;
                }
                world.sleep_ms(POLL_MS);
            }
            (_, held) => {
                if world.swap(key, held.as_deref(), Some(&claim)) {
                    break true;
                }
                refused += 1;
                if refused == MAX_REFUSED {
                    break false;
                }
                first = false;
                world.sleep_ms(POLL_MS / 5);
            }
        }
    };
    let peer = match greet() {
        Ok(peer) => peer,
        Err(lost) => {
            if claimed {
                world.swap(key, Some(&claim), None);
            }
            return Err(lost);
        }
    };
    let ready = serde_json::to_vec(&State::Ready(peer.clone())).unwrap_or_default();
    let is_kept = claimed && world.swap(key, Some(&claim), Some(&ready));
    Ok(Shared { peer, recalled: false, kept: is_kept.then(|| Kept { key: key.to_owned(), bytes: ready }) })
}

/// Keeps a peer for others to find.
pub(crate) fn put(world: &dyn World, key: &str, peer: &Peer) {
    let ready = serde_json::to_vec(&State::Ready(peer.clone())).unwrap_or_default();
    let held = world.recall(key);
    world.swap(key, held.as_deref(), Some(&ready));
}

/// A clock that was put back makes no claim eternal.
fn is_fresh(world: &dyn World, at_ms: u64) -> bool {
    world.now_ms().abs_diff(at_ms) < STALE_MS
}
