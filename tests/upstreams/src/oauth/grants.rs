//! The four grant types.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use super::app::Turn;
use super::call::{self, Parameters};
use super::clients::{Authentication, Client};
use super::refusals::Refusal;
use super::script::{Poll, Rotation};
use super::state::{Device, Grant, Verdict};
use super::token::{Renewal, issue, narrowed};
use crate::plain::Answer;

/// RFC 8628 section 3.5: what `slow_down` adds to the interval.
const SLOW_DOWN_S: i64 = 5;
/// RFC 8628 section 3.2: where the answer names no interval.
const DEFAULT_INTERVAL_S: i64 = 5;

/// RFC 6749 section 4.1.3, with RFC 7636.
pub(crate) fn code(turn: &mut Turn<'_>, client: &Client, form: &Parameters) -> Result<Answer, Refusal> {
    let sent = form.needed("code")?;
    let code = turn.state.codes.get(sent).cloned();
    let code = code.filter(|code| code.grant.client == client.id);
    let code = code.ok_or_else(|| Refusal::invalid_grant("there is no such code for this client"))?;
    if code.used {
        turn.state.end_family(code.grant.family);
        return Err(Refusal::invalid_grant("the code was used before: what came of it ends"));
    }
    // A code is good for one attempt, whatever comes of it.
    turn.state.codes.entry(sent.to_owned()).and_modify(|code| code.used = true);
    if code.expires_at_ms <= turn.now_ms {
        return Err(Refusal::invalid_grant("the code has expired"));
    }
    if form.needed("redirect_uri")? != code.redirect_uri {
        return Err(Refusal::invalid_grant("redirect_uri is another than at /authorize"));
    }
    let verifier = form.needed("code_verifier")?;
    check_verifier(verifier)?;
    if URL_SAFE_NO_PAD.encode(Sha256::digest(verifier)) != code.challenge {
        return Err(Refusal::invalid_grant("code_verifier does not fit the challenge"));
    }
    let resources = narrowed(turn, form, &code.grant)?;
    Ok(issue(turn, client, Grant { resources, ..code.grant }, Renewal::New))
}

/// RFC 7636 section 4.1: 43 to 128 unreserved characters.
fn check_verifier(verifier: &str) -> Result<(), Refusal> {
    let unreserved = |one: u8| one.is_ascii_alphanumeric() || b"-._~".contains(&one);
    match (43..=128).contains(&verifier.len()) && verifier.bytes().all(unreserved) {
        true => Ok(()),
        false => Err(Refusal::invalid_request("code_verifier is not 43 to 128 unreserved characters")),
    }
}

/// RFC 6749 section 6, with the rotation of RFC 9700 section 4.14.
pub(crate) fn refresh(turn: &mut Turn<'_>, client: &Client, form: &Parameters) -> Result<Answer, Refusal> {
    let sent = form.needed("refresh_token")?;
    let known = turn.state.refresh.get(sent).cloned();
    let known = known.filter(|one| one.grant.client == client.id);
    let known =
        known.ok_or_else(|| Refusal::invalid_grant("there is no such refresh token for this client"))?;
    if known.revoked {
        return Err(Refusal::invalid_grant("the refresh token was revoked"));
    }
    if known.expires_at_ms.is_some_and(|end| end <= turn.now_ms) {
        return Err(Refusal::invalid_grant("the refresh token has expired"));
    }
    let rotation = turn.script.refresh.rotation;
    if known.used && rotation == Rotation::On {
        turn.state.end_family(known.grant.family);
        return Err(Refusal::invalid_grant("the refresh token was used before: its family ends"));
    }
    let resources = narrowed(turn, form, &known.grant)?;
    let scopes = match form.one("scope")? {
        Some(asked) => call::scopes(asked),
        None => known.grant.scopes.clone(),
    };
    if let Some(more) = scopes.iter().find(|one| !known.grant.scopes.contains(one)) {
        return Err(Refusal::new("invalid_scope", format!("{more:?} was not granted")));
    }
    if turn.script.refresh.ends_access {
        turn.state.end_access(known.grant.family);
    }
    let renewal = match rotation {
        Rotation::On => {
            turn.state.refresh.entry(sent.to_owned()).and_modify(|one| one.used = true);
            Renewal::New
        }
        Rotation::Off => Renewal::Same(sent.to_owned()),
        Rotation::Silent => Renewal::None,
    };
    Ok(issue(turn, client, Grant { resources, scopes, ..known.grant }, renewal))
}

/// RFC 6749 section 4.4.
pub(crate) fn client_credentials(
    turn: &mut Turn<'_>,
    client: &Client,
    form: &Parameters,
) -> Result<Answer, Refusal> {
    if client.authentication.contains(&Authentication::None) {
        return Err(Refusal::new("unauthorized_client", "a public client has no credentials"));
    }
    let scopes = turn.scopes(form.one("scope")?)?;
    let grant = Grant {
        client: client.id.clone(),
        scopes: turn.granted(scopes),
        resources: turn.resources(form)?,
        family: turn.state.next_number(),
        kind: "client_credentials",
    };
    Ok(issue(turn, client, grant, Renewal::None))
}

/// RFC 8628 section 3.4.
pub(crate) fn device(turn: &mut Turn<'_>, client: &Client, form: &Parameters) -> Result<Answer, Refusal> {
    let sent = form.needed("device_code")?;
    let known = turn.state.devices.get(sent).cloned();
    let known = known.filter(|one| one.grant.client == client.id);
    let known =
        known.ok_or_else(|| Refusal::invalid_grant("there is no such device code for this client"))?;
    match poll(turn, sent, &known) {
        Poll::Pending => Err(Refusal::new("authorization_pending", "the person has not answered yet")),
        Poll::SlowDown => Err(Refusal::new("slow_down", "the questions come too fast")),
        Poll::Denied => Err(Refusal::new("access_denied", "the person said no")),
        Poll::Expired => Err(Refusal::new("expired_token", "the device code has expired")),
        Poll::Approved => {
            turn.state.devices.remove(sent);
            let resources = narrowed(turn, form, &known.grant)?;
            Ok(issue(turn, client, Grant { resources, ..known.grant }, Renewal::New))
        }
    }
}

fn poll(turn: &mut Turn<'_>, code: &str, device: &Device) -> Poll {
    let now_ms = turn.now_ms;
    let too_soon = device.asked_at_ms.is_some_and(|before| now_ms < before + device.interval_s * 1000);
    let slow_down = too_soon && turn.script.devices.enforces_interval;
    turn.state.devices.entry(code.to_owned()).and_modify(|one| {
        one.asked_at_ms = Some(now_ms);
        one.interval_s += if slow_down { SLOW_DOWN_S } else { 0 };
    });
    if slow_down {
        return Poll::SlowDown;
    }
    if let Some(scripted) = turn.script.devices.polls.pop_front() {
        return scripted;
    }
    match device.verdict {
        _ if device.expires_at_ms <= now_ms => Poll::Expired,
        Verdict::Waiting => Poll::Pending,
        Verdict::Approved => Poll::Approved,
        Verdict::Denied => Poll::Denied,
    }
}

/// How long a device waits between two questions.
pub(crate) fn first_interval_s(turn: &Turn<'_>) -> i64 {
    turn.script.devices.interval_s.unwrap_or(DEFAULT_INTERVAL_S)
}
