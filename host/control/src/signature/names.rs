//! Names of types and members.

use std::collections::{HashMap, HashSet};

use super::text;

/// Longest name of a type; longer ones are cut and numbered.
const MAX_TYPE_CHARS: usize = 60;

/// Types that TypeScript has already.
const GLOBAL_TYPES: &[&str] = &[
    "Array",
    "Awaited",
    "BigInt",
    "Blob",
    "Boolean",
    "Date",
    "Error",
    "Exclude",
    "Extract",
    "File",
    "Function",
    "Iterable",
    "JSON",
    "Map",
    "Math",
    "NonNullable",
    "Number",
    "Object",
    "Omit",
    "Parameters",
    "Partial",
    "Pick",
    "Promise",
    "Proxy",
    "Readonly",
    "Record",
    "Reflect",
    "RegExp",
    "Request",
    "Required",
    "Response",
    "ReturnType",
    "Set",
    "String",
    "Symbol",
    "URL",
];

/// Whether it can stand after a dot or before a colon as it is.
fn is_identifier(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$'))
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$'))
}

/// A property's name as it stands in a type. `__proto__` is quoted, since
/// unquoted in a literal it would set the prototype.
pub(super) fn property(name: &str) -> String {
    if is_identifier(name) && name != "__proto__" { name.to_owned() } else { text::literal(name) }
}

/// `tools.github.issues.create`, with brackets where a segment needs them.
pub(super) fn member_path(path: &str) -> String {
    let mut call = "tools".to_owned();
    for segment in path.split('.') {
        if is_identifier(segment) {
            call.push('.');
            call.push_str(segment);
        } else {
            call.push('[');
            call.push_str(&text::literal(segment));
            call.push(']');
        }
    }
    call
}

/// The type name that a definition would like: `simple-user` is `SimpleUser`,
/// `io.k8s.api.core.v1.Pod` is `Pod`.
pub(super) fn wish(definition: &str) -> String {
    let definition = definition.rsplit('/').find(|part| !part.is_empty()).unwrap_or(definition);
    let last = definition.rsplit('.').find(|part| !part.is_empty()).unwrap_or(definition);
    let last = last.strip_prefix("components_schemas_").unwrap_or(last);
    pascal(last)
}

fn pascal(name: &str) -> String {
    let mut type_name = String::new();
    let mut start = true;
    for character in name.chars().take(4 * MAX_TYPE_CHARS) {
        if !character.is_ascii_alphanumeric() {
            start = true;
        } else if start {
            type_name.push(character.to_ascii_uppercase());
            start = false;
        } else {
            type_name.push(character);
        }
        if type_name.len() >= MAX_TYPE_CHARS {
            break;
        }
    }
    if type_name.bytes().next().is_none_or(|byte| byte.is_ascii_digit()) {
        type_name.insert_str(0, "Type");
    }
    if GLOBAL_TYPES.contains(&type_name.as_str()) {
        type_name.push_str("Type");
    }
    type_name
}

/// The type names of one signature, each for one definition.
#[derive(Default)]
pub(super) struct Names {
    given: HashMap<String, String>,
    taken: HashSet<String>,
}

impl Names {
    /// The type name of `definition`; who comes first gets the short one.
    pub(super) fn of(&mut self, definition: &str) -> String {
        if let Some(given) = self.given.get(definition) {
            return given.clone();
        }
        let name = self.free(definition);
        self.taken.insert(name.clone());
        self.given.insert(definition.to_owned(), name.clone());
        name
    }

    fn free(&self, definition: &str) -> String {
        let wish = wish(definition);
        if !self.taken.contains(&wish) {
            return wish;
        }
        let whole = pascal(definition);
        if !self.taken.contains(&whole) {
            return whole;
        }
        (2..)
            .map(|number| format!("{wish}{number}"))
            .find(|name| !self.taken.contains(name))
            .expect("there are more numbers than names")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(definition: &str, expect: &str) {
        assert_eq!(wish(definition), expect);
    }

    #[test]
    fn definitions_become_types() {
        check("issue", "Issue");
        check("nullable-simple-user", "NullableSimpleUser");
        check("io.k8s.api.core.v1.Pod", "Pod");
        check("components_schemas_Issue", "Issue");
        check("400", "Type400");
        check("default", "Default");
        check("package", "Package");
        check("__proto__", "Proto");
        check("Record", "RecordType");
        check("", "Type");
        check("日本", "Type");
        check("a*/b", "B");
        check(&"x".repeat(5000), &format!("X{}", "x".repeat(59)));
    }

    #[test]
    fn every_definition_has_its_own() {
        let mut names = Names::default();
        assert_eq!(names.of("v1.Pod"), "Pod");
        assert_eq!(names.of("v2.Pod"), "V2Pod");
        assert_eq!(names.of("v2..Pod"), "Pod2");
        assert_eq!(names.of("v1.Pod"), "Pod");
    }

    #[test]
    fn members_are_quoted_where_they_must() {
        assert_eq!(member_path("a.b-c.default"), "tools.a[\"b-c\"].default");
        assert_eq!(property("class"), "class");
        assert_eq!(property("__proto__"), "\"__proto__\"");
        assert_eq!(property("a b"), "\"a b\"");
        assert_eq!(property("\u{2028}"), "\"\\u2028\"");
        assert_eq!(property(""), "\"\"");
    }
}
