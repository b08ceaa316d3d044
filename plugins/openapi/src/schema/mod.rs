//! Schemas of a document rewritten as JSON Schema 2020-12, with references
//! into one catalogue of definitions instead of copies.

mod cycles;
mod definitions;
mod keywords;
mod marks;
mod write;

pub(crate) use definitions::Definitions;
pub(crate) use write::Notes;

/// What a schema is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// What a caller sends: read-only properties are left out.
    Input,
    /// What an API answers: write-only properties are left out.
    Output,
    /// A definition that both may use.
    Whole,
}

impl Side {
    /// What marks a property that is not of this side; `Whole` has them all.
    fn mark(self) -> &'static str {
        match self {
            Self::Input => "readOnly",
            Self::Output => "writeOnly",
            Self::Whole => "",
        }
    }
}
