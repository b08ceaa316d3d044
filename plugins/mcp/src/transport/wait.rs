//! How long an answer is waited for.

use crate::seam::World;

/// The longest that one read waits: how soon a bound is noticed.
pub(crate) const STEP_MS: u32 = 15_000;
/// The same where somebody is shown meanwhile that it goes on.
const SHOWN_STEP_MS: u32 = 5_000;
/// The silence after which a call is given up; progress breaks it.
const SILENCE_MS: u64 = 110_000;
/// All of a call, without the time that people take to answer.
const TOTAL_MS: u64 = 600_000;

/// The time-outs of one request.
pub(crate) struct Wait<'w> {
    world: &'w dyn World,
    begun: u64,
    heard: u64,
    silence_ms: u64,
    total_ms: u64,
    shows: Option<&'w dyn Fn()>,
}

impl<'w> Wait<'w> {
    /// Of a call.
    pub(crate) fn call(world: &'w dyn World) -> Self {
        Self::of(world, SILENCE_MS, TOTAL_MS)
    }

    /// Of something that answers at once or not at all.
    pub(crate) fn short(world: &'w dyn World, ms: u64) -> Self {
        Self::of(world, ms, ms)
    }

    fn of(world: &'w dyn World, silence_ms: u64, total_ms: u64) -> Self {
        let now = world.ticks_ms();
        Self { world, begun: now, heard: now, silence_ms, total_ms, shows: None }
    }

    /// The same, that calls `shows` with each step: it goes on.
    pub(crate) fn showing(self, shows: &'w dyn Fn()) -> Self {
        Self { shows: Some(shows), ..self }
    }

    /// Milliseconds that are left; none: it is over.
    pub(crate) fn left_ms(&self) -> Option<u32> {
        let now = self.world.ticks_ms();
        let end = (self.heard + self.silence_ms).min(self.begun + self.total_ms);
        let left = end.saturating_sub(now);
        (left > 0).then(|| u32::try_from(left).unwrap_or(u32::MAX))
    }

    /// How long to wait within one read.
    pub(crate) fn step_ms(&self) -> Option<u32> {
        let longest = self.shows.map_or(STEP_MS, |shows| {
            shows();
            SHOWN_STEP_MS
        });
        self.left_ms().map(|left| left.min(longest))
    }

    /// The server lives.
    pub(crate) fn heard(&mut self) {
        self.heard = self.world.ticks_ms();
    }

    /// Time since `since` was a person's.
    pub(crate) fn forgive(&mut self, since: u64) {
        let now = self.world.ticks_ms();
        self.begun += now.saturating_sub(since);
        self.heard = now;
    }
}
