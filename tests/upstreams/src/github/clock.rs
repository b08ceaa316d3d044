//! A clock that moves when something changes, and by the same step each time,
//! so that the same requests give the same answers.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A second, as GitHub's `date-time`s have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Timestamp(i64);

/// 2025-01-01T00:00:00Z
const START: Timestamp = Timestamp(1_735_689_600);
const STEP_S: i64 = 60;

#[derive(Debug)]
pub(crate) struct Clock(Timestamp);

impl Default for Clock {
    fn default() -> Self {
        Self(START)
    }
}

impl Clock {
    /// The next moment.
    pub(crate) fn tick(&mut self) -> Timestamp {
        self.0.0 += STEP_S;
        self.0
    }
}

impl Timestamp {
    /// `2025-01-01T00:01:00Z`
    pub(crate) fn text(self) -> String {
        OffsetDateTime::from_unix_timestamp(self.0)
            .ok()
            .and_then(|moment| moment.format(&Rfc3339).ok())
            .expect("the clock would have to tick for millennia to leave the calendar")
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let moment = OffsetDateTime::parse(text, &Rfc3339).ok()?;
        Some(Self(moment.unix_timestamp()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_starts_at_the_same_moment_and_ticks() {
        let mut clock = Clock::default();
        assert_eq!(clock.tick().text(), "2025-01-01T00:01:00Z");
        let second = clock.tick();
        assert_eq!(second.text(), "2025-01-01T00:02:00Z");
        assert_eq!(Timestamp::parse(&second.text()), Some(second));
        assert_eq!(Timestamp::parse("yesterday"), None);
    }
}
