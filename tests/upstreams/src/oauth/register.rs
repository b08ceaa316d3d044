//! `POST /register` (RFC 7591).

use serde_json::{Map, Value, json};
use url::Url;

use super::app::Turn;
use super::call;
use super::clients::{Authentication, Client, is_loopback};
use super::refusals::Refusal;
use super::script::Registration;
use crate::plain::Answer;

pub(crate) fn answer(turn: &mut Turn<'_>) -> Answer {
    registered(turn).unwrap_or_else(|refusal| refusal.answer())
}

fn registered(turn: &mut Turn<'_>) -> Result<Answer, Refusal> {
    if turn.request.method != "POST" {
        return Err(Refusal::method_not_allowed("POST"));
    }
    let substitute = admitted(turn)?;
    let mut metadata = metadata(turn)?;
    let grants = names(&metadata, "grant_types")?.unwrap_or_else(|| vec!["authorization_code".to_owned()]);
    let redirects = redirects(&metadata, &grants)?;
    check_response_types(&metadata, &grants)?;
    check_texts(turn, &metadata)?;
    let authentication = match substitute {
        Some(substitute) => substitute,
        None => authentication(&metadata)?,
    };
    let id = turn.state.next_name("client", "");
    let secret =
        (authentication != Authentication::None).then(|| turn.state.next_secret("secret", ":%+/&= "));
    metadata.insert("client_id".to_owned(), json!(id));
    metadata.insert("client_id_issued_at".to_owned(), json!(turn.now_ms / 1000));
    metadata.insert("token_endpoint_auth_method".to_owned(), json!(authentication.name()));
    metadata.insert("grant_types".to_owned(), json!(grants));
    if let Some(secret) = &secret {
        metadata.insert("client_secret".to_owned(), json!(secret));
        metadata.insert("client_secret_expires_at".to_owned(), json!(0));
    }
    let client = Client { secret, redirects, grants, ..Client::public(&id).only(authentication) };
    turn.state.registered.push(client);
    let headers = [("content-type", "application/json"), ("cache-control", "no-store")];
    Ok(Answer::new(201, &headers, Value::Object(metadata).to_string()))
}

/// Whether this request may register at all, and how the client will have to
/// authenticate where the script says so.
fn admitted(turn: &Turn<'_>) -> Result<Option<Authentication>, Refusal> {
    match &turn.script.registration {
        Registration::Off => Err(Refusal::not_found()),
        Registration::Open => Ok(None),
        Registration::Substituted(authentication) => Ok(Some(*authentication)),
        Registration::WithToken(token) => match call::authorization(turn.request, "bearer") {
            Some(sent) if sent == token => Ok(None),
            _ => Err(Refusal::unauthorized("registering takes an initial access token")),
        },
        Registration::Refused(error) => {
            let known = ["invalid_redirect_uri", "invalid_client_metadata", "unapproved_software_statement"];
            let error = known.into_iter().find(|one| one == error).unwrap_or("access_denied");
            Err(Refusal::new(error, "nobody is registered here"))
        }
    }
}

fn metadata(turn: &Turn<'_>) -> Result<Map<String, Value>, Refusal> {
    let media_type = call::header(turn.request, "content-type").unwrap_or_default();
    if !media_type.starts_with("application/json") {
        return Err(wrong(format!("the body is {media_type:?}, not application/json")));
    }
    serde_json::from_slice(turn.request.body)
        .map_err(|error| wrong(format!("the body is no object: {error}")))
}

fn redirects(metadata: &Map<String, Value>, grants: &[String]) -> Result<Vec<String>, Refusal> {
    let redirects = names(metadata, "redirect_uris")?.unwrap_or_default();
    let refused = |description: String| Refusal::new("invalid_redirect_uri", description);
    if redirects.is_empty() && grants.iter().any(|one| one == "authorization_code") {
        return Err(refused("redirect_uris is missing or empty".to_owned()));
    }
    let is_web = metadata.get("application_type").and_then(Value::as_str).unwrap_or("web") == "web";
    for redirect in &redirects {
        let url = Url::parse(redirect).map_err(|error| refused(format!("{redirect:?}: {error}")))?;
        if url.fragment().is_some() {
            return Err(refused(format!("{redirect:?} has a fragment")));
        }
        match url.scheme() {
            "https" => {}
            // OpenID Connect Registration section 2: `web` is the default.
            "http" if is_loopback(&url) && !is_web => {}
            "http" if is_loopback(&url) => {
                return Err(refused(format!(
                    "{redirect:?} is loopback, which takes application_type native"
                )));
            }
            other if other.contains('.') && !is_web => {}
            other => return Err(refused(format!("{redirect:?} is neither https nor loopback: {other}"))),
        }
    }
    Ok(redirects)
}

fn check_response_types(metadata: &Map<String, Value>, grants: &[String]) -> Result<(), Refusal> {
    let Some(types) = names(metadata, "response_types")? else {
        return Ok(());
    };
    let has_code = types.iter().any(|one| one == "code");
    match has_code == grants.iter().any(|one| one == "authorization_code") {
        true => Ok(()),
        false => Err(wrong("response_types does not fit grant_types")),
    }
}

fn check_texts(turn: &Turn<'_>, metadata: &Map<String, Value>) -> Result<(), Refusal> {
    for name in ["client_name", "client_uri", "scope", "software_id", "software_version"] {
        match metadata.get(name) {
            None | Some(Value::String(_)) => {}
            Some(_) => return Err(wrong(format!("{name} is no text"))),
        }
    }
    let scope = metadata.get("scope").and_then(Value::as_str);
    turn.scopes(scope).map(|_| ()).map_err(|refusal| wrong(refusal.description))
}

fn authentication(metadata: &Map<String, Value>) -> Result<Authentication, Refusal> {
    // RFC 7591 section 2: what is left out is client_secret_basic.
    match metadata.get("token_endpoint_auth_method") {
        None => Ok(Authentication::SecretBasic),
        Some(value) => {
            let known = value.as_str().and_then(Authentication::named);
            known.ok_or_else(|| wrong(format!("token_endpoint_auth_method {value} is not supported")))
        }
    }
}

/// A member that is an array of texts; none where it is not there.
fn names(metadata: &Map<String, Value>, member: &str) -> Result<Option<Vec<String>>, Refusal> {
    let Some(value) = metadata.get(member) else {
        return Ok(None);
    };
    let texts = value.as_array().map(|all| all.iter().map(|one| one.as_str().map(str::to_owned)));
    let texts = texts.and_then(Iterator::collect::<Option<Vec<_>>>);
    texts.map(Some).ok_or_else(|| wrong(format!("{member} is no array of texts")))
}

fn wrong(description: impl Into<String>) -> Refusal {
    Refusal::new("invalid_client_metadata", description)
}
