//! Changes of a text at places that were found in it: every byte elsewhere
//! stays.

use std::ops::Range;

/// What takes the place of a range of bytes.
#[derive(Debug)]
pub(super) struct Splice {
    pub(super) at: Range<usize>,
    pub(super) text: String,
}

impl Splice {
    pub(super) fn insert(at: usize, text: impl Into<String>) -> Self {
        Self { at: at..at, text: text.into() }
    }

    pub(super) fn remove(at: Range<usize>) -> Self {
        Self { at, text: String::new() }
    }

    pub(super) fn replace(at: Range<usize>, text: impl Into<String>) -> Self {
        Self { at, text: text.into() }
    }
}

/// The text with all splices done. They may not overlap.
pub(super) fn apply(text: &str, mut splices: Vec<Splice>) -> String {
    splices.sort_by_key(|splice| splice.at.start);
    let mut changed = text.to_owned();
    for splice in splices.into_iter().rev() {
        changed.replace_range(splice.at, &splice.text);
    }
    changed
}

/// Where the line begins that `at` stands on.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |found| found + 1)
}

/// Where the line after the one that `at` stands on begins.
pub(super) fn next_line(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |found| at + found + 1)
}

/// The line break that the text uses first.
pub(super) fn newline(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// The blanks that a line begins with.
pub(super) fn indent(text: &str, at: usize) -> &str {
    let line = &text[line_start(text, at)..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Whether these bytes are blanks alone.
pub(super) fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_whitespace())
}

/// `line 3 column 7` of a byte's place.
pub(super) fn place(text: &str, at: usize) -> String {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let line = text[..at].matches('\n').count() + 1;
    let column = text[line_start(text, at)..at].chars().count() + 1;
    format!("line {line} column {column}")
}
