//! How one signs in to a server that answers 401: what its challenge says, and
//! the metadata of a protected resource (RFC 9728).

use serde::Deserialize;
use serde_json::{Value, json};

use crate::address;
use crate::seam::{HttpRequest, World};
use crate::text::line;
use crate::transport::{Challenge, Wait, body};

/// Within which the metadata are there.
const PATIENCE_MS: u64 = 5_000;
const MAX_BYTES: usize = 256 << 10;
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";
const SHOWN_SCOPES: usize = 10;
const SHOWN_CHARS: usize = 150;

/// What a protected resource says of itself, as far as people are told.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Protected {
    #[serde(default)]
    authorization_servers: Vec<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
}

impl Protected {
    /// Reads the metadata where the challenge says, else where RFC 9728 puts
    /// them; within the server's own origin alone. By at most two requests.
    pub(crate) fn find(world: &dyn World, url: &str, challenge: Option<&Challenge>) -> Option<Self> {
        let own = address::origin(url)?;
        let named = challenge.and_then(|challenge| challenge.resource_metadata.as_deref());
        let places = match named {
            Some(named) => vec![named.to_owned()],
            None => {
                let path = address::path(url).trim_end_matches('/');
                let mut places = vec![format!("{own}{WELL_KNOWN}{path}"), format!("{own}{WELL_KNOWN}")];
                places.dedup();
                places
            }
        };
        let within = places.iter().filter(|place| address::origin(place).as_ref() == Some(&own));
        within.filter_map(|place| get(world, place)).find(|found| !found.authorization_servers.is_empty())
    }
}

fn get(world: &dyn World, url: &str) -> Option<Protected> {
    let mut wait = Wait::short(world, PATIENCE_MS);
    let headers = vec![("accept".to_owned(), "application/json".to_owned())];
    let request = HttpRequest { method: "GET".to_owned(), url: url.to_owned(), headers, body: Vec::new() };
    let mut response = world.send(request, wait.left_ms()?).ok()??;
    if response.status() != 200 {
        return None;
    }
    serde_json::from_slice(&body(response.as_mut(), MAX_BYTES, &mut wait).ok()?).ok()
}

/// The ways in which one probably signs in, the likeliest first, as
/// `detection.meta` has them.
pub(crate) fn ways(challenge: Option<&Challenge>, protected: Option<&Protected>) -> Vec<Value> {
    let names_metadata = challenge.is_some_and(|challenge| challenge.resource_metadata.is_some());
    let mut ways = Vec::new();
    if protected.is_some() || names_metadata {
        let mut label = "Sign in (OAuth)".to_owned();
        if let Some(server) = protected.and_then(|protected| protected.authorization_servers.first()) {
            label.push_str(&format!(" at {}", line(server, SHOWN_CHARS)));
        }
        if let Some(scopes) = scopes(challenge, protected) {
            label.push_str(&format!(", for {}", line(&scopes, SHOWN_CHARS)));
        }
        ways.push(json!({"kind": "oauth2", "label": label}));
    }
    ways.push(json!({"kind": "http-bearer", "label": "Bearer token"}));
    ways
}

/// The challenge knows what this request needs; the metadata, what there is.
fn scopes(challenge: Option<&Challenge>, protected: Option<&Protected>) -> Option<String> {
    if let Some(scope) = challenge.and_then(|challenge| challenge.scope.clone()) {
        return Some(scope);
    }
    let known = protected?.scopes_supported.iter().take(SHOWN_SCOPES).cloned().collect::<Vec<_>>();
    (!known.is_empty()).then(|| known.join(" "))
}
