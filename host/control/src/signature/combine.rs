//! Types put together: unions, objects, literals.

use serde_json::Value;

use super::text;

/// Objects up to this long stand on one line.
const ONE_LINE_CHARS: usize = 60;
/// Docs up to this long stand behind a member that takes one line.
const SHORT_DOCS_CHARS: usize = 32;

/// A type's text, and how it binds.
pub(super) struct Type {
    pub(super) text: String,
    pub(super) binding: Binding,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Binding {
    Atom,
    Intersection,
    Union,
}

impl Type {
    pub(super) fn atom(text: impl Into<String>) -> Self {
        Self { text: text.into(), binding: Binding::Atom }
    }

    /// In parentheses where it binds less tightly than `within`.
    pub(super) fn within(self, within: Binding) -> String {
        if self.binding > within { format!("({})", self.text) } else { self.text }
    }
}

/// One member of an object type.
pub(super) struct Line {
    pub(super) name: String,
    pub(super) optional: bool,
    pub(super) docs: String,
    pub(super) text: String,
}

/// An object type of these members, of which `left` more are not shown.
pub(super) fn layout(lines: &[Line], left: usize, indent: usize, prose: bool) -> String {
    let member = |line: &Line| {
        let mark = if line.optional { "?" } else { "" };
        format!("{}{mark}: {}", line.name, line.text)
    };
    let plain = left == 0 && lines.iter().all(|line| line.docs.is_empty() && !line.text.contains('\n'));
    if plain {
        let members: Vec<String> = lines.iter().map(member).collect();
        let text = format!("{{ {} }}", members.join("; "));
        if text.len() <= ONE_LINE_CHARS {
            return text;
        }
    }
    let margin = "  ".repeat(indent + 1);
    let mut text = "{\n".to_owned();
    for line in lines {
        let member = member(line);
        if line.docs.is_empty() {
            text.push_str(&format!("{margin}{member};\n"));
        } else if prose && (line.docs.len() > SHORT_DOCS_CHARS || line.text.contains('\n')) {
            text.push_str(&format!("{margin}/** {} */\n{margin}{member};\n", line.docs));
        } else {
            text.push_str(&format!("{margin}{member}; // {}\n", line.docs));
        }
    }
    if left > 0 {
        text.push_str(&format!("{margin}/* +{} */\n", fields(left)));
    }
    text.push_str(&"  ".repeat(indent));
    text.push('}');
    text
}

/// `1 field`, `7 fields`.
pub(super) fn fields(count: usize) -> String {
    if count == 1 { "1 field".to_owned() } else { format!("{count} fields") }
}

/// Every type once, `null` last; `unknown` takes all others in.
pub(super) fn union(types: Vec<Type>) -> Type {
    combine(types, Binding::Union)
}

/// Every type once; `unknown` adds nothing.
pub(super) fn intersection(types: Vec<Type>) -> Type {
    let telling = types.into_iter().filter(|each| each.text != "unknown").collect();
    combine(telling, Binding::Intersection)
}

fn combine(types: Vec<Type>, how: Binding) -> Type {
    let mut parts: Vec<String> = Vec::new();
    let mut null = false;
    let only = types.len() == 1;
    for each in types {
        if only {
            return each;
        }
        if how == Binding::Union && each.text == "null" {
            null = true;
        } else {
            let part = each.within(how);
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
    }
    if how == Binding::Union && parts.iter().any(|part| part == "unknown") {
        return Type::atom("unknown");
    }
    if null {
        parts.push("null".to_owned());
    }
    match parts.len() {
        0 => Type::atom("unknown"),
        1 => Type::atom(parts.remove(0)),
        _ => {
            let sign = if how == Binding::Union { " | " } else { " & " };
            Type { text: parts.join(sign), binding: how }
        }
    }
}

/// A value as a type of its own.
pub(super) fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => text::literal(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(_) => "unknown[]".to_owned(),
        Value::Object(_) => "Record<string, unknown>".to_owned(),
    }
}

/// A literal as an example, in a comment.
pub(super) fn sample(value: &Value) -> String {
    match value {
        Value::String(text) => text::comment(text, 30),
        Value::Array(_) => "[…]".to_owned(),
        Value::Object(_) => "{…}".to_owned(),
        other => other.to_string(),
    }
}

/// The type that a literal belongs to.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "string",
        Value::Number(_) => "number",
        Value::Bool(_) => "boolean",
        Value::Null => "null",
        Value::Array(_) => "unknown[]",
        Value::Object(_) => "Record<string, unknown>",
    }
}
