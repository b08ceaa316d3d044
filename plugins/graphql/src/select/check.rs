//! Checks a selection (October 2021, section 5.3 to 5.5), and writes it anew:
//! what is sent was understood, every word of it.

use std::collections::HashMap;

use apollo_parser::cst::{self, CstNode as _};
use apollo_parser::{Parser, SyntaxKind, SyntaxNode};

use super::table::{Entry, Row, Table};
use super::value;
use crate::closest;
use crate::schema::sdl_fault;

const MAX_TEXT_BYTES: usize = 64 << 10;
const MAX_DEPTH: usize = 40;
const MAX_FIELDS: usize = 4_000;
const MAX_FAULTS: usize = 5;
/// Names that a fault lists, so that the next try can be right.
const MAX_LISTED: usize = 40;

/// The selection on the type `on`, without outer braces.
///
/// # Errors
/// What is wrong with it, each with what may have been meant.
pub(crate) fn check(text: &str, on: &str, table: &Table<'_>) -> Result<String, Vec<String>> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(vec![format!("it has {} bytes; at most {MAX_TEXT_BYTES} are taken", text.len())]);
    }
    // With braces of our own, whatever follows a closing one is a fault.
    let trimmed = text.trim();
    let (braced, shift) = match trimmed.starts_with('{') {
        true => (trimmed.to_owned(), 0),
        false => (format!("{{ {trimmed}\n}}"), 2),
    };
    let tree = Parser::new(&braced).recursion_limit(MAX_DEPTH * 4).parse();
    if let Some(error) = tree.errors().next() {
        return Err(vec![sdl_fault(trimmed, error, shift)]);
    }
    let mut definitions = tree.document().definitions();
    let (Some(cst::Definition::OperationDefinition(operation)), None) =
        (definitions.next(), definitions.next())
    else {
        return Err(vec!["it is one selection, such as { id name }".to_owned()]);
    };
    let row = table.get(on).ok_or_else(|| vec![format!("its type {on} is not in the schema")])?;
    let mut checker = Checker { table, faults: Vec::new(), fields: 0, out: String::new() };
    match operation.selection_set() {
        Some(set) => checker.set(&set, row, 1),
        None => checker.fault("it selects nothing".to_owned()),
    }
    if checker.faults.is_empty() { Ok(checker.out) } else { Err(checker.faults) }
}

/// The text of a node without comments, which would hide what follows them on
/// one line.
fn plain(node: &SyntaxNode) -> String {
    let tokens = node.descendants_with_tokens().filter_map(|element| element.into_token());
    let kept = tokens.filter(|token| {
        !matches!(token.kind(), SyntaxKind::COMMENT | SyntaxKind::WHITESPACE | SyntaxKind::COMMA)
    });
    let mut out = String::new();
    for token in kept {
        if !out.is_empty() && !out.ends_with(['@', '$', '(']) && !matches!(token.text(), ":" | ")" | "(") {
            out.push(' ');
        }
        out.push_str(token.text());
    }
    out
}

struct Checker<'c, 't> {
    table: &'c Table<'t>,
    faults: Vec<String>,
    fields: usize,
    out: String,
}

