//! Client authentication at `/token`, `/revoke` and `/device_authorization`
//! (RFC 6749, section 2.3).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use percent_encoding::percent_decode_str;

use super::app::Turn;
use super::call::{self, Parameters};
use super::clients::{Authentication, Client};
use super::refusals::Refusal;

/// The client that sent this form.
pub(crate) fn client(turn: &Turn<'_>, form: &Parameters) -> Result<Client, Refusal> {
    let by_header = call::header(turn.request, "authorization").is_some();
    let refused = |description: String| Refusal::invalid_client(description, by_header);
    let (way, id, secret) = match (by_header, form.one("client_secret")?) {
        (true, Some(_)) => {
            return Err(Refusal::invalid_request("the client authenticates in two ways at once"));
        }
        (true, None) => {
            let (id, secret) = basic(turn).map_err(refused)?;
            if form.one("client_id")?.is_some_and(|other| other != id) {
                return Err(Refusal::invalid_request("client_id is another than the one that authenticates"));
            }
            (Authentication::SecretBasic, id, Some(secret))
        }
        (false, Some(secret)) => {
            (Authentication::SecretPost, form.needed("client_id")?.to_owned(), Some(secret.to_owned()))
        }
        (false, None) => (Authentication::None, form.needed("client_id")?.to_owned(), None),
    };
    let client = turn.client(&id).ok_or_else(|| refused(format!("there is no client {id:?}")))?;
    if !client.authentication.contains(&way) {
        return Err(refused(format!("the client does not authenticate by {}", way.name())));
    }
    if secret != client.secret.clone().filter(|_| way != Authentication::None) {
        return Err(refused("the secret is wrong".to_owned()));
    }
    let ended = client.secret_expires_at_s.is_some_and(|end| end != 0 && end * 1000 <= turn.now_ms);
    match ended && way != Authentication::None {
        true => Err(refused("the secret has expired".to_owned())),
        false => Ok(client.clone()),
    }
}

/// Id and secret of HTTP basic, each form-encoded before they were joined.
fn basic(turn: &Turn<'_>) -> Result<(String, String), String> {
    let encoded = call::authorization(turn.request, "basic").ok_or("the Authorization is not Basic")?;
    let decoded = BASE64.decode(encoded).map_err(|_| "the Authorization is no base64")?;
    let pair = String::from_utf8(decoded).map_err(|_| "the Authorization is no text")?;
    let (id, secret) = pair.split_once(':').ok_or("the Authorization has no colon")?;
    Ok((form_decoded(id)?, form_decoded(secret)?))
}

/// Undoes `application/x-www-form-urlencoded` for one value; what that would
/// never leave as it is, is refused.
fn form_decoded(text: &str) -> Result<String, String> {
    let plain = |one: char| one.is_ascii_alphanumeric() || "*-._+%".contains(one);
    if let Some(raw) = text.chars().find(|one| !plain(*one)) {
        return Err(format!("{raw:?} is not form-encoded in the Authorization"));
    }
    let spaced = text.replace('+', " ");
    let decoded = percent_decode_str(&spaced).decode_utf8().map_err(|_| "the Authorization is no text")?;
    Ok(decoded.into_owned())
}

#[cfg(test)]
mod tests {
    use super::form_decoded;

    #[test]
    fn what_is_not_encoded_is_refused() {
        assert_eq!(form_decoded("a%3Ab+c%25").as_deref(), Ok("a:b c%"));
        assert!(form_decoded("a:b").is_err());
        assert!(form_decoded("a b").is_err());
        assert!(form_decoded("%ff").is_err());
    }
}
