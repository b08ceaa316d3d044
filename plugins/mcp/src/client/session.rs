//! What was agreed on with a server, in the session that all calls of a
//! connection share: whoever comes first greets, the others wait for it.

use std::cell::RefCell;

use serde::{Deserialize, Serialize};

use super::Peer;
use crate::seam::World;
use crate::transport::Lost;

/// After this without a sign of life, who began to greet is taken for dead.
const STALE_MS: u64 = 15_000;
/// Between two signs of life.
const RENEW_MS: u64 = 2_000;
const POLL_MS: u64 = 50;
/// Waiting for others ends, whatever they do: longer than any greeting takes.
const PATIENCE_MS: u64 = 100_000;
/// Swaps in a row that fail with nobody else in sight: nothing can be kept.
const MAX_REFUSED: u32 = 5;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Greeting { at_ms: u64, by: u64 },
    Ready(Peer),
}

fn bytes(state: &State) -> Vec<u8> {
    serde_json::to_vec(state).unwrap_or_default()
}

/// The place of whoever greets, which is theirs as long as they show that they
/// live.
struct Claim<'s> {
    world: &'s dyn World,
    key: &'s str,
    by: u64,
    /// When it was renewed, and how it stands in the session since.
    held: RefCell<(u64, Vec<u8>)>,
}

impl<'s> Claim<'s> {
    fn new(world: &'s dyn World, key: &'s str) -> Self {
        let (at_ms, by) = (world.now_ms(), world.random());
        Self { world, key, by, held: RefCell::new((at_ms, bytes(&State::Greeting { at_ms, by }))) }
    }

    /// Puts another state in its place; whether it still stood.
    fn give_way(&self, next: Option<&[u8]>) -> bool {
        self.world.swap(self.key, Some(&self.held.borrow().1), next)
    }

    /// Shows that its holder lives.
    fn renew(&self) {
        let at_ms = self.world.now_ms();
        if at_ms.abs_diff(self.held.borrow().0) < RENEW_MS {
            return;
        }
        let next = bytes(&State::Greeting { at_ms, by: self.by });
        if self.give_way(Some(&next)) {
            *self.held.borrow_mut() = (at_ms, next);
        }
    }
}

/// How a peer came about.
pub(crate) struct Shared {
    pub(crate) peer: Peer,
    pub(crate) recalled: bool,
}

/// Gives the peer that is kept under `key`, or has `greet` make one, once for
/// all who ask at the same time. `greet` is given what shows others that it
/// goes on.
///
/// # Errors
/// What `greet` fails with; the next one tries again. [`Lost::Silent`] where
/// others greet and do not come to an end.
pub(crate) fn shared(
    world: &dyn World,
    key: &str,
    greet: impl FnOnce(&dyn Fn()) -> Result<Peer, Lost>,
) -> Result<Shared, Lost> {
    let begun = world.ticks_ms();
    let mut refused = 0;
    // None: nothing can be kept, and each greets for itself.
    let claim = loop {
        let held = world.recall(key);
        match held.as_ref().and_then(|bytes| serde_json::from_slice(bytes).ok()) {
            Some(State::Ready(peer)) => return Ok(Shared { peer, recalled: true }),
            Some(State::Greeting { at_ms, .. }) if is_fresh(world, at_ms) => {
                if world.ticks_ms().saturating_sub(begun) > PATIENCE_MS {
                    return Err(Lost::Silent);
                }
                world.sleep_ms(POLL_MS);
            }
            None | Some(State::Greeting { .. }) => {
                let claim = Claim::new(world, key);
                if world.swap(key, held.as_deref(), Some(&claim.held.borrow().1)) {
                    break Some(claim);
                }
                refused += 1;
                if refused == MAX_REFUSED {
                    break None;
                }
                world.sleep_ms(POLL_MS / 5);
            }
        }
    };
    let greeted = greet(&|| claim.iter().for_each(Claim::renew));
    if let Some(claim) = &claim {
        let ready = greeted.as_ref().ok().map(|peer| bytes(&State::Ready(peer.clone())));
        claim.give_way(ready.as_deref());
    }
    greeted.map(|peer| Shared { peer, recalled: false })
}

/// Removes what is kept of a server as it was known, unless somebody put
/// another in its place.
pub(crate) fn forget(world: &dyn World, key: &str, known: &Peer) {
    let Some(held) = world.recall(key) else { return };
    if let Ok(State::Ready(peer)) = serde_json::from_slice(&held)
        && (peer.era, &peer.session) == (known.era, &known.session)
    {
        world.swap(key, Some(&held), None);
    }
}

/// A clock that was put back makes no claim eternal.
fn is_fresh(world: &dyn World, at_ms: u64) -> bool {
    world.now_ms().abs_diff(at_ms) < STALE_MS
}
