//! Strings that strangers wrote, made fit to show.

use std::borrow::Cow;

/// `text` without control characters (line feeds and tabs stay) and without
/// the marks that reorder what a person reads, cut to `max_chars`; a cut shows
/// as an ellipsis.
pub(crate) fn plain(text: &str, max_chars: usize) -> Cow<'_, str> {
    let text = text.trim();
    if text.len() <= max_chars && !text.chars().any(is_hostile) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len().min(max_chars * 4));
    let mut characters = text.chars().filter(|character| !is_hostile(*character));
    for (count, character) in characters.by_ref().enumerate() {
        if count + 1 == max_chars {
            kept.push(if characters.next().is_none() { character } else { '…' });
            break;
        }
        kept.push(character);
    }
    Cow::Owned(kept)
}

/// [`plain`] on one line.
pub(crate) fn line(text: &str, max_chars: usize) -> String {
    let one = text.split_whitespace().collect::<Vec<_>>().join(" ");
    plain(&one, max_chars).into_owned()
}

fn is_hostile(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{200E}' | '\u{200F}' => true,
        '\u{FEFF}' | '\u{2028}' | '\u{2029}' => true,
        other => other.is_control(),
    }
}

/// FNV-1a of 64 bits: short marks that are the same in every process.
pub(crate) fn hash(parts: &[&str]) -> u64 {
    let mut state: u64 = 0xcbf2_9ce4_8422_2325;
    for part in parts {
        for byte in part.bytes().chain([0]) {
            state ^= u64::from(byte);
            state = state.wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_go_and_length_is_kept() {
        assert_eq!(plain("a\u{1b}[31mb\u{202E}c\r\nd", 100), "a[31mbc\nd");
        assert_eq!(plain("abcdef", 4), "abc…");
        assert_eq!(plain("abcd", 4), "abcd");
        assert_eq!(plain("äöüß", 4), "äöüß");
        assert_eq!(line("  a \n\t b  ", 10), "a b");
    }
}
