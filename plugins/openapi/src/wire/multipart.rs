//! Multipart bodies (RFC 7578): each property of the body is a part.

use serde_json::{Map, Value};

use super::arguments::invalid;
use super::binding::{BodyType, Field, Style};
use super::style::{self, Escapes};
use crate::seam::{Chunk, Failure};
use crate::text::hash;

const MAX_PARTS: usize = 10_000;
const MAX_NAME_BYTES: usize = 1000;
const OCTETS: &str = "application/octet-stream";

/// The content type with its boundary, and the body.
///
/// # Errors
/// `invalid-arguments`, naming the field.
pub(super) fn write(kind: &BodyType, map: &Map<String, Value>) -> Result<(String, Vec<Chunk>), Failure> {
    let mut parts = Vec::new();
    for (name, value) in map {
        let field = kind.fields.iter().find(|field| field.name == *name);
        add(name, field, value, &mut parts)?;
    }
    if parts.len() > MAX_PARTS {
        return Err(invalid(format!("the body would have {} parts, more than {MAX_PARTS}", parts.len())));
    }
    let boundary = boundary(&parts);
    let mut body = Body::default();
    for part in &parts {
        body.text(&format!("--{boundary}\r\n{}\r\n", part.head));
        body.chunk(&part.content);
        body.text("\r\n");
    }
    body.text(&format!("--{boundary}--\r\n"));
    let essence = kind.media_type.split(';').next().unwrap_or_default().trim();
    Ok((format!("{essence}; boundary={boundary}"), body.chunks))
}

struct Part {
    /// Its headers, each with its line end.
    head: String,
    content: Chunk,
}

fn add(name: &str, field: Option<&Field>, value: &Value, parts: &mut Vec<Part>) -> Result<(), Failure> {
    if name.len() > MAX_NAME_BYTES {
        return Err(invalid(format!("the name of a field has more than {MAX_NAME_BYTES} bytes")));
    }
    match value {
        Value::Null => Ok(()),
        Value::Object(map) if is_file(map) => file(name, field, map, parts),
        Value::Array(list) if list.iter().any(|item| item.as_object().is_some_and(is_file)) => {
            list.iter().try_for_each(|item| add(name, field, item, parts))
        }
        Value::Array(list) if !is_styled(field) && !is_json(field, false) => {
            list.iter().try_for_each(|item| add(name, field, item, parts))
        }
        value => {
            plain(name, field, value, parts);
            Ok(())
        }
    }
}

/// A value that is no file: text, JSON, or pairs in a style.
fn plain(name: &str, field: Option<&Field>, value: &Value, parts: &mut Vec<Part>) {
    let declared = field.and_then(|field| field.media_type.as_deref());
    if let Some(field) = field.filter(|field| field.file && value.is_string()) {
        let media_type = field.media_type.as_deref().unwrap_or(OCTETS);
        parts.push(part(name, Some(name), Some(media_type), Chunk::Bytes(style::text(value).into_bytes())));
    } else if value.is_object() || value.is_array() {
        if let Some(field) = field.filter(|_| is_styled(field)) {
            let mut pairs = style::Pairs::new();
            style::pairs(name, field.encoding, Escapes::NONE, value, &mut pairs);
            parts.extend(
                pairs
                    .into_iter()
                    .map(|(name, text)| part(&name, None, None, Chunk::Bytes(text.into_bytes()))),
            );
        } else {
            let media_type = declared.unwrap_or("application/json");
            parts.push(part(name, None, Some(media_type), Chunk::Bytes(value.to_string().into_bytes())));
        }
    } else {
        let bytes = if is_json(field, true) { value.to_string() } else { style::text(value) };
        parts.push(part(name, None, declared, Chunk::Bytes(bytes.into_bytes())));
    }
}

fn is_styled(field: Option<&Field>) -> bool {
    field.is_some_and(|field| {
        !field.encoding.json && (field.encoding.style != Style::Form || !field.encoding.explode)
    })
}

