//! What was measured, and what it is held against.

use serde_json::{Value, json};

use crate::rounds::Outcome;

/// The rows so far, and which are wanted.
pub(crate) struct Figures {
    rows: Vec<Row>,
    only: Option<String>,
    whole_section: bool,
}

/// One side's figure.
#[derive(Clone)]
pub(crate) enum Measured {
    /// It was measured.
    Figure {
        /// The median, or the value itself where there is one alone.
        p50: f64,
        /// Beside it, where many were taken.
        p99: Option<f64>,
        /// How many were taken.
        count: usize,
        /// The median of each round.
        rounds: Vec<f64>,
    },
    /// Why it was not.
    Missing(String),
    /// The row has no such side.
    None,
}

/// What is to be reached.
#[derive(Clone, Copy, Default)]
pub(crate) struct Reach {
    pub(crate) p50: Option<f64>,
    pub(crate) p99: Option<f64>,
}

/// A row.
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) unit: &'static str,
    pub(crate) ours: Measured,
    pub(crate) peer: Measured,
    pub(crate) reach: Reach,
    /// What a reader needs to know to read it.
    pub(crate) more: String,
}

impl From<f64> for Measured {
    fn from(value: f64) -> Self {
        Self::Figure { p50: value, p99: None, count: 1, rounds: vec![value] }
    }
}

/// Times become milliseconds.
impl From<Outcome> for Measured {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Ok(samples) => {
                let count = samples.count();
                let p99 = (count >= 20).then(|| samples.at_ms(0.99));
                Self::Figure { p50: samples.at_ms(0.5), p99, count, rounds: samples.medians_ms() }
            }
            Err(reason) => Self::Missing(reason),
        }
    }
}

impl From<anyhow::Result<f64>> for Measured {
    fn from(result: anyhow::Result<f64>) -> Self {
        result.map_or_else(|error| Self::Missing(format!("{error:#}")), Self::from)
    }
}

impl Measured {
    /// A value a round.
    pub(crate) fn of_rounds(rounds: Vec<f64>) -> Self {
        let mut sorted = rounds.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let p50 = sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN);
        Self::Figure { p50, p99: None, count: rounds.len(), rounds }
    }

    pub(crate) fn p50(&self) -> Option<f64> {
        match self {
            Self::Figure { p50, .. } => Some(*p50),
            Self::Missing(_) | Self::None => None,
        }
    }

    pub(crate) fn p99(&self) -> Option<f64> {
        match self {
            Self::Figure { p99, .. } => *p99,
            Self::Missing(_) | Self::None => None,
        }
    }

    fn json(&self) -> Value {
        match self {
            Self::Figure { p50, p99, count, rounds } => {
                json!({ "p50": p50, "p99": p99, "count": count, "rounds": rounds })
            }
            Self::Missing(reason) => json!({ "missing": reason }),
            Self::None => Value::Null,
        }
    }
}

/// A reach for the median alone.
pub(crate) fn reach(p50: f64) -> Reach {
    Reach { p50: Some(p50), p99: None }
}

impl Row {
    pub(crate) fn new(what: &str, unit: &'static str, ours: impl Into<Measured>) -> Self {
        Self {
            what: what.into(),
            unit,
            ours: ours.into(),
            peer: Measured::None,
            reach: Reach::default(),
            more: String::new(),
        }
    }

    pub(crate) fn peer(self, peer: impl Into<Measured>) -> Self {
        Self { peer: peer.into(), ..self }
    }

    pub(crate) fn reach(self, reach: Reach) -> Self {
        Self { reach, ..self }
    }

    pub(crate) fn more(self, more: impl Into<String>) -> Self {
        Self { more: more.into(), ..self }
    }

    /// Whether more is better; elsewhere less is.
    pub(crate) fn more_is_better(&self) -> bool {
        matches!(self.unit, "/s" | "share")
    }

    /// How many times better one value is than another.
    pub(crate) fn better(&self, value: f64, than: f64) -> f64 {
        if self.more_is_better() { value / than } else { than / value }
    }

    /// How many times better ours is than the peer's.
    pub(crate) fn ratio(&self) -> Option<f64> {
        Some(self.better(self.ours.p50()?, self.peer.p50()?))
    }

