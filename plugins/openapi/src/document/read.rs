//! Reads JSON and YAML into a tree.

use std::borrow::Cow;

use serde_json::Value;

use super::identify::foreign_text;
use super::skim::{self, Budget, Place};
use crate::seam::Failure;

/// More than the largest published document (Microsoft Graph beta, 47 MB).
const MAX_DOCUMENT_BYTES: usize = 96 << 20;

/// What a document is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    Yaml,
}

impl Format {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Yaml => "yaml",
        }
    }
}

/// A document as a tree, without the parts that no tool is made of.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) root: Value,
    pub(crate) format: Format,
    /// Whether bytes that are no UTF-8 were read as ISO 8859-1.
    pub(crate) latin: bool,
    /// Keys that stand twice in one object.
    pub(crate) duplicates: Vec<String>,
}

/// Reads a document.
///
/// # Errors
/// `document-invalid` with the place of the fault, `document-unsupported`
/// where the text is plainly something else, such as an HTML page.
pub(crate) fn read(bytes: &[u8]) -> Result<Parsed, Failure> {
    if bytes.len() > MAX_DOCUMENT_BYTES {
        return Err(invalid(format!(
            "the document has {} bytes; at most {MAX_DOCUMENT_BYTES} are read",
            bytes.len()
        )));
    }
    let budget = Budget::for_bytes(bytes.len());
    let (text, latin) = decode(bytes);
    let (root, format) = parse(usable(&text)?, Place::Root, &budget)?;
    Ok(Parsed { root, format, latin, duplicates: budget.take_duplicates() })
}

/// Reads a document that another one refers to; all of it is kept.
///
/// # Errors
/// As [`read`].
pub(super) fn read_part(bytes: &[u8], budget: &Budget) -> Result<Value, Failure> {
    let (text, _) = decode(bytes);
    Ok(parse(usable(&text)?, Place::Other, budget)?.0)
}

/// The text without marks before it, where it may be a document.
fn usable(text: &str) -> Result<&str, Failure> {
    let text = text.trim_start_matches(['\u{FEFF}', ' ', '\t', '\r', '\n']);
    if text.trim_end().is_empty() {
        return Err(invalid("the document is empty".to_owned()));
    }
    match foreign_text(text) {
        Some(what) => Err(Failure::new(
            "document-unsupported",
            format!("this is {what}, not an OpenAPI document: give the URL of the document itself"),
        )),
        None => Ok(text),
    }
}

fn parse(text: &str, place: Place, budget: &Budget) -> Result<(Value, Format), Failure> {
    if !text.starts_with(['{', '[']) {
        return Ok((yaml(text, place, budget)?, Format::Yaml));
    }
    match skim::json(text, place, budget) {
        Ok(root) => Ok((root, Format::Json)),
        // Flow YAML starts with a brace too. Only a short text is tried, and
        // the JSON reader's complaint is the one that helps.
        Err(fault) if text.len() < (1 << 20) && !is_about_size(&fault) => match yaml(text, place, budget) {
            Ok(root @ Value::Object(_)) => Ok((root, Format::Yaml)),
            _ => Err(invalid(format!("the document is not valid JSON: {fault}"))),
        },
        Err(fault) => Err(invalid(format!("the document is not valid JSON: {fault}"))),
    }
}

fn is_about_size(fault: &str) -> bool {
    fault.contains("recursion limit") || fault.contains("too many values")
}

fn yaml(text: &str, place: Place, budget: &Budget) -> Result<Value, Failure> {
    skim::yaml(text, place, budget).map_err(|fault| {
        let hint = if fault.contains("cannot start any token") {
            " (YAML allows no tab in indentation)"
        } else {
            ""
        };
        invalid(format!("the document is not valid YAML: {fault}{hint}"))
    })
}

fn invalid(message: String) -> Failure {
    Failure::new("document-invalid", message)
}

