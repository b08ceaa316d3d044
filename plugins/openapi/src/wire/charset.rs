//! Text in the encodings that APIs use.

use std::borrow::Cow;

/// What bytes 0x80 to 0x9F are in windows-1252; zero where they are nothing.
const WINDOWS_1252: [u16; 32] = [
    0x20AC, 0, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0,
    0x017D, 0, 0, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A,
    0x0153, 0, 0x017E, 0x0178,
];

/// The text that bytes are under a content type. None where they are neither
/// UTF-8 nor in an encoding that is known here.
pub(super) fn decode<'b>(bytes: &'b [u8], content_type: &str) -> Option<Cow<'b, str>> {
    match bytes {
        [0xEF, 0xBB, 0xBF, rest @ ..] => return std::str::from_utf8(rest).ok().map(Cow::Borrowed),
        [0xFF, 0xFE, rest @ ..] => return wide(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => return wide(rest, u16::from_be_bytes),
        _ => {}
    }
    match charset(content_type).as_str() {
        "utf-16le" | "utf-16" => return wide(bytes, u16::from_le_bytes),
        "utf-16be" => return wide(bytes, u16::from_be_bytes),
        _ => {}
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Some(Cow::Borrowed(text));
    }
    match charset(content_type).as_str() {
        // The encoding standard reads all of these as windows-1252.
        "iso-8859-1" | "iso8859-1" | "latin1" | "l1" | "us-ascii" | "ascii" | "windows-1252" | "cp1252" => {
            Some(bytes.iter().map(|byte| latin(*byte)).collect::<String>().into())
        }
        _ => None,
    }
}

/// The `charset` of a content type, in lower case, without quotes.
fn charset(content_type: &str) -> String {
    let parameters = content_type.split(';').skip(1).filter_map(|each| each.split_once('='));
    let named = parameters.filter(|(name, _)| name.trim().eq_ignore_ascii_case("charset"));
    let mut values = named.map(|(_, value)| value.trim().trim_matches('"').to_ascii_lowercase());
    values.next().unwrap_or_default()
}

fn latin(byte: u8) -> char {
    match byte {
        0x80..=0x9F => {
            let point = u32::from(WINDOWS_1252[usize::from(byte - 0x80)]);
            char::from_u32(point).filter(|c| *c != '\0').unwrap_or(char::from(byte))
        }
        other => char::from(other),
    }
}

fn wide(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<Cow<'_, str>> {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    let text: Result<String, _> = char::decode_utf16(units).collect();
    text.ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_by_mark_by_name_and_by_bytes() {
        let check = |bytes: &[u8], content_type: &str, expected: Option<&str>| {
            assert_eq!(decode(bytes, content_type).as_deref(), expected, "{content_type}");
        };
        check("é".as_bytes(), "text/plain", Some("é"));
        check(b"\xEF\xBB\xBFa", "text/plain", Some("a"));
        check(b"caf\xe9 \x80\x93", "text/plain; Charset=\"ISO-8859-1\"", Some("café €“"));
        check(b"\x81", "text/plain; charset=windows-1252", Some("\u{81}"));
        check("é".as_bytes(), "text/plain; charset=iso-8859-1", Some("é"));
        check(b"a\0\xe9\0", "text/plain; charset=utf-16le", Some("aé"));
        check(b"\xFE\xFF\0a", "text/plain", Some("a"));
        check(b"\x93\xfa\x96\x7b", "text/plain; charset=shift_jis", None);
        check(b"\xff", "text/plain", None);
        check(b"\xff\xfe\0\xd8", "text/plain", None);
    }
}
