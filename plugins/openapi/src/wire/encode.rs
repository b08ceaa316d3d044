//! Percent-encoding (RFC 3986), for each place that a value can stand in.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Everything but the unreserved characters.
const ATOM: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// `allowReserved` lets the reserved characters through, but not those that
/// would end the value: `#` and `&`, and `+`, which forms read as a space.
const RESERVED: &AsciiSet = &ATOM
    .remove(b':')
    .remove(b'/')
    .remove(b'?')
    .remove(b'[')
    .remove(b']')
    .remove(b'@')
    .remove(b'!')
    .remove(b'$')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b',')
    .remove(b';')
    .remove(b'=');

/// What the document's own path may hold besides.
const LITERAL: &AsciiSet = &RESERVED.remove(b'&').remove(b'+').remove(b'%').add(b'?').add(b'[').add(b']');

/// A value that stands alone: a segment, a name, a query value.
pub(crate) fn atom(text: &str) -> String {
    utf8_percent_encode(text, ATOM).to_string()
}

/// A query value whose parameter says `allowReserved`.
pub(crate) fn reserved(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// A part of the document's path template.
pub(crate) fn literal(text: &str) -> String {
    utf8_percent_encode(text, LITERAL).to_string()
}

/// Whether a path segment means "here" or "up", in any spelling that a URL
/// parser takes for it.
pub(crate) fn is_dots(segment: &str) -> bool {
    let plain = segment.to_ascii_lowercase().replace("%2e", ".");
    plain == "." || plain == ".."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_keeps_what_is_safe_there() {
        assert_eq!(atom("a b/c?d#e%f&g=h+i;ü.~-_"), "a%20b%2Fc%3Fd%23e%25f%26g%3Dh%2Bi%3B%C3%BC.~-_");
        assert_eq!(reserved("a/b?c=d&e#f+g h"), "a/b?c=d%26e%23f%2Bg%20h");
        assert_eq!(literal("/users('x')/a b?c%20"), "/users('x')/a%20b%3Fc%20");
        assert!(is_dots(".."));
        assert!(is_dots(".%2E") && is_dots("%2e"));
        assert!(!is_dots("..."));
    }
}
