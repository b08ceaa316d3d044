//! `POST /device_authorization`, and the page where a person answers it.

use serde_json::{Map, json};

use super::app::Turn;
use super::authentication;
use super::call::{self, Parameters};
use super::grants::first_interval_s;
use super::refusals::Refusal;
use super::state::{Device, Grant, Verdict};
use super::token::DEVICE_CODE;
use crate::plain::Answer;

/// RFC 8628 section 3.1.
pub(crate) fn begin(turn: &mut Turn<'_>) -> Answer {
    begun(turn).unwrap_or_else(|refusal| refusal.answer())
}

fn begun(turn: &mut Turn<'_>) -> Result<Answer, Refusal> {
    let form = call::form(turn.request)?;
    let client = authentication::client(turn, &form)?;
    if !client.may_use(DEVICE_CODE) {
        return Err(Refusal::new("unauthorized_client", "the client may not use device codes"));
    }
    let scopes = turn.scopes(form.one("scope")?)?;
    let grant = Grant {
        client: client.id,
        scopes: turn.granted(scopes),
        resources: turn.resources(&form)?,
        family: turn.state.next_number(),
        kind: "device_code",
    };
    let device_code = turn.state.next_secret("device", "/+=");
    let user_code = user_code(turn.state.next_number());
    let verification_uri = format!("{}/device", turn.origin);
    let script = &turn.script.devices;
    let mut members = Map::new();
    members.insert("device_code".to_owned(), json!(device_code));
    members.insert("user_code".to_owned(), json!(user_code));
    members.insert("verification_uri".to_owned(), json!(verification_uri));
    if script.complete {
        let complete = format!("{verification_uri}?user_code={user_code}");
        members.insert("verification_uri_complete".to_owned(), json!(complete));
    }
    members.insert("expires_in".to_owned(), json!(script.lifetime_s));
    members.extend(script.interval_s.map(|interval_s| ("interval".to_owned(), json!(interval_s))));
    let device = Device {
        grant,
        user_code,
        verdict: Verdict::Waiting,
        expires_at_ms: turn.now_ms + script.lifetime_s * 1000,
        interval_s: first_interval_s(turn),
        asked_at_ms: None,
    };
    turn.state.devices.insert(device_code, device);
    Ok(Answer::json(200, &members.into()))
}

/// Eight consonants, as RFC 8628 section 6.1 advises.
fn user_code(number: u64) -> String {
    const LETTERS: &[u8] = b"BCDFGHJKLMNPQRSTVWXZ";
    let mut rest = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut code = String::new();
    for position in 0..8 {
        if position == 4 {
            code.push('-');
        }
        code.push(char::from(LETTERS[(rest % 20) as usize]));
        rest /= 20;
    }
    code
}

/// `/device`: GET shows a form, POST answers with `user_code` and `answer`,
/// which is `yes` or `no`.
pub(crate) fn page(turn: &mut Turn<'_>) -> Answer {
    if turn.request.method == "GET" {
        let form = "<!DOCTYPE html><title>Device</title><form method=post><input name=user_code>\
            <button name=answer value=yes>Yes</button><button name=answer value=no>No</button></form>";
        return Answer::new(200, &[("content-type", "text/html; charset=utf-8")], form);
    }
    answered(turn).unwrap_or_else(|refusal| refusal.answer())
}

fn answered(turn: &mut Turn<'_>) -> Result<Answer, Refusal> {
    let form: Parameters = call::form(turn.request)?;
    let user_code = form.needed("user_code")?;
    let verdict = match form.needed("answer")? {
        "yes" => Verdict::Approved,
        _ => Verdict::Denied,
    };
    match turn.state.decide_device(user_code, verdict) {
        true => Ok(Answer::text(200, "thank you")),
        false => Err(Refusal::invalid_request("no device shows this code")),
    }
}

#[cfg(test)]
mod tests {
    use super::user_code;

    #[test]
    fn codes_are_short_and_differ() {
        let (one, two) = (user_code(1), user_code(2));
        assert_ne!(one, two);
        assert!(one.len() == 9 && one.chars().nth(4) == Some('-'), "{one}");
    }
}
