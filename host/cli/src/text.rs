//! Text from outside, made fit for a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::Chars;

use serde_json::Value;

/// Without terminal control: escape sequences, control characters other than
/// line feed and tab, and the marks that reorder what is read.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hazard) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\u{1b}' => skip_escape(&mut rest),
            '\u{9b}' => skip_sequence(&mut rest),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => skip_string(&mut rest),
            _ if is_hazard(character) => {}
            _ => clean.push(character),
        }
    }
    Cow::Owned(clean)
}

/// One line of at most `limit` characters, cut with an ellipsis.
pub(crate) fn line(text: &str, limit: usize) -> String {
    let clean = clean(text);
    let mut line = String::new();
    for word in clean.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > limit * 4 {
            break;
        }
    }
    shorten(&line, limit)
}

/// At most `limit` characters, the last of them an ellipsis where it is cut.
pub(crate) fn shorten(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(limit.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// JSON on several lines. What a terminal would obey is escaped, so that the
/// value stays the same.
pub(crate) fn pretty_json(value: &Value) -> String {
    let text = serde_json::to_string_pretty(value).expect("a JSON value can be written");
    escape_hazards(text)
}

/// JSON on one line, escaped like [`pretty_json`].
pub(crate) fn compact_json(value: &Value) -> String {
    escape_hazards(value.to_string())
}

/// Escapes, in a text that is JSON, what a terminal would obey: it can stand
/// inside strings alone.
pub(crate) fn escape_hazards(json: String) -> String {
    if !json.chars().any(is_hazard) {
        return json;
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for character in json.chars() {
        if is_hazard(character) {
            let _ = write!(escaped, "\\u{:04x}", u32::from(character));
        } else {
            escaped.push(character);
        }
    }
    escaped
}

/// A string as it is, anything else as JSON on several lines.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => clean(text).into_owned(),
        other => pretty_json(other),
    }
}

/// `1,223`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// `1 tool`, `2 tools`.
pub(crate) fn counted(number: u64, one: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {one}{plural}", count(number))
}

/// `850 ms`, `1.2 s`, `3 min 20 s`.
pub(crate) fn duration(milliseconds: u64) -> String {
    match milliseconds {
        0..1_000 => format!("{milliseconds} ms"),
        1_000..60_000 => format!("{}.{} s", milliseconds / 1_000, milliseconds % 1_000 / 100),
        _ => format!("{} min {} s", milliseconds / 60_000, milliseconds % 60_000 / 1_000),
    }
}

/// `512 bytes`, `3.4 MiB`.
pub(crate) fn bytes(number: u64) -> String {
    const KIB: u64 = 1024;
    const MIB: u64 = 1024 * KIB;
    const GIB: u64 = 1024 * MIB;
    let (unit, name) = match number {
        0..KIB => return format!("{number} bytes"),
        KIB..MIB => (KIB, "KiB"),
        MIB..GIB => (MIB, "MiB"),
        _ => (GIB, "GiB"),
    };
    format!("{}.{} {name}", number / unit, number % unit * 10 / unit)
}

fn is_hazard(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        _ => character.is_control(),
    }
}

fn skip_escape(rest: &mut Peekable<Chars<'_>>) {
    match rest.peek() {
        Some('[') => {
            rest.next();
            skip_sequence(rest);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            rest.next();
            skip_string(rest);
        }
        _ => {
            while rest.next_if(|next| matches!(next, ' '..='/')).is_some() {}
            rest.next_if(|next| matches!(next, '0'..='~'));
        }
    }
}

fn skip_sequence(rest: &mut Peekable<Chars<'_>>) {
    while rest.next_if(|next| matches!(next, ' '..='?')).is_some() {}
    rest.next_if(|next| matches!(next, '@'..='~'));
}

/// To its terminator. Without one nothing more is taken, so that it can't
/// hide what follows.
fn skip_string(rest: &mut Peekable<Chars<'_>>) {
    let mut ahead = rest.clone();
    while let Some(character) = ahead.next() {
        let ends = match character {
            '\u{7}' | '\u{9c}' => true,
            '\u{1b}' => ahead.next_if_eq(&'\\').is_some(),
            _ => false,
        };
        if ends {
            *rest = ahead;
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(clean(text), expect, "{text:?}");
    }

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        check("plain\ttext\n", "plain\ttext\n");
        check("\u{1b}[31mred\u{1b}[0m", "red");
        check("\u{1b}[38;5;1mred", "red");
        check("\u{1b}]0;evil title\u{7}after", "after");
        check("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link");
        check("\u{1b}]0;never ended", "0;never ended");
        check("\u{1b}Pq#0\u{1b}\\x", "x");
        check("\u{9b}31mx\u{9d}0;t\u{9c}y", "xy");
        check("a\rb\u{8}c\u{7f}d\u{0}e", "abcde");
        check("\u{1b}(Bx\u{1b}cy\u{1b}", "xy");
        check("\u{202e}gpj.exe\u{2066}", "gpj.exe");
        check("日本 é 👩‍🚀", "日本 é 👩‍🚀");
        let many = "\u{1b}]".repeat(2_000);
        assert!(!clean(&many).contains('\u{1b}'));
    }

    #[test]
    fn json_keeps_its_value() {
        let value = json!({ "a": "\u{9b}31m\u{1b}\u{202e}\u{7f}" });
        let text = compact_json(&value);
        assert!(!text.chars().any(is_hazard), "{text:?}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }

    #[test]
    fn figures_are_readable() {
        assert_eq!(count(1_223), "1,223");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_000_000), "1,000,000");
        assert_eq!(counted(1, "tool"), "1 tool");
        assert_eq!(duration(1_250), "1.2 s");
        assert_eq!(duration(200_000), "3 min 20 s");
        assert_eq!(bytes(1_023), "1023 bytes");
        assert_eq!(bytes(3_565_158), "3.3 MiB");
        assert_eq!(bytes(u64::MAX), "17179869183.9 GiB");
        assert_eq!(line(" a\n b\u{1b}[1m c ", 10), "a b c");
        assert_eq!(line("abcdefgh", 4), "abc…");
    }
}
