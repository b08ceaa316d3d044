//! The clock of a call, which stands still while a person is waited for.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// Measures a call's wall time, from when it is made, without the time that
/// people take. Clones are the same clock.
#[derive(Debug, Clone)]
pub struct Stopwatch {
    begun: Instant,
    hand: Arc<watch::Sender<Hand>>,
}

#[derive(Debug, Default)]
struct Hand {
    /// How many questions wait.
    waiting: u32,
    /// Since when it stands still.
    since: Option<Instant>,
    /// How long it has stood still before.
    stood: Duration,
}

/// Dropping it lets the clock go on, unless something else still waits.
#[derive(Debug)]
pub struct Still(Stopwatch);

impl Default for Stopwatch {
    fn default() -> Self {
        Self { begun: Instant::now(), hand: Arc::default() }
    }
}

impl Stopwatch {
    /// How long it has run.
    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed().saturating_sub(self.stood())
    }

    /// Stops the clock.
    pub fn stand_still(&self) -> Still {
        self.hand.send_modify(|hand| {
            hand.waiting += 1;
            hand.since.get_or_insert_with(Instant::now);
        });
        Still(self.clone())
    }

    /// How long it has stood still in all.
    fn stood(&self) -> Duration {
        let hand = self.hand.borrow();
        hand.stood + hand.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Returns once the clock has run for so long from now on.
    pub(crate) async fn ran(&self, wall: Duration) {
        let mut hand = self.hand.subscribe();
        let before = self.elapsed();
        loop {
            let stands = hand.borrow_and_update().since.is_some();
            let left = wall.saturating_sub(self.elapsed().saturating_sub(before));
            let moved = hand.changed();
            if stands {
                // The sender lives in `self`.
                let _ = moved.await;
                continue;
            }
            if left.is_zero() || tokio::time::timeout(left, moved).await.is_err() {
                return;
            }
        }
    }
}

impl Drop for Still {
    fn drop(&mut self) {
        self.0.hand.send_modify(|hand| {
            hand.waiting -= 1;
            if hand.waiting == 0
                && let Some(since) = hand.since.take()
            {
                hand.stood += since.elapsed();
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WALL: Duration = Duration::from_millis(60);

    async fn milliseconds(number: u64) {
        tokio::time::sleep(Duration::from_millis(number)).await;
    }

    #[tokio::test]
    async fn the_time_of_people_is_not_counted() {
        let clock = Stopwatch::default();
        let begun = Instant::now();
        let people = async {
            milliseconds(20).await;
            let first = clock.stand_still();
            milliseconds(200).await;
            let second = clock.stand_still();
            drop(first);
            milliseconds(200).await;
            drop(second);
        };
        tokio::join!(clock.ran(WALL), people);
        assert!(begun.elapsed() >= WALL + Duration::from_millis(380), "{:?}", begun.elapsed());
        assert!(clock.stood() >= Duration::from_millis(400) && clock.stood() < begun.elapsed());
    }

    #[tokio::test]
    async fn one_that_stands_from_the_start_begins_later() {
        let clock = Stopwatch::default();
        let begun = Instant::now();
        let still = clock.stand_still();
        let people = async {
            milliseconds(200).await;
            drop(still);
        };
        tokio::join!(clock.ran(WALL), people);
        assert!(begun.elapsed() >= WALL + Duration::from_millis(200), "{:?}", begun.elapsed());
    }

    #[tokio::test]
    async fn one_that_nobody_stops_is_any_clock() {
        let begun = Instant::now();
        let clock = Stopwatch::default();
        clock.ran(WALL).await;
        assert!(begun.elapsed() >= WALL);
        assert_eq!(clock.stood(), Duration::ZERO);
    }
}
