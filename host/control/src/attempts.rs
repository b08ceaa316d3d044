//! How often somebody may try a password.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::json;

use crate::problem::{Problem, ProblemKind};

/// Tries within the window, for one account and for one peer.
const TRIES: usize = 10;
const WINDOW_MS: i64 = 5 * 60 * 1000;
/// Accounts and peers that are remembered. Whoever invents more of them makes
/// the longest quiet ones forgotten, and is held by their own peer's.
const REMEMBERED: usize = 10_000;

/// The tries of late.
#[derive(Default)]
pub(crate) struct Attempts(Mutex<HashMap<String, Vec<i64>>>);

impl Attempts {
    /// Counts a try before it is made; refuses it where there were too many.
    pub(crate) fn begin(&self, account: &str, peer: &str, now_ms: i64) -> Result<(), Problem> {
        let mut all = self.all();
        if all.len() >= REMEMBERED {
            forget(&mut all, now_ms);
        }
        let keys = keys(account, peer);
        for key in &keys {
            if let Some(tries) = all.get_mut(key) {
                tries.retain(|at_ms| now_ms - at_ms < WINDOW_MS);
                if tries.len() >= TRIES {
                    let wait_ms = tries.first().map_or(0, |first| first + WINDOW_MS - now_ms);
                    return Err(too_many(wait_ms));
                }
            }
        }
        for key in keys {
            all.entry(key).or_default().push(now_ms);
        }
        Ok(())
    }

    /// Forgets the tries of an account whose password was right. The peer's
    /// other tries stay: they may have been for others' accounts.
    pub(crate) fn succeeded(&self, account: &str, peer: &str) {
        let [account, peer] = keys(account, peer);
        let mut all = self.all();
        all.remove(&account);
        if let Some(tries) = all.get_mut(&peer) {
            tries.pop();
        }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, Vec<i64>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn keys(account: &str, peer: &str) -> [String; 2] {
    [format!("account {account}"), format!("peer {peer}")]
}

fn forget(all: &mut HashMap<String, Vec<i64>>, now_ms: i64) {
    all.retain(|_, tries| tries.last().is_some_and(|last| now_ms - last < WINDOW_MS));
    if all.len() >= REMEMBERED {
        let mut lasts: Vec<i64> = all.values().filter_map(|tries| tries.last().copied()).collect();
        lasts.sort_unstable();
        let middle = lasts[lasts.len() / 2];
        all.retain(|_, tries| tries.last().is_some_and(|last| *last > middle));
    }
}

fn too_many(wait_ms: i64) -> Problem {
    let seconds = wait_ms.max(0).cast_unsigned().div_ceil(1000).max(1);
    let message = format!("too many passwords were tried: wait {seconds} s");
    Problem::new(ProblemKind::TooMany, "too-many-attempts", message)
        .hint("if it was not you, somebody guesses: the daemon's log says from where")
        .details(json!({ "retry_after_seconds": seconds }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_and_peers_are_held_each_for_itself() {
        let attempts = Attempts::default();
        for try_number in 0..10 {
            attempts.begin("ada", "one", try_number).unwrap();
        }
        let refused = attempts.begin("ada", "two", 1000).unwrap_err();
        assert_eq!(refused.code, "too-many-attempts");
        assert_eq!(refused.details.unwrap()["retry_after_seconds"], 299);
        assert!(attempts.begin("bob", "one", 1000).is_err(), "the peer tries other accounts");
        attempts.begin("bob", "two", 1000).unwrap();
        attempts.begin("ada", "one", WINDOW_MS + 10).unwrap();
    }

    #[test]
    fn a_right_password_gives_the_peer_no_more_guesses() {
        let attempts = Attempts::default();
        for try_number in 0..9 {
            attempts.begin("victim", "one", try_number).unwrap();
        }
        attempts.begin("own", "one", 20).unwrap();
        attempts.succeeded("own", "one");
        attempts.begin("victim", "one", 21).unwrap();
        assert!(attempts.begin("victim", "one", 22).is_err());
        attempts.succeeded("victim", "elsewhere");
        assert!(attempts.begin("victim", "one", 23).is_err());
        attempts.begin("victim", "two", 23).unwrap();
    }

    #[test]
    fn inventing_accounts_fills_no_memory() {
        let attempts = Attempts::default();
        for number in 0..25_000 {
            let (account, peer) = (format!("a{number}"), format!("p{number}"));
            attempts.begin(&account, &peer, i64::from(number)).unwrap();
            assert!(attempts.all().len() <= REMEMBERED + 2);
        }
    }
}
