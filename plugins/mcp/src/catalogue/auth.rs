//! How to sign in to a server.

use serde_json::{Value, json};

use crate::seam::AuthMethod;
use crate::transport::Challenge;

/// The id of the method that gets a token by OAuth.
const OAUTH: &str = "oauth2";
/// The id of the method that has one.
const BEARER: &str = "bearer";
/// The method that the host makes of the environment of a command.
const ENVIRONMENT: &str = "environment";

/// The methods of a source, and the alternatives of each of its tools.
pub(crate) struct Auth {
    pub(crate) methods: Vec<AuthMethod>,
    pub(crate) alternatives: Vec<Vec<String>>,
}

impl Auth {
    /// Of a local process, which has its environment.
    pub(crate) fn process() -> Self {
        Self { methods: Vec::new(), alternatives: vec![vec![ENVIRONMENT.to_owned()], Vec::new()] }
    }

    /// Of a server that answers whoever asks: a token may be added all the same.
    pub(crate) fn open() -> Self {
        Self { methods: vec![bearer()], alternatives: vec![vec![BEARER.to_owned()], Vec::new()] }
    }

    /// Of a server that wants a sign-in, or was asked with one.
    pub(crate) fn signed_in(url: &str, challenge: Option<&Challenge>) -> Self {
        let alternatives = vec![vec![OAUTH.to_owned()], vec![BEARER.to_owned()], Vec::new()];
        Self { methods: vec![oauth(url, challenge), bearer()], alternatives }
    }
}

fn placed() -> Value {
    json!({
        "placements": [{"in": "header", "name": "Authorization", "template": "Bearer {token}"}],
        "variables": [{"name": "token", "label": "Access token", "secret": true}],
    })
}

fn bearer() -> AuthMethod {
    AuthMethod {
        id: BEARER.to_owned(),
        kind: "http-bearer".to_owned(),
        label: "Bearer token".to_owned(),
        config: placed().to_string(),
    }
}

/// Where the authorization server is found out by the host, as MCP's
/// authorization says: from the resource's metadata (RFC 9728).
fn oauth(url: &str, challenge: Option<&Challenge>) -> AuthMethod {
    let mut config = placed();
    config["oauth"] = json!({
        "discover": "mcp",
        "resource": url,
        "resourceMetadataUrl": challenge.and_then(|challenge| challenge.resource_metadata.as_deref()),
        "scope": challenge.and_then(|challenge| challenge.scope.as_deref()),
    });
    AuthMethod {
        id: OAUTH.to_owned(),
        kind: "oauth2".to_owned(),
        label: "Sign in (OAuth)".to_owned(),
        config: config.to_string(),
    }
}
