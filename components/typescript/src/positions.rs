//! Offsets in a text as lines and columns.

use crate::bindings::Position;

/// The position of a byte offset: line and column from 1, the column in
/// UTF-16 units, as editors and source maps count. Offsets past the end are
/// the end.
pub(crate) fn position(text: &str, offset: u32) -> Position {
    let offset = usize::try_from(offset).unwrap_or(usize::MAX).min(text.len());
    let before = &text[..text.floor_char_boundary(offset)];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let lines = before.bytes().filter(|byte| *byte == b'\n').count();
    let column = before[line_start..].encode_utf16().count();
    Position {
        line: u32::try_from(lines + 1).unwrap_or(u32::MAX),
        column: u32::try_from(column + 1).unwrap_or(u32::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one() {
        let at = |offset| {
            let found = position("ab\r\ncü😀d\n", offset);
            (found.line, found.column)
        };
        assert_eq!(at(0), (1, 1));
        assert_eq!(at(2), (1, 3));
        assert_eq!(at(4), (2, 1));
        assert_eq!(at(11), (2, 5));
        assert_eq!(at(6), (2, 2));
        assert_eq!(at(999), (3, 1));
    }
}
