//! A schema as a table: all that the check of a selection needs, in a tenth of
//! the bytes, read where it is looked at.
//!
//! A line a type: a letter for its kind, its name, members or values, fields.
//! GraphQL names have letters, digits and underscores alone, so nothing needs
//! to be escaped.

use std::collections::HashMap;

use crate::schema::{Field, Input, Kind, Schema, Type};

const HEADER: &str = "executor-graphql-table 1";

/// Writes the table of a schema.
pub(crate) fn write(schema: &Schema) -> String {
    let mut out = format!("{HEADER}\n@\t{}\n", schema.directives.join(","));
    for ty in &schema.types {
        let letter = match ty.kind {
            Kind::Scalar => 'S',
            Kind::Object => 'O',
            Kind::Interface => 'N',
            Kind::Union => 'U',
            Kind::Enum => 'E',
            Kind::Input => 'I',
        };
        out.push(letter);
        out.push('\t');
        out.push_str(&ty.name);
        out.push('\t');
        out.push_str(&names(ty).join(","));
        out.push('\t');
        out.push_str(&fields(ty).join("|"));
        out.push('\n');
    }
    out
}

fn names(ty: &Type) -> Vec<&str> {
    match ty.kind {
        Kind::Enum => ty.values.iter().map(|value| value.name.as_str()).collect(),
        _ => ty.members.iter().map(String::as_str).collect(),
    }
}

fn fields(ty: &Type) -> Vec<String> {
    match ty.kind {
        Kind::Input => ty.inputs.iter().map(input).collect(),
        _ => ty.fields.iter().map(field).collect(),
    }
}

fn field(field: &Field) -> String {
    if field.arguments.is_empty() {
        return format!("{}:{}", field.name, field.ty);
    }
    let arguments: Vec<String> = field.arguments.iter().map(input).collect();
    format!("{}({}):{}", field.name, arguments.join(","), field.ty)
}

fn input(input: &Input) -> String {
    format!("{}:{}{}", input.name, input.ty, if input.default.is_some() { "=" } else { "" })
}

/// A table that was read.
pub(crate) struct Table<'t> {
    lines: HashMap<&'t str, Row<'t>>,
    pub(crate) directives: Vec<&'t str>,
}

/// One type.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row<'t> {
    pub(crate) kind: Kind,
    pub(crate) name: &'t str,
    names: &'t str,
    fields: &'t str,
}

/// A field, an argument, or a field of an input object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry<'t> {
    pub(crate) name: &'t str,
    /// As GraphQL writes it.
    pub(crate) ty: &'t str,
    arguments: &'t str,
    has_default: bool,
}

impl<'t> Table<'t> {
    /// None where the bytes are no table.
    pub(crate) fn read(bytes: &'t [u8]) -> Option<Self> {
        let mut lines = std::str::from_utf8(bytes).ok()?.lines();
        if lines.next()? != HEADER {
            return None;
        }
        let directives = list(lines.next()?.strip_prefix("@\t")?, ',').collect();
        let rows = lines.filter_map(row).map(|row| (row.name, row)).collect();
        Some(Self { lines: rows, directives })
    }

    pub(crate) fn get(&self, name: &str) -> Option<Row<'t>> {
        self.lines.get(name).copied()
    }

    pub(crate) fn types(&self) -> impl Iterator<Item = &'t str> + '_ {
        self.lines.values().filter(|row| !row.kind.is_leaf() && row.kind.is_output()).map(|row| row.name)
    }

    /// The objects that a value of the type can be.
    pub(crate) fn possible(&self, row: Row<'t>) -> Vec<&'t str> {
        if row.kind.is_abstract() { row.names().collect() } else { vec![row.name] }
    }
}

fn row(line: &str) -> Option<Row<'_>> {
    let mut parts = line.split('\t');
    let kind = match parts.next()? {
        "S" => Kind::Scalar,
        "O" => Kind::Object,
        "N" => Kind::Interface,
        "U" => Kind::Union,
        "E" => Kind::Enum,
        "I" => Kind::Input,
        _ => return None,
    };
    Some(Row { kind, name: parts.next()?, names: parts.next()?, fields: parts.next()? })
}

impl<'t> Row<'t> {
    /// Members, or values of an enum.
    pub(crate) fn names(self) -> impl Iterator<Item = &'t str> {
        list(self.names, ',')
    }

    pub(crate) fn fields(self) -> impl Iterator<Item = Entry<'t>> {
        list(self.fields, '|').filter_map(entry)
    }

    pub(crate) fn field(self, name: &str) -> Option<Entry<'t>> {
        self.fields().find(|field| field.name == name)
    }
}

impl<'t> Entry<'t> {
    pub(crate) fn arguments(self) -> impl Iterator<Item = Entry<'t>> {
        list(self.arguments, ',').filter_map(entry)
    }

    pub(crate) fn is_required(self) -> bool {
        self.ty.ends_with('!') && !self.has_default
    }

    /// The type without what is around it.
    pub(crate) fn base(self) -> &'t str {
        self.ty.trim_matches(['[', ']', '!'])
    }
}

fn entry(text: &str) -> Option<Entry<'_>> {
    let (name, arguments, ty) = match text.split_once('(') {
        Some((name, rest)) => {
            let (arguments, ty) = rest.split_once("):")?;
            (name, arguments, ty)
        }
        None => {
            let (name, ty) = text.split_once(':')?;
            (name, "", ty)
        }
    };
    Some(Entry { name, ty: ty.trim_end_matches('='), arguments, has_default: ty.ends_with('=') })
}

fn list(text: &str, mark: char) -> impl Iterator<Item = &str> {
    text.split(mark).filter(|part| !part.is_empty())
}
