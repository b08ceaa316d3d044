//! Bodies as bytes.

use serde_json::{Map, Value};

use super::arguments::invalid;
use super::binding::{BodyKind, BodyType, Encoding, Field, Style};
use super::multipart;
use super::style::{self, Escapes};
use crate::seam::{Chunk, Failure};

/// What a field of a form is by default.
const FIELD: Encoding =
    Encoding { style: Style::Form, explode: true, reserved: false, indexed: false, json: false };

/// The content type and the body in one media type.
///
/// # Errors
/// `invalid-arguments`, where the value can't be written in it.
pub(crate) fn write(
    kind: &BodyType,
    numbered: Option<bool>,
    value: &Value,
) -> Result<(String, Vec<Chunk>), Failure> {
    let bytes = match (kind.kind, value) {
        (BodyKind::Multipart, Value::Object(map)) => return multipart::write(kind, map),
        (BodyKind::Json, value) => value.to_string().into_bytes(),
        (BodyKind::Form, Value::Object(map)) => form(map, &kind.fields, numbered).into_bytes(),
        // Some describe a list as a form; most who read one take numbers for
        // the names.
        (BodyKind::Form, Value::Array(list)) => {
            let deep = Encoding { style: Style::Deep, indexed: true, ..FIELD };
            let mut pairs = style::Pairs::new();
            for (index, item) in list.iter().enumerate() {
                style::pairs(&index.to_string(), deep, Escapes::URL, item, &mut pairs);
            }
            style::query(&pairs).into_bytes()
        }
        (BodyKind::Form, Value::String(text)) => text.clone().into_bytes(),
        (BodyKind::Form | BodyKind::Multipart, _) => {
            return Err(invalid(format!("a body of {} must be an object", kind.media_type)));
        }
        (BodyKind::Lines, Value::Array(list)) => {
            list.iter().flat_map(|item| format!("{item}\n").into_bytes()).collect()
        }
        (BodyKind::Lines | BodyKind::Text | BodyKind::Binary, Value::String(text)) => {
            text.clone().into_bytes()
        }
        (BodyKind::Lines | BodyKind::Text | BodyKind::Binary, value) => {
            match value.get("$file").and_then(Value::as_str) {
                Some(reference) => {
                    return Ok((kind.media_type.clone(), vec![Chunk::File(reference.to_owned())]));
                }
                None => {
                    return Err(invalid(format!(
                        "a body of {} must be a string or {{\"$file\": reference}}",
                        kind.media_type
                    )));
                }
            }
        }
    };
    Ok((kind.media_type.clone(), vec![Chunk::Bytes(bytes)]))
}

/// An object as url-encoded pairs.
pub(super) fn form(map: &Map<String, Value>, fields: &[Field], numbered: Option<bool>) -> String {
    let mut pairs = style::Pairs::new();
    for (name, value) in map {
        let declared = fields.iter().find(|field| field.name == *name).map(|field| field.encoding);
        let mut encoding = declared.unwrap_or(Encoding { json: value.is_object(), ..FIELD });
        encoding.indexed = numbered.unwrap_or(encoding.indexed);
        encoding.json &= value.is_object() || value.is_array();
        style::pairs(name, encoding, Escapes::URL, value, &mut pairs);
    }
    style::query(&pairs)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn body(kind: BodyKind, fields: Vec<(&str, Encoding)>) -> BodyType {
        let field = |(name, encoding): (&str, Encoding)| Field {
            name: name.to_owned(),
            encoding,
            file: false,
            media_type: None,
        };
        let fields = fields.into_iter().map(field).collect();
        BodyType { media_type: "x/y".to_owned(), kind, fields }
    }

    fn text(kind: &BodyType, value: &Value) -> String {
        match write(kind, None, value).unwrap().1.as_slice() {
            [Chunk::Bytes(bytes)] => String::from_utf8(bytes.clone()).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn forms_repeat_arrays_and_write_objects_as_json_unless_told() {
        let value = json!({"a": "x y", "b": [1, 2], "c": {"d": 1}, "e": null, "f": true});
        assert_eq!(text(&body(BodyKind::Form, vec![]), &value), "a=x%20y&b=1&b=2&c=%7B%22d%22%3A1%7D&f=true");
        let deep =
            Encoding { style: Style::Deep, explode: true, reserved: false, indexed: true, json: false };
        let fields = vec![("b", deep), ("c", deep)];
        assert_eq!(
            text(&body(BodyKind::Form, fields), &value),
            "a=x%20y&b%5B0%5D=1&b%5B1%5D=2&c%5Bd%5D=1&f=true"
        );
    }

    #[test]
    fn files_go_by_reference() {
        let written = write(&body(BodyKind::Binary, vec![]), None, &json!({"$file": "blob:1"})).unwrap();
        assert_eq!(written, ("x/y".to_owned(), vec![Chunk::File("blob:1".to_owned())]));
        assert_eq!(text(&body(BodyKind::Lines, vec![]), &json!([{"a": 1}, "b"])), "{\"a\":1}\n\"b\"\n");
        assert!(write(&body(BodyKind::Text, vec![]), None, &json!(1)).is_err());
        assert_eq!(text(&body(BodyKind::Form, vec![]), &json!([{"a": 1}, "b"])), "0%5Ba%5D=1&1=b");
        assert!(write(&body(BodyKind::Form, vec![]), None, &json!(1)).is_err());
    }
}
