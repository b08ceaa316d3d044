//! All that a call needs of the index.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::Endpoint;
use crate::seam::Failure;
use crate::transport::encoded;

/// What a tool is on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub(crate) enum What {
    /// `tools/call`.
    Tool {
        /// As the server wrote it.
        name: String,
    },
    /// `prompts/get`.
    Prompt {
        /// As the server wrote it.
        name: String,
    },
    /// `resources/list`.
    Resources,
    /// `resources/templates/list`.
    Templates,
    /// `resources/read`.
    Read,
}

/// An argument that stands in a header too (`x-mcp-header`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mirror {
    /// The part after `Mcp-Param-`.
    pub(crate) header: String,
    /// Where the value stands in the arguments.
    pub(crate) path: Vec<String>,
}

/// A binding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Binding {
    pub(crate) endpoint: Endpoint,
    #[serde(flatten)]
    pub(crate) what: What,
    /// Whether to send it twice does no harm.
    pub(crate) repeatable: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) mirrors: Vec<Mirror>,
}

impl Binding {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// # Errors
    /// `binding-invalid`, for one that this adapter did not write.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, Failure> {
        serde_json::from_slice(bytes).map_err(|error| {
            let message = format!("what was stored of this tool can't be read ({error}): refresh the source");
            Failure::new("binding-invalid", message)
        })
    }

    /// The `Mcp-Param-*` headers of a call. A value that is not there, or is
    /// null, has none.
    pub(crate) fn headers(&self, arguments: &str) -> Vec<(String, String)> {
        if self.mirrors.is_empty() {
            return Vec::new();
        }
        let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
        let mirrored = self.mirrors.iter().filter_map(|mirror| {
            let value = mirror.path.iter().try_fold(&arguments, |value, name| value.get(name))?;
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Number(number) => whole(number),
                Value::Bool(flag) => flag.to_string(),
                _ => return None,
            };
            Some((format!("mcp-param-{}", mirror.header.to_ascii_lowercase()), encoded(&text)))
        });
        mirrored.collect()
    }
}

/// `42` of `42.0`.
fn whole(number: &serde_json::Number) -> String {
    let text = number.to_string();
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_stand_in_headers_as_the_revision_says() {
        let mirror = |header: &str, path: &[&str]| Mirror {
            header: header.to_owned(),
            path: path.iter().map(|&name| name.to_owned()).collect(),
        };
        let binding = Binding {
            endpoint: Endpoint::Stdio,
            what: What::Tool { name: "a".to_owned() },
            repeatable: false,
            mirrors: vec![
                mirror("Region", &["region"]),
                mirror("Row", &["where", "row"]),
                mirror("Dry", &["dry"]),
                mirror("Gone", &["gone"]),
                mirror("Null", &["null"]),
                mirror("Deep", &["region", "x"]),
            ],
        };
        assert_eq!(Binding::from_bytes(&binding.to_bytes()).unwrap(), binding);
        let headers = binding.headers(r#"{"region":"süd\n","where":{"row":-7.0},"dry":true,"null":null}"#);
        let expected =
            [("mcp-param-region", "=?base64?c8O8ZAo=?="), ("mcp-param-row", "-7"), ("mcp-param-dry", "true")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(headers, expected);
        assert_eq!(Binding::from_bytes(b"x").unwrap_err().code, "binding-invalid");
    }
}
