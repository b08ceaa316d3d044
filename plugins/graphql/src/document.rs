//! What a document is: a schema in one of its two forms, or what else people
//! find where they look for one.

use serde_json::Value;

use crate::schema::{Draft, find_introspection, read_introspection, read_sdl};
use crate::seam::Failure;

/// More than the largest that is published; the host bounds documents too.
const MAX_DOCUMENT_BYTES: usize = 96 << 20;
/// Where a page's own marks are looked for.
const PAGE_BYTES: usize = 256 << 10;
/// Marks of the tools that endpoints show to browsers.
const TOOLS: [&str; 7] = [
    "graphiql",
    "graphql-playground",
    "graphql playground",
    "apollo sandbox",
    "embeddable-sandbox",
    "altair graphql",
    "banana cake pop",
];

/// What a document was written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Sdl,
    Introspection,
}

impl Form {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sdl => "sdl",
            Self::Introspection => "introspection",
        }
    }
}

/// What a document is.
#[derive(Debug)]
pub(crate) enum Content {
    /// A schema.
    Schema(Draft, Form),
    /// A schema by its looks, and what is wrong with it.
    Broken(String),
    /// What a GraphQL server answers to a request without a query.
    Server,
    /// A page with a tool for queries in it.
    Tool,
    /// Another page: a login, a notice, a manual.
    Page,
    /// A query to send, not a schema.
    Operation,
    /// None of them.
    Unknown,
}

impl Content {
    /// What it is, for people, where it is no schema.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Schema(..) => "a GraphQL schema".to_owned(),
            Self::Broken(why) => format!("a GraphQL schema that can't be read: {why}"),
            Self::Server => "a GraphQL server's answer".to_owned(),
            Self::Tool => "a page with a tool for GraphQL queries".to_owned(),
            Self::Page => "an HTML page (a login or a manual?)".to_owned(),
            Self::Operation => "a GraphQL operation, not a schema".to_owned(),
            Self::Unknown => "neither a GraphQL schema (SDL) nor the JSON of an introspection".to_owned(),
        }
    }
}

/// Looks at the bytes of a document.
pub(crate) fn read(bytes: &[u8]) -> Content {
    if bytes.len() > MAX_DOCUMENT_BYTES {
        return Content::Broken(format!("it has {} bytes; {MAX_DOCUMENT_BYTES} are read", bytes.len()));
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Content::Unknown;
    };
    let text = text.trim_start_matches(['\u{FEFF}', ' ', '\t', '\r', '\n']);
    if text.starts_with('<') {
        return page(text);
    }
    if text.starts_with(['{', '['])
        && let Ok(root) = serde_json::from_str::<Value>(text)
    {
        return of_json(&root);
    }
    match first_word(text) {
        Some(
            "schema" | "type" | "interface" | "union" | "enum" | "input" | "scalar" | "extend" | "directive",
        ) => read_sdl(text).map_or_else(Content::Broken, |draft| Content::Schema(draft, Form::Sdl)),
        Some("query" | "mutation" | "subscription" | "fragment") if text.contains('{') => Content::Operation,
        _ if bytes.starts_with(b"{\"data\"") || bytes.starts_with(b"{\"__schema\"") => {
            Content::Broken("its JSON is cut off or not valid".to_owned())
        }
        _ => Content::Unknown,
    }
}

/// The schema of a document that must be one.
///
/// # Errors
/// `document-unsupported`, `document-invalid`.
pub(crate) fn schema(content: Content) -> Result<(Draft, Form), Failure> {
    match content {
        Content::Schema(draft, form) => Ok((draft, form)),
        Content::Broken(why) => {
            Err(Failure::new("document-invalid", format!("the schema can't be read: {why}")))
        }
        other => Err(Failure::new(
            "document-unsupported",
            format!(
                "this is {}: give the URL of a GraphQL endpoint, or a schema as SDL or introspection JSON",
                other.words()
            ),
        )),
    }
}

fn of_json(root: &Value) -> Content {
    if let Some(schema) = find_introspection(root) {
        return read_introspection(schema)
            .map_or_else(Content::Broken, |draft| Content::Schema(draft, Form::Introspection));
    }
    // Some tools print the SDL as a string within JSON.
    if let Some(sdl) = ["/data/_service/sdl", "/sdl"].iter().find_map(|place| root.pointer(place)?.as_str()) {
        return read_sdl(sdl).map_or_else(Content::Broken, |draft| Content::Schema(draft, Form::Sdl));
    }
    if is_answer(root) { Content::Server } else { Content::Unknown }
}

