//! Schemas of tools: what a host takes, whatever a server gives.

use serde_json::{Value, json};

use crate::text;

/// What a host takes of one schema.
const MAX_BYTES: usize = 1 << 20;
const MAX_DEPTH: u32 = 96;

/// A schema that takes every object.
pub(crate) const ANY_OBJECT: &str = r#"{"type":"object"}"#;

/// The schema of arguments, and what is wrong with the one that was given.
/// Arguments are one object, so a schema of anything else can't be met.
pub(crate) fn input(given: Option<&str>) -> (String, Option<String>) {
    let any = |why: &str| (ANY_OBJECT.to_owned(), Some(why.to_owned()));
    let Some(given) = given else { return any("it has no input schema") };
    let mut schema = match read(given) {
        Ok(Value::Object(schema)) => schema,
        Ok(Value::Bool(true)) => return (ANY_OBJECT.to_owned(), None),
        Ok(_) => return any("its input schema is not an object"),
        Err(why) => return any(&format!("its input schema {why}")),
    };
    match schema.get("type") {
        Some(Value::String(kind)) if kind == "object" => (given.to_owned(), None),
        Some(Value::Array(kinds)) if kinds.iter().any(|kind| kind == "object") => {
            schema.insert("type".to_owned(), json!("object"));
            (Value::Object(schema).to_string(), None)
        }
        None | Some(Value::Null) => {
            schema.insert("type".to_owned(), json!("object"));
            (Value::Object(schema).to_string(), None)
        }
        Some(_) => any("its input schema is of no object, and arguments are one"),
    }
}

/// The schema of the answer, and what is wrong with the one that was given.
pub(crate) fn output(given: Option<&str>) -> (Option<String>, Option<String>) {
    let Some(given) = given.filter(|given| *given != "null") else { return (None, None) };
    match read(given) {
        Ok(Value::Object(_) | Value::Bool(_)) => (Some(given.to_owned()), None),
        Ok(_) => (None, Some("its output schema is not an object".to_owned())),
        Err(why) => (None, Some(format!("its output schema {why}"))),
    }
}

fn read(given: &str) -> Result<Value, String> {
    if given.len() > MAX_BYTES {
        return Err(format!("has {} bytes, more than {MAX_BYTES}", given.len()));
    }
    if text::depth(given) > MAX_DEPTH {
        return Err(format!("is nested deeper than {MAX_DEPTH} levels"));
    }
    serde_json::from_str(given).map_err(|error| format!("can't be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_input_schema_is_one_of_an_object() {
        let check = |given: &str, expected: &str, faulty: bool| {
            let (schema, fault) = input(Some(given));
            assert_eq!((schema.as_str(), fault.is_some()), (expected, faulty), "{given}");
        };
        let whole = r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{}}}"##;
        check(whole, whole, false);
        check(r#"{"properties":{"a":{}}}"#, r#"{"properties":{"a":{}},"type":"object"}"#, false);
        check(r#"{"type":["null","object"]}"#, r#"{"type":"object"}"#, false);
        check("true", ANY_OBJECT, false);
        check("null", ANY_OBJECT, true);
        check("[]", ANY_OBJECT, true);
        check(r#"{"type":"string"}"#, ANY_OBJECT, true);
        check(&format!("{}{}", r#"{"not":"#.repeat(200), "}".repeat(200)), ANY_OBJECT, true);
        check(&format!(r#"{{"title":"{}"}}"#, "x".repeat(MAX_BYTES)), ANY_OBJECT, true);
        assert_eq!(input(None), (ANY_OBJECT.to_owned(), Some("it has no input schema".to_owned())));
    }

    #[test]
    fn an_output_schema_that_is_none_is_left_out() {
        assert_eq!(output(Some(r#"{"type":"array"}"#)), (Some(r#"{"type":"array"}"#.to_owned()), None));
        assert_eq!(output(Some("null")), (None, None));
        assert!(output(Some("7")).1.is_some());
    }
}
