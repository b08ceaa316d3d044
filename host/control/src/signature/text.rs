//! Text from strangers, made fit for a comment or a literal.

use std::fmt::Write as _;

/// Longest sentence shown of a description.
const SENTENCE_CHARS: usize = 120;
/// Bytes of a description that are looked at.
const MAX_LOOKED_AT: usize = 4_000;

/// Whether a character may change how other text is read: controls, line
/// separators, direction marks, invisible characters, tags.
fn is_treacherous(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// One line for within a comment, up to `limit` characters: white space is one
/// space, nothing ends the comment, Markdown links are their text.
pub(super) fn comment(text: &str, limit: usize) -> String {
    let text = &text[..text.floor_char_boundary(MAX_LOOKED_AT)];
    let mut line = String::new();
    let mut count = 0;
    let mut gap = false;
    for character in without_links(text) {
        if character.is_whitespace() || is_treacherous(character) {
            gap |= character.is_whitespace() || character.is_control();
            continue;
        }
        if gap && !line.is_empty() {
            line.push(' ');
            count += 1;
        }
        gap = false;
        if count >= limit {
            line.truncate(line.trim_end().len());
            line.push('…');
            break;
        }
        if character == '/' && line.ends_with('*') {
            line.push('\\');
        }
        line.push(character);
        count += 1;
    }
    // A star at the end would meet the slash that ends the comment.
    if line.ends_with('*') {
        line.push(' ');
    }
    line
}

/// `[text](target)` as `text`.
fn without_links(text: &str) -> impl Iterator<Item = char> {
    let mut rest = text;
    let mut inside = false;
    std::iter::from_fn(move || {
        if inside && rest.starts_with("](") {
            inside = false;
            if let Some(end) = rest.find(')') {
                rest = &rest[end + 1..];
            }
        }
        let mut character = rest.chars().next()?;
        if character == '[' && !inside && is_link(rest) {
            inside = true;
            rest = &rest[1..];
            character = rest.chars().next()?;
        }
        rest = &rest[character.len_utf8()..];
        Some(character)
    })
}

fn is_link(text: &str) -> bool {
    let close = text.find(']');
    let nested = text[1..].find('[').map(|at| at + 1);
    close.is_some_and(|close| {
        close > 1
            && nested.is_none_or(|nested| nested > close)
            && text[close + 1..].starts_with('(')
            && text[close..].contains(')')
    })
}

/// The first sentence of a description, for a comment.
pub(super) fn sentence(text: &str) -> String {
    let text = text.trim();
    let text = &text[..text.floor_char_boundary(MAX_LOOKED_AT)];
    let paragraph = text.split("\n\n").next().unwrap_or(text);
    let end = paragraph
        .match_indices(['.', '!', '?'])
        .map(|(at, _)| at + 1)
        .find(|end| ends_sentence(paragraph, *end))
        .unwrap_or(paragraph.len());
    comment(&paragraph[..end], SENTENCE_CHARS)
}

/// `e.g. ` and `i.e. ` end nothing.
fn ends_sentence(text: &str, end: usize) -> bool {
    let followed = text[end..].chars().next().is_none_or(char::is_whitespace);
    let before = text[..end].rsplit(char::is_whitespace).next().unwrap_or("");
    let abbreviation = matches!(
        before.trim_start_matches('(').to_ascii_lowercase().as_str(),
        "e.g." | "i.e." | "etc." | "vs." | "no."
    );
    followed && !abbreviation
}

/// A string literal, in double quotes, that is also JSON.
pub(super) fn literal(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            character if is_treacherous(character) => {
                let mut units = [0; 2];
                for unit in character.encode_utf16(&mut units) {
                    let _ = write!(quoted, "\\u{unit:04x}");
                }
            }
            character => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(comment(text, 60), expect);
    }

    #[test]
    fn comments_stay_comments() {
        check("ends */ here", "ends *\\/ here");
        check("ends *\u{200b}/ here", "ends *\\/ here");
        check("star at the end *", "star at the end * ");
        check("two\nlines\r\n\tand\u{2028}more\u{2029}", "two lines and more");
        check("\u{1b}[31mred\u{7}", "[31mred");
        check("a\u{202e}b\u{e0041}c\u{feff}", "abc");
        check("see [the docs](https://example.com/x) now", "see the docs now");
        check("list [1] and [a](b", "list [1] and [a](b");
        check("[](x)", "[](x)");
        check(&"é".repeat(90), &format!("{}…", "é".repeat(60)));
        check("", "");
    }

    #[test]
    fn sentences_end() {
        for (text, expect) in [
            ("The name. And more.", "The name."),
            ("For example e.g. this one. More.", "For example e.g. this one."),
            ("Version 1.2 of it. More", "Version 1.2 of it."),
            ("No end", "No end"),
            ("First\n\nSecond", "First"),
            ("Is it? Yes.", "Is it?"),
        ] {
            assert_eq!(sentence(text), expect);
        }
    }

    #[test]
    fn literals_are_json() {
        for text in
            ["", "Order won't \"fit\"", "a\\b", "\n\r\t\u{0}\u{1b}", "\u{2028}\u{2029}", "\u{e0041}é😀*/"]
        {
            let quoted = literal(text);
            assert!(!quoted.contains(is_treacherous), "{quoted:?}");
            assert_eq!(serde_json::from_str::<String>(&quoted).expect("JSON"), text);
        }
    }
}