/// Whether JSON has the shape of a GraphQL answer (October 2021, section 7.1).
pub(crate) fn is_answer(root: &Value) -> bool {
    let errors = root.get("errors").and_then(Value::as_array);
    let says = |error: &Value| error.get("message").is_some_and(Value::is_string);
    let has_errors = errors.is_some_and(|list| !list.is_empty() && list.iter().all(says));
    // Many APIs have lists of errors in an envelope of their own; what stands
    // in these is GraphQL's.
    let has_own = |error: &Value| {
        error.get("locations").is_some_and(Value::is_array)
            || error.get("extensions").is_some_and(Value::is_object)
    };
    let has_own_errors = has_errors && errors.is_some_and(|list| list.iter().any(has_own));
    let only_known = root
        .as_object()
        .is_some_and(|map| map.keys().all(|key| matches!(key.as_str(), "data" | "errors" | "extensions")));
    let has_data = root.get("data").is_some_and(|data| data.is_object() || data.is_null());
    has_own_errors || (only_known && (has_errors || has_data))
}

fn page(text: &str) -> Content {
    let mut end = text.len().min(PAGE_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let start = text[..end].to_ascii_lowercase();
    if !start.contains("<html") && !start.starts_with("<!doctype html") {
        return Content::Unknown;
    }
    if TOOLS.iter().any(|mark| start.contains(mark)) { Content::Tool } else { Content::Page }
}

/// The first word after comments, commas and descriptions.
fn first_word(text: &str) -> Option<&str> {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',' || c == '\u{FEFF}');
        if rest.starts_with('#') {
            rest = rest.split_once(['\n', '\r'])?.1;
        } else if let Some(block) = rest.strip_prefix("\"\"\"") {
            rest = block.split_once("\"\"\"")?.1;
        } else if let Some(string) = rest.strip_prefix('"') {
            rest = string.split_once('"')?.1;
        } else {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            // YAML goes on with a colon.
            let goes_on = !after.trim_start().starts_with([':', '=', '-']);
            return Some(word).filter(|word| !word.is_empty() && goes_on);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_told_apart() {
        let check = |text: &str, expected: &str| {
            let found = format!("{:?}", read(text.as_bytes()));
            assert!(found.starts_with(expected), "{text}: {found}");
        };
        check("# c\n\"\"\"d \"q\" \"\"\"\ntype Query { a: Int }", "Schema(");
        check("\u{FEFF}  \"x\" schema { query: Q } type Q { a: Int }", "Schema(");
        check(r#"{"data":{"__schema":{"types":[{"kind":"OBJECT","name":"Query"}]}}}"#, "Schema(");
        check(r#"{"data":{"_service":{"sdl":"type Query { a: Int }"}}}"#, "Schema(");
        check(r#"{"__schema":{"types":[]}}"#, "Broken(");
        check("type Query { a: }", "Broken(\"line 1, column");
        check(r#"{"data":{"__schema":{"#, "Broken(");
        check(r#"{"errors":[{"message":"Must provide query string."}]}"#, "Server");
        check(r#"{"data":null}"#, "Server");
        check("<!DOCTYPE html><html><title>GraphiQL</title></html>", "Tool");
        check("<html><form>password</form></html>", "Page");
        check("<?xml version='1.0'?><rss/>", "Unknown");
        check("query A { a }", "Operation");
        check("openapi: 3.0.0", "Unknown");
        check("type: object", "Unknown");
        check(r#"{"data":{"id":1},"meta":{}}"#, "Unknown");
        check(r#"{"errors":["x"]}"#, "Unknown");
        // A REST API's envelope, and a GraphQL server's with a key of its own.
        check(r#"{"success":false,"errors":[{"code":7000,"message":"No route"}],"result":null}"#, "Unknown");
        check(
            r#"{"errors":[{"message":"Syntax","locations":[{"line":1,"column":1}]}],"trace_id":"a"}"#,
            "Server",
        );
        check("hello", "Unknown");
        check("", "Unknown");
    }
}
