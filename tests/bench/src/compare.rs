//! Two runs beside each other.

use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::figures::{Measured, Row, short};
use crate::table::aligned;

/// A table of the rows of both; the ratio says how many times better the
/// second is.
pub(crate) fn compare(before: &Path, after: &Path) -> Result<String> {
    let (before, after) = (read(before)?, read(after)?);
    let mut lines = vec![["what", "before", "after", "ratio", "peer's own ratio"].map(str::to_owned)];
    for row in rows(&after) {
        let Some(what) = row["what"].as_str() else { continue };
        let earlier = rows(&before).iter().find(|earlier| earlier["what"] == what);
        let unit = if matches!(row["unit"].as_str(), Some("/s" | "share")) { "/s" } else { "ms" };
        let ratio = |side: &str| {
            let (value, than) = (row[side]["p50"].as_f64()?, earlier?[side]["p50"].as_f64()?);
            Some(format!("{}×", short(Row::new(what, unit, Measured::None).better(value, than))))
        };
        let shown = |row: Option<&Value>| {
            let value = row.and_then(|row| row["ours"]["p50"].as_f64());
            value.map_or_else(
                || "–".into(),
                |value| format!("{} {}", short(value), row_unit(row.unwrap_or(&Value::Null))),
            )
        };
        lines.push([
            what.to_owned(),
            shown(earlier),
            shown(Some(row)),
            ratio("ours").unwrap_or_default(),
            ratio("peer").unwrap_or_default(),
        ]);
    }
    Ok(aligned(&lines))
}

fn row_unit(row: &Value) -> &str {
    row["unit"].as_str().unwrap_or_default()
}

fn rows(run: &Value) -> &[Value] {
    run["rows"].as_array().map_or(&[], Vec::as_slice)
}

fn read(path: &Path) -> Result<Value> {
    let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let run: Value =
        serde_json::from_str(&text).with_context(|| format!("{} is not JSON", path.display()))?;
    anyhow::ensure!(run["rows"].is_array(), "{} is not what executor-bench writes: no rows", path.display());
    Ok(run)
}

#[cfg(test)]
mod tests {
    use super::compare;

    #[test]
    fn two_runs_are_set_beside_each_other() {
        let write = |text: &str| {
            let file = tempfile::NamedTempFile::new().expect("a file");
            std::fs::write(file.path(), text).expect("written");
            file
        };
        let before = write(r#"{"rows":[{"what":"a","unit":"ms","ours":{"p50":2.0},"peer":{"p50":3.0}}]}"#);
        let after = write(
            r#"{"rows":[{"what":"a","unit":"ms","ours":{"p50":1.0},"peer":{"p50":3.0}},
                        {"what":"new","unit":"/s","ours":{"p50":7.0},"peer":null}]}"#,
        );
        let table = compare(before.path(), after.path()).expect("both are runs");
        let cells = |line: usize| -> Vec<&str> {
            table.lines().nth(line).unwrap_or_default().split('|').map(str::trim).collect()
        };
        assert_eq!(cells(2)[1..6], ["a", "2.00 ms", "1.00 ms", "2.00×", "1.00×"], "{table}");
        assert_eq!(cells(3)[1..6], ["new", "–", "7.00 /s", "", ""], "{table}");
        let nothing = write("[]");
        let error = compare(nothing.path(), after.path()).expect_err("a list is no run");
        assert!(error.to_string().contains("not what executor-bench writes"), "{error}");
    }
}
