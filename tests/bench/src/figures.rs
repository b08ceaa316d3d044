//! What was measured, and how it is shown.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

/// The rows so far.
#[derive(Default)]
pub(crate) struct Figures(Vec<Row>);

struct Row {
    what: String,
    measured: f64,
    unit: &'static str,
    /// What it is compared with: the value to reach, or a peer of this run.
    against: f64,
    against_what: &'static str,
    more: String,
}

impl Figures {
    /// A row: smaller is better, except for rates (`/s`).
    pub(crate) fn add(
        &mut self,
        what: &str,
        measured: f64,
        unit: &'static str,
        against: (f64, &'static str),
        more: String,
    ) {
        eprintln!("  {what}: {measured:.3} {unit} {more}");
        let (against, against_what) = against;
        self.0.push(Row { what: what.into(), measured, unit, against, against_what, more });
    }

    /// A row of durations: the median is the figure, p99 stands beside it.
    pub(crate) fn add_times(&mut self, what: &str, mut times: Vec<Duration>, against: (f64, &'static str)) {
        times.sort_unstable();
        let at = |share: f64| {
            let index = ((times.len() - 1) as f64 * share).round() as usize;
            times[index].as_secs_f64() * 1e3
        };
        self.add(what, at(0.5), "ms", against, format!("p99 {:.3}, n {}", at(0.99), times.len()));
    }

    pub(crate) fn table(&self) -> String {
        let mut text = String::from("| what | measured | against | ratio | |\n|---|---|---|---|---|\n");
        for row in &self.0 {
            let _ = writeln!(
                text,
                "| {} | {:.3} {} | {:.3} ({}) | {:.2} | {} |",
                row.what,
                row.measured,
                row.unit,
                row.against,
                row.against_what,
                row.measured / row.against,
                row.more
            );
        }
        text
    }

    pub(crate) fn json(&self) -> String {
        let rows = self.0.iter().map(|row| {
            json!({
                "what": row.what, "measured": row.measured, "unit": row.unit, "against": row.against,
                "against_what": row.against_what, "ratio": row.measured / row.against, "more": row.more,
            })
        });
        Value::Array(rows.collect()).to_string()
    }
}
