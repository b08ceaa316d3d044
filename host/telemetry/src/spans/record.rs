//! One span as it is kept in memory.

use std::borrow::Cow;

/// A span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// What is done.
    pub name: &'static str,
    /// The number of the span that it is a part of, from 1; 0 for none.
    pub parent: u32,
    /// When it began, in microseconds after the execution did.
    pub start_us: u64,
    /// How long it took; none while it is under way.
    pub duration_us: Option<u64>,
    /// The code of what it failed with.
    pub error: Option<String>,
    /// More, by the names of OpenTelemetry's semantic conventions where they
    /// have one.
    pub fields: Vec<(&'static str, Field)>,
}

/// The value of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Field {
    /// A text.
    Text(Cow<'static, str>),
    /// A number.
    Number(i64),
}

impl Field {
    pub(super) fn cut(self, chars: usize) -> Self {
        match self {
            Self::Text(text) if text.len() > chars => match text.char_indices().nth(chars) {
                Some((end, _)) => Self::Text(text[..end].to_owned().into()),
                None => Self::Text(text),
            },
            other => other,
        }
    }
}

impl From<&str> for Field {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned().into())
    }
}

impl From<String> for Field {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<u16> for Field {
    fn from(number: u16) -> Self {
        Self::Number(number.into())
    }
}

impl From<u64> for Field {
    fn from(number: u64) -> Self {
        Self::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}
