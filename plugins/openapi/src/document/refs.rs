//! References inside a document.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use serde_json::Value;

/// Longer chains of references to references are taken for a cycle.
const MAX_HOPS: usize = 32;

/// Why a reference leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    #[error("the reference {0:?} leads to another document, which was not read")]
    External(String),
    #[error("the reference {0:?} names nothing in the document")]
    Missing(String),
    #[error("the reference {0:?} leads back to itself")]
    Cycle(String),
}

/// Looks up references.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Refs<'d> {
    root: &'d Value,
}

impl<'d> Refs<'d> {
    pub(crate) fn new(root: &'d Value) -> Self {
        Self { root }
    }

    /// What a canonical reference names.
    pub(crate) fn get(&self, canonical: &str) -> Option<&'d Value> {
        self.root.pointer(canonical.strip_prefix('#')?)
    }

    /// `value`, or what it refers to, through chains of references.
    ///
    /// # Errors
    /// A reference out of the document, to nothing, or in a circle.
    pub(crate) fn follow(&self, value: &'d Value) -> Result<&'d Value, Fault> {
        self.follow_any(value)
    }

    /// [`Self::follow`] for a value that need not be of the document.
    ///
    /// # Errors
    /// The same.
    pub(crate) fn follow_any<'v>(&self, value: &'v Value) -> Result<&'v Value, Fault>
    where
        'd: 'v,
    {
        let mut at = value;
        for _ in 0..MAX_HOPS {
            let Some(reference) = at.get("$ref").and_then(Value::as_str) else {
                return Ok(at);
            };
            let place = canonical(reference)?;
            at = self.get(&place).ok_or_else(|| Fault::Missing(shortened(reference)))?;
        }
        let first = value.get("$ref").and_then(Value::as_str).unwrap_or_default();
        Err(Fault::Cycle(shortened(first)))
    }
}

/// The one spelling of a reference into this document: `#/` and a JSON
/// pointer, percent-decoded.
///
/// # Errors
/// [`Fault::External`] for any other reference.
pub(crate) fn canonical(reference: &str) -> Result<Cow<'_, str>, Fault> {
    if !reference.starts_with("#/") {
        return Err(match reference.strip_prefix('#') {
            Some(_) => Fault::Missing(shortened(reference)),
            None => Fault::External(shortened(reference)),
        });
    }
    if reference.contains('%') {
        return Ok(Cow::Owned(percent_decode_str(reference).decode_utf8_lossy().into_owned()));
    }
    Ok(Cow::Borrowed(reference))
}

fn shortened(reference: &str) -> String {
    crate::text::line(reference, 200)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pointers_chains_and_cycles() {
        let root = json!({
            "paths": {"/a b/{c}": {"get": {"x": 1}}},
            "components": {"schemas": {
                "A": {"$ref": "#/components/schemas/B"}, "B": {"type": "string"},
                "C": {"$ref": "#/components/schemas/D"}, "D": {"$ref": "#/components/schemas/C"}
            }}
        });
        let refs = Refs::new(&root);
        let follow = |reference: &str| {
            let value = Box::leak(Box::new(json!({"$ref": reference})));
            Refs { root: Box::leak(Box::new(root.clone())) }.follow(value).cloned()
        };
        assert_eq!(follow("#/components/schemas/A"), Ok(json!({"type": "string"})));
        assert_eq!(follow("#/paths/~1a%20b~1%7Bc%7D/get/x"), Ok(json!(1)));
        assert!(matches!(follow("#/components/schemas/C"), Err(Fault::Cycle(_))));
        assert!(matches!(follow("#/nowhere"), Err(Fault::Missing(_))));
        assert!(matches!(follow("#anchor"), Err(Fault::Missing(_))));
        assert!(matches!(follow("other.yaml#/x"), Err(Fault::External(_))));
        assert!(refs.get("#/components").is_some());
    }
}
