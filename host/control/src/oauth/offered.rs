//! What an auth method offers of OAuth, as people are shown it before they
//! choose.

use serde::Serialize;
use utoipa::ToSchema;

use super::config::OauthConfig;
use super::grant::{Endpoints, Flow};

/// A way to get tokens that a source's document describes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct FlowView {
    /// `authorization-code`, `device-code` or `client-credentials`; of one that
    /// is not supported the document's own word, as `implicit`.
    pub flow: String,
    /// Whether executor takes it.
    pub supported: bool,
    /// Its endpoints, as the document writes them.
    pub endpoints: Endpoints,
    /// The scopes that it declares.
    pub scopes: Vec<String>,
}

/// The flows that a document writes; none where they are found out when a
/// person signs in.
pub(crate) fn flows(config: &OauthConfig) -> Vec<FlowView> {
    let written = config.all().filter(|one| one.flow.is_some());
    written.map(flow).collect()
}

/// Where the endpoints are found out, if the document writes none.
pub(crate) fn discovered_from(config: &OauthConfig) -> Option<String> {
    [&config.resource, &config.open_id_connect_url, &config.metadata_url]
        .into_iter()
        .flatten()
        .next()
        .cloned()
}

fn flow(config: &OauthConfig) -> FlowView {
    let known = config.known_flow();
    let name = match known {
        Some(Flow::AuthorizationCode) => "authorization-code",
        Some(Flow::DeviceCode) => "device-code",
        Some(Flow::ClientCredentials) => "client-credentials",
        None => config.flow.as_deref().unwrap_or_default(),
    };
    let endpoints = Endpoints {
        authorization: config.authorization_url.clone(),
        token: config.token_url.clone(),
        refresh: config.refresh_url.clone(),
        device: config.device_authorization_url.clone(),
        ..Endpoints::default()
    };
    let scopes = config.scopes.keys().cloned().collect();
    FlowView { flow: name.to_owned(), supported: known.is_some(), endpoints, scopes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_flow_is_shown_with_where_it_leads() {
        let config: OauthConfig = serde_json::from_value(json!({
            "flow": "authorizationCode", "authorizationUrl": "https://a/auth", "tokenUrl": "https://a/token",
            "scopes": { "read": "Reads" },
            "alternatives": [{ "flow": "implicit", "authorizationUrl": "https://a/auth" }]
        }))
        .unwrap();
        let found = flows(&config);
        assert_eq!(
            json!(found),
            json!([
                { "flow": "authorization-code", "supported": true, "scopes": ["read"],
                    "endpoints": { "authorization": "https://a/auth", "token": "https://a/token" } },
                { "flow": "implicit", "supported": false, "scopes": [],
                    "endpoints": { "authorization": "https://a/auth" } }
            ])
        );
        assert_eq!(discovered_from(&config), None);
    }

    #[test]
    fn what_is_found_out_says_from_where() {
        let config: OauthConfig =
            serde_json::from_value(json!({ "resource": "https://a/mcp", "scope": "x" })).unwrap();
        assert!(flows(&config).is_empty());
        assert_eq!(discovered_from(&config).as_deref(), Some("https://a/mcp"));
    }
}
