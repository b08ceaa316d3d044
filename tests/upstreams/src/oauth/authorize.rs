//! `GET /authorize`: the person's browser. Who asks is answered at once, as if
//! the person had said yes, or what the script says.

use url::Url;

use super::app::Turn;
use super::call::Parameters;
use super::refusals::Refusal;
use super::state::{Code, Grant};
use crate::plain::Answer;

/// As long as the base64url of 32 bytes.
const CHALLENGE_BYTES: usize = 43;

pub(crate) fn answer(turn: &mut Turn<'_>) -> Answer {
    let query = Parameters::read(turn.request.query.as_bytes());
    let asked = match trusted(turn, &query) {
        Ok(asked) => asked,
        Err(refusal) => return refusal.answer(),
    };
    let mut pairs = Vec::new();
    match consent(turn, &query, &asked) {
        Ok(code) => {
            pairs.extend(turn.script.authorization.code.of(&code).map(|code| ("code", code.to_owned())))
        }
        Err((error, description)) => {
            pairs.push(("error", error));
            pairs.extend((!description.is_empty()).then_some(("error_description", description)));
        }
    }
    if let Ok(Some(state)) = query.one("state") {
        pairs.extend(turn.script.authorization.state.of(state).map(|state| ("state", state.to_owned())));
    }
    let issuer = turn.issuer();
    pairs.extend(turn.script.authorization.issuer.of(&issuer).map(|issuer| ("iss", issuer.to_owned())));
    let mut location = asked.redirect;
    for (name, value) in &pairs {
        location.query_pairs_mut().append_pair(name, value);
    }
    Answer::redirect(302, location.as_str())
}

/// Who asks, and where the browser may be sent back to.
struct Asked {
    client: String,
    /// As it was sent.
    redirect_uri: String,
    redirect: Url,
}

/// What has to be right before the browser is sent anywhere.
fn trusted(turn: &Turn<'_>, query: &Parameters) -> Result<Asked, Refusal> {
    if turn.request.method != "GET" {
        return Err(Refusal::method_not_allowed("GET"));
    }
    let id = query.needed("client_id")?;
    let unknown = || Refusal::new("unauthorized_client", format!("there is no client {id:?}"));
    let client = turn.client(id).ok_or_else(unknown)?;
    let redirect_uri = query.needed("redirect_uri")?;
    let foreign = || Refusal::invalid_request(format!("{redirect_uri:?} is no redirect_uri of {id:?}"));
    if !client.takes_redirect(redirect_uri) {
        return Err(foreign());
    }
    let redirect = Url::parse(redirect_uri).map_err(|_| foreign())?;
    Ok(Asked { client: id.to_owned(), redirect_uri: redirect_uri.to_owned(), redirect })
}

/// A code, or the error and its description that the browser carries back.
fn consent(turn: &mut Turn<'_>, query: &Parameters, asked: &Asked) -> Result<String, (String, String)> {
    let (grant, challenge) =
        checked(turn, query, asked).map_err(|refusal| (refusal.error.to_owned(), refusal.description))?;
    if let Some(denial) = turn.script.authorization.denied.clone() {
        return Err((denial.error, denial.description));
    }
    let code = turn.state.next_secret("code", "/+=&?");
    let expires_at_ms = turn.now_ms + turn.script.authorization.code_lifetime_s * 1000;
    let redirect_uri = asked.redirect_uri.clone();
    turn.state
        .codes
        .insert(code.clone(), Code { grant, redirect_uri, challenge, expires_at_ms, used: false });
    Ok(code)
}

/// What is asked for, and the challenge of PKCE.
fn checked(turn: &mut Turn<'_>, query: &Parameters, asked: &Asked) -> Result<(Grant, String), Refusal> {
    match query.needed("response_type")? {
        "code" => {}
        other => {
            let description = format!("response_type is {other:?}, not code");
            return Err(Refusal::new("unsupported_response_type", description));
        }
    }
    if !turn.client(&asked.client).is_some_and(|client| client.may_use("authorization_code")) {
        return Err(Refusal::new("unauthorized_client", "the client may not use codes"));
    }
    query.needed("state")?;
    let challenge = query.needed("code_challenge")?;
    if query.one("code_challenge_method")? != Some("S256") {
        return Err(Refusal::invalid_request("code_challenge_method is not S256"));
    }
    if challenge.len() != CHALLENGE_BYTES {
        return Err(Refusal::invalid_request("code_challenge is no SHA-256"));
    }
    let scopes = turn.scopes(query.one("scope")?)?;
    let grant = Grant {
        client: asked.client.clone(),
        scopes: turn.granted(scopes),
        resources: turn.resources(query)?,
        family: turn.state.next_number(),
        kind: "authorization_code",
    };
    Ok((grant, challenge.to_owned()))
}
