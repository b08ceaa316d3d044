//! `POST /token`: which grant, for whom.

use serde_json::{Map, Value, json};

use super::app::Turn;
use super::authentication;
use super::call::{self, Parameters};
use super::clients::Client;
use super::grants;
use super::refusals::Refusal;
use super::script::{Encoding, ExpiresIn};
use super::state::{Access, Grant, Refreshing};
use crate::plain::Answer;

/// The grant type of RFC 8628.
pub(crate) const DEVICE_CODE: &str = "urn:ietf:params:oauth:grant-type:device_code";

pub(crate) fn answer(turn: &mut Turn<'_>) -> Answer {
    granted(turn).unwrap_or_else(|refusal| refusal.answer())
}

fn granted(turn: &mut Turn<'_>) -> Result<Answer, Refusal> {
    let form = call::form(turn.request)?;
    let grant_type = form.needed("grant_type")?;
    let client = authentication::client(turn, &form)?;
    if !client.may_use(grant_type) {
        return Err(Refusal::new("unauthorized_client", format!("the client may not use {grant_type}")));
    }
    match grant_type {
        "authorization_code" => grants::code(turn, &client, &form),
        "refresh_token" => grants::refresh(turn, &client, &form),
        "client_credentials" => grants::client_credentials(turn, &client, &form),
        DEVICE_CODE => grants::device(turn, &client, &form),
        other => Err(Refusal::new("unsupported_grant_type", format!("there is no grant type {other:?}"))),
    }
}

/// The resources of a token request: all of the grant's where it names none,
/// else only such as were granted.
pub(crate) fn narrowed(turn: &Turn<'_>, form: &Parameters, grant: &Grant) -> Result<Vec<String>, Refusal> {
    let asked = turn.resources(form)?;
    if asked.is_empty() || grant.resources.is_empty() {
        return Ok(if asked.is_empty() { grant.resources.clone() } else { asked });
    }
    match asked.iter().find(|one| !grant.resources.contains(one)) {
        Some(other) => Err(Refusal::new("invalid_target", format!("{other:?} was not granted"))),
        None => Ok(asked),
    }
}

/// What stands for the refresh token in an answer.
pub(crate) enum Renewal {
    /// A new one, where there are any.
    New,
    /// The same one again.
    Same(String),
    /// None.
    None,
}

/// Gives out an access token, and what else belongs to the grant.
pub(crate) fn issue(turn: &mut Turn<'_>, client: &Client, grant: Grant, renewal: Renewal) -> Answer {
    let access = turn.state.next_secret("access", ".~+/==");
    let expires_at_ms = turn.now_ms + turn.script.tokens.lifetime_s * 1000;
    let refresh = match renewal {
        Renewal::New => new_refresh(turn, client, &grant),
        Renewal::Same(token) => Some(token),
        Renewal::None => None,
    };
    let mut members = Map::new();
    members.insert("access_token".to_owned(), json!(access));
    members.insert("token_type".to_owned(), json!(turn.script.tokens.token_type));
    let lifetime_s = turn.script.tokens.lifetime_s;
    let expires_in = match &turn.script.tokens.expires_in {
        ExpiresIn::Number => Some(json!(lifetime_s)),
        ExpiresIn::Text => Some(json!(lifetime_s.to_string())),
        ExpiresIn::Absent => None,
        ExpiresIn::Other(value) => Some(value.clone()),
    };
    members.extend(expires_in.map(|value| ("expires_in".to_owned(), value)));
    members.extend(refresh.map(|token| ("refresh_token".to_owned(), json!(token))));
    if turn.script.tokens.says_scope {
        members.insert("scope".to_owned(), json!(grant.scopes.join(" ")));
    }
    overlay(&mut members, &turn.script.tokens.members);
    turn.state.access.insert(access, Access { grant, expires_at_ms, revoked: false });
    written(turn, &members)
}

fn new_refresh(turn: &mut Turn<'_>, client: &Client, grant: &Grant) -> Option<String> {
    let script = &turn.script.refresh;
    let offline = grant.scopes.iter().any(|one| one == "offline_access");
    if !script.issued || (script.needs_offline_access && !offline) || !client.may_use("refresh_token") {
        return None;
    }
    let expires_at_ms = script.lifetime_s.map(|lifetime_s| turn.now_ms + lifetime_s * 1000);
    let token = turn.state.next_secret("refresh", "/+&=%");
    let grant = grant.clone();
    turn.state
        .refresh
        .insert(token.clone(), Refreshing { grant, expires_at_ms, used: false, revoked: false });
    Some(token)
}

fn written(turn: &Turn<'_>, members: &Map<String, Value>) -> Answer {
    let asks_json = call::header(turn.request, "accept").is_some_and(|accept| accept.contains("json"));
    let as_form = match turn.script.tokens.encoding {
        Encoding::Json => false,
        Encoding::FormUnlessAsked => !asks_json,
        Encoding::Form => true,
    };
    let (media_type, body) = match as_form {
        false => ("application/json", Value::Object(members.clone()).to_string()),
        true => ("application/x-www-form-urlencoded; charset=utf-8", form_encoded(members)),
    };
    Answer::new(200, &[("content-type", media_type), ("cache-control", "no-store")], body)
}

fn form_encoded(members: &Map<String, Value>) -> String {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in members {
        match value.as_str() {
            Some(text) => form.append_pair(name, text),
            None => form.append_pair(name, &value.to_string()),
        };
    }
    form.finish()
}

/// Lays `changes` over `members`; `null` takes a member out.
pub(crate) fn overlay(members: &mut Map<String, Value>, changes: &Map<String, Value>) {
    for (name, value) in changes {
        match value.is_null() {
            true => _ = members.remove(name),
            false => _ = members.insert(name.clone(), value.clone()),
        }
    }
}
