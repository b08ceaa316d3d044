//! A schema as both readers leave it: types by name, checked and linked.

mod introspection;
mod link;
mod sdl;

use std::collections::{HashMap, HashSet};
use std::fmt;

pub(crate) use introspection::{find as find_introspection, read as read_introspection};
pub(crate) use sdl::{fault as sdl_fault, read as read_sdl};

/// Nesting of lists that is followed in one type.
pub(crate) const MAX_WRAPS: usize = 12;

/// What a named type is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Scalar,
    Object,
    Interface,
    Union,
    Enum,
    Input,
}

impl Kind {
    /// Whether a field can have it.
    pub(crate) fn is_output(self) -> bool {
        self != Self::Input
    }

    /// Whether an argument can have it.
    pub(crate) fn is_input(self) -> bool {
        matches!(self, Self::Scalar | Self::Enum | Self::Input)
    }

    /// Whether it is selected without a selection of its own.
    pub(crate) fn is_leaf(self) -> bool {
        matches!(self, Self::Scalar | Self::Enum)
    }

    /// Whether a value of it is of one of several objects.
    pub(crate) fn is_abstract(self) -> bool {
        matches!(self, Self::Interface | Self::Union)
    }
}

/// What is put around a named type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrap {
    NonNull,
    List,
}

/// A type as it stands at a field or an argument: `[String!]!`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ref {
    pub(crate) name: String,
    /// From the outside in.
    pub(crate) wraps: Vec<Wrap>,
}

impl Ref {
    /// Whether `null` is no value of it.
    pub(crate) fn is_required(&self) -> bool {
        self.wraps.first() == Some(&Wrap::NonNull)
    }

    pub(crate) fn is_list(&self) -> bool {
        self.wraps.contains(&Wrap::List)
    }
}

impl fmt::Display for Ref {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut closing = Vec::new();
        for wrap in &self.wraps {
            match wrap {
                Wrap::NonNull => closing.push('!'),
                Wrap::List => {
                    f.write_str("[")?;
                    closing.push(']');
                }
            }
        }
        f.write_str(&self.name)?;
        closing.iter().rev().try_for_each(|end| write!(f, "{end}"))
    }
}

/// An argument, or a field of an input object.
#[derive(Debug, Clone)]
pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) ty: Ref,
    /// As GraphQL writes it.
    pub(crate) default: Option<String>,
    pub(crate) deprecated: Option<String>,
}

impl Input {
    /// Whether a call without it is refused.
    pub(crate) fn is_required(&self) -> bool {
        self.ty.is_required() && self.default.is_none()
    }
}

/// A field of an object or an interface.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) arguments: Vec<Input>,
    pub(crate) ty: Ref,
    pub(crate) deprecated: Option<String>,
}

impl Field {
    /// Whether it can be selected by its name alone.
    pub(crate) fn is_plain(&self) -> bool {
        !self.arguments.iter().any(Input::is_required)
    }
}

/// A value of an enum.
#[derive(Debug, Clone)]
pub(crate) struct EnumValue {
    pub(crate) name: String,
    pub(crate) deprecated: bool,
}

/// A named type.
#[derive(Debug, Clone)]
pub(crate) struct Type {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) description: String,
    pub(crate) fields: Vec<Field>,
    pub(crate) interfaces: Vec<String>,
    /// The objects that a union has, and in the end those of an interface too.
    pub(crate) members: Vec<String>,
    pub(crate) values: Vec<EnumValue>,
    pub(crate) inputs: Vec<Input>,
    pub(crate) one_of: bool,
    /// Where a scalar is specified.
    pub(crate) specified_by: Option<String>,
}

impl Type {
    pub(crate) fn new(name: String, kind: Kind) -> Self {
        Self {
            name,
            kind,
            description: String::new(),
            fields: Vec::new(),
            interfaces: Vec::new(),
            members: Vec::new(),
            values: Vec::new(),
            inputs: Vec::new(),
            one_of: false,
            specified_by: None,
        }
    }

    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// What a document says, before it is checked.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) description: String,
    /// In the order that they stand in.
    pub(crate) types: Vec<Type>,
    pub(crate) query: Option<String>,
    pub(crate) mutation: Option<String>,
    pub(crate) subscription: Option<String>,
    pub(crate) directives: HashSet<String>,
    pub(crate) faults: Vec<String>,
}

/// A schema. Every name in it is a GraphQL name, and every type that is named
/// is there and of a kind that can stand where it stands.
#[derive(Debug)]
pub(crate) struct Schema {
    pub(crate) description: String,
    pub(crate) types: Vec<Type>,
    index: HashMap<String, usize>,
    pub(crate) query: Option<String>,
    pub(crate) mutation: Option<String>,
    pub(crate) subscription: Option<String>,
    /// Directives that a selection can have.
    pub(crate) directives: Vec<String>,
    /// What was left out, and why.
    pub(crate) faults: Vec<String>,
}

impl Schema {
    pub(crate) fn get(&self, name: &str) -> Option<&Type> {
        self.index.get(name).map(|place| &self.types[*place])
    }

    /// The kind of what a linked reference names.
    pub(crate) fn kind(&self, ty: &Ref) -> Kind {
        self.get(&ty.name).map_or(Kind::Scalar, |found| found.kind)
    }

    /// Whether it is where operations begin.
    pub(crate) fn is_root(&self, name: &str) -> bool {
        [&self.query, &self.mutation, &self.subscription].into_iter().flatten().any(|root| root == name)
    }
}

/// Whether it is a GraphQL name (October 2021, section 2.1.9). What is not
/// could end an operation and begin another.
pub(crate) fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && text.len() <= MAX_NAME_BYTES
}

const MAX_NAME_BYTES: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_written_as_graphql_writes_them() {
        let check = |wraps: &[Wrap], expected: &str| {
            let ty = Ref { name: "T".to_owned(), wraps: wraps.to_vec() };
            assert_eq!(ty.to_string(), expected);
        };
        check(&[], "T");
        check(&[Wrap::NonNull], "T!");
        check(&[Wrap::List, Wrap::NonNull], "[T!]");
        check(&[Wrap::NonNull, Wrap::List, Wrap::List, Wrap::NonNull], "[[T!]]!");
    }

    #[test]
    fn names_are_graphql_names() {
        for good in ["a", "_", "__typename", "A1_b"] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", "1a", "a b", "a{b", "ü", "a\n"] {
            assert!(!is_name(bad), "{bad}");
        }
    }
}
