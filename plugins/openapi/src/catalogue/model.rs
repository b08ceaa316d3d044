//! A document with what all its operations share.

use serde_json::Value;

use super::security::Security;
use crate::document::{Kind, Refs, Version, identify};
use crate::seam::Failure;
use crate::settings::Settings;
use crate::wire::binding::Server;

/// What an operation is read against.
pub(crate) struct Model<'d> {
    pub(crate) root: &'d Value,
    pub(crate) version: Version,
    pub(crate) refs: Refs<'d>,
    /// Where the document came from.
    pub(crate) url: Option<&'d str>,
    pub(crate) settings: &'d Settings,
    /// The document's servers, with the settings applied.
    pub(crate) servers: Vec<Server>,
    pub(crate) security: Security<'d>,
}

/// Which OpenAPI a tree is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edition {
    pub(crate) version: Version,
    /// As the document writes it.
    pub(crate) text: String,
    /// A minor version that came after this was written.
    pub(crate) newer: bool,
}

/// # Errors
/// `document-unsupported`, naming what the document is.
pub(crate) fn edition(root: &Value) -> Result<Edition, Failure> {
    let refused = |message: String| Err(Failure::new("document-unsupported", message));
    match identify(root) {
        Kind::OpenApi { version, text, newer } => Ok(Edition { version, text, newer }),
        Kind::OtherOpenApi(name) => {
            refused(format!("this is {name}, which is not read: convert it to OpenAPI 3 first"))
        }
        Kind::Foreign(name) => {
            refused(format!("this is {name}, not an OpenAPI document: give the URL of the document itself"))
        }
        Kind::Unknown => {
            refused("this is not an OpenAPI document: it has no `openapi` version at its root".to_owned())
        }
    }
}
