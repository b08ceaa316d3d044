//! What the adapter is and what it can be set to.

use serde_json::json;

use crate::seam::Info;

/// The adapter's description.
pub fn describe() -> Info {
    let schema = json!({
        "type": "object",
        "properties": {
            "format": {"type": "string", "enum": ["json", "yaml"], "description": "how the document is written; found by itself"},
            "base_url": {"type": "string", "description": "where calls go, instead of the document's servers"},
            "server_variables": {
                "type": "object",
                "description": "values for the variables of the document's servers",
                "additionalProperties": {"type": "string"},
            },
            "deep_object_arrays": {
                "type": "string",
                "enum": ["numbered", "repeated"],
                "description": "how arrays in deepObject parameters and form fields are written: a[0]=x or a=x",
            },
            "reference_origins": {
                "type": "array",
                "items": {"type": "string"},
                "description": "origins of other documents that this one may refer to, beside its own: https://schemas.example.com",
            },
        },
    });
    Info {
        kind: "openapi".to_owned(),
        title: "OpenAPI".to_owned(),
        config_schema: schema.to_string(),
        meta: Some(json!({"specifications": ["2.0", "3.0", "3.1", "3.2"]}).to_string()),
    }
}
