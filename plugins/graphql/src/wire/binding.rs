//! What `index` leaves for `invoke`: compact JSON, and all that a call needs
//! but the table that a selection of the caller's own is checked against.

use serde::{Deserialize, Serialize};

use crate::seam::Failure;

/// Counts up with every change that an older reader would misread.
const VERSION: u8 = 1;

/// One root field, ready to be asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Binding {
    #[serde(rename = "v")]
    pub(crate) version: u8,
    #[serde(rename = "o")]
    pub(crate) operation: Operation,
    #[serde(rename = "f")]
    pub(crate) field: String,
    /// Names and types, as GraphQL writes them.
    #[serde(rename = "a", default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) arguments: Vec<Argument>,
    /// What is selected of the answer; none where it is a scalar or an enum.
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    pub(crate) selection: Option<Selected>,
    /// Whether arguments may have files in them.
    #[serde(rename = "u", default, skip_serializing_if = "is_false")]
    pub(crate) uploads: bool,
    /// Whether a list of it wants to be told its length.
    #[serde(rename = "p", default, skip_serializing_if = "is_false")]
    pub(crate) pages: bool,
    /// Where it is sent to unless the settings say otherwise.
    #[serde(rename = "e", default, skip_serializing_if = "Option::is_none")]
    pub(crate) endpoint: Option<String>,
}

/// An argument of the root field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Argument {
    #[serde(rename = "n")]
    pub(crate) name: String,
    #[serde(rename = "t")]
    pub(crate) ty: String,
    /// It has a default, so a call without it is none the worse.
    #[serde(rename = "d", default, skip_serializing_if = "is_false")]
    pub(crate) has_default: bool,
}

/// What is selected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Selected {
    /// The argument that replaces the default.
    #[serde(rename = "n")]
    pub(crate) argument: String,
    /// The type that the selection is on.
    #[serde(rename = "t")]
    pub(crate) ty: String,
    /// The default.
    #[serde(rename = "d")]
    pub(crate) default: String,
    /// The file with the table of the schema.
    #[serde(rename = "x", default, skip_serializing_if = "Option::is_none")]
    pub(crate) table: Option<String>,
}

/// Which of the roots a field is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Operation {
    #[serde(rename = "q")]
    Query,
    #[serde(rename = "m")]
    Mutation,
}

impl Operation {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::Mutation => "mutation",
        }
    }
}

impl Binding {
    pub(crate) fn new(operation: Operation, field: &str) -> Self {
        Self {
            version: VERSION,
            operation,
            field: field.to_owned(),
            arguments: Vec::new(),
            selection: None,
            uploads: false,
            pages: false,
            endpoint: None,
        }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a binding has only string keys")
    }

    /// # Errors
    /// `binding-invalid`: written by another version, or damaged.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, Failure> {
        let binding: Self = serde_json::from_slice(bytes).map_err(|fault| stale(&fault.to_string()))?;
        if binding.version == VERSION {
            return Ok(binding);
        }
        Err(stale(&format!("its version is {}, not {VERSION}", binding.version)))
    }
}

/// `binding-invalid`, with what to do.
pub(crate) fn stale(why: &str) -> Failure {
    Failure::new(
        "binding-invalid",
        format!("what was stored for the tool can't be read ({why}): refresh the source"),
    )
}

fn is_false(flag: &bool) -> bool {
    !flag
}
