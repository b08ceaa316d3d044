//! The files that a description names, found in its text: `$ref` and the
//! mappings of discriminators, in JSON and in YAML.
//!
//! What is found too much does no harm, since only files that are there are
//! read; the adapter alone decides what a reference means.

use std::borrow::Cow;
use std::collections::BTreeSet;

/// Longer than any path.
const REFERENCE_BYTES: usize = 4096;
/// Longer than any mapping of a discriminator.
const MAPPING_BYTES: usize = 4 * 1024;
/// More keys of each kind than any published description has.
const KEYS: usize = 100_000;
/// Names of files that descriptions are in.
const ENDINGS: [&str; 3] = [".json", ".yaml", ".yml"];

/// The references of a document to others, each once. Those into the document
/// itself and to URLs are none.
pub(crate) fn references(content: &[u8]) -> Vec<String> {
    let text = decode(content);
    let mut found = BTreeSet::new();
    for (place, key) in text.match_indices("$ref").take(KEYS) {
        found.extend(value(&text[place + key.len()..]));
    }
    for (place, key) in text.match_indices("mapping").take(KEYS) {
        found.extend(mapped(&text[..place], &text[place + key.len()..]));
    }
    found.into_iter().filter(|reference| is_relative(reference)).collect()
}

/// UTF-8, UTF-16 by its mark, else ISO 8859-1: as adapters read them.
fn decode(content: &[u8]) -> Cow<'_, str> {
    let wide = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        Cow::Owned(String::from_utf16_lossy(&units))
    };
    match content {
        [0xFF, 0xFE, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => wide(rest, u16::from_be_bytes),
        _ => std::str::from_utf8(content)
            .map_or_else(|_| content.iter().map(|byte| char::from(*byte)).collect(), Cow::Borrowed),
    }
}

fn is_relative(reference: &str) -> bool {
    !reference.is_empty() && !reference.starts_with('#') && !reference.contains("://")
}

/// The value of a key that ends here.
fn value(rest: &str) -> Option<String> {
    let rest = head(rest, REFERENCE_BYTES);
    let rest = rest.strip_prefix(['"', '\'']).unwrap_or(rest);
    scalar(rest.trim_start().strip_prefix(':')?)
}

fn scalar(rest: &str) -> Option<String> {
    let mut rest = rest.trim_start();
    // An anchor or a tag before the value (YAML 1.2, section 6.9).
    while rest.starts_with(['&', '!']) {
        rest = rest.split_once(char::is_whitespace)?.1.trim_start();
    }
    match rest.chars().next()? {
        '"' => double_quoted(&rest[1..]),
        '\'' => single_quoted(&rest[1..]),
        '>' | '|' => rest.lines().nth(1).map(|line| line.trim().to_owned()),
        _ => Some(plain(rest)),
    }
}

