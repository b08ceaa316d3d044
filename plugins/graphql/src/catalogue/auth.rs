//! Ways to sign in. A GraphQL schema says nothing of it, so those are offered
//! that endpoints take.

use serde_json::json;

use crate::seam::AuthMethod;
use crate::settings::Settings;

/// The methods, and the alternatives that every tool takes: one of them, or
/// none.
pub(crate) fn methods(settings: &Settings) -> (Vec<AuthMethod>, Vec<Vec<String>>) {
    let mut methods = Vec::new();
    if let Some(header) = &settings.auth_header {
        let config = json!({
            "placements": [{"in": "header", "name": header, "template": "{key}"}],
            "variables": [{"name": "key", "label": format!("Value of {header}"), "secret": true}],
            "default": true,
        });
        methods.push(method("header", "api-key", &format!("Key in the header {header}"), &config));
    }
    let bearer = json!({
        "placements": [{"in": "header", "name": "Authorization", "template": "Bearer {token}"}],
        "variables": [{"name": "token", "label": "Bearer token", "secret": true}],
        "default": settings.auth_header.is_none(),
    });
    methods.push(method("bearer", "http-bearer", "Bearer token", &bearer));
    let basic = json!({
        "placements": [],
        "variables": [
            {"name": "username", "label": "User name", "secret": false},
            {"name": "password", "label": "Password", "secret": true},
        ],
    });
    methods.push(method("basic", "http-basic", "User name and password", &basic));
    let mut alternatives: Vec<Vec<String>> = methods.iter().map(|method| vec![method.id.clone()]).collect();
    alternatives.push(Vec::new());
    (methods, alternatives)
}

fn method(id: &str, kind: &str, label: &str, config: &serde_json::Value) -> AuthMethod {
    AuthMethod {
        id: id.to_owned(),
        kind: kind.to_owned(),
        label: label.to_owned(),
        config: config.to_string(),
        meta: None,
    }
}
