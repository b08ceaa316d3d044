//! What comes back from an authorization server, by the browser or by hand.

use url::Url;

use super::answer::shown;
use super::authorization::Callback;
use super::grant::Endpoints;
use crate::problem::{Problem, ProblemKind};

/// RFC 9207: an answer of another server is not taken for this one's. Where
/// the issuer is not known by name, it is of the host that was asked.
pub(super) fn check_issuer(
    endpoints: &Endpoints,
    required: bool,
    given: Option<&str>,
) -> Result<(), Problem> {
    let mixed = |message: String| {
        Problem::new(ProblemKind::Unprocessable, "authorization-refused", message)
            .hint("begin again; where it happens again, somebody is between you and the server")
    };
    let asked = endpoints.authorization.as_deref().or(endpoints.token.as_deref());
    match (given, endpoints.issuer.as_deref()) {
        (Some(given), Some(issuer)) if given != issuer => {
            Err(mixed(format!("the answer is of {}, and {issuer} was asked", shown(given))))
        }
        (Some(given), None) if !is_of_one_origin(given, endpoints) => Err(mixed(format!(
            "the answer is of {}, and {} was asked",
            shown(given),
            shown(asked.unwrap_or_default())
        ))),
        (None, _) if required => Err(mixed("the answer does not say which server it is of".into())),
        _ => Ok(()),
    }
}

/// Whether an issuer has the origin of the authorization or token endpoint.
fn is_of_one_origin(issuer: &str, endpoints: &Endpoints) -> bool {
    let origin = |text: &str| Url::parse(text).ok().map(|url| url.origin());
    let asked = [&endpoints.authorization, &endpoints.token].into_iter().flatten();
    let issuer = origin(issuer);
    issuer.is_some() && asked.into_iter().any(|endpoint| origin(endpoint) == issuer)
}

/// What a person pasted: a whole address, its query, or the code alone.
pub(super) fn pasted(text: &str) -> Result<Callback, Problem> {
    let text = text.trim();
    let query = match Url::parse(text) {
        Ok(url) => url.query().unwrap_or_default().to_owned(),
        Err(_) if text.contains('=') => text.trim_start_matches('?').to_owned(),
        Err(_) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic()) => {
            return Ok(Callback { code: Some(text.to_owned()), ..Callback::default() });
        }
        Err(_) => String::new(),
    };
    let mut callback = Callback::default();
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        let value = value.into_owned();
        match name.as_ref() {
            "state" => callback.state = value,
            "code" => callback.code = Some(value),
            "error" => callback.error = Some(value),
            "error_description" => callback.error_description = Some(value),
            "iss" => callback.iss = Some(value),
            _ => {}
        }
    }
    if callback.code.is_none() && callback.error.is_none() {
        return Err(Problem::invalid("this holds no code")
            .hint("copy the whole address at which the browser ended; it has `code=` in it"));
    }
    Ok(callback)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_pasted(text: &str, expect: &str) {
        let found = match pasted(text) {
            Ok(callback) => {
                format!("{} {:?} {:?} {:?}", callback.state, callback.code, callback.error, callback.iss)
            }
            Err(problem) => problem.message,
        };
        assert_eq!(found, expect, "{text}");
    }

    #[test]
    fn a_person_pastes_what_they_have() {
        check_pasted(
            " http://127.0.0.1:1/oauth/callback?code=a%2Fb&state=s&iss=https%3A%2F%2Fas ",
            r#"s Some("a/b") None Some("https://as")"#,
        );
        check_pasted("?code=c&state=s", r#"s Some("c") None None"#);
        check_pasted("4/0Ab_cd", r#" Some("4/0Ab_cd") None None"#);
        check_pasted("http://x/?error=access_denied&state=s", r#"s None Some("access_denied") None"#);
        check_pasted("http://x/", "this holds no code");
        check_pasted("", "this holds no code");
        check_pasted("two words", "this holds no code");
    }

    fn endpoints(issuer: Option<&str>) -> Endpoints {
        Endpoints { issuer: issuer.map(str::to_owned), ..Endpoints::default() }
    }

    #[test]
    fn an_answer_of_another_server_is_refused() {
        let own = endpoints(Some("https://as"));
        assert!(check_issuer(&own, true, Some("https://as")).is_ok());
        assert!(check_issuer(&own, false, None).is_ok());
        assert!(check_issuer(&own, true, None).is_err());
        assert!(check_issuer(&own, false, Some("https://evil")).is_err());
        let written = Endpoints {
            authorization: Some("https://login.as/authorize".into()),
            token: Some("https://as/token".into()),
            ..endpoints(None)
        };
        for (issuer, expect) in
            [("https://as", true), ("https://login.as/tenant", true), ("https://evil", false), ("as", false)]
        {
            assert_eq!(check_issuer(&written, false, Some(issuer)).is_ok(), expect, "{issuer}");
        }
    }
}