/// Whether the whole value is declared to be JSON. `alone`: also where it has
/// no parts, so that a text gets its quotes.
fn is_json(field: Option<&Field>, alone: bool) -> bool {
    let declared = field.and_then(|field| field.media_type.as_deref());
    declared.is_some_and(|media_type| media_type.contains("json"))
        && (alone || field.is_some_and(|field| field.encoding.json))
}

fn is_file(map: &Map<String, Value>) -> bool {
    map.get("$file").is_some_and(Value::is_string)
}

fn file(
    name: &str,
    field: Option<&Field>,
    map: &Map<String, Value>,
    parts: &mut Vec<Part>,
) -> Result<(), Failure> {
    let text = |key: &str| map.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let media_type = text("mediaType").or_else(|| field.and_then(|field| field.media_type.as_deref()));
    let media_type = media_type.unwrap_or(OCTETS);
    if super::content::visible(media_type).is_none() {
        return Err(invalid(format!("the media type {media_type:?} of the field {name:?} can't be sent")));
    }
    let file_name = text("name").unwrap_or(name);
    if file_name.len() > MAX_NAME_BYTES {
        return Err(invalid(format!("the file name in {name:?} has more than {MAX_NAME_BYTES} bytes")));
    }
    let reference = text("$file").unwrap_or_default().to_owned();
    parts.push(part(name, Some(file_name), Some(media_type), Chunk::File(reference)));
    Ok(())
}

fn part(name: &str, file_name: Option<&str>, media_type: Option<&str>, content: Chunk) -> Part {
    let mut head = format!("Content-Disposition: form-data; name=\"{}\"", quoted(name));
    if let Some(file_name) = file_name {
        head.push_str(&format!("; filename=\"{}\"", quoted(file_name)));
    }
    head.push_str("\r\n");
    if let Some(media_type) = media_type {
        head.push_str(&format!("Content-Type: {media_type}\r\n"));
    }
    Part { head, content }
}