/// The text of the bytes: UTF-8, UTF-16 by its mark, else ISO 8859-1, in which
/// every byte is a character.
fn decode(bytes: &[u8]) -> (Cow<'_, str>, bool) {
    match bytes {
        [0xFF, 0xFE, rest @ ..] => (wide(rest, u16::from_le_bytes), false),
        [0xFE, 0xFF, rest @ ..] => (wide(rest, u16::from_be_bytes), false),
        _ => match std::str::from_utf8(bytes) {
            Ok(text) => (Cow::Borrowed(text), false),
            Err(_) => (bytes.iter().map(|byte| char::from(*byte)).collect(), true),
        },
    }
}

fn wide(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Cow<'static, str> {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    char::decode_utf16(units).map(|each| each.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(text: &str) -> Value {
        read(text.as_bytes()).unwrap_or_else(|fault| panic!("{}", fault.message)).root
    }

    #[test]
    fn yaml_scalars_stay_what_authors_meant() {
        let root = root(
            "openapi: 3.0\ninfo: {title: no, version: 1.10}\nx: on\nd: 2020-01-01\no: 012\n200: a\ntrue: b\n",
        );
        assert_eq!(root["openapi"], 3.0);
        assert_eq!(root["info"]["title"], "no");
        assert_eq!(root["d"], "2020-01-01");
        assert_eq!(root["o"], "012");
        assert_eq!(root["200"], "a");
        assert_eq!(root["true"], "b");
    }

    #[test]
    fn yaml_anchors_and_merge_keys_apply() {
        let root = root(
            "base: &b {a: 1, c: 2}\nother: &o {d: 4}\nx:\n  <<: *b\n  a: 3\ny:\n  <<: [*b, *o]\ntagged: !thing {k: 1}\n",
        );
        assert_eq!(root["x"], serde_json::json!({"a": 3, "c": 2}));
        assert_eq!(root["y"], serde_json::json!({"a": 1, "c": 2, "d": 4}));
        assert_eq!(root["tagged"]["k"], 1);
    }

    #[test]
    fn marks_line_ends_encodings_and_several_documents() {
        assert_eq!(root("\u{FEFF}{\"a\": 1}")["a"], 1);
        assert_eq!(root("a: 1\r\nb:\r\n  - x\r\n")["b"][0], "x");
        assert_eq!(root("---\na: 1\n---\na: 2\n")["a"], 1);
        let parsed = read(b"title: caf\xe9\n").unwrap();
        assert!(parsed.latin);
        assert_eq!(parsed.root["title"], "café");
        let wide: Vec<u8> =
            [0xFF, 0xFE].into_iter().chain("{\"a\":1}".encode_utf16().flat_map(u16::to_le_bytes)).collect();
        assert_eq!(read(&wide).unwrap().root["a"], 1);
    }

    fn refused(bytes: &[u8], part: &str) {
        let fault = read(bytes).err().unwrap_or_else(|| panic!("read, but should say {part}"));
        assert!(fault.message.contains(part), "{}", fault.message);
    }

    #[test]
    fn faults_say_what_and_where() {
        refused(b"", "empty");
        refused(b" \n\t", "empty");
        refused(b"{\"openapi\": \"3.0.0\", \"pa", "line 1");
        refused(b"a: 1\n\tb: 2\n", "line 2");
        refused(b"<!DOCTYPE html><html></html>", "HTML page");
        refused("[".repeat(10_000).as_bytes(), "recursion limit");
        refused("{\"a\":".repeat(10_000).as_bytes(), "recursion limit");
        refused(format!("a: {}", "[".repeat(10_000)).as_bytes(), "YAML");
        refused(b"a: &a [*a, *a]\n", "recursion limit");
    }

    #[test]
    fn an_alias_bomb_is_put_out() {
        let mut bomb = String::from("a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n");
        for level in 1..12 {
            let below = format!("*a{}", level - 1);
            bomb.push_str(&format!("a{level}: &a{level} [{}]\n", vec![below; 10].join(", ")));
        }
        refused(bomb.as_bytes(), "repetition limit");
        let mut wide =
            format!("a: &a \"{}\"\nb: &b [{}]\nc:\n", "x".repeat(100_000), vec!["*a"; 100].join(","));
        for _ in 0..60 {
            wide.push_str("  - *b\n");
        }
        refused(wide.as_bytes(), "too many values");
    }
}
