//! An authorization, as it is asked for and as it is shown.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::grant::{Endpoints, Flow};
use crate::connections::ConnectionView;
use crate::problem::Problem;

/// What a person chooses of OAuth; the rest is found out.
#[derive(Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OauthChoices {
    /// The flow; by default the first that the source offers.
    pub flow: Option<Flow>,
    /// An application that the person registered.
    pub client_id: Option<String>,
    /// Its secret, where it has one.
    pub client_secret: Option<String>,
    /// Where a document describes executor as a client, for servers that take
    /// one (an https URL).
    pub client_metadata_url: Option<String>,
    /// The scopes; by default those that the source's tools name.
    pub scopes: Option<Vec<String>>,
    /// Where the answer goes; by default the daemon itself. One that the
    /// browser can't reach is for pasting.
    pub redirect_uri: Option<String>,
    /// More parameters of the authorization request, such as `audience`.
    pub parameters: BTreeMap<String, String>,
}

/// An authorization to begin.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BeginAuthorization {
    /// The source.
    pub source: String,
    /// The connection's name; `default` by default.
    #[serde(default)]
    pub name: Option<String>,
    /// The auth methods, one of them by OAuth; the only one by default.
    #[serde(default)]
    pub methods: Option<Vec<String>>,
    /// Values of the other methods.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
    /// Whether the connection exists, and is authorized anew as it is pinned.
    #[serde(default)]
    pub again: bool,
    /// What is chosen of OAuth.
    #[serde(default)]
    pub oauth: OauthChoices,
}

/// What a person brought back from the authorization server.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FinishAuthorization {
    /// The address that the browser ended at, or the code in it.
    pub address: String,
}

/// What an authorization server sends the browser back with.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub struct Callback {
    /// Which authorization it is about.
    pub state: String,
    /// The code, where the person consented.
    pub code: Option<String>,
    /// Why there is none.
    pub error: Option<String>,
    /// The same in words.
    pub error_description: Option<String>,
    /// Who sends it (RFC 9207).
    pub iss: Option<String>,
}

impl Callback {
    /// Whether a person brought a code and nothing of what came with it.
    pub(super) fn is_code_alone(&self) -> bool {
        self.state.is_empty() && self.iss.is_none() && self.error.is_none()
    }
}

/// How an authorization stands.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AuthorizationView {
    /// Its id.
    pub id: String,
    /// The source.
    pub source: String,
    /// The connection's name.
    pub name: String,
    /// `waiting`, `connected` or `failed`.
    pub status: &'static str,
    /// The flow.
    pub flow: Flow,
    /// The endpoints that the connection is pinned to.
    pub endpoints: Endpoints,
    /// The origins that its tokens may travel to.
    pub origins: Vec<String>,
    /// The scopes that are asked for.
    pub scopes: Vec<String>,
    /// As which client.
    pub client_id: String,
    /// The page on which a person consents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The code that a person enters there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_code: Option<String>,
    /// When it is good no more.
    pub expires_at: String,
    /// The connection, once there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection: Option<ConnectionView>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<AuthorizationError>,
}

/// Why an authorization failed.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AuthorizationError {
    /// A stable code.
    pub code: String,
    /// What is wrong.
    pub message: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl AuthorizationView {
    pub(super) fn is_waiting(&self) -> bool {
        self.status == "waiting"
    }

    pub(super) fn connected(&mut self, connection: ConnectionView) {
        self.status = "connected";
        self.connection = Some(connection);
    }

    pub(super) fn fail(&mut self, problem: &Problem) {
        self.status = "failed";
        self.error = Some(AuthorizationError {
            code: problem.code.clone(),
            message: problem.message.clone(),
            hint: problem.hint.clone(),
        });
    }
}