    /// Whether the reach is reached, and by how much it is missed.
    pub(crate) fn verdict(&self) -> String {
        let pairs = [(self.ours.p50(), self.reach.p50, ""), (self.ours.p99(), self.reach.p99, "p99 ")];
        let mut missed = Vec::new();
        let mut held = false;
        for (value, reach, which) in pairs {
            let (Some(value), Some(reach)) = (value, reach) else { continue };
            held = true;
            let short = 1.0 / self.better(value, reach);
            if short > 1.0 {
                missed.push(format!("{which}{short:.2}×"));
            }
        }
        match (&self.ours, missed.is_empty(), held) {
            (Measured::Missing(_), ..) => "not measured".into(),
            (_, false, _) => format!("missed: {}", missed.join(", ")),
            (_, true, true) => "reached".into(),
            (_, true, false) => String::new(),
        }
    }

    fn json(&self) -> Value {
        json!({
            "what": self.what, "unit": self.unit, "ours": self.ours.json(), "peer": self.peer.json(),
            "ratio": self.ratio(), "reach": { "p50": self.reach.p50, "p99": self.reach.p99 },
            "verdict": self.verdict(), "more": self.more,
        })
    }
}

impl Figures {
    pub(crate) fn new(only: Option<String>) -> Self {
        Self { rows: Vec::new(), only: only.map(|only| only.to_lowercase()), whole_section: false }
    }

    /// Whether anything of a section is wanted: the section by its name, or
    /// one of its rows.
    pub(crate) fn begins(&mut self, section: &str, rows: &[&str]) -> bool {
        self.whole_section = self.matches(section);
        let begins = self.whole_section || rows.iter().any(|row| self.matches(row));
        if begins {
            eprintln!("{section}");
        }
        begins
    }

    fn matches(&self, text: &str) -> bool {
        self.only.as_ref().is_none_or(|only| text.to_lowercase().contains(only))
    }

    /// Whether one row of the section is wanted.
    pub(crate) fn wants(&self, row: &str) -> bool {
        self.whole_section || self.matches(row)
    }

    pub(crate) fn add(&mut self, row: Row) {
        eprintln!("  {}: {} | peer {}", row.what, told(&row.ours, row.unit), told(&row.peer, row.unit));
        self.rows.push(row);
    }

    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub(crate) fn json(&self) -> Value {
        self.rows.iter().map(Row::json).collect()
    }
}

/// A figure as it is shown: `0.184 ms (0.92)`.
pub(crate) fn told(measured: &Measured, unit: &str) -> String {
    match measured {
        Measured::Figure { p50, p99: Some(p99), .. } => format!("{} {unit} ({})", short(*p50), short(*p99)),
        Measured::Figure { p50, p99: None, .. } => format!("{} {unit}", short(*p50)),
        Measured::Missing(reason) => reason.replace(['|', '\n'], " "),
        Measured::None => "–".into(),
    }
}

/// Three digits that count.
pub(crate) fn short(value: f64) -> String {
    let whole_digits = value.abs().max(1e-9).log10().floor() as i32 + 1;
    let after = usize::try_from(3 - whole_digits).unwrap_or(0).min(4);
    format!("{value:.after$}")
}

#[cfg(test)]
mod tests {
    use super::{Measured, Reach, Row, reach, short};

    fn check(row: Row, verdict: &str, ratio: Option<f64>) {
        assert_eq!((row.verdict().as_str(), row.ratio()), (verdict, ratio));
    }

    #[test]
    fn a_verdict_is_of_the_median_and_of_p99() {
        let figure = |p50, p99| Measured::Figure { p50, p99: Some(p99), count: 100, rounds: vec![p50] };
        let both = Reach { p50: Some(1.0), p99: Some(2.0) };
        check(Row::new("a", "ms", figure(0.5, 2.0)).peer(2.0).reach(both), "reached", Some(4.0));
        check(Row::new("a", "ms", figure(2.0, 8.0)).reach(both), "missed: 2.00×, p99 4.00×", None);
        check(Row::new("a", "/s", 50.0).peer(25.0).reach(reach(100.0)), "missed: 2.00×", Some(2.0));
        check(Row::new("a", "ms", 1.0).peer(Measured::Missing("no".into())), "", None);
        check(Row::new("a", "ms", Measured::Missing("no".into())).reach(both), "not measured", None);
    }

    #[test]
    fn numbers_have_three_digits_that_count() {
        let shown = [0.00123, 0.1849, 1.0, 18.52, 950.4, 12_345.6].map(short);
        assert_eq!(shown, ["0.0012", "0.185", "1.00", "18.5", "950", "12346"]);
    }
}
