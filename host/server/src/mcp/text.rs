//! Text for models: bounded, and clean of what others put into it.

use std::fmt::Write as _;

/// Characters of a tool's text.
pub(super) const TEXT_LIMIT: usize = 30_000;
/// What stands at the end of a text that was cut, and its room.
const CUT_ROOM: usize = 200;

/// One line of at most `limit` characters, without control characters and
/// escape sequences, and without what could pass for markup.
pub(super) fn line(text: &str, limit: usize) -> String {
    let mut line = String::new();
    let mut space = false;
    for character in stripped(text) {
        if character.is_whitespace() {
            space = !line.is_empty();
            continue;
        }
        let character = match character {
            '<' => '‹',
            '>' => '›',
            '`' => '\'',
            other => other,
        };
        if std::mem::take(&mut space) {
            line.push(' ');
        }
        line.push(character);
    }
    clip(line, limit)
}

/// As it is, but for control characters and escape sequences; lines stay.
pub(super) fn clean(text: &str) -> String {
    stripped(text).collect()
}

fn stripped(text: &str) -> impl Iterator<Item = char> + '_ {
    let mut characters = text.chars().peekable();
    std::iter::from_fn(move || {
        loop {
            match characters.next()? {
                '\u{1b}' => {
                    // CSI: up to its final byte. Of other sequences the rest
                    // is harmless without its escape.
                    if characters.next_if_eq(&'[').is_some() {
                        while characters.next_if(|next| !('@'..='~').contains(next)).is_some() {}
                        characters.next();
                    }
                }
                '\n' => return Some('\n'),
                '\t' => return Some('\t'),
                hidden if is_hidden(hidden) => {}
                shown => return Some(shown),
            }
        }
    })
}

/// Characters that change how others are shown, or are not shown at all.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// At most `limit` characters, the last of them an ellipsis where it was more.
pub(super) fn clip(mut text: String, limit: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(limit) {
        let last = text.char_indices().nth(limit.saturating_sub(1)).map_or(end, |(last, _)| last);
        text.truncate(last);
        text.push('…');
    }
    text
}

/// At most [`TEXT_LIMIT`] characters; a cut is said, with what to do.
pub(super) fn bounded(mut text: String, advice: &str) -> String {
    // A byte is at most a character.
    if text.len() <= TEXT_LIMIT {
        return text;
    }
    let Some((end, _)) = text.char_indices().nth(TEXT_LIMIT - CUT_ROOM) else { return text };
    let left_out = text[end..].chars().count();
    if left_out <= CUT_ROOM {
        return text;
    }
    text.truncate(end);
    let _ = write!(text, "\n… [cut: {left_out} characters more. {advice}]");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_line() {
        assert_eq!(line("  a\n\tb \u{1b}[1;31mc\u{1b}[0m\u{202e}d ", 20), "a b cd");
        assert_eq!(line("<system>`x`", 20), "‹system›'x'");
        assert_eq!(line("abcdef", 3), "ab…");
        assert_eq!(line("abc", 3), "abc");
        assert_eq!(line("\u{1b}]0;title\u{7}x", 20), "]0;titlex");
    }

    #[test]
    fn a_cut_is_said() {
        let whole = "é".repeat(TEXT_LIMIT);
        assert_eq!(bounded(whole.clone(), "x"), whole);
        let cut = bounded("é".repeat(TEXT_LIMIT + 1), "Return less.");
        assert!(cut.chars().count() <= TEXT_LIMIT, "{}", cut.chars().count());
        assert!(cut.ends_with("[cut: 201 characters more. Return less.]"), "{}", &cut[cut.len() - 60..]);
    }
}
