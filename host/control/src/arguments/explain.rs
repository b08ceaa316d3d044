//! What the schema library found, in words that help to mend it.

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use serde_json::Value;

use super::closest::closest;
use super::{Issue, MAX_ISSUES};

/// Alternatives within alternatives that are looked into.
const MAX_NESTING: usize = 3;
/// Allowed values that are listed.
const MAX_LISTED: usize = 20;
/// What a file is in arguments.
const FILE: &str = "a file, {\"$file\": reference}";
/// Longest message in all.
const MAX_MESSAGE_CHARS: usize = 2_000;

/// The first issues, in the order of the schema. `schema` is what the paths
/// of the errors lead into.
pub(super) fn issues<'e>(schema: &Value, errors: impl Iterator<Item = ValidationError<'e>>) -> Vec<Issue> {
    let mut issues = Vec::new();
    for error in errors {
        explain(schema, &error, 0, &mut issues);
        if issues.len() >= MAX_ISSUES {
            break;
        }
    }
    issues.truncate(MAX_ISSUES);
    issues
}

fn explain(schema: &Value, error: &ValidationError<'_>, nesting: usize, issues: &mut Vec<Issue>) {
    let pointer = error.instance_path().as_str();
    match error.kind() {
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let known = siblings(schema, error);
            for name in unexpected.iter().take(MAX_ISSUES) {
                let message = unknown(name, &known);
                issues.push(Issue { pointer: self::pointer(pointer, name), message });
            }
        }
        Kind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            let message = format!("is missing `{}`", shown(name, 60));
            issues.push(Issue { pointer: pointer.to_owned(), message });
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } if nesting < MAX_NESTING => {
            alternatives(schema, error, context, nesting, issues);
        }
        Kind::Type { .. } if wants_file(schema, error) => {
            let message = format!("must be {FILE}, is {}", kind(error.instance()));
            issues.push(Issue { pointer: pointer.to_owned(), message });
        }
        _ => {
            let message = plain(error);
            issues.push(Issue { pointer: pointer.to_owned(), message });
        }
    }
}

/// Whether the place that has another type is one for a file.
fn wants_file(schema: &Value, error: &ValidationError<'_>) -> bool {
    siblings(schema, error).contains(&"$file")
}

fn unknown(name: &str, known: &[&str]) -> String {
    let meant = closest(name, known.iter().copied());
    match meant.first() {
        Some(meant) => format!("is unknown: did you mean `{}`?", shown(meant, 60)),
        None => "is unknown here".to_owned(),
    }
}

/// The names beside the keyword that refused one.
fn siblings<'s>(schema: &'s Value, error: &ValidationError<'_>) -> Vec<&'s str> {
    let path = error.schema_path().as_str();
    let holder = path.rsplit_once('/').map_or("", |(holder, _)| holder);
    let properties = schema.pointer(&format!("{holder}/properties")).and_then(Value::as_object);
    properties.into_iter().flat_map(|all| all.keys()).map(String::as_str).take(500).collect()
}

