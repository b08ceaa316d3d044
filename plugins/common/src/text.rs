//! Strings that strangers wrote, made fit to show.

use std::borrow::Cow;

/// `text` without control characters (line feeds and tabs stay) and without
/// the marks that reorder what a person reads, cut to `max_chars`; a cut shows
/// as an ellipsis.
#[inline]
pub fn plain(text: &str, max_chars: usize) -> Cow<'_, str> {
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
#[inline]
pub fn line(text: &str, max_chars: usize) -> String {
    // What is far behind the cut is not looked at, however long it is.
    let start = &text[..text.floor_char_boundary(max_chars.saturating_mul(8))];
    plain(&start.split_whitespace().collect::<Vec<_>>().join(" "), max_chars).into_owned()
}

#[inline]
fn is_hostile(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{200E}' | '\u{200F}' => true,
        '\u{FEFF}' | '\u{2028}' | '\u{2029}' => true,
        other => other.is_control(),
    }
}

/// A short mark of some texts, the same in every process.
#[inline]
pub fn hash(parts: &[&str]) -> u64 {
    fnv(parts.iter().flat_map(|part| part.bytes().chain([0])))
}

/// A short mark of one text, the same in every process.
#[inline]
pub fn hash_of(text: &str) -> u64 {
    fnv(text.bytes())
}

/// FNV-1a of 64 bits.
#[inline]
fn fnv(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |state, byte| {
        (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Levels of a JSON text, without building a tree of it.
#[inline]
pub fn depth(json: &str) -> u32 {
    let (mut depth, mut deepest, mut quoted, mut escaped) = (0_u32, 0, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// `name` with only `[A-Za-z0-9_.-]` left, at most `max` of them, never empty.
#[inline]
pub fn sanitised(name: &str, max: usize) -> String {
    let safe: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { '_' })
        .take(max)
        .collect();
    if safe.is_empty() { "_".to_owned() } else { safe }
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
        assert_eq!(line(&"ä".repeat(100), 3), "ää…");
    }

    #[test]
    fn names_are_made_safe() {
        assert_eq!(sanitised("a b/ü", 64), "a_b__");
        assert_eq!(sanitised("", 64), "_");
    }

    #[test]
    fn depth_reads_no_quotes() {
        assert_eq!(depth(r#"{"a":["{[[",{"b":"\"]"}]}"#), 3);
    }

    #[test]
    fn marks_are_what_they_were() {
        // Names of tools and keys of sessions hold them.
        assert_eq!(hash_of("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(hash_of("a\0"), hash(&["a"]));
        assert_ne!(hash(&["ab", "c"]), hash(&["a", "bc"]));
    }
}
