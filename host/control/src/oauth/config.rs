//! What an auth method says of OAuth, as its adapter put it down.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::grant::Flow;

/// `auth-method.config.oauth`. Everything in it is a stranger's: it is shown
/// before it is used, and pinned once it was.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct OauthConfig {
    /// `authorizationCode`, `deviceAuthorization`, `clientCredentials`, …
    pub(crate) flow: Option<String>,
    pub(crate) authorization_url: Option<String>,
    pub(crate) token_url: Option<String>,
    pub(crate) refresh_url: Option<String>,
    pub(crate) device_authorization_url: Option<String>,
    /// The scopes that it declares, with what each is for.
    pub(crate) scopes: Map<String, Value>,
    /// The same API by other flows.
    pub(crate) alternatives: Vec<OauthConfig>,
    /// Metadata of the authorization server (RFC 8414).
    pub(crate) metadata_url: Option<String>,
    /// Metadata of an OpenID provider.
    pub(crate) open_id_connect_url: Option<String>,
    /// The protected resource, whose own metadata name its authorization
    /// server (RFC 9728).
    pub(crate) resource: Option<String>,
    /// Where that metadata are, where the resource said so.
    pub(crate) resource_metadata_url: Option<String>,
    /// The scopes that the resource asked for, separated by spaces.
    pub(crate) scope: Option<String>,
}

impl OauthConfig {
    /// This and its alternatives.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.alternatives)
    }

    /// Where its endpoints are not written but found out.
    pub(crate) fn is_discovered(&self) -> bool {
        self.metadata_url.is_some() || self.open_id_connect_url.is_some() || self.resource.is_some()
    }

    /// The flow that it is of; none for one that is not supported.
    pub(crate) fn known_flow(&self) -> Option<Flow> {
        match self.flow.as_deref()? {
            "authorizationCode" => Some(Flow::AuthorizationCode),
            "deviceAuthorization" => Some(Flow::DeviceCode),
            "clientCredentials" => Some(Flow::ClientCredentials),
            _ => None,
        }
    }
}
