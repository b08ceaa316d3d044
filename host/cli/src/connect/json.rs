//! Edits of JSON and of JSON with comments and trailing commas. The text is
//! parsed to find places in it; only what is put in or taken out changes.

use jsonc_parser::ast::{Object, ObjectProp, Value as Node};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Map, Value};

use super::edit::{Put, Refusal};
use super::splice::{Splice, apply, indent, is_blank, line_start, newline, next_line, place};

/// What a level is indented by where the text shows no other way.
const INDENT: &str = "  ";

/// Comments and trailing commas are what these programs take; all else that
/// the parser could forgive they would not.
fn options() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

/// The top-level object; nothing where the text has no value at all.
fn root(text: &str) -> Result<Option<Object<'_>>, Refusal> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options()).map_err(|error| {
        let what = error.kind().to_string();
        Refusal(format!("it is no valid JSON, {}: {what}", place(text, error.range().start)))
    })?;
    match parsed.value {
        None => Ok(None),
        Some(Node::Object(object)) => Ok(Some(object)),
        Some(other) => Err(Refusal(format!(
            "it must hold an object, and holds {}, {}",
            kind(&other),
            place(text, other.range().start)
        ))),
    }
}

fn kind(node: &Node<'_>) -> &'static str {
    match node {
        Node::StringLit(_) => "a string",
        Node::NumberLit(_) => "a number",
        Node::BooleanLit(_) => "true or false",
        Node::Object(_) => "an object",
        Node::Array(_) => "a list",
        Node::NullKeyword(_) => "null",
    }
}

/// The index of a property. Of one that stands twice, programs differ in
/// which they take.
fn index(text: &str, object: &Object<'_>, name: &str) -> Result<Option<usize>, Refusal> {
    let mut found =
        object.properties.iter().enumerate().filter(|(_, property)| property.name.as_str() == name);
    let first = found.next();
    if let Some((_, second)) = found.next() {
        return Err(Refusal(format!(
            "`{name}` stands twice in one object, again at {}",
            place(text, second.range.start)
        )));
    }
    Ok(first.map(|(index, _)| index))
}

fn object_of<'o, 't>(text: &str, property: &'o ObjectProp<'t>) -> Result<&'o Object<'t>, Refusal> {
    match &property.value {
        Node::Object(object) => Ok(object),
        other => Err(Refusal(format!(
            "`{}` must be an object, and is {}, {}",
            property.name.as_str(),
            kind(other),
            place(text, other.range().start)
        ))),
    }
}

/// All that the text says; an empty one says an empty object.
pub(super) fn value(text: &str) -> Result<Value, Refusal> {
    Ok(root(text)?.map_or_else(|| Value::Object(Map::new()), |root| Node::Object(root).into()))
}

pub(super) fn find(text: &str, container: &str, name: &str) -> Result<Option<Value>, Refusal> {
    let Some(root) = root(text)? else { return Ok(None) };
    let Some(at) = index(text, &root, container)? else { return Ok(None) };
    let entries = object_of(text, &root.properties[at])?;
    let Some(at) = index(text, entries, name)? else { return Ok(None) };
    Ok(Some(entries.properties[at].value.clone().into()))
}

pub(super) fn put(text: &str, container: &str, name: &str, entry: &Value) -> Result<Put, Refusal> {
    let eol = newline(text);
    let with = |entries: &Value| Value::Object(Map::from_iter([(name.to_owned(), entries.clone())]));
    let Some(root) = root(text)? else {
        let whole = Value::Object(Map::from_iter([(container.to_owned(), with(entry))]));
        let before = if is_blank(text) { "" } else { text };
        let gap = if before.is_empty() || before.ends_with('\n') { "" } else { eol };
        let layout = Layout { unit: INDENT.to_owned(), eol, one_line: false };
        let text = format!("{before}{gap}{}{eol}", layout.lines(&whole, ""));
        return Ok(Put { text, made_container: true });
    };
    let layout = Layout {
        unit: unit(text, &root),
        eol,
        one_line: !root.properties.is_empty() && !text[root.range.start..root.range.end].contains('\n'),
    };
    let Some(at) = index(text, &root, container)? else {
        let splices = insert(text, &root, container, &with(entry), &layout);
        return Ok(Put { text: apply(text, splices), made_container: true });
    };
    let entries = object_of(text, &root.properties[at])?;
    let splices = match index(text, entries, name)? {
        Some(at) => {
            let property = &entries.properties[at];
            let (start, range) = (property.range.start, property.value.range());
            let alone = is_blank(&text[line_start(text, start)..start]);
            let value = if alone { layout.lines(entry, indent(text, start)) } else { entry.to_string() };
            vec![Splice::replace(range.start..range.end, value)]
        }
        None => insert(text, entries, name, entry, &layout),
    };
    Ok(Put { text: apply(text, splices), made_container: false })
}

pub(super) fn take(
    text: &str,
    container: &str,
    name: &str,
    container_too: bool,
) -> Result<Option<String>, Refusal> {
    let Some(root) = root(text)? else { return Ok(None) };
    let Some(outer) = index(text, &root, container)? else { return Ok(None) };
    let entries = object_of(text, &root.properties[outer])?;
    let Some(at) = index(text, entries, name)? else { return Ok(None) };
    if container_too && entries.properties.len() == 1 {
        // A comment in there is a person's, and stays.
        let own = entries.properties[at].range;
        let around = [&text[entries.range.start + 1..own.start], &text[own.end..entries.range.end - 1]];
        if around.iter().all(|part| is_blank(&part.replace(',', ""))) {
            return Ok(Some(apply(text, remove(text, &root, outer))));
        }
    }
    Ok(Some(apply(text, remove(text, entries, at))))
}

/// How the text is laid out.
struct Layout {
    /// What a level is indented by.
    unit: String,
    eol: &'static str,
    /// The whole text is one line, and stays one.
    one_line: bool,
}

impl Layout {
    /// A value on several lines, the last of which is indented by `own`.
    fn lines(&self, value: &Value, own: &str) -> String {
        let (eol, inner) = (self.eol, format!("{own}{}", self.unit));
        let (open, close, lines): (_, _, Vec<String>) = match value {
            Value::Object(object) if !object.is_empty() => {
                let line = |(name, value): (&String, &Value)| {
                    format!("{inner}{}: {}", quoted(name), self.lines(value, &inner))
                };
                ('{', '}', object.iter().map(line).collect())
            }
            Value::Array(items) if !items.is_empty() => {
                let line = |item: &Value| format!("{inner}{}", self.lines(item, &inner));
                ('[', ']', items.iter().map(line).collect())
            }
            scalar => return scalar.to_string(),
        };
        format!("{open}{eol}{}{eol}{own}{close}", lines.join(&format!(",{eol}")))
    }
}

/// Puts a property behind the others.
fn insert(text: &str, object: &Object<'_>, name: &str, value: &Value, layout: &Layout) -> Vec<Splice> {
    let (open, close) = (object.range.start + 1, object.range.end - 1);
    let (eol, start) = (layout.eol, line_start(text, close));
    let own_line = start > object.range.start && is_blank(&text[start..close]);
    let inner = inner_indent(text, object, &layout.unit);
    let comma = object.properties.last().map(|last| (last.range.end, comma_after(text, last.range.end)));
    if own_line {
        let trailing = if matches!(comma, Some((_, Some(_)))) { "," } else { "" };
        let line = format!("{inner}{}: {}{trailing}{eol}", quoted(name), layout.lines(value, &inner));
        let mut splices = vec![Splice::insert(start, line)];
        if let Some((end, None)) = comma {
            splices.push(Splice::insert(end, ","));
        }
        return splices;
    }
    // Where nothing stands behind the brace, nothing stands behind a comma.
    let gap = if text[open..].starts_with([' ', '\t', '\n', '\r']) { " " } else { "" };
    let property = format!("{}:{gap}{value}", quoted(name));
    match comma {
        Some((_, Some(at))) => vec![Splice::insert(at + 1, format!("{gap}{property},"))],
        Some((end, None)) => vec![Splice::insert(end, format!(",{gap}{property}"))],
        None if layout.one_line || !is_blank(&text[open..close]) => vec![Splice::insert(close, property)],
        None => {
            let closing = indent(text, object.range.start);
            let line = format!("{inner}{}: {}", quoted(name), layout.lines(value, &inner));
            vec![Splice::replace(open..close, format!("{eol}{line}{eol}{closing}"))]
        }
    }
}

fn remove(text: &str, object: &Object<'_>, at: usize) -> Vec<Splice> {
    let own = object.properties[at].range;
    let (open, close) = (object.range.start + 1, object.range.end - 1);
    let comma = comma_after(text, own.end);
    // A comment between the value and its comma stays, and the comma goes.
    let apart = comma.filter(|&comma| !is_blank(&text[own.end..comma]));
    let end = comma.filter(|_| apart.is_none()).map_or(own.end, |comma| comma + 1);
    if object.properties.len() == 1 && is_blank(&text[open..own.start]) && is_blank(&text[end..close]) {
        return vec![Splice::remove(open..close)];
    }
    let mut splices: Vec<Splice> = apart.map(|comma| Splice::remove(comma..comma + 1)).into_iter().collect();
    let mut from = own.start;
    if comma.is_none() && at > 0 {
        let before = object.properties[at - 1].range.end;
        if let Some(comma) = comma_after(text, before) {
            splices.push(Splice::remove(comma..comma + 1));
            if is_blank(&text[comma + 1..own.start]) {
                from = comma + 1;
            }
        }
    }
    let (start, following) = (line_start(text, own.start), next_line(text, end));
    let whole_lines = start > object.range.start
        && following < object.range.end
        && is_blank(&text[start..own.start])
        && is_blank(&text[end..following]);
    splices.push(Splice::remove(if whole_lines {
        start..following
    } else {
        let blanks = text[end..].len() - text[end..].trim_start_matches([' ', '\t']).len();
        from..if comma.is_some() { end + blanks } else { end }
    }));
    splices
}

/// The comma that follows a value, past blanks and comments.
fn comma_after(text: &str, mut at: usize) -> Option<usize> {
    loop {
        let rest = &text[at..];
        if rest.starts_with("//") {
            at = next_line(text, at);
        } else if rest.starts_with("/*") {
            at += rest.find("*/")? + 2;
        } else if rest.starts_with(',') {
            return Some(at);
        } else if rest.starts_with([' ', '\t', '\n', '\r']) {
            at += 1;
        } else {
            return None;
        }
    }
}

/// What a level of this text is indented by: as its first one is.
fn unit(text: &str, root: &Object<'_>) -> String {
    let first = root.properties.first().map(|property| property.range.start);
    let own_line = first.filter(|&at| {
        let start = line_start(text, at);
        start > root.range.start && is_blank(&text[start..at])
    });
    match own_line.map(|at| indent(text, at)) {
        Some(unit) if !unit.is_empty() => unit.to_owned(),
        _ => INDENT.to_owned(),
    }
}

/// What a line in this object is indented by: as the others are.
fn inner_indent(text: &str, object: &Object<'_>, unit: &str) -> String {
    for property in &object.properties {
        let at = property.range.start;
        let start = line_start(text, at);
        if start > object.range.start && is_blank(&text[start..at]) {
            return text[start..at].to_owned();
        }
    }
    format!("{}{unit}", indent(text, object.range.start))
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