/// The alternative that comes nearest, and what is wrong with it.
fn alternatives(
    schema: &Value,
    error: &ValidationError<'_>,
    context: &[Vec<ValidationError<'_>>],
    nesting: usize,
    issues: &mut Vec<Issue>,
) {
    let here = error.instance_path().as_str();
    let types: Vec<&[ValidationError<'_>]> = context.iter().map(Vec::as_slice).collect();
    if let Some(message) = all_of_other_types(schema, here, &types, error.instance()) {
        issues.push(Issue { pointer: here.to_owned(), message });
        return;
    }
    // What is of another type was not meant: `null`, or a list.
    let mut meant = context.iter().filter(|branch| !is_of_other_type(here, branch));
    if let (Some(only), None) = (meant.next(), meant.next()) {
        for error in only.iter().take(3) {
            explain(schema, error, nesting + 1, issues);
        }
        return;
    }
    let Some(nearest) = context.iter().min_by_key(|branch| remoteness(here, branch)) else {
        issues.push(Issue { pointer: here.to_owned(), message: plain(error) });
        return;
    };
    let mut inner = Vec::new();
    for error in nearest.iter().take(3) {
        explain(schema, error, nesting + 1, &mut inner);
    }
    let message = format!("matches none of {} forms; the nearest: {}", context.len(), join(&inner));
    issues.push(Issue { pointer: here.to_owned(), message: shown(&message, 400) });
}

/// Whether an alternative wants another type at the very place.
fn is_of_other_type(here: &str, branch: &[ValidationError<'_>]) -> bool {
    let at_here = |error: &ValidationError<'_>| error.instance_path().as_str() == here;
    branch.iter().any(|error| matches!(error.kind(), Kind::Type { .. }) && at_here(error))
}

/// Where every alternative wants another type, those are all there is to say.
fn all_of_other_types(
    schema: &Value,
    here: &str,
    branches: &[&[ValidationError<'_>]],
    instance: &Value,
) -> Option<String> {
    let mut wanted = Vec::new();
    for branch in branches {
        let [only] = branch else {
            return None;
        };
        let Kind::Type { kind } = only.kind() else {
            return None;
        };
        if only.instance_path().as_str() != here {
            return None;
        }
        let name = if wants_file(schema, only) { FILE.to_owned() } else { types(kind) };
        if !wanted.contains(&name) {
            wanted.push(name);
        }
    }
    (!wanted.is_empty()).then(|| format!("must be {}, is {}", wanted.join(" or "), kind(instance)))
}

/// How far an alternative is from what was given: another type at the very
/// place is furthest, then another value of what tells alternatives apart.
fn remoteness(here: &str, branch: &[ValidationError<'_>]) -> usize {
    branch
        .iter()
        .map(|error| match error.kind() {
            Kind::Type { .. } if error.instance_path().as_str() == here => 1000,
            Kind::Constant { .. } | Kind::Enum { .. } => 50,
            Kind::Required { .. } => 3,
            Kind::AdditionalProperties { unexpected } => 2 * unexpected.len().max(1),
            _ => 1,
        })
        .sum()
}

/// An error that stands for itself. Values are named by kind alone, unless
/// the schema lists them: an argument may be a secret.
fn plain(error: &ValidationError<'_>) -> String {
    let instance = error.instance();
    match error.kind() {
        Kind::Type { kind: wanted } => format!("must be {}, is {}", types(wanted), kind(instance)),
        Kind::Enum { options } => one_of(options, instance),
        Kind::Constant { expected_value } => format!("must be {}", literal(expected_value)),
        Kind::Minimum { limit } => format!("must be at least {limit}"),
        Kind::Maximum { limit } => format!("must be at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("must be more than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("must be less than {limit}"),
        Kind::MultipleOf { multiple_of } => format!("must be a multiple of {multiple_of}"),
        Kind::MinLength { limit } => format!("must have at least {limit} characters"),
        Kind::MaxLength { limit } => format!("must have at most {limit} characters"),
        Kind::MinItems { limit } => format!("must have at least {limit} items"),
        Kind::MaxItems { limit } => format!("must have at most {limit} items"),
        Kind::AdditionalItems { limit } => format!("must have at most {limit} items"),
        Kind::MinProperties { limit } => format!("must have at least {limit} members"),
        Kind::MaxProperties { limit } => format!("must have at most {limit} members"),
        Kind::Pattern { pattern } => format!("must match the pattern {}", shown(pattern, 100)),
        Kind::UniqueItems => "has an item more than once".to_owned(),
        Kind::FalseSchema => "must not be given".to_owned(),
        Kind::Not { .. } => "is a value that is excluded".to_owned(),
        Kind::OneOfMultipleValid { .. } => {
            "matches more than one of the forms of which it must match one".to_owned()
        }
        Kind::AnyOf { .. } | Kind::OneOfNotValid { .. } => {
            "matches none of the forms that it may have".to_owned()
        }
        Kind::PropertyNames { error } => format!("has a member whose name {}", plain(error)),
        other => format!("does not satisfy `{}`", shown(other.keyword(), 60)),
    }
}

fn one_of(options: &Value, instance: &Value) -> String {
    let all = options.as_array().map_or(&[][..], Vec::as_slice);
    let texts = all.iter().filter_map(Value::as_str);
    let meant = instance.as_str().map(|given| closest(given, texts)).unwrap_or_default();
    let listed: Vec<String> = all.iter().take(MAX_LISTED).map(literal).collect();
    let more =
        if all.len() > MAX_LISTED { format!(" and {} more", all.len() - MAX_LISTED) } else { String::new() };
    let hint =
        meant.first().map_or_else(String::new, |meant| format!(": did you mean \"{}\"?", shown(meant, 60)));
    format!("must be one of {}{more}{hint}", listed.join(", "))
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => one.as_str().to_owned(),
        TypeKind::Multiple(some) => {
            let names: Vec<&str> = some.iter().map(|one| one.as_str()).collect();
            names.join(" or ")
        }
    }
}

/// What a value is, without saying which.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A value of the schema.
fn literal(value: &Value) -> String {
    match value {
        Value::Array(_) | Value::Object(_) => kind(value).to_owned(),
        scalar => shown(&scalar.to_string(), 60),
    }
}

/// One line without control characters, up to `limit` characters.
pub(super) fn shown(text: &str, limit: usize) -> String {
    let mut line: String = text
        .chars()
        .take(limit)
        .map(|character| if is_odd(character) { '\u{fffd}' } else { character })
        .collect();
    if text.chars().nth(limit).is_some() {
        line.push('…');
    }
    line
}

/// Controls, separators of lines, marks of direction and what has no width.
fn is_odd(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// The first sentence of a schema's description.
pub(super) fn sentence(schema: &Value) -> String {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default().trim();
    let text = &text[..text.floor_char_boundary(600)];
    let line = text.split('\n').next().unwrap_or_default();
    let end = line.match_indices(". ").next().map_or(line.len(), |(at, _)| at);
    shown(line[..end].trim_end_matches('.'), 120)
}

/// A pointer one step further.
pub(super) fn pointer(holder: &str, name: &str) -> String {
    format!("{holder}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// The issues as one line.
pub(super) fn join(issues: &[Issue]) -> String {
    let mut text = String::new();
    for issue in issues {
        if !text.is_empty() {
            text.push_str("; ");
        }
        let names_itself = issue.message.starts_with("unknown argument")
            || issue.message.starts_with("missing argument")
            || issue.message.starts_with("the arguments");
        if !names_itself {
            let place = if issue.pointer.is_empty() { "the arguments" } else { &issue.pointer };
            text.push_str(&shown(place, 120));
            text.push(' ');
        }
        text.push_str(&issue.message);
    }
    shown(&text, MAX_MESSAGE_CHARS)
}