impl<'t> Checker<'_, 't> {
    fn fault(&mut self, fault: String) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(fault);
        }
    }

    fn word(&mut self, word: &str) {
        if !self.out.is_empty() && !self.out.ends_with(' ') {
            self.out.push(' ');
        }
        self.out.push_str(word);
    }

    fn set(&mut self, set: &cst::SelectionSet, row: Row<'t>, depth: usize) {
        if depth > MAX_DEPTH {
            return self.fault(format!("it is nested deeper than {MAX_DEPTH} levels"));
        }
        let mut keys: HashMap<String, String> = HashMap::new();
        let mut is_empty = true;
        for selection in set.selections() {
            is_empty = false;
            self.fields += 1;
            if self.fields > MAX_FIELDS {
                return self.fault(format!("it selects more than {MAX_FIELDS} fields"));
            }
            match selection {
                cst::Selection::Field(field) => self.field(&field, row, depth, &mut keys),
                cst::Selection::InlineFragment(fragment) => self.fragment(&fragment, row, depth),
                cst::Selection::FragmentSpread(_) => {
                    self.fault("named fragments can't be used: write `... on TYPE { }`".to_owned());
                }
            }
        }
        if is_empty {
            self.fault(format!("nothing is selected of {}", row.name));
        }
    }

    fn field(&mut self, field: &cst::Field, row: Row<'t>, depth: usize, keys: &mut HashMap<String, String>) {
        let Some(name) = field.name().map(|name| name.text().to_string()) else { return };
        let alias = field.alias().and_then(|alias| alias.name()).map(|name| name.text().to_string());
        let arguments = field.arguments().map(|list| plain(list.syntax())).unwrap_or_default();
        let meaning = format!("{name}{arguments}");
        let key = alias.clone().unwrap_or_else(|| name.clone());
        if keys.insert(key.clone(), meaning.clone()).is_some_and(|other| other != meaning) {
            self.fault(format!("two fields of {} would answer as {key}: give one an alias", row.name));
        }
        match alias {
            Some(alias) => self.word(&format!("{alias}: {name}")),
            None => self.word(&name),
        }
        if name == "__typename" {
            if field.selection_set().is_some() || field.arguments().is_some() {
                self.fault("__typename is a text: it takes neither arguments nor a selection".to_owned());
            }
            return self.directives(field.directives());
        }
        let Some(entry) = row.field(&name) else {
            return self.unknown_field(row, &name);
        };
        self.arguments(&format!("{}.{name}", row.name), entry, field.arguments());
        self.directives(field.directives());
        self.below(row, entry, field.selection_set(), depth);
    }

    fn below(&mut self, row: Row<'t>, entry: Entry<'t>, set: Option<cst::SelectionSet>, depth: usize) {
        let below = self.table.get(entry.base()).filter(|below| !below.kind.is_leaf());
        match (below, set) {
            (Some(below), Some(set)) => self.braced(&set, below, depth),
            (None, None) => {}
            (None, Some(_)) => {
                self.fault(format!("{}.{} is a {}: it takes no selection", row.name, entry.name, entry.ty))
            }
            (Some(below), None) => {
                let some = below.fields().next().map_or("__typename", |field| field.name);
                self.fault(format!(
                    "{}.{} is an object of {}: say what of it, such as {} {{ {some} }}",
                    row.name, entry.name, below.name, entry.name
                ));
            }
        }
    }

    fn braced(&mut self, set: &cst::SelectionSet, row: Row<'t>, depth: usize) {
        self.word("{");
        self.set(set, row, depth + 1);
        self.word("}");
    }

    fn unknown_field(&mut self, row: Row<'t>, name: &str) {
        if row.kind == crate::schema::Kind::Union {
            let members: Vec<&str> = row.names().take(MAX_LISTED).collect();
            return self.fault(format!(
                "{} is a union without fields of its own: write ... on TYPE {{ {name} }}, with one of {}",
                row.name,
                members.join(", ")
            ));
        }
        let names: Vec<&str> = row.fields().map(|field| field.name).collect();
        let meant = closest::hint(name, names.iter().copied());
        let listed = if meant.is_empty() {
            let more = if names.len() > MAX_LISTED { ", …" } else { "" };
            format!("; there is {}{more}", names[..names.len().min(MAX_LISTED)].join(", "))
        } else {
            meant
        };
        self.fault(format!("{} has no field {name}{listed}", row.name));
    }

    fn arguments(&mut self, place: &str, entry: Entry<'t>, given: Option<cst::Arguments>) {
        let mut parts = Vec::new();
        let mut seen: Vec<String> = Vec::new();
        for argument in given.into_iter().flat_map(|list| list.arguments()) {
            let (Some(name), Some(given)) =
                (argument.name().map(|name| name.text().to_string()), argument.value())
            else {
                continue;
            };
            let known = entry.arguments().find(|known| known.name == name);
            match known {
                Some(known) => {
                    if let Err(fault) = value::check(&given, known.ty, self.table) {
                        self.fault(format!("{place}({name}:): {fault}"));
                    }
                }
                None => {
                    let hint = closest::hint(&name, entry.arguments().map(|known| known.name));
                    self.fault(format!("{place} takes no argument {name}{hint}"));
                }
            }
            if seen.contains(&name) {
                self.fault(format!("{place} is given {name} twice"));
            }
            parts.push(format!("{name}: {}", plain(given.syntax())));
            seen.push(name);
        }
        for known in entry.arguments().filter(|known| known.is_required()) {
            if !seen.iter().any(|name| name == known.name) {
                self.fault(format!("{place} needs the argument {}: {}", known.name, known.ty));
            }
        }
        if !parts.is_empty() {
            self.out.push_str(&format!("({})", parts.join(", ")));
        }
    }

    fn directives(&mut self, directives: Option<cst::Directives>) {
        for directive in directives.into_iter().flat_map(|list| list.directives()) {
            let Some(name) = directive.name().map(|name| name.text().to_string()) else { continue };
            if matches!(name.as_str(), "skip" | "include") {
                self.condition(&name, directive.arguments());
            } else if !self.table.directives.contains(&name.as_str()) {
                let hint = closest::hint(&name, self.table.directives.iter().copied());
                self.fault(format!("there is no directive @{name}{hint}"));
            }
            let mut parts = directive.syntax().descendants_with_tokens();
            if parts.any(|part| part.kind() == SyntaxKind::DOLLAR) {
                self.fault(format!("@{name} has a variable in it: write the value"));
            }
            let text = plain(directive.syntax());
            self.word(&text);
        }
    }

    /// `if` and nothing else, with a value that is not a variable.
    fn condition(&mut self, name: &str, given: Option<cst::Arguments>) {
        let given: Vec<cst::Argument> = given.into_iter().flat_map(|list| list.arguments()).collect();
        let fits = |argument: &cst::Argument| {
            argument.name().is_some_and(|name| name.text() == "if")
                && matches!(argument.value(), Some(cst::Value::BooleanValue(_) | cst::Value::Variable(_)))
        };
        if given.len() != 1 || !given.iter().all(fits) {
            self.fault(format!("@{name} takes one argument: if: true, or if: false"));
        }
    }

    fn fragment(&mut self, fragment: &cst::InlineFragment, row: Row<'t>, depth: usize) {
        self.word("...");
        let condition = fragment.type_condition().and_then(|condition| condition.named_type()?.name());
        let mut inner = row;
        if let Some(name) = condition.map(|name| name.text().to_string()) {
            self.word(&format!("on {name}"));
            match self.table.get(&name).filter(|found| !found.kind.is_leaf() && found.kind.is_output()) {
                Some(found) => {
                    let possible = self.table.possible(row);
                    if !self.table.possible(found).iter().any(|object| possible.contains(object)) {
                        self.fault(format!("no {} is ever a {name}", row.name));
                    }
                    inner = found;
                }
                None => {
                    let hint = closest::hint(&name, self.table.types());
                    return self.fault(format!("there is no object type {name}{hint}"));
                }
            }
        }
        self.directives(fragment.directives());
        match fragment.selection_set() {
            Some(set) => self.braced(&set, inner, depth),
            None => self.fault(format!("nothing is selected of {}", inner.name)),
        }
    }
}
