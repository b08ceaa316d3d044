//! Edits of TOML: the entry is a table of its own at the end of the text, and
//! only its lines change.

use std::ops::Range;

use serde_json::{Map, Value};
use toml_edit::{Document, Item, Table, TableLike, Value as Leaf};

use super::edit::{Put, Refusal};
use super::splice::{Splice, apply, is_blank, line_start, newline, next_line, place};

fn document(text: &str) -> Result<Document<&str>, Refusal> {
    Document::parse(text).map_err(|error| {
        let at = error.span().map_or_else(String::new, |span| format!(", {}", place(text, span.start)));
        Refusal(format!("it is no valid TOML{at}: {}", error.message()))
    })
}

/// All that the text says.
pub(super) fn value(text: &str) -> Result<Value, Refusal> {
    Ok(table_value(document(text)?.as_table()))
}

fn table_value(table: &dyn TableLike) -> Value {
    let items: Map<String, Value> =
        table.iter().map(|(name, item)| (name.to_owned(), item_value(item))).collect();
    Value::Object(items)
}

fn item_value(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(leaf) => leaf_value(leaf),
        Item::Table(table) => table_value(table),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| table_value(table)).collect(),
    }
}

/// Numbers and times are compared alone: their text is enough.
fn leaf_value(leaf: &Leaf) -> Value {
    match leaf {
        Leaf::String(text) => Value::from(text.value().as_str()),
        Leaf::Boolean(flag) => Value::from(*flag.value()),
        Leaf::Array(items) => items.iter().map(leaf_value).collect(),
        Leaf::InlineTable(table) => table_value(table),
        Leaf::Integer(_) | Leaf::Float(_) | Leaf::Datetime(_) => Value::from(leaf.to_string().trim()),
    }
}

/// What holds the entries.
fn entries<'d>(
    text: &str,
    document: &'d Document<&str>,
    container: &str,
) -> Result<Option<&'d dyn TableLike>, Refusal> {
    let Some(item) = document.as_table().get(container) else { return Ok(None) };
    item.as_table_like().map(Some).ok_or_else(|| {
        let at = item.span().map_or_else(String::new, |span| format!(", {}", place(text, span.start)));
        Refusal(format!("`{container}` must be a table, and is of type {}{at}", item.type_name()))
    })
}

pub(super) fn find(text: &str, container: &str, name: &str) -> Result<Option<Value>, Refusal> {
    let document = document(text)?;
    let entries = entries(text, &document, container)?;
    Ok(entries.and_then(|entries| entries.get(name)).map(item_value))
}

pub(super) fn put(text: &str, container: &str, name: &str, entry: &Value) -> Result<Put, Refusal> {
    let eol = newline(text);
    let block = written(container, name, entry, eol);
    let document = document(text)?;
    let entries = entries(text, &document, container)?;
    if document.as_table().get(container).is_some_and(Item::is_inline_table) {
        return Err(inline(container));
    }
    if let Some(item) = entries.and_then(|entries| entries.get(name)) {
        let mut blocks =
            blocks(text, item).ok_or_else(|| inline(&format!("{container}.{name}")))?.into_iter();
        let first = blocks.next().map(|first| Splice::replace(first, block));
        let splices = first.into_iter().chain(blocks.map(Splice::remove)).collect();
        return Ok(Put { text: apply(text, splices), made_container: false });
    }
    let ending = if text.is_empty() || text.ends_with('\n') { "" } else { eol };
    let gap = if text.is_empty() { "" } else { eol };
    Ok(Put { text: format!("{text}{ending}{gap}{block}"), made_container: entries.is_none() })
}

pub(super) fn take(text: &str, container: &str, name: &str) -> Result<Option<String>, Refusal> {
    let document = document(text)?;
    let entries = entries(text, &document, container)?;
    let Some(item) = entries.and_then(|entries| entries.get(name)) else { return Ok(None) };
    let mut blocks = blocks(text, item).ok_or_else(|| inline(&format!("{container}.{name}")))?;
    if let Some(first) = blocks.first_mut() {
        // The blank line that set it apart goes with it.
        let before = line_start(text, first.start.saturating_sub(1));
        if before < first.start && is_blank(&text[before..first.start]) {
            first.start = before;
        }
    }
    Ok(Some(apply(text, blocks.into_iter().map(Splice::remove).collect())))
}

fn inline(what: &str) -> Refusal {
    Refusal(format!("`{what}` is not written as a table under a heading of its own, `[{what}]`"))
}

/// The lines of a table that has a heading, and of those within it: each from
/// its heading to its last value. Nothing where it has none.
fn blocks(text: &str, item: &Item) -> Option<Vec<Range<usize>>> {
    let table = item.as_table().filter(|table| !table.is_dotted())?;
    let mut blocks = Vec::new();
    collect(text, table, &mut blocks);
    blocks.sort_by_key(|block| block.start);
    (!blocks.is_empty()).then_some(blocks)
}

fn collect(text: &str, table: &Table, blocks: &mut Vec<Range<usize>>) {
    if let Some(heading) = table.span().filter(|span| !span.is_empty() && !table.is_implicit()) {
        let end = last_value(table).unwrap_or(heading.end).max(heading.end);
        blocks.push(line_start(text, heading.start)..next_line(text, end));
    }
    for (_, item) in table.iter() {
        match item {
            Item::Table(inner) if !inner.is_dotted() => collect(text, inner, blocks),
            Item::ArrayOfTables(inner) => inner.iter().for_each(|table| collect(text, table, blocks)),
            _ => {}
        }
    }
}

/// Where the last value ends that stands under the table's own heading.
fn last_value(table: &Table) -> Option<usize> {
    let ends = table.iter().filter_map(|(_, item)| match item {
        Item::Table(inner) if inner.is_dotted() => last_value(inner),
        Item::Value(leaf) => leaf.span().map(|span| span.end),
        _ => None,
    });
    ends.max()
}

fn written(container: &str, name: &str, entry: &Value, eol: &str) -> String {
    let mut block = format!("[{container}.{name}]{eol}");
    for (key, value) in entry.as_object().into_iter().flatten() {
        block.push_str(&format!("{key} = {}{eol}", leaf(value)));
    }
    block
}

fn leaf(value: &Value) -> String {
    match value {
        Value::String(text) => Leaf::from(text.as_str()).to_string(),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(leaf).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}
