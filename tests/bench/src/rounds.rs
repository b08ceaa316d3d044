//! Measuring sides in turns: A B A B …, so that what the machine does
//! meanwhile falls on all of them.

use std::time::{Duration, Instant};

use anyhow::Result;

/// How a row is measured.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    /// Turns of each side.
    pub(crate) rounds: usize,
    /// Calls of a turn.
    pub(crate) calls: usize,
    /// A turn ends after so long, however many calls it had.
    pub(crate) within: Duration,
    /// Calls before the first turn, left out.
    pub(crate) warm: usize,
}

/// What one side took: a list of times a round.
pub(crate) struct Samples(pub(crate) Vec<Vec<Duration>>);

/// A side's samples, or why there are none.
pub(crate) type Outcome = Result<Samples, String>;

/// One call of a side: gets a number that no other call of it got, and says
/// how long what matters of it took.
pub(crate) type Action<'a> = Result<Box<dyn FnMut(usize) -> Result<Duration> + 'a>, String>;

/// A side that is there.
pub(crate) fn action<'a>(call: impl FnMut(usize) -> Result<Duration> + 'a) -> Action<'a> {
    Ok(Box::new(call))
}

/// How long a call takes.
pub(crate) fn timed<T>(call: impl FnOnce() -> Result<T>) -> Result<(Duration, T)> {
    let begun = Instant::now();
    let value = call()?;
    Ok((begun.elapsed(), value))
}

/// Measures the sides in turns. One that fails is out, with its reason; the
/// others go on.
pub(crate) fn alternate<const SIDES: usize>(plan: Plan, sides: [Action<'_>; SIDES]) -> [Outcome; SIDES] {
    struct Turn<'a> {
        action: Action<'a>,
        number: usize,
        samples: Vec<Vec<Duration>>,
    }
    let mut turns = sides.map(|action| Turn { action, number: 0, samples: Vec::new() });
    for round in 0..=plan.rounds {
        for turn in &mut turns {
            let Ok(call) = &mut turn.action else { continue };
            // The first round is the warm-up.
            let calls = if round == 0 { plan.warm } else { plan.calls };
            let begun = Instant::now();
            let mut times = Vec::with_capacity(calls);
            let mut failed = None;
            while times.len() < calls && (times.is_empty() || begun.elapsed() < plan.within) {
                turn.number += 1;
                match call(turn.number) {
                    Ok(took) => times.push(took),
                    Err(error) => {
                        failed = Some(format!("{error:#}"));
                        break;
                    }
                }
            }
            if let Some(reason) = failed {
                turn.action = Err(reason);
            } else if round > 0 {
                turn.samples.push(times);
            }
        }
    }
    turns.map(|turn| turn.action.map(|_| Samples(turn.samples)))
}

impl Samples {
    /// The value below which `share` of all times are, in milliseconds.
    pub(crate) fn at_ms(&self, share: f64) -> f64 {
        let mut all = self.0.concat();
        all.sort_unstable();
        milliseconds(&all, share)
    }

    /// The median of each round, in milliseconds.
    pub(crate) fn medians_ms(&self) -> Vec<f64> {
        let sorted = self.0.iter().map(|round| {
            let mut round = round.clone();
            round.sort_unstable();
            milliseconds(&round, 0.5)
        });
        sorted.collect()
    }

    pub(crate) fn count(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }
}

fn milliseconds(sorted: &[Duration], share: f64) -> f64 {
    let index = (sorted.len().saturating_sub(1) as f64 * share).round() as usize;
    sorted.get(index).map_or(f64::NAN, Duration::as_secs_f64) * 1e3
}

#[cfg(test)]
mod tests {
    use super::{Plan, action, alternate};
    use std::cell::RefCell;
    use std::time::Duration;

    #[test]
    fn sides_take_turns_and_one_that_fails_is_out() {
        let plan = Plan { rounds: 2, calls: 2, within: Duration::from_secs(60), warm: 1 };
        let order = RefCell::new(String::new());
        let side = |name: char, fails_at: usize| {
            let order = &order;
            action(move |number| {
                order.borrow_mut().push(name);
                anyhow::ensure!(number != fails_at, "broke at {number}");
                Ok(Duration::from_millis(number as u64))
            })
        };
        let [first, second, third] = alternate(plan, [side('a', 0), side('b', 3), Err("not there".into())]);
        assert_eq!(order.into_inner(), "abaabbaa");
        let first = first.unwrap_or_else(|reason| panic!("{reason}"));
        assert_eq!((first.count(), first.at_ms(1.0), first.medians_ms().len()), (4, 5.0, 2));
        assert_eq!(second.err().as_deref(), Some("broke at 3"));
        assert_eq!(third.err().as_deref(), Some("not there"));
    }
}
