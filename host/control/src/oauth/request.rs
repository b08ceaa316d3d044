//! The authorization request that a person's browser is sent with.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use url::Url;

use super::grant::Grant;
use super::scopes::OFFLINE;
use crate::problem::Problem;

/// Parameters that are the host's own.
pub(super) const RESERVED: [&str; 9] = [
    "client_id",
    "client_secret",
    "code_challenge",
    "code_challenge_method",
    "redirect_uri",
    "resource",
    "response_type",
    "scope",
    "state",
];

/// Servers that give a refresh token only where they are asked in a way of
/// their own.
const OFFLINE_PARAMETERS: [(&str, &[(&str, &str)]); 1] =
    [("accounts.google.com", &[("access_type", "offline"), ("prompt", "consent")])];

/// Where an answer goes: to the daemon, unless the person says otherwise.
pub(super) fn redirect(base: &str, chosen: Option<&str>) -> Result<String, Problem> {
    let Some(chosen) = chosen else { return Ok(format!("{base}/oauth/callback")) };
    let url = Url::parse(chosen).map_err(|error| Problem::invalid(format!("the redirect URI: {error}")))?;
    if url.fragment().is_some() {
        return Err(Problem::invalid("a redirect URI has no fragment (RFC 6749, section 3.1.2)"));
    }
    Ok(chosen.to_owned())
}

pub(super) fn authorization_url(
    grant: &Grant,
    redirect: &str,
    state: &str,
    verifier: &str,
) -> Result<String, Problem> {
    let endpoint = grant.endpoints.authorization.as_deref().unwrap_or_default();
    let mut url = Url::parse(endpoint).map_err(|error| Problem::internal(error.to_string()))?;
    url.set_fragment(None);
    let host = url.host_str().unwrap_or_default().to_owned();
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier));
    {
        let mut query = url.query_pairs_mut();
        query
            .append_pair("response_type", "code")
            .append_pair("client_id", &grant.client.id)
            .append_pair("redirect_uri", redirect)
            .append_pair("state", state)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256");
        if !grant.scopes.is_empty() {
            query.append_pair("scope", &grant.scopes.join(" "));
        }
        if let Some(resource) = &grant.resource {
            query.append_pair("resource", resource);
        }
        let known = OFFLINE_PARAMETERS.iter().find(|(server, _)| *server == host);
        let known = known.map_or(&[] as &[_], |(_, parameters)| *parameters);
        // OpenID Connect Core 1.0, section 11: without it offline access is
        // ignored.
        let by_consent = known.is_empty() && grant.scopes.iter().any(|scope| scope == OFFLINE);
        let consent = by_consent.then_some(("prompt", "consent"));
        for (name, value) in known.iter().copied().chain(consent) {
            if !grant.parameters.contains_key(name) {
                query.append_pair(name, value);
            }
        }
        for (name, value) in &grant.parameters {
            query.append_pair(name, value);
        }
    }
    Ok(url.to_string())
}

/// 256 bits, in the characters that a code verifier may have (RFC 7636,
/// section 4.1).
pub(super) fn secret_text() -> String {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).expect("the operating system gives randomness");
    URL_SAFE_NO_PAD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use executor_store::SecretId;

    use super::*;
    use crate::oauth::grant::{Client, ClientAuth, Endpoints, Flow};

    #[test]
    fn a_request_says_what_the_specifications_want() {
        let grant = Grant {
            method: "m".into(),
            flow: Flow::AuthorizationCode,
            endpoints: Endpoints {
                authorization: Some("https://accounts.google.com/auth?x=1#f".into()),
                ..Endpoints::default()
            },
            client: Client { id: "c d".into(), auth: ClientAuth::None, secret: None, registered_at: None },
            resource: Some("https://api/mcp".into()),
            scopes: vec!["a".into(), "b".into()],
            granted: Vec::new(),
            refreshable: None,
            parameters: BTreeMap::from([("prompt".to_owned(), "none".to_owned())]),
            tokens: SecretId::new(1, [0; 16]),
            issuer_required: false,
        };
        // The verifier and challenge of RFC 7636, appendix B.
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        let url = authorization_url(&grant, "http://127.0.0.1:1/oauth/callback", "s", verifier);
        assert_eq!(
            url.unwrap(),
            "https://accounts.google.com/auth?x=1&response_type=code&client_id=c+d\
             &redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2Foauth%2Fcallback&state=s\
             &code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256\
             &scope=a+b&resource=https%3A%2F%2Fapi%2Fmcp&access_type=offline&prompt=none"
        );

        let endpoint = Some("https://as.example/auth".to_owned());
        let endpoints = Endpoints { authorization: endpoint, ..Endpoints::default() };
        let scopes = vec!["openid".into(), "offline_access".into()];
        let mut grant = Grant { endpoints, scopes, parameters: BTreeMap::new(), ..grant };
        let url = |grant: &Grant| authorization_url(grant, "http://x/", "s", verifier).unwrap();
        assert!(url(&grant).ends_with("&prompt=consent"), "{}", url(&grant));
        grant.parameters.insert("prompt".into(), "login consent".into());
        assert!(url(&grant).ends_with("&prompt=login+consent"), "{}", url(&grant));
    }
}
