//! Columns of text.

use crate::style::Style;
use crate::text;

/// Longest cell that is shown whole, in characters.
const CELL_LIMIT: usize = 72;

/// A table with a heading. Columns are as wide as their longest cell; the
/// last one is never padded.
#[derive(Debug)]
pub(crate) struct Table {
    headings: &'static [&'static str],
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(headings: &'static [&'static str]) -> Self {
        Self { headings, rows: Vec::new() }
    }

    /// Adds a row; its cells come from outside and are cleaned here.
    pub(crate) fn row<const N: usize>(&mut self, cells: [&str; N]) {
        self.rows.push(cells.iter().map(|cell| text::line(cell, CELL_LIMIT)).collect());
    }

    pub(crate) fn render(&self, style: Style) -> String {
        let widths = self.widths();
        let headings: Vec<String> = self.headings.iter().map(|&heading| heading.to_owned()).collect();
        let mut rendered = style.dim(&line(&headings, &widths));
        rendered.push('\n');
        for row in &self.rows {
            rendered.push_str(&line(row, &widths));
            rendered.push('\n');
        }
        rendered
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = self.headings.iter().map(|heading| heading.chars().count()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        widths
    }
}

fn line(cells: &[String], widths: &[usize]) -> String {
    let mut line = String::new();
    for (cell, width) in cells.iter().zip(widths) {
        line.push_str(cell);
        let padding = width - cell.chars().count() + 2;
        line.extend(std::iter::repeat_n(' ', padding));
    }
    line.truncate(line.trim_end().len());
    line
}

/// `label  value` lines, the labels as wide as the longest; empty values are
/// left out.
pub(crate) fn facts(facts: &[(&str, String)], style: Style) -> String {
    let shown = facts.iter().filter(|(_, value)| !value.is_empty());
    let width = shown.clone().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
    let mut rendered = String::new();
    for (label, value) in shown {
        let padding = " ".repeat(width - label.chars().count() + 2);
        rendered.push_str(&format!("{}{padding}{value}\n", style.dim(label)));
    }
    rendered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_cells_are_clean() {
        let mut table = Table::new(&["NAME", "TOOLS", "TITLE"]);
        table.row(["github", "1,223", "GitHub \u{1b}[31mv3"]);
        table.row(["日本", "1", &"x".repeat(200)]);
        let rendered = table.render(Style::default());
        insta::assert_snapshot!(rendered, @r"
        NAME    TOOLS  TITLE
        github  1,223  GitHub v3
        日本      1      xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…
        ");
    }

    #[test]
    fn facts_line_up() {
        let rendered =
            facts(&[("a", "1".into()), ("long", "2".into()), ("none", String::new())], Style::default());
        assert_eq!(rendered, "a     1\nlong  2\n");
    }
}
