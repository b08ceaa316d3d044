//! Who calls.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use http::{HeaderMap, header};

use super::refusals::Refusal;

/// The valid tokens and the logins they stand for.
#[derive(Debug)]
pub(crate) struct Tokens {
    logins: Mutex<BTreeMap<String, String>>,
    required: bool,
}

impl Tokens {
    pub(crate) fn new(tokens: Vec<(String, String)>, required: bool) -> Self {
        Self { logins: Mutex::new(tokens.into_iter().collect()), required }
    }

    pub(crate) fn allow(&self, token: &str, login: &str) {
        self.lock().insert(token.to_owned(), login.to_owned());
    }

    pub(crate) fn revoke(&self, token: &str) {
        self.lock().remove(token);
    }

    /// The login that the request's token stands for, none for a request
    /// without a token, 401 for a token that is not valid.
    pub(crate) fn caller(&self, headers: &HeaderMap) -> Result<Option<String>, Refusal> {
        let Some(value) = headers.get(header::AUTHORIZATION) else {
            return match self.required {
                true => Err(Refusal::authentication_required()),
                false => Ok(None),
            };
        };
        let token = value.to_str().ok().and_then(token_in).ok_or_else(Refusal::bad_credentials)?;
        match self.lock().get(&token) {
            Some(login) => Ok(Some(login.clone())),
            None => Err(Refusal::bad_credentials()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.logins.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `Bearer T`, `token T`, or Basic with the token as the password.
fn token_in(authorization: &str) -> Option<String> {
    let (scheme, rest) = authorization.split_once(' ')?;
    match scheme.to_ascii_lowercase().as_str() {
        "bearer" | "token" => Some(rest.trim().to_owned()),
        "basic" => {
            let decoded = base64::engine::general_purpose::STANDARD.decode(rest.trim()).ok()?;
            let pair = String::from_utf8(decoded).ok()?;
            pair.split_once(':').map(|(_, token)| token.to_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::token_in;

    #[test]
    fn three_schemes_carry_a_token() {
        assert_eq!(token_in("Bearer abc").as_deref(), Some("abc"));
        assert_eq!(token_in("token abc").as_deref(), Some("abc"));
        assert_eq!(token_in("Basic dTphYmM=").as_deref(), Some("abc"));
        assert_eq!(token_in("Digest abc"), None);
        assert_eq!(token_in("abc"), None);
        assert_eq!(token_in("Basic !"), None);
    }
}
