//! The emulator's clock: the machine's, and what a test has moved it by.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(Debug, Default)]
pub(crate) struct Clock {
    offset_ms: AtomicI64,
}

impl Clock {
    /// Milliseconds since 1970, as the emulator sees it.
    pub(crate) fn now_ms(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let machine = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
        machine.saturating_add(self.offset_ms.load(Ordering::Relaxed))
    }

    /// Moves it, backwards where `seconds` is negative.
    pub(crate) fn advance(&self, seconds: i64) {
        self.offset_ms.fetch_add(seconds.saturating_mul(1000), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_moves_both_ways() {
        let clock = Clock::default();
        let begun = clock.now_ms();
        clock.advance(3600);
        assert!(clock.now_ms() >= begun + 3_600_000);
        clock.advance(-7200);
        assert!(clock.now_ms() < begun);
    }
}
