//! One entry put into a configuration's text, or taken out of it.

use serde_json::Value;

use super::clients::Format;
use super::{json, toml};

/// Why a text can't be changed: what is wrong and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal(pub(crate) String);

/// A text with the entry in it.
#[derive(Debug)]
pub(crate) struct Put {
    pub(crate) text: String,
    /// The object that holds the entries was not there.
    pub(crate) made_container: bool,
}

/// Where the entry stands in a document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spot<'s> {
    pub(crate) format: Format,
    /// The object that holds the entries.
    pub(crate) container: &'s str,
    pub(crate) name: &'s str,
}

impl Spot<'_> {
    /// The entry, if there is one.
    ///
    /// # Errors
    /// The text is not of its format, or what holds the entries is no object.
    pub(crate) fn find(self, text: &str) -> Result<Option<Value>, Refusal> {
        match self.format {
            Format::Json => json::find(text, self.container, self.name),
            Format::Toml => toml::find(text, self.container, self.name),
        }
    }

    /// Puts the entry in, in place of one of its name.
    ///
    /// # Errors
    /// As [`Self::find`], or the entry is written in a way that can't be
    /// replaced.
    pub(crate) fn put(self, text: &str, entry: &Value) -> Result<Put, Refusal> {
        let put = match self.format {
            Format::Json => json::put(text, self.container, self.name, entry),
            Format::Toml => toml::put(text, self.container, self.name, entry),
        }?;
        self.check_put(text, &put.text, entry)?;
        Ok(put)
    }

    /// Takes the entry out, and with `container` what held it if nothing else
    /// is in there. Nothing where there is no such entry.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub(crate) fn take(self, text: &str, container: bool) -> Result<Option<String>, Refusal> {
        let taken = match self.format {
            Format::Json => json::take(text, self.container, self.name, container),
            Format::Toml => toml::take(text, self.container, self.name),
        }?;
        if let Some(taken) = &taken {
            let gone = self.find(taken)?.is_none();
            if !gone || self.others(text)? != self.others(taken)? {
                return Err(self.unsafe_edit());
            }
        }
        Ok(taken)
    }

    /// The change is in the text, and nothing else is.
    fn check_put(self, before: &str, after: &str, entry: &Value) -> Result<(), Refusal> {
        let written = self.find(after)?.is_some_and(|found| found == *entry);
        if !written || self.others(before)? != self.others(after)? {
            return Err(self.unsafe_edit());
        }
        Ok(())
    }

    fn unsafe_edit(self) -> Refusal {
        Refusal(format!(
            "`{}` is written in a way that can't be changed without touching what is beside it",
            self.container
        ))
    }

    /// All that the document says without the entry. A container that holds
    /// nothing says nothing.
    fn others(self, text: &str) -> Result<Value, Refusal> {
        let mut value = match self.format {
            Format::Json => json::value(text)?,
            Format::Toml => toml::value(text)?,
        };
        if let Some(root) = value.as_object_mut() {
            if let Some(container) = root.get_mut(self.container).and_then(Value::as_object_mut) {
                container.shift_remove(self.name);
            }
            if root.get(self.container).and_then(Value::as_object).is_some_and(serde_json::Map::is_empty) {
                root.shift_remove(self.container);
            }
        }
        Ok(value)
    }
}