/// What is looked at of a text, so that one that is all keys takes no longer
/// than any other.
fn head(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// Up to the quote that ends it, without escapes.
fn double_quoted(rest: &str) -> Option<String> {
    let mut text = String::new();
    let mut letters = rest.chars();
    loop {
        match letters.next()? {
            '"' => return Some(text),
            '\\' => match letters.next()? {
                'u' => {
                    let code: String = letters.by_ref().take(4).collect();
                    text.push(char::from_u32(u32::from_str_radix(&code, 16).ok()?)?);
                }
                escaped @ ('"' | '\\' | '/') => text.push(escaped),
                // No path has a control character.
                _ => return None,
            },
            letter => text.push(letter),
        }
    }
}

fn single_quoted(rest: &str) -> Option<String> {
    let mut text = String::new();
    let mut letters = rest.chars().peekable();
    loop {
        match letters.next()? {
            '\'' if letters.peek() == Some(&'\'') => {
                letters.next();
                text.push('\'');
            }
            '\'' => return Some(text),
            letter => text.push(letter),
        }
    }
}

/// A scalar without quotes: to the end of the line, a comment, or what ends a
/// flow around it.
fn plain(rest: &str) -> String {
    let line = rest.lines().next().unwrap_or_default();
    let line = line.split(" #").next().unwrap_or_default();
    let ends = [line.find(['}', ']']), line.find(", ")];
    let end = ends.into_iter().flatten().min().unwrap_or(line.len());
    line[..end].trim_end_matches([',', ' ', '\t']).to_owned()
}

/// The values of a mapping that begins here, as far as they are files. `before`
/// leads up to its key.
fn mapped(before: &str, rest: &str) -> Vec<String> {
    let rest = head(rest, MAPPING_BYTES);
    let after = rest.strip_prefix(['"', '\'']).unwrap_or(rest).trim_start_matches([' ', '\t']);
    let Some(after) = after.strip_prefix(':') else { return Vec::new() };
    let entries: Vec<&str> = match after.trim_start().strip_prefix('{') {
        Some(flow) => flow.split('}').next().unwrap_or_default().split([',', '\n']).collect(),
        None => indented(before, after),
    };
    let value = |entry: &str| {
        let cut = [": ", "\":", "':"].iter().find_map(|colon| entry.split_once(colon));
        cut.and_then(|(_, value)| scalar(value))
    };
    entries.into_iter().filter_map(value).filter(|target| is_file(target)).collect()
}

/// The lines that are further in than the one of the key.
fn indented<'t>(before: &str, after: &'t str) -> Vec<&'t str> {
    let depth = |line: &str| line.len() - line.trim_start_matches([' ', '-']).len();
    let begin = before.len().saturating_sub(REFERENCE_BYTES);
    let line = before[before.ceil_char_boundary(begin)..].rsplit('\n').next().unwrap_or_default();
    let own = depth(line);
    let lines = after.lines().skip(1);
    lines.take_while(|line| line.trim().is_empty() || depth(line) > own).collect()
}

fn is_file(target: &str) -> bool {
    let file = target.split('#').next().unwrap_or_default();
    ENDINGS.iter().any(|end| file.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &[&str]) {
        assert_eq!(references(text.as_bytes()), expect, "{text}");
    }

    #[test]
    fn references_are_found_however_they_are_written() {
        check("x:\n  $ref: './a b/Pet.yaml#/Pet'\n", &["./a b/Pet.yaml#/Pet"]);
        check("$ref: Pet.yaml # the pet\n", &["Pet.yaml"]);
        check(
            "{$ref: Pet.yaml#/a}, [{$ref: b.json}, {$ref: c.json, x: 1}]",
            &["Pet.yaml#/a", "b.json", "c.json"],
        );
        check(
            r#"{"$ref":"schemas\/Pet.json","x":{"$ref" : "caf\u00e9.json"}}"#,
            &["café.json", "schemas/Pet.json"],
        );
        check("\"$ref\":\n    \"next-line.json\"", &["next-line.json"]);
        check("$ref: >-\n  folded.yaml\nx: 1", &["folded.yaml"]);
        check("$ref: &anchor it''s.yaml", &["it''s.yaml"]);
        check("$ref: 'it''s.yaml'", &["it's.yaml"]);
        check("$ref: '#/components/Pet'\nx: {$ref: 'https://a.test/b.yaml'}", &[]);
        check("$ref\n$reference: x.yaml\n$ref: \"no end", &[]);
        check("", &[]);
    }

    #[test]
    fn discriminators_name_files_too() {
        let yaml = "discriminator:\n  propertyName: kind\n  mapping:\n    cat: Cat.yaml\n    dog: './Dog.yaml#/Dog'\n    cow: Cow\n  other: x.yaml\n";
        check(yaml, &["./Dog.yaml#/Dog", "Cat.yaml"]);
        check(
            r#"{"mapping": {"cat": "Cat.json", "dog":"Dog.json#/D", "cow": "Cow"}, "x": "y.json"}"#,
            &["Cat.json", "Dog.json#/D"],
        );
        check("mapping: {cat: Cat.yml, cow: Cow}", &["Cat.yml"]);
        check("a mapping of x.yaml", &[]);
    }

    #[test]
    fn every_encoding_that_an_adapter_reads_is_read() {
        let wide: Vec<u8> = [0xFF, 0xFE]
            .into_iter()
            .chain("$ref: a.yaml".encode_utf16().flat_map(u16::to_le_bytes))
            .collect();
        assert_eq!(references(&wide), ["a.yaml"]);
        assert_eq!(references(b"title: caf\xe9\nx: {$ref: 'd\xe9.yaml'}\n"), ["dé.yaml"]);
        assert!(references(&[0xFF; 64]).is_empty());
    }
}
