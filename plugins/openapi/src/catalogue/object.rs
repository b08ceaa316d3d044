//! The schema of an object, written as it is put together.

use serde_json::json;

/// An object schema in the making.
#[derive(Default)]
pub(super) struct Object {
    properties: String,
    required: Vec<String>,
}

impl Object {
    pub(super) fn add(&mut self, name: &str, schema: &str, required: bool) {
        if !self.properties.is_empty() {
            self.properties.push(',');
        }
        self.properties.push_str(&json!(name).to_string());
        self.properties.push(':');
        self.properties.push_str(schema);
        if required {
            self.required.push(name.to_owned());
        }
    }

    /// The schema of an object with these properties alone.
    pub(super) fn closed(self) -> String {
        self.written(",\"additionalProperties\":false")
    }

    /// The schema of an object that may have others too.
    pub(super) fn open(self, description: Option<&str>) -> String {
        let description = description.map(|text| crate::text::plain(text, 600));
        let note = description.filter(|text| !text.is_empty());
        self.written(&note.map(|text| format!(",\"description\":{}", json!(text))).unwrap_or_default())
    }

    fn written(self, more: &str) -> String {
        let required = if self.required.is_empty() {
            String::new()
        } else {
            format!(",\"required\":{}", json!(self.required))
        };
        format!("{{\"type\":\"object\",\"properties\":{{{}}}{required}{more}}}", self.properties)
    }
}
