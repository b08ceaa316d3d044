//! Reads the `mappings` of a source map (revision 3).

use crate::limits::SOURCE_MAP_BYTES;

/// The mappings of one module.
pub(crate) struct SourceMap {
    sources: Vec<String>,
    /// In the order of the generated text.
    mappings: Vec<Mapping>,
}

/// A point of the generated text and its origin, all counted from 0.
struct Mapping {
    line: u32,
    column: u32,
    source: u32,
    original_line: u32,
    original_column: u32,
}

impl SourceMap {
    /// None for what is not a source map: errors then keep the positions of
    /// the text that ran.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.len() > SOURCE_MAP_BYTES {
            return None;
        }
        let json: serde_json::Value = serde_json::from_str(text).ok()?;
        let sources = json["sources"]
            .as_array()?
            .iter()
            .map(|source| source.as_str().unwrap_or_default().to_owned())
            .collect();
        let mappings = decode(json["mappings"].as_str()?)?;
        Some(Self { sources, mappings })
    }

    /// The origin of the last mapping at or before (line, column) on that
    /// line, else of the first one on it. All counted from 1.
    pub(crate) fn original(&self, line: u32, column: u32) -> Option<(String, u32, u32)> {
        let (line, column) = (line.checked_sub(1)?, column.saturating_sub(1));
        let after = self.mappings.partition_point(|mapping| (mapping.line, mapping.column) <= (line, column));
        let before = after.checked_sub(1).map(|index| &self.mappings[index]);
        let found = before
            .filter(|mapping| mapping.line == line)
            .or_else(|| self.mappings.get(after).filter(|mapping| mapping.line == line))?;
        let source = self.sources.get(found.source as usize)?;
        Some((source.clone(), found.original_line + 1, found.original_column + 1))
    }
}

fn decode(mappings: &str) -> Option<Vec<Mapping>> {
    let mut decoded = Vec::new();
    let (mut source, mut original_line, mut original_column) = (0_i64, 0_i64, 0_i64);
    for (line, group) in mappings.split(';').enumerate() {
        let mut column = 0_i64;
        for segment in group.split(',').filter(|segment| !segment.is_empty()) {
            if !segment.bytes().all(|byte| digit(byte).is_some()) {
                return None;
            }
            let mut fields = Vlq(segment.bytes());
            column += fields.next_value()?;
            let Some(source_step) = fields.next_value() else {
                continue;
            };
            source += source_step;
            original_line += fields.next_value()?;
            original_column += fields.next_value()?;
            decoded.push(Mapping {
                line: u32::try_from(line).ok()?,
                column: u32::try_from(column).ok()?,
                source: u32::try_from(source).ok()?,
                original_line: u32::try_from(original_line).ok()?,
                original_column: u32::try_from(original_column).ok()?,
            });
        }
    }
    Some(decoded)
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

/// Variable-length quantities in base 64, the sign in the lowest bit.
struct Vlq<I>(I);

impl<I: Iterator<Item = u8>> Vlq<I> {
    fn next_value(&mut self) -> Option<i64> {
        let (mut value, mut shift) = (0_i64, 0_u32);
        loop {
            let digit = digit(self.0.next()?)?;
            if shift > 35 {
                return None;
            }
            value |= i64::from(digit & 31) << shift;
            if digit & 32 == 0 {
                break;
            }
            shift += 5;
        }
        Some(if value & 1 == 1 { -(value >> 1) } else { value >> 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP: &str = r#"{"version":3,"sources":["main.ts"],"mappings":"AAEA,IAAM;;EACF"}"#;

    #[test]
    fn a_position_maps_to_the_mapping_at_or_before_it() {
        let map = SourceMap::parse(MAP).expect("a map");
        assert_eq!(map.original(1, 1), Some(("main.ts".into(), 3, 1)));
        assert_eq!(map.original(1, 9), Some(("main.ts".into(), 3, 7)));
    }

    #[test]
    fn a_column_before_the_first_mapping_takes_the_first_of_the_line() {
        let map = SourceMap::parse(MAP).expect("a map");
        assert_eq!(map.original(3, 1), Some(("main.ts".into(), 4, 5)));
    }

    #[test]
    fn a_line_without_mappings_has_no_origin() {
        let map = SourceMap::parse(MAP).expect("a map");
        assert_eq!(map.original(2, 1), None);
        assert_eq!(map.original(0, 1), None);
        assert_eq!(map.original(99, 1), None);
    }

    #[test]
    fn what_is_no_map_is_none() {
        for text in [
            "",
            "{}",
            r#"{"sources":["a"],"mappings":"A!"}"#,
            r#"{"sources":["a"],"mappings":"DDDD"}"#,
            r#"{"sources":["a"],"mappings":"gggggggggggA"}"#,
        ] {
            assert!(SourceMap::parse(text).is_none(), "{text}");
        }
    }
}
