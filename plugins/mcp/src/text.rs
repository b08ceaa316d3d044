//! Strings that strangers wrote, made fit to show.

/// `text` without control characters (line feeds and tabs stay) and without
/// the marks that reorder what a person reads, cut to `max_chars`; a cut shows
/// as an ellipsis.
pub(crate) fn plain(text: &str, max_chars: usize) -> String {
    let mut characters = text.trim().chars().filter(|character| !is_hostile(*character));
    let mut kept = String::with_capacity(text.len().min(max_chars * 4));
    for (count, character) in characters.by_ref().enumerate() {
        if count + 1 == max_chars {
            kept.push(if characters.next().is_none() { character } else { '…' });
            break;
        }
        kept.push(character);
    }
    kept
}

/// [`plain`] on one line.
pub(crate) fn line(text: &str, max_chars: usize) -> String {
    let start = &text[..text.floor_char_boundary(max_chars.saturating_mul(8))];
    plain(&start.split_whitespace().collect::<Vec<_>>().join(" "), max_chars)
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
pub(crate) fn hash(text: &str) -> u64 {
    let mut state: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in text.bytes() {
        state ^= u64::from(byte);
        state = state.wrapping_mul(0x0000_0100_0000_01b3);
    }
    state
}

/// Levels of a JSON text, without building a tree of it.
pub(crate) fn depth(json: &str) -> u32 {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_go_and_length_is_kept() {
        assert_eq!(plain("a\u{1b}[31mb\u{202E}c\r\nd", 100), "a[31mbc\nd");
        assert_eq!(plain("abcdef", 4), "abc…");
        assert_eq!(plain("äöüß", 4), "äöüß");
        assert_eq!(line("  a \n\t b  ", 10), "a b");
        assert_eq!(line(&"ä".repeat(100), 3), "ää…");
    }

    #[test]
    fn depth_reads_no_quotes() {
        assert_eq!(depth(r#"{"a":["{[[",{"b":"\"]"}]}"#), 3);
    }
}
