//! Says what a document is, so that a wrong one is named and not just refused.

use serde_json::Value;

/// Which rules a document's schemas follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    /// Swagger: schemas as in 3.0 with `x-nullable`, everything around them
    /// written another way.
    V20,
    /// `nullable`, boolean `exclusiveMinimum`, siblings of `$ref` ignored.
    V30,
    /// JSON Schema 2020-12, as in 3.2. Also what is used for later ones.
    V31,
}

/// What a tree is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Ours; `text` is the version as the document writes it.
    OpenApi {
        version: Version,
        text: String,
        newer: bool,
    },
    /// OpenAPI of a version that is not read, in words.
    OtherOpenApi(String),
    /// Something else, in words.
    Foreign(&'static str),
    Unknown,
}

/// What a tree is, by the keys that each specification requires.
pub(crate) fn identify(root: &Value) -> Kind {
    let Some(map) = root.as_object() else {
        return Kind::Unknown;
    };
    if let Some(version) = map.get("openapi") {
        return by_version(&words(version));
    }
    if let Some(version) = map.get("swagger") {
        return by_swagger_version(&words(version));
    }
    let has = |key: &str| map.contains_key(key);
    let schema_url = root.pointer("/info/schema").and_then(Value::as_str).unwrap_or_default();
    if has("asyncapi") {
        Kind::Foreign("an AsyncAPI document")
    } else if has("item") && (schema_url.contains("postman") || root.pointer("/info/_postman_id").is_some()) {
        Kind::Foreign("a Postman collection")
    } else if has("discoveryVersion")
        || map.get("kind").is_some_and(|kind| kind == "discovery#restDescription")
    {
        Kind::Foreign("a Google API Discovery document")
    } else if has("swaggerVersion") {
        Kind::OtherOpenApi(format!("Swagger {}", words(&map["swaggerVersion"])))
    } else if has("arazzo") {
        Kind::Foreign("an Arazzo workflow description")
    } else if has("overlay") {
        Kind::Foreign("an OpenAPI overlay")
    } else if has("openrpc") {
        Kind::Foreign("an OpenRPC document")
    } else if root.pointer("/data/__schema").is_some() || has("__schema") {
        Kind::Foreign("a GraphQL introspection result")
    } else if root.pointer("/log/entries").is_some() {
        Kind::Foreign("an HTTP archive (HAR)")
    } else if has("_type") && map["_type"] == "export" && has("resources") {
        Kind::Foreign("an Insomnia export")
    } else if has("jsonrpc") {
        Kind::Foreign("a JSON-RPC answer")
    } else {
        Kind::Unknown
    }
}

fn words(version: &Value) -> String {
    match version {
        Value::String(text) => text.trim().chars().take(32).collect(),
        other => other.to_string().chars().take(32).collect(),
    }
}

fn by_swagger_version(text: &str) -> Kind {
    match text.trim_start_matches('v').split('.').next() {
        Some("2") => ours(Version::V20, text, false),
        _ => Kind::OtherOpenApi(format!("Swagger {text}")),
    }
}

fn by_version(text: &str) -> Kind {
    let mut parts = text.trim_start_matches('v').split('.');
    let major = parts.next().unwrap_or_default();
    let minor = parts.next().unwrap_or("0");
    match (major, minor.parse::<u32>()) {
        ("3", Ok(0)) => ours(Version::V30, text, false),
        ("3", Ok(1 | 2)) => ours(Version::V31, text, false),
        ("3", Ok(_)) => ours(Version::V31, text, true),
        _ => Kind::OtherOpenApi(format!("OpenAPI of the unknown version {text:?}")),
    }
}

fn ours(version: Version, text: &str, newer: bool) -> Kind {
    Kind::OpenApi { version, text: text.to_owned(), newer }
}

/// What a text plainly is that is neither JSON nor YAML.
pub(crate) fn foreign_text(text: &str) -> Option<&'static str> {
    let mut end = text.len().min(4096);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let start = text[..end].to_ascii_lowercase();
    let is_xml = start.starts_with("<?xml") || start.starts_with('<');
    if start.starts_with("#%raml") {
        Some("a RAML document")
    } else if start.starts_with("<!doctype html") || (is_xml && start.contains("<html")) {
        Some("an HTML page")
    } else if is_xml && start.contains("definitions") && start.contains("wsdl") {
        Some("a WSDL document")
    } else if is_xml && start.contains("edmx") {
        Some("an OData metadata document")
    } else if is_xml {
        Some("an XML document")
    } else if start.starts_with("format: 1a") && start.contains("\n#") {
        Some("an API Blueprint document")
    } else if is_graphql(&start) {
        Some("a GraphQL schema")
    } else if start.starts_with("syntax = \"proto") || start.starts_with("syntax=\"proto") {
        Some("a Protocol Buffers file")
    } else if start.starts_with('\0') || start.starts_with("pk\u{3}\u{4}") {
        Some("a binary file")
    } else {
        None
    }
}

fn is_graphql(start: &str) -> bool {
    let code = start
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with('#') && !line.starts_with('"'));
    let Some(code) = code else { return false };
    let keyword = [
        "type ",
        "schema ",
        "schema{",
        "interface ",
        "scalar ",
        "enum ",
        "union ",
        "directive @",
        "extend ",
        "input ",
    ];
    !code.contains(": ")
        && keyword.iter().any(|word| code.starts_with(word))
        && (code.contains('{')
            || code.starts_with("scalar")
            || code.starts_with("directive")
            || code.starts_with("union"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn versions_may_be_numbers() {
        let minor = |value: Value| match identify(&json!({"openapi": value})) {
            Kind::OpenApi { version, newer, .. } => Some((version, newer)),
            _ => None,
        };
        assert_eq!(minor(json!("3.0.3")), Some((Version::V30, false)));
        assert_eq!(minor(json!(3.0)), Some((Version::V30, false)));
        assert_eq!(minor(json!(3)), Some((Version::V30, false)));
        assert_eq!(minor(json!(3.1)), Some((Version::V31, false)));
        assert_eq!(minor(json!("3.2.0")), Some((Version::V31, false)));
        assert_eq!(minor(json!("3.3.0")), Some((Version::V31, true)));
        assert_eq!(minor(json!("4.0.0")), None);
        assert_eq!(minor(json!({})), None);
    }

    #[test]
    fn others_are_named() {
        let name = |value: Value| match identify(&value) {
            Kind::Foreign(name) => name.to_owned(),
            Kind::OtherOpenApi(name) => name,
            other => format!("{other:?}"),
        };
        assert_eq!(name(json!({"swagger": "1.2"})), "Swagger 1.2");
        assert!(matches!(identify(&json!({"swagger": 2})), Kind::OpenApi { version: Version::V20, .. }));
        assert!(matches!(identify(&json!({"swagger": "2.0"})), Kind::OpenApi { version: Version::V20, .. }));
        assert_eq!(name(json!({"asyncapi": "2.0.0"})), "an AsyncAPI document");
        assert_eq!(name(json!({"info": {"_postman_id": "1"}, "item": []})), "a Postman collection");
        assert_eq!(name(json!({"kind": "discovery#restDescription"})), "a Google API Discovery document");
        assert_eq!(name(json!([1])), "Unknown");
        assert_eq!(foreign_text("#%RAML 1.0\ntitle: x"), Some("a RAML document"));
        assert_eq!(foreign_text("# a\ntype Query {\n  a: Int\n}"), Some("a GraphQL schema"));
        assert_eq!(foreign_text("openapi: 3.0.0"), None);
    }
}
