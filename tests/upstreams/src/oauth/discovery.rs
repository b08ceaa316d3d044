//! The documents that say where everything is.

use serde_json::{Map, Value, json};

use super::app::Turn;
use super::clients::Authentication;
use super::refusals::Refusal;
use super::script::{Discovery, Registration};
use super::token::{DEVICE_CODE, overlay};
use crate::plain::Answer;

const OAUTH: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";
/// Before the path of a resource (RFC 9728, section 3).
pub(crate) const RESOURCE: &str = "/.well-known/oauth-protected-resource";

/// The document at the request's path, where it is one of these.
pub(crate) fn answer(turn: &Turn<'_>) -> Option<Answer> {
    let path = turn.request.path;
    if let Some(below) = path.strip_prefix(RESOURCE) {
        return Some(resource(turn, below));
    }
    let issuer_path = turn.script.issuer_path.as_str();
    let served = turn.script.discovery.iter().any(|form| match form {
        Discovery::OAuth => path == format!("{OAUTH}{issuer_path}"),
        Discovery::OpenIdBefore => path == format!("{OPENID}{issuer_path}"),
        Discovery::OpenIdAfter => path == format!("{issuer_path}{OPENID}"),
    });
    served.then(|| Answer::json(200, &Value::Object(server(turn))))
}

/// RFC 8414 section 2, with what OpenID Connect Discovery requires on top.
fn server(turn: &Turn<'_>) -> Map<String, Value> {
    let at = |path: &str| json!(format!("{}{path}", turn.origin));
    let grants = ["authorization_code", "refresh_token", "client_credentials", DEVICE_CODE];
    let mut members = Map::new();
    let mut say = |name: &str, value: Value| _ = members.insert(name.to_owned(), value);
    say("issuer", json!(turn.issuer()));
    say("authorization_endpoint", at("/authorize"));
    say("token_endpoint", at("/token"));
    say("device_authorization_endpoint", at("/device_authorization"));
    if turn.script.revocation {
        say("revocation_endpoint", at("/revoke"));
    }
    if turn.script.registration != Registration::Off {
        say("registration_endpoint", at("/register"));
    }
    say("scopes_supported", json!(turn.script.scopes));
    say("response_types_supported", json!(["code"]));
    say("grant_types_supported", json!(grants));
    say("token_endpoint_auth_methods_supported", json!(Authentication::ALL.map(Authentication::name)));
    say("code_challenge_methods_supported", json!(["S256"]));
    say("authorization_response_iss_parameter_supported", json!(true));
    if turn.script.client_documents {
        say("client_id_metadata_document_supported", json!(true));
    }
    say("subject_types_supported", json!(["public"]));
    say("id_token_signing_alg_values_supported", json!(["RS256"]));
    say("jwks_uri", at("/jwks"));
    overlay(&mut members, &turn.script.metadata);
    members
}

/// RFC 9728 section 2, for the resource at this path of the origin.
fn resource(turn: &Turn<'_>, path: &str) -> Answer {
    let script = &turn.script.protected;
    let known = script.metadata_served && (path.is_empty() || path.starts_with('/'));
    if !known || path.is_empty() == script.by_path {
        return Refusal::not_found().answer();
    }
    let mut members = Map::new();
    members.insert("resource".to_owned(), json!(format!("{}{path}", turn.origin)));
    members.insert("authorization_servers".to_owned(), json!([turn.issuer()]));
    members.insert("scopes_supported".to_owned(), json!(turn.script.scopes));
    members.insert("bearer_methods_supported".to_owned(), json!(["header"]));
    overlay(&mut members, &script.metadata);
    Answer::json(200, &Value::Object(members))
}
