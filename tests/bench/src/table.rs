//! The rows as a table that is read in a terminal and in Markdown alike.

use std::fmt::Write as _;

use crate::figures::{Measured, Reach, Row, short, told};

/// The table; the ratio says how many times better ours is than the peer's.
pub(crate) fn table(rows: &[Row]) -> String {
    let head = ["what", "ours p50 (p99)", "peer p50 (p99)", "ratio", "reach", "verdict", ""];
    let mut lines = vec![head.map(str::to_owned)];
    lines.extend(rows.iter().map(|row| {
        [
            row.what.clone(),
            cell(&row.ours, row.unit),
            cell(&row.peer, row.unit),
            row.ratio().map_or_else(String::new, |ratio| format!("{}×", short(ratio))),
            reach(row.reach, row),
            row.verdict(),
            row.more.clone(),
        ]
    }));
    aligned(&lines)
}

/// A figure, or the beginning of why there is none; the JSON has all of it.
fn cell(measured: &Measured, unit: &str) -> String {
    let told = told(measured, unit);
    match told.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &told[..end]),
        None => told,
    }
}

fn reach(reach: Reach, row: &Row) -> String {
    let sign = if row.more_is_better() { "≥" } else { "≤" };
    let Some(p50) = reach.p50 else { return String::new() };
    let p99 = reach.p99.map_or_else(String::new, |p99| format!(", p99 {sign} {}", short(p99)));
    format!("{sign} {} {}{p99}", short(p50), row.unit)
}

/// Lines of cells, the first of them the head.
pub(crate) fn aligned<const CELLS: usize>(lines: &[[String; CELLS]]) -> String {
    let width =
        |cell: usize| lines.iter().map(|line| line[cell].chars().count()).max().unwrap_or_default().max(1);
    let widths: [usize; CELLS] = std::array::from_fn(width);
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        for (cell, width) in line.iter().zip(widths) {
            let _ = write!(text, "| {cell:width$} ");
        }
        text.push_str("|\n");
        if number == 0 {
            for width in widths {
                let _ = write!(text, "|{:-<1$}", "", width + 2);
            }
            text.push_str("|\n");
        }
    }
    text
}
