//! Scalars as JSON Schema: the five of GraphQL, those that most servers agree
//! on, and any value for the rest.

use serde_json::{Value, json};

use crate::schema::Type;
use crate::text::line;

/// Where a schema stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Input,
    Output,
}

/// What a file is in arguments. What every answer and upload says of one is
/// taken, so that it is passed on as it is.
fn file() -> Value {
    json!({
        "type": "object",
        "description": "a file that the host holds",
        "properties": {
            "$file": {"type": "string"},
            "name": {"type": "string", "description": "what the server is told as its name"},
            "mediaType": {"type": "string"},
            "size": {"type": "integer"},
        },
        "required": ["$file"],
    })
}

/// Whether a scalar is the file of the multipart request specification. Some
/// servers call it `File`, as GraphQL Yoga has it; with others that is a text.
pub(crate) fn is_upload(name: &str) -> bool {
    matches!(name, "Upload" | "FileUpload" | "File")
}

fn upload(name: &str) -> Value {
    match name {
        "File" => json!({"anyOf": [{"type": "string", "format": "binary"}, file()]}),
        _ => file(),
    }
}

/// The schema of a scalar's value.
pub(crate) fn schema(ty: &Type, side: Side) -> Value {
    let input = side == Side::Input;
    if input && is_upload(&ty.name) {
        return upload(&ty.name);
    }
    match ty.name.as_str() {
        "String" => json!({"type": "string"}),
        "Boolean" => json!({"type": "boolean"}),
        "Int" => json!({"type": "integer"}),
        "Float" => json!({"type": "number"}),
        // An id is written as a string, and read from a number too.
        "ID" if input => json!({"type": ["string", "integer"]}),
        "ID" => json!({"type": "string"}),
        other => custom(ty, &other.to_ascii_lowercase()),
    }
}

fn custom(ty: &Type, lower: &str) -> Value {
    let mut schema = match lower {
        "datetime" | "datetimetz" | "timestamp" | "timestamptz" | "iso8601datetime" | "gittimestamp"
        | "precisedatetime" | "utcdatetime" => {
            // Servers that count seconds call that a timestamp too.
            if lower.starts_with("timestamp") {
                json!({"type": ["string", "integer"]})
            } else {
                json!({"type": "string", "format": "date-time"})
            }
        }
        "date" | "iso8601date" => json!({"type": "string", "format": "date"}),
        "uri" | "url" | "httpurl" => json!({"type": "string", "format": "uri"}),
        "uuid" => json!({"type": "string", "format": "uuid"}),
        "email" | "emailaddress" => json!({"type": "string", "format": "email"}),
        "time" | "localtime" | "duration" | "html" | "markdown" | "base64string" | "gitobjectid"
        | "gitrefname" | "color" | "colour" | "locale" | "timezone" | "countrycode" | "currency" => {
            json!({"type": "string"})
        }
        "bigint" | "long" | "int64" | "unsignedint64" | "biginteger" => {
            json!({"type": ["integer", "string"]})
        }
        "decimal" | "bigdecimal" | "money" | "numeric" | "positivedecimal" => {
            json!({"type": ["string", "number"]})
        }
        "void" => json!({"type": "null"}),
        _ => json!({}),
    };
    let told = line(&ty.description, 160);
    let told = match &ty.specified_by {
        Some(url) if told.is_empty() => line(url, 160),
        _ => told,
    };
    let name = &ty.name;
    let told = if told.is_empty() { format!("scalar {name}") } else { format!("scalar {name}: {told}") };
    schema["description"] = json!(told);
    schema
}

/// A schema that takes `null` too.
pub(crate) fn or_null(mut schema: Value) -> Value {
    match schema.get("type") {
        Some(Value::String(kind)) if kind != "null" => schema["type"] = json!([kind, "null"]),
        Some(Value::Array(kinds)) if !kinds.contains(&json!("null")) => {
            let mut kinds = kinds.clone();
            kinds.push(json!("null"));
            schema["type"] = Value::Array(kinds);
        }
        Some(_) => {}
        None if schema.get("anyOf").is_some() => {
            if let Some(Value::Array(list)) = schema.get_mut("anyOf") {
                list.push(json!({"type": "null"}));
            }
        }
        None if schema.get("$ref").is_some() => return json!({"anyOf": [schema, {"type": "null"}]}),
        // It takes anything already.
        None => {}
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_is_added_once() {
        let check = |schema: Value, expected: Value| assert_eq!(or_null(schema), expected);
        check(json!({"type": "string"}), json!({"type": ["string", "null"]}));
        check(json!({"type": ["string", "null"]}), json!({"type": ["string", "null"]}));
        check(json!({"$ref": "#/$defs/A"}), json!({"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]}));
        check(json!({"anyOf": [{}]}), json!({"anyOf": [{}, {"type": "null"}]}));
        check(json!({"description": "x"}), json!({"description": "x"}));
    }
}
