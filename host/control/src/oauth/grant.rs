//! What a person agreed to, and what came of it.

use std::collections::BTreeMap;

use executor_store::SecretId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The state of a connection that can be used.
pub(crate) const OK: &str = "ok";

/// The state of a connection whose tokens can't be refreshed any more.
pub(crate) const EXPIRED: &str = "authorization-expired";

/// Scopes that some servers grant and do not name in their answers.
const UNNAMED: [&str; 4] = ["offline_access", "openid", "profile", "email"];

/// How tokens are got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Flow {
    /// A person consents in a browser (RFC 6749, section 4.1, with PKCE).
    AuthorizationCode,
    /// A person enters a code on another device (RFC 8628).
    DeviceCode,
    /// The client is its own owner (RFC 6749, section 4.4).
    ClientCredentials,
}

/// The endpoints that a connection is pinned to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Endpoints {
    /// The authorization server's own name, where its metadata are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// Where a person consents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorization: Option<String>,
    /// Where tokens come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Where they are refreshed, if elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh: Option<String>,
    /// Where a device asks for its code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Where tokens are revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revocation: Option<String>,
}

impl Endpoints {
    /// Each with its name, for people.
    pub(crate) fn each(&self) -> impl Iterator<Item = (&'static str, &str)> {
        [
            ("authorization", &self.authorization),
            ("token", &self.token),
            ("refresh", &self.refresh),
            ("device", &self.device),
            ("revocation", &self.revocation),
        ]
        .into_iter()
        .filter_map(|(name, url)| Some((name, url.as_deref()?)))
    }
}

/// How a client says who it is to the token endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ClientAuth {
    /// It only gives its id.
    None,
    /// By HTTP Basic.
    ClientSecretBasic,
    /// In the form.
    ClientSecretPost,
}

/// The client as which executor asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Client {
    pub(crate) id: String,
    pub(crate) auth: ClientAuth,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) secret: Option<SecretId>,
    /// Where executor registered it; none where the person did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) registered_at: Option<String>,
}

/// What a person agreed to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Grant {
    /// The auth method that it is for.
    pub(crate) method: String,
    pub(crate) flow: Flow,
    pub(crate) endpoints: Endpoints,
    pub(crate) client: Client,
    /// The resource that tokens are asked for (RFC 8707).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) resource: Option<String>,
    /// The scopes that were asked for.
    pub(crate) scopes: Vec<String>,
    /// Those that were granted, by the server's word.
    #[serde(default)]
    pub(crate) granted: Vec<String>,
    /// Whether its tokens can be refreshed, or got anew without a person; not
    /// known of builds before it was kept.
    #[serde(default)]
    pub(crate) refreshable: Option<bool>,
    /// Parameters of the authorization request that the person gave.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) parameters: BTreeMap<String, String>,
    /// Where the tokens are kept.
    pub(crate) tokens: SecretId,
    /// Whether the server names itself in every answer (RFC 9207).
    #[serde(default)]
    pub(crate) issuer_required: bool,
}

impl Grant {
    /// Scopes that were asked for and not granted. What servers grant without
    /// naming it is not missing.
    pub(crate) fn missing(&self) -> Vec<String> {
        let is_named = |scope: &&String| !self.granted.is_empty() && !UNNAMED.contains(&scope.as_str());
        let missing = self.scopes.iter().filter(|scope| is_named(scope) && !self.granted.contains(scope));
        missing.cloned().collect()
    }

    /// The same with what a server answered.
    pub(crate) fn with(self, tokens: &Tokens) -> Self {
        let refreshable = self.flow == Flow::ClientCredentials || tokens.refresh.is_some();
        let lasts = tokens.stale_ms.is_none();
        Self { granted: tokens.scopes.clone(), refreshable: Some(refreshable || lasts), ..self }
    }

    /// What a connection's row holds.
    pub(crate) fn read(text: Option<&str>) -> Option<Self> {
        serde_json::from_str(text?).ok()
    }

    pub(crate) fn write(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The tokens of a connection, as they are sealed.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Tokens {
    pub(crate) access: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) refresh: Option<String>,
    /// When to get newer ones: a while before they expire, so that none does
    /// on its way. None where the server says nothing of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stale_ms: Option<i64>,
    /// The scopes that were granted.
    #[serde(default)]
    pub(crate) scopes: Vec<String>,
    /// Counts the refreshes, so that of two who saw the same token refused one
    /// refreshes it.
    #[serde(default)]
    pub(crate) generation: u64,
}

impl Tokens {
    pub(crate) fn is_fresh(&self, now_ms: i64) -> bool {
        self.stale_ms.is_none_or(|stale_ms| stale_ms > now_ms)
    }
}
