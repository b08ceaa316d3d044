//! Files of this machine in a tool's arguments. What the person named on the
//! command line with an `@` is read, and nothing else: neither what a file of
//! arguments names, nor what comes by stdin.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::api::{self, Api};
use crate::context::Context;
use crate::failure::Failure;
use crate::http::Stream;
use crate::input;
use crate::text;

/// What stands for a file in arguments and results.
pub(crate) const FILE: &str = "$file";
const REFERENCE_PREFIX: &str = "blob:";

/// Schemas within schemas that are looked through for a file.
const DEPTH_LIMIT: usize = 6;
/// Bytes that are written into an argument as base64, which has bounds of its
/// own.
const ENCODED_LIMIT_BYTES: u64 = 1536 * 1024;

/// How a schema takes a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    /// As `{"$file": reference}`.
    Reference,
    /// As a text, its bytes in base64.
    Base64,
}

/// How a schema takes a file, where it does and a plain text is none.
pub(crate) fn takes(schema: &Value) -> Option<Takes> {
    let mut seen = Forms::default();
    look(schema, 0, &mut seen);
    if seen.file && !seen.text {
        return Some(Takes::Reference);
    }
    let said = |key: &str| schema[key].as_str().unwrap_or_default();
    (said("contentEncoding") == "base64" || said("format") == "byte").then_some(Takes::Base64)
}

#[derive(Default)]
struct Forms {
    file: bool,
    /// A text that is not the content of a file.
    text: bool,
}

fn look(schema: &Value, depth: usize, seen: &mut Forms) {
    let alternatives = ["anyOf", "oneOf"].iter().filter_map(|key| schema[key].as_array()).flatten();
    for alternative in alternatives.take(if depth < DEPTH_LIMIT { usize::MAX } else { 0 }) {
        look(alternative, depth + 1, seen);
    }
    if schema["properties"][FILE].is_object() {
        seen.file = true;
    }
    let is_text = match &schema["type"] {
        Value::String(name) => name == "string",
        Value::Array(names) => names.iter().any(|name| name == "string"),
        _ => false,
    };
    seen.text |= is_text && schema["format"] != "binary";
}

/// Whether several files may stand in the place of one.
pub(crate) fn takes_several(schema: &Value) -> bool {
    schema["anyOf"].as_array().into_iter().flatten().any(|alternative| alternative["type"] == "array")
}

/// What a flag's value stands for, where its schema takes a file. `None`: it
/// is none of the forms of a file.
pub(crate) fn given(given: &str) -> Option<Value> {
    if given == "-" {
        return Some(json!({ FILE: "@-" }));
    }
    if given.starts_with('@') || given.starts_with(REFERENCE_PREFIX) {
        return Some(json!({ FILE: given }));
    }
    serde_json::from_str(given)
        .ok()
        .filter(|value: &Value| value.is_object() || value.is_array() || value.is_null())
}

/// The bytes of a file as base64, for `@PATH`.
pub(crate) fn base64(path: &str) -> Result<Value, Failure> {
    let path = named(path)?;
    Ok(Value::from(STANDARD.encode(input::bytes(path, ENCODED_LIMIT_BYTES)?)))
}

/// What follows the `@`.
fn named(given: &str) -> Result<&str, Failure> {
    match given.trim_start_matches('@') {
        "" => Err(Failure::usage("`@` is followed by a file's name")),
        _ => Ok(&given[1..]),
    }
}

/// Refuses JSON that did not stand on the command line and names files.
pub(crate) fn expect_none(value: &Value) -> Result<(), Failure> {
    match value {
        Value::Object(map) => match local(map) {
            Some(given) => Err(Failure::usage(format!(
                "the arguments name the file {}, and were not typed here",
                text::line(given, 200)
            ))
            .hint("name files on the command line: as a flag, `--file @PATH`, or in JSON that stands there")),
            None => map.values().try_for_each(expect_none),
        },
        Value::Array(items) => items.iter().try_for_each(expect_none),
        _ => Ok(()),
    }
}

/// The `@PATH` of `{"$file": "@PATH"}`.
fn local(map: &Map<String, Value>) -> Option<&str> {
    map.get(FILE)?.as_str().filter(|given| given.starts_with('@'))
}

/// Puts files into the workspace, and their references in their place.
pub(crate) struct Uploads<'c> {
    context: &'c Context,
    stdin_is_taken: bool,
}

impl<'c> Uploads<'c> {
    pub(crate) fn new(context: &'c Context, stdin_is_taken: bool) -> Self {
        Self { context, stdin_is_taken }
    }

    /// Every `{"$file": "@PATH"}` of the arguments becomes what the workspace
    /// holds. A name and a media type beside it stay.
    pub(crate) fn place(&mut self, value: &mut Value) -> Result<(), Failure> {
        match value {
            Value::Object(map) => {
                let Some(given) = local(map) else {
                    return map.values_mut().try_for_each(|inner| self.place(inner));
                };
                let said = |key: &str| map.get(key).and_then(Value::as_str);
                let mut held = self.put(named(given)?, said("name"), said("mediaType"))?;
                if let Value::Object(held) = &mut held {
                    let kept = map.iter().filter(|(key, _)| *key != FILE);
                    held.extend(kept.map(|(key, value)| (key.clone(), value.clone())));
                }
                *value = held;
                Ok(())
            }
            Value::Array(items) => items.iter_mut().try_for_each(|item| self.place(item)),
            _ => Ok(()),
        }
    }

