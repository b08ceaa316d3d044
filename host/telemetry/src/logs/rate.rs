//! How often something may be logged.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Lines at once, and lines a second after that.
const BURST: u32 = 100;
const EACH: Duration = Duration::from_millis(50);

/// A component's allowance of lines in the daemon's log.
#[derive(Debug)]
pub struct Rate(Mutex<(u32, Option<Instant>)>);

impl Default for Rate {
    fn default() -> Self {
        Self(Mutex::new((BURST, None)))
    }
}

impl Rate {
    /// Takes one line of the allowance: 100 at once, 20 a second after.
    pub fn allows(&self, now: Instant) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (left, since) = *state;
        let since = since.unwrap_or(now);
        let earned = u32::try_from(now.saturating_duration_since(since).as_millis() / EACH.as_millis());
        let earned = earned.unwrap_or(u32::MAX);
        let left = left.saturating_add(earned).min(BURST);
        let since = if left == BURST { now } else { since + EACH * earned };
        *state = (left.saturating_sub(1), Some(since));
        left > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_and_then_so_many_a_second() {
        let rate = Rate::default();
        let begun = Instant::now();
        let taken = |at: Instant| (0..1_000).filter(|_| rate.allows(at)).count();
        assert_eq!(taken(begun), 100);
        assert_eq!(taken(begun + Duration::from_millis(49)), 0);
        assert_eq!(taken(begun + Duration::from_secs(1)), 20);
        assert_eq!(taken(begun + Duration::from_secs(3600)), 100, "no more is saved up");
    }
}
