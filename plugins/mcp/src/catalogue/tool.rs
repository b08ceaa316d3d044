//! One tool of a server.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{mirror, schema};
use crate::config::Endpoint;
use crate::seam::{Annotations, Tool};
use crate::text::{self, line, plain};
use crate::wire::binding::{Binding, What};

const MAX_DESCRIPTION_CHARS: usize = 8_000;
const MAX_TITLE_CHARS: usize = 300;
const MAX_META_BYTES: usize = 64 << 10;
const MAX_META_DEPTH: u32 = 64;

/// A tool as the server lists it, its members unread.
pub(crate) struct Listing<'l> {
    pub(crate) name: String,
    members: BTreeMap<String, &'l RawValue>,
}

impl<'l> Listing<'l> {
    /// # Errors
    /// In words, why this is no tool.
    pub(crate) fn read(raw: &'l str) -> Result<Self, String> {
        let members: BTreeMap<String, &RawValue> =
            serde_json::from_str(raw).map_err(|_| "an entry of the list is not an object".to_owned())?;
        let name = members.get("name").and_then(|name| serde_json::from_str::<String>(name.get()).ok());
        let name = name.filter(|name| !name.is_empty()).ok_or("an entry of the list has no name")?;
        Ok(Self { name, members })
    }

    pub(crate) fn text(&self, name: &str) -> Option<String> {
        let text: String = serde_json::from_str(self.members.get(name)?.get()).ok()?;
        Some(text).filter(|text| !text.trim().is_empty())
    }

    pub(crate) fn json(&self, name: &str) -> Option<&'l str> {
        self.members.get(name).map(|value| value.get())
    }

    fn value(&self, name: &str) -> Value {
        let readable = self.json(name).filter(|raw| text::depth(raw) <= MAX_META_DEPTH);
        readable.and_then(|raw| serde_json::from_str(raw).ok()).unwrap_or_default()
    }

    pub(crate) fn title(&self) -> Option<String> {
        let title = self.text("title");
        let title = title.or_else(|| self.value("annotations")["title"].as_str().map(str::to_owned));
        title.map(|title| line(&title, MAX_TITLE_CHARS)).filter(|title| !title.is_empty())
    }

    pub(crate) fn description(&self) -> String {
        let description =
            self.text("description").map(|text| plain(&text, MAX_DESCRIPTION_CHARS).into_owned());
        description.or_else(|| self.title()).unwrap_or_else(|| line(&self.name, MAX_TITLE_CHARS))
    }

    /// All that the server says of it and nothing else here has a place for.
    pub(crate) fn rest(&self, known: &[&str]) -> Option<String> {
        let mut size = 2;
        let mut parts = Vec::new();
        for (name, value) in &self.members {
            let raw = value.get();
            if known.contains(&name.as_str()) || text::depth(raw) > MAX_META_DEPTH {
                continue;
            }
            // What is large is an icon more often than not.
            size += name.len() + raw.len() + 4;
            if size > MAX_META_BYTES {
                size -= name.len() + raw.len() + 4;
                continue;
            }
            parts.push(format!("{}:{raw}", json!(name)));
        }
        (!parts.is_empty()).then(|| format!("{{{}}}", parts.join(",")))
    }
}

/// Makes a tool of a listing. What could not be kept of it is told in `faults`.
///
/// # Errors
/// In words, why it can't be one.
pub(crate) fn build(
    listing: &Listing<'_>,
    name: String,
    endpoint: &Endpoint,
    mirrored: bool,
    auth: &[Vec<String>],
    faults: &mut Vec<String>,
) -> Result<Tool, String> {
    let (input_schema, fault) = schema::input(listing.json("inputSchema"));
    faults.extend(fault);
    let (output_schema, fault) = schema::output(listing.json("outputSchema"));
    faults.extend(fault);
    let mirrors = if mirrored { mirror::mirrors(&input_schema)? } else { Vec::new() };
    let hints = listing.value("annotations");
    let hint = |name: &str| hints[name] == true;
    let read_only = hint("readOnlyHint");
    let idempotent = read_only || hint("idempotentHint");
    let binding = Binding {
        endpoint: endpoint.clone(),
        what: What::Tool { name: listing.name.clone() },
        repeatable: idempotent,
        mirrors,
    };
    Ok(Tool {
        description: listing.description(),
        input_schema,
        output_schema,
        annotations: Annotations {
            title: listing.title(),
            read_only,
            destructive: !read_only && hint("destructiveHint"),
            idempotent,
            meta: listing.rest(&["name", "description", "inputSchema", "outputSchema"]),
        },
        auth: auth.to_vec(),
        binding: binding.to_bytes(),
        meta: Some(json!({"request": format!("tools/call {}", line(&listing.name, 200))}).to_string()),
        name,
    })
}
