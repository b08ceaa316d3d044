//! As which client executor asks: one that the person registered, one that a
//! metadata document describes, or one that it registers itself.

use serde_json::{Value, json};

use super::answer::{fields, shown};
use super::authorization::OauthChoices;
use super::discover::Discovered;
use super::exchange::{KnownClient, Servers};
use super::grant::{ClientAuth, Flow};
use crate::problem::{Problem, ProblemKind};

impl Servers<'_> {
    /// The client of a new grant. `redirect` is where its answers go.
    pub(super) async fn client(
        &self,
        found: &Discovered,
        choices: &OauthChoices,
        flow: Flow,
        redirect: &str,
    ) -> Result<KnownClient, Problem> {
        let secret = choices.client_secret.clone().filter(|secret| !secret.is_empty());
        if let Some(id) = choices.client_id.as_ref().filter(|id| !id.is_empty()) {
            let auth = auth_for(found, secret.is_some(), None);
            return Ok(KnownClient { id: id.clone(), secret, auth, registered_at: None });
        }
        let described = found.metadata.as_ref().is_some_and(|it| it.client_id_metadata_document_supported);
        if let Some(url) = choices.client_metadata_url.as_ref().filter(|_| described) {
            let id = self.checked(url)?.to_string();
            return Ok(KnownClient { id, secret: None, auth: ClientAuth::None, registered_at: None });
        }
        match &found.registration {
            Some(place) if flow != Flow::ClientCredentials => {
                self.register(place, found, flow, redirect).await
            }
            _ => Err(needed(found, flow, redirect)),
        }
    }

    /// Registers a client (RFC 7591).
    pub(super) async fn register(
        &self,
        place: &str,
        found: &Discovered,
        flow: Flow,
        redirect: &str,
    ) -> Result<KnownClient, Problem> {
        let grant = match flow {
            Flow::DeviceCode => "urn:ietf:params:oauth:grant-type:device_code",
            _ => "authorization_code",
        };
        let supported =
            found.metadata.as_ref().and_then(|it| it.token_endpoint_auth_methods_supported.as_ref());
        let wish = match supported {
            Some(methods) if !methods.iter().any(|method| method == "none") => {
                let known = |method: &&String| by_name(method).is_some();
                methods.iter().find(known).map_or("client_secret_basic", String::as_str)
            }
            _ => "none",
        };
        let body = json!({
            "client_name": "executor",
            "redirect_uris": [redirect],
            "grant_types": [grant, "refresh_token"],
            "response_types": if flow == Flow::AuthorizationCode { vec!["code"] } else { vec![] },
            "token_endpoint_auth_method": wish,
            "application_type": "native",
        });
        let fetched = self.post_json(place, &body).await?;
        let fields = fields(&fetched).unwrap_or_default();
        let text = |name: &str| fields.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let Some(id) = text("client_id").filter(|_| (200..300).contains(&fetched.status)) else {
            let why = text("error_description").or(text("error")).map(shown);
            let why = why.unwrap_or_else(|| format!("it answered {}", fetched.status));
            let problem = needed(found, flow, redirect);
            return Err(Problem { message: format!("{place} registers no client: {why}"), ..problem });
        };
        let secret = text("client_secret").map(str::to_owned);
        let auth = auth_for(found, secret.is_some(), text("token_endpoint_auth_method"));
        Ok(KnownClient { id: id.to_owned(), secret, auth, registered_at: Some(place.to_owned()) })
    }
}

fn by_name(method: &str) -> Option<ClientAuth> {
    match method {
        "none" => Some(ClientAuth::None),
        "client_secret_basic" => Some(ClientAuth::ClientSecretBasic),
        "client_secret_post" => Some(ClientAuth::ClientSecretPost),
        _ => None,
    }
}

/// How a client says who it is: as it was told, else as the server takes it,
/// else by HTTP Basic, which every server has to take.
fn auth_for(found: &Discovered, has_secret: bool, told: Option<&str>) -> ClientAuth {
    if !has_secret {
        return ClientAuth::None;
    }
    let told = told.and_then(by_name).filter(|auth| *auth != ClientAuth::None);
    let metadata = found.metadata.as_ref();
    let supported = metadata.and_then(|it| it.token_endpoint_auth_methods_supported.as_deref());
    let taken = || {
        let known = supported.unwrap_or_default().iter().filter_map(|method| by_name(method));
        known.into_iter().find(|auth| *auth != ClientAuth::None)
    };
    told.or_else(taken).unwrap_or(ClientAuth::ClientSecretBasic)
}

fn needed(found: &Discovered, flow: Flow, redirect: &str) -> Problem {
    let token = found.endpoints.token.as_deref().unwrap_or_default();
    let server =
        found.endpoints.issuer.as_deref().or(found.endpoints.authorization.as_deref()).unwrap_or(token);
    let message =
        format!("{} knows executor only as an application that you registered there", shown(server));
    let hint = match flow {
        Flow::AuthorizationCode => format!(
            "register one with the redirect URI {redirect}, then give --client-id ID (and --client-secret - where it has one)"
        ),
        Flow::DeviceCode => "register one, then give --client-id ID".to_owned(),
        Flow::ClientCredentials => "register one, then give --client-id ID --client-secret -".to_owned(),
    };
    Problem::new(ProblemKind::Unprocessable, "client-needed", message)
        .hint(hint)
        .details(json!({ "redirect_uri": redirect }))
}