/// As browsers write it (the HTML standard, "multipart/form-data"): what would
/// end the name or the line is percent-encoded, and nothing else.
fn quoted(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

/// A boundary that stands in no part: the same call makes the same one. A
/// file is named by the digest of its bytes, so that it can't contain a mark
/// of its own name.
fn boundary(parts: &[Part]) -> String {
    for salt in 0_u32.. {
        let salt = salt.to_string();
        let mut seeds = vec![salt.as_str()];
        for part in parts {
            seeds.push(&part.head);
            if let Chunk::File(reference) = &part.content {
                seeds.push(reference);
            }
        }
        let first = hash(&seeds);
        let boundary =
            format!("executor-{first:016x}{:016x}", hash(&[&first.to_string(), &salt, "boundary"]));
        let stands_in = |part: &Part| match &part.content {
            Chunk::Bytes(bytes) => contains(bytes, boundary.as_bytes()),
            Chunk::File(_) => false,
        };
        if !parts.iter().any(|part| part.head.contains(&boundary) || stands_in(part)) {
            return boundary;
        }
    }
    unreachable!("a body has fewer texts than there are salts")
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

/// Chunks, with bytes that follow one another in one.
#[derive(Default)]
struct Body {
    chunks: Vec<Chunk>,
}

impl Body {
    fn text(&mut self, text: &str) {
        self.chunk(&Chunk::Bytes(text.as_bytes().to_vec()));
    }

    fn chunk(&mut self, chunk: &Chunk) {
        match (self.chunks.last_mut(), chunk) {
            (Some(Chunk::Bytes(held)), Chunk::Bytes(bytes)) => held.extend_from_slice(bytes),
            (_, chunk) => self.chunks.push(chunk.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::binding::{BodyKind, Encoding};
    use super::*;

    const PLAIN: Encoding =
        Encoding { style: Style::Form, explode: true, reserved: false, indexed: false, json: false };

    fn field(name: &str, file: bool, media_type: Option<&str>, encoding: Encoding) -> Field {
        Field { name: name.to_owned(), encoding, file, media_type: media_type.map(str::to_owned) }
    }

    /// The body with `B` for its boundary, and files in angle brackets.
    fn written(fields: Vec<Field>, value: Value) -> String {
        let kind =
            BodyType { media_type: "multipart/form-data".to_owned(), kind: BodyKind::Multipart, fields };
        let (media_type, chunks) = write(&kind, value.as_object().unwrap()).unwrap();
        let boundary = media_type.strip_prefix("multipart/form-data; boundary=").unwrap().to_owned();
        assert_eq!(boundary.len(), 41);
        let text: String = chunks
            .iter()
            .map(|chunk| match chunk {
                Chunk::Bytes(bytes) => String::from_utf8(bytes.clone()).unwrap(),
                Chunk::File(reference) => format!("<{reference}>"),
            })
            .collect();
        text.replace(&boundary, "B").replace("\r\n", "|")
    }

    #[test]
    fn scalars_objects_arrays_and_nulls() {
        assert_eq!(
            written(vec![], json!({"a": "x y", "b": [1, true], "c": {"d": 1}, "e": null})),
            "--B|Content-Disposition: form-data; name=\"a\"||x y|\
             --B|Content-Disposition: form-data; name=\"b\"||1|\
             --B|Content-Disposition: form-data; name=\"b\"||true|\
             --B|Content-Disposition: form-data; name=\"c\"|Content-Type: application/json||{\"d\":1}|--B--|"
        );
    }

    #[test]
    fn files_with_names_and_types() {
        let fields = vec![field("f", true, Some("image/png"), PLAIN), field("g", true, None, PLAIN)];
        assert_eq!(
            written(
                fields,
                json!({"f": {"$file": "blob:1"}, "g": ["text", {"$file": "blob:2", "name": "a\"b\r\n.txt", "mediaType": "text/csv"}]})
            ),
            "--B|Content-Disposition: form-data; name=\"f\"; filename=\"f\"|Content-Type: image/png||<blob:1>|\
             --B|Content-Disposition: form-data; name=\"g\"; filename=\"g\"|Content-Type: application/octet-stream||text|\
             --B|Content-Disposition: form-data; name=\"g\"; filename=\"a%22b%0D%0A.txt\"|Content-Type: text/csv||<blob:2>|--B--|"
        );
    }

    #[test]
    fn styles_and_declared_types() {
        let deep = Encoding { style: Style::Deep, ..PLAIN };
        let csv = Encoding { explode: false, ..PLAIN };
        let json_type = Encoding { json: true, ..PLAIN };
        let fields = vec![
            field("d", false, None, deep),
            field("c", false, None, csv),
            field("j", false, Some("application/json"), json_type),
            field("t", false, Some("text/html"), PLAIN),
        ];
        assert_eq!(
            written(
                fields,
                json!({"d": {"a b": {"c": "x&y"}}, "c": ["x y", "z"], "j": [1, "two"], "t": "<b>"})
            ),
            "--B|Content-Disposition: form-data; name=\"d[a b][c]\"||x&y|\
             --B|Content-Disposition: form-data; name=\"c\"||x y,z|\
             --B|Content-Disposition: form-data; name=\"j\"|Content-Type: application/json||[1,\"two\"]|\
             --B|Content-Disposition: form-data; name=\"t\"|Content-Type: text/html||<b>|--B--|"
        );
    }

    #[test]
    fn no_value_forges_a_part() {
        let body = written(vec![], json!({"a\"; filename=\"x\r\nX: y": "\r\n--executor-0000\r\nX: y"}));
        assert!(
            body.starts_with("--B|Content-Disposition: form-data; name=\"a%22; filename=%22x%0D%0AX: y\"||")
        );
        let kind = BodyType {
            media_type: "multipart/form-data".to_owned(),
            kind: BodyKind::Multipart,
            fields: vec![],
        };
        let (first, _) = write(&kind, json!({"a": "x"}).as_object().unwrap()).unwrap();
        let boundary = first.split_once('=').unwrap().1;
        let (second, _) =
            write(&kind, json!({"a": format!("\r\n--{boundary}--")}).as_object().unwrap()).unwrap();
        assert_ne!(first, second, "a boundary that stands in a part is not taken");
        let odd = json!({"a": {"$file": "blob:1", "mediaType": "x/y\r\nX: z"}});
        assert!(write(&kind, odd.as_object().unwrap()).is_err());
    }
}