    /// Puts one file into the workspace, or stdin for `-`.
    pub(crate) fn put(
        &mut self,
        path: &str,
        name: Option<&str>,
        media_type: Option<&str>,
    ) -> Result<Value, Failure> {
        if path == "-" {
            if std::mem::replace(&mut self.stdin_is_taken, true) {
                return Err(Failure::usage("stdin can be read once"));
            }
            return self.send("stdin", name, media_type, None, &mut io::stdin().lock());
        }
        let file = Path::new(path);
        if file.is_dir() {
            return Err(Failure::usage(format!("{path} is a directory, and a file is needed")));
        }
        let wrong = |error: io::Error| {
            let failure = Failure::usage(format!("{} can't be read: {error}", text::line(path, 200)));
            failure.hint("the path is taken from the directory that you are in")
        };
        let mut opened = File::open(file).map_err(wrong)?;
        let metadata = opened.metadata().map_err(wrong)?;
        let length = metadata.is_file().then_some(metadata.len());
        let own = file.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.or(own.as_deref());
        self.send(path, name, media_type.or_else(|| media_type_of(path)), length, &mut opened)
    }

    fn send(
        &self,
        path: &str,
        name: Option<&str>,
        media_type: Option<&str>,
        length: Option<u64>,
        reader: &mut dyn Read,
    ) -> Result<Value, Failure> {
        if media_type.is_some_and(|media_type| media_type.bytes().any(|byte| !(b' '..=b'~').contains(&byte)))
        {
            return Err(Failure::usage("a media type is as `text/plain`"));
        }
        let target = self.context.path(&["blobs"]) + &api::query(&[("name", name.map(str::to_owned))]);
        let body = Stream { media_type, length, reader };
        Ok(Api::new(self.context).upload(&target, &text::line(path, 200), body)?.value)
    }
}

/// What the ending of a name says that the file is, of those that APIs ask for
/// most.
fn media_type_of(path: &str) -> Option<&'static str> {
    let ending = Path::new(path).extension()?.to_str()?.to_ascii_lowercase();
    Some(match ending.as_str() {
        "txt" | "log" => "text/plain",
        "csv" => "text/csv",
        "md" => "text/markdown",
        "html" | "htm" => "text/html",
        "json" => "application/json",
        "yaml" | "yml" => "application/yaml",
        "xml" => "application/xml",
        "pdf" => "application/pdf",
        "zip" => "application/zip",
        "gz" | "tgz" => "application/gzip",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "svg" => "image/svg+xml",
        "mp3" => "audio/mpeg",
        "wav" => "audio/wav",
        "mp4" => "video/mp4",
        "webm" => "video/webm",
        "docx" => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "xlsx" => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Value {
        json!({ "type": ["object", "null"], "properties": { "$file": { "type": "string" } }, "required": ["$file"] })
    }

    #[test]
    fn a_schema_says_whether_a_file_is_meant() {
        let check = |schema: Value, expect| assert_eq!(takes(&schema), expect, "{schema}");
        let binary = json!({ "type": "string", "format": "binary" });
        check(file(), Some(Takes::Reference));
        check(json!({ "anyOf": [binary, file()] }), Some(Takes::Reference));
        check(
            json!({ "anyOf": [{ "type": "array", "items": file() }, file(), { "type": "null" }] }),
            Some(Takes::Reference),
        );
        check(
            json!({ "anyOf": [{ "$ref": "#/$defs/Pet" }, { "anyOf": [binary, file()] }] }),
            Some(Takes::Reference),
        );
        check(json!({ "anyOf": [{ "type": "string" }, file()] }), None);
        check(json!({ "type": "string", "contentEncoding": "base64" }), Some(Takes::Base64));
        check(json!({ "type": "string", "format": "byte" }), Some(Takes::Base64));
        check(binary, None);
        check(json!({}), None);
        check(json!({ "type": "object" }), None);
        let deep = (0..100).fold(file(), |inner, _| json!({ "anyOf": [inner] }));
        check(deep, None);
    }

    #[test]
    fn only_what_is_marked_is_a_file() {
        assert_eq!(given("@up.txt"), Some(json!({ "$file": "@up.txt" })));
        assert_eq!(given("-"), Some(json!({ "$file": "@-" })));
        assert_eq!(given("blob:00"), Some(json!({ "$file": "blob:00" })));
        assert_eq!(
            given("{\"$file\":\"blob:00\",\"name\":\"a\"}"),
            Some(json!({ "$file": "blob:00", "name": "a" }))
        );
        for text in ["up.txt", "./up.txt", "/etc/passwd", "12", "\"@up.txt\"", ""] {
            assert_eq!(given(text), None, "{text}");
        }
        assert!(named("@").is_err() && named("@@").is_err());
        assert_eq!(named("@./a").unwrap(), "./a");
    }

    #[test]
    fn arguments_that_were_not_typed_name_no_file() {
        let nested = json!({ "a": [{ "b": { "$file": "@/etc/passwd" } }] });
        let refused = expect_none(&nested).unwrap_err();
        assert!(refused.message.contains("@/etc/passwd") && refused.hints[0].contains("--file @PATH"));
        expect_none(&json!({ "a": "@x", "$file": "blob:1", "b": { "$file": 1 } })).unwrap();
    }

    #[test]
    fn endings_say_what_a_file_is() {
        assert_eq!(media_type_of("a/b.PNG"), Some("image/png"));
        for unknown in ["a", "a.unknown", ".txt", "a/b.txt/c"] {
            assert_eq!(media_type_of(unknown), None, "{unknown}");
        }
    }
}
