//! Lines of a stream, each within bounds.

use std::io::{self, BufRead};

/// Bytes of one line: as much as the daemon takes in a message.
pub(super) const LINE_LIMIT_BYTES: usize = 20 * 1024 * 1024;
/// What some programs put before their first line (UTF-8's byte order mark).
const MARK: &[u8] = b"\xef\xbb\xbf";

/// One line, without its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Text(Vec<u8>),
    /// It was longer than it may be, and is skipped.
    TooLong,
}

/// The next line that is not empty; none at the end.
pub(super) fn next(reader: &mut impl BufRead, limit: usize) -> io::Result<Option<Line>> {
    loop {
        let mut line = Vec::new();
        let Some(fits) = read(reader, limit, &mut line)? else { return Ok(None) };
        if !fits {
            return Ok(Some(Line::TooLong));
        }
        let text = line.strip_prefix(MARK).unwrap_or(&line).trim_ascii();
        if !text.is_empty() {
            return Ok(Some(Line::Text(text.to_vec())));
        }
    }
}

/// Reads to the end of a line; says whether it fitted, nothing at the end.
fn read(reader: &mut impl BufRead, limit: usize, line: &mut Vec<u8>) -> io::Result<Option<bool>> {
    let (mut fits, mut any) = (true, false);
    loop {
        let piece = match reader.fill_buf() {
            Ok(piece) => piece,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if piece.is_empty() {
            return Ok(any.then_some(fits));
        }
        any = true;
        let end = piece.iter().position(|byte| *byte == b'\n');
        let text = &piece[..end.unwrap_or(piece.len())];
        fits = fits && line.len() + text.len() <= limit;
        if fits {
            line.extend_from_slice(text);
        } else {
            line.clear();
        }
        let used = end.map_or(piece.len(), |end| end + 1);
        reader.consume(used);
        if end.is_some() {
            return Ok(Some(fits));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    #[track_caller]
    fn check(input: &[u8], expect: &[Option<&str>]) {
        let mut reader = BufReader::with_capacity(3, input);
        let mut lines = Vec::new();
        while let Some(line) = next(&mut reader, 8).unwrap() {
            lines.push(match line {
                Line::Text(text) => Some(String::from_utf8(text).unwrap()),
                Line::TooLong => None,
            });
        }
        let lines: Vec<Option<&str>> = lines.iter().map(Option::as_deref).collect();
        assert_eq!(lines, expect);
    }

    #[test]
    fn lines_are_read_whatever_ends_them() {
        check(b"\xef\xbb\xbfone\r\n\n  \r\ntwo\nlast", &[Some("one"), Some("two"), Some("last")]);
        check(b"", &[]);
        check(b"\n\n", &[]);
    }

    #[test]
    fn a_line_that_is_too_long_costs_itself_alone() {
        check(b"12345678\n123456789\nx\n", &[Some("12345678"), None, Some("x")]);
        check(b"123456789", &[None]);
    }
}
