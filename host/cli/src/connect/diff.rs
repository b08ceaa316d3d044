//! What a change does to a file, as a unified diff.

use std::path::Path;

use similar::{ChangeTag, TextDiff};

use crate::style::Style;
use crate::text;

/// Lines around a change.
const CONTEXT: usize = 3;
/// Longest line that is shown whole, in characters.
const LINE_LIMIT: usize = 160;
/// What is shown of a longer line on each side of its change.
const AROUND: usize = 40;

/// The diff; empty where nothing changes. It is fit for a terminal.
pub(crate) fn unified(path: &Path, before: &str, after: &str, style: Style) -> String {
    if before == after {
        return String::new();
    }
    let path = text::clean(&path.display().to_string()).into_owned();
    let old = if before.is_empty() { "/dev/null" } else { &path };
    let mut shown =
        format!("{}\n{}\n", style.bold(&format!("--- {old}")), style.bold(&format!("+++ {path}")));
    let diff = TextDiff::from_lines(before, after);
    let window = Window::of(before, after);
    for hunk in diff.unified_diff().context_radius(CONTEXT).iter_hunks() {
        shown.push_str(&format!("{}\n", style.cyan(&hunk.header().to_string())));
        for change in hunk.iter_changes() {
            let line = window.cut(&text::clean(change.value().trim_end_matches(['\n', '\r'])));
            let line = match change.tag() {
                ChangeTag::Equal => format!(" {line}"),
                ChangeTag::Insert => style.green(&format!("+{line}")),
                ChangeTag::Delete => style.red(&format!("-{line}")),
            };
            shown.push_str(&line);
            shown.push('\n');
        }
    }
    shown
}

/// The part of a text's long lines that is shown: where the first of them
/// changes.
struct Window {
    /// Characters of the long line that are left out.
    skipped: usize,
}

impl Window {
    /// Only a text on one line has lines that must be cut within a change:
    /// what is put in is short otherwise.
    fn of(before: &str, after: &str) -> Self {
        let common = before.chars().zip(after.chars()).take_while(|(old, new)| old == new);
        let line =
            common.fold(0_usize, |length, (character, _)| if character == '\n' { 0 } else { length + 1 });
        Self { skipped: line.saturating_sub(AROUND) }
    }

    fn cut(&self, line: &str) -> String {
        if line.chars().count() <= LINE_LIMIT {
            return line.to_owned();
        }
        let (lead, skipped) = if self.skipped > 0 { ("…", self.skipped) } else { ("", 0) };
        let rest: String = line.chars().skip(skipped).collect();
        format!("{lead}{}", text::shorten(&rest, LINE_LIMIT * 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_with_what_is_around_it() {
        let before = "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3,\n  \"d\": \"\u{1b}[2Jx\"\n}\n";
        let after = before.replace("x\"\n", "x\",\r\n  \"e\": 5\n");
        insta::assert_snapshot!(unified(Path::new("/c \u{1b}[1m.json"), before, &after, Style::default()), @r#"
        --- /c .json
        +++ /c .json
        @@ -2,5 +2,6 @@
           "a": 1,
           "b": 2,
           "c": 3,
        -  "d": "x"
        +  "d": "x",
        +  "e": 5
         }
        "#);
        assert_eq!(unified(Path::new("/c"), "x", "x", Style::default()), "");
        insta::assert_snapshot!(unified(Path::new("/c"), "", "{}\n", Style::default()), @r"
        --- /dev/null
        +++ /c
        @@ -0,0 +1 @@
        +{}
        ");
    }

    #[test]
    fn of_one_long_line_the_change_is_shown() {
        let many = "x".repeat(5_000);
        let before = format!("{{\"a\":\"{many}\",\"m\":{{}},\"z\":\"{many}\"}}");
        let after = before.replace("{}", "{\"executor\":1}");
        let shown = unified(Path::new("/c"), &before, &after, Style::default());
        assert!(shown.contains("\"m\":{\"executor\":1}"), "{shown}");
        assert!(shown.len() < 1_000, "{}", shown.len());
    }
}
