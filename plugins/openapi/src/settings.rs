//! What a person sets on a source.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::address;
use crate::seam::Failure;

/// The source's settings, as `index` and every call get them. Unknown keys are
/// the host's business.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Replaces every server.
    pub(crate) base_url: Option<String>,
    /// Values for the variables of servers.
    pub(crate) server_variables: BTreeMap<String, String>,
    /// How arrays under `deepObject` are written, where it is not left to the
    /// document: numbered or repeated.
    pub(crate) numbered_arrays: Option<bool>,
    /// Origins that references may lead to, beside the document's own.
    pub(crate) reference_origins: Vec<String>,
}

#[derive(Deserialize)]
struct Raw {
    base_url: Option<String>,
    server_variables: Option<BTreeMap<String, Value>>,
    deep_object_arrays: Option<String>,
    reference_origins: Option<Vec<String>>,
}

impl Settings {
    /// # Errors
    /// `settings-invalid`, naming the key.
    pub(crate) fn read(json: &str) -> Result<Self, Failure> {
        if json.trim().is_empty() {
            return Ok(Self::default());
        }
        let raw: Option<Raw> = serde_json::from_str(json).map_err(|fault| invalid(&fault.to_string()))?;
        let Some(raw) = raw else {
            return Ok(Self::default());
        };
        let base_url = raw.base_url.filter(|url| !url.trim().is_empty());
        let base_url = base_url
            .map(|url| address::as_base(&url))
            .transpose()
            .map_err(|fault| invalid(&format!("base_url: {fault}")))?;
        let numbered_arrays = match raw.deep_object_arrays.as_deref() {
            None => None,
            Some("numbered") => Some(true),
            Some("repeated") => Some(false),
            Some(other) => {
                return Err(invalid(&format!(
                    "deep_object_arrays is {other:?}: use \"numbered\" or \"repeated\""
                )));
            }
        };
        let variables = raw.server_variables.unwrap_or_default().into_iter();
        let server_variables =
            variables.map(|(name, value)| (name, crate::wire::style::text(&value))).collect();
        let reference_origins = raw.reference_origins.unwrap_or_default();
        if let Some(odd) = reference_origins.iter().find(|each| address::origin(each).is_none()) {
            return Err(invalid(&format!("reference_origins: {odd:?} is not an http or https origin")));
        }
        Ok(Self { base_url, server_variables, numbered_arrays, reference_origins })
    }
}

fn invalid(why: &str) -> Failure {
    Failure::new("settings-invalid", format!("the source's settings can't be used: {why}"))
}
