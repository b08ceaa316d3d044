//! Finds the endpoints of a grant: written in the document, or told by the
//! authorization server, or by the resource which names that one.

use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use super::answer::{shown, split_scopes};
use super::config::OauthConfig;
use super::exchange::Servers;
use super::grant::{Endpoints, Flow};
use super::metadata::{
    ResourceMetadata, ServerMetadata, covers, places_of_resource, places_of_server, same_issuer,
};
use crate::problem::{Problem, ProblemKind};

/// What was found out.
#[derive(Debug, Default)]
pub(super) struct Discovered {
    pub(super) endpoints: Endpoints,
    /// What the server says of itself, where it does.
    pub(super) metadata: Option<ServerMetadata>,
    /// The resource that tokens are asked for.
    pub(super) resource: Option<String>,
    /// Scopes that the resource asks for.
    pub(super) scopes: Vec<String>,
    /// Where a client registers.
    pub(super) registration: Option<String>,
}

impl Servers<'_> {
    /// Finds the endpoints that a flow of `config` needs.
    pub(super) async fn discover(&self, config: &OauthConfig, flow: Flow) -> Result<Discovered, Problem> {
        let found = if let Some(resource) = &config.resource {
            self.of_resource(config, resource).await?
        } else if let Some(place) = config.open_id_connect_url.as_ref().or(config.metadata_url.as_ref()) {
            self.of_place(place).await?
        } else {
            self.told_of(written(config, flow)).await
        };
        for (_, url) in found.endpoints.each() {
            self.checked(url)?;
        }
        needs(&found.endpoints, flow)?;
        Ok(found)
    }

    /// Adds to endpoints that a document writes what their server says of
    /// itself, where it is about the same endpoints: where clients register,
    /// where tokens are revoked, and its name.
    async fn told_of(&self, written: Discovered) -> Discovered {
        let Some(place) = written.endpoints.authorization.as_ref().or(written.endpoints.token.as_ref())
        else {
            return written;
        };
        let Ok(url) = self.checked(place) else { return written };
        let issuer = url.origin().ascii_serialization();
        let Ok(Some(metadata)) = self.server(&issuer).await else { return written };
        let told = of_metadata(metadata);
        let same = |one: &Option<String>, other: &Option<String>| one.is_none() || one == other;
        let (by_document, by_server) = (&written.endpoints, &told.endpoints);
        if !same(&by_document.authorization, &by_server.authorization)
            || !same(&by_document.token, &by_server.token)
            || !same(&by_document.device, &by_server.device)
        {
            return written;
        }
        let issuer = by_server.issuer.clone();
        let revocation = by_server.revocation.clone();
        let endpoints = Endpoints { issuer, revocation, ..written.endpoints };
        // A document that is silent of code challenges is no reason to send none.
        let metadata =
            told.metadata.map(|it| ServerMetadata { code_challenge_methods_supported: None, ..it });
        Discovered { endpoints, registration: told.registration, metadata, ..written }
    }

    /// A server whose metadata's place is known.
    async fn of_place(&self, place: &str) -> Result<Discovered, Problem> {
        let metadata: ServerMetadata = self.read(place).await?.ok_or_else(|| {
            invalid(format!("{} holds no metadata of an authorization server", shown(place)))
        })?;
        let issuer = self.checked(&metadata.issuer)?;
        if issuer.origin() != self.checked(place)?.origin() {
            return Err(invalid(format!(
                "{} says that it is of {}, whose metadata would not be there",
                shown(place),
                shown(&metadata.issuer)
            )));
        }
        let mut found = of_metadata(metadata);
        // A server of many tenants names its issuer by a template.
        found.endpoints.issuer = found.endpoints.issuer.filter(|issuer| !issuer.contains('{'));
        Ok(found)
    }

    /// A resource names its authorization server; an older one is its own.
    async fn of_resource(&self, config: &OauthConfig, resource: &str) -> Result<Discovered, Problem> {
        let called = self.checked(resource)?;
        let told = config.resource_metadata_url.clone();
        let metadata = self.resource_metadata(told, &called).await?;
        let asked = config.scope.as_deref().map(split_scopes).unwrap_or_default();
        let Some(metadata) = metadata else {
            return Ok(Discovered { scopes: asked, ..self.own_server(&called).await? });
        };
        let Some(issuer) = metadata.authorization_servers.first() else {
            return Err(invalid(format!("{called} names no authorization server")));
        };
        let found = self.server(issuer).await?.ok_or_else(|| {
            invalid(format!("the authorization server {} publishes no metadata", shown(issuer)))
        })?;
        let scopes = if asked.is_empty() { metadata.scopes_supported } else { asked };
        Ok(Discovered { resource: Some(metadata.resource), scopes, ..of_metadata(found) })
    }

    async fn resource_metadata(
        &self,
        told: Option<String>,
        called: &Url,
    ) -> Result<Option<ResourceMetadata>, Problem> {
        for place in told.into_iter().chain(places_of_resource(called)) {
            let Some(metadata) = self.read::<ResourceMetadata>(&place).await? else { continue };
            if !covers(&metadata.resource, called) {
                return Err(invalid(format!(
                    "{} is about {:?}, and not about {called}",
                    shown(&place),
                    shown(&metadata.resource)
                )));
            }
            return Ok(Some(metadata));
        }
        Ok(None)
    }

    /// Before resources had metadata (revision 2025-03-26 of MCP), a server
    /// was its own authorization server, at paths that are known.
    async fn own_server(&self, called: &Url) -> Result<Discovered, Problem> {
        let base = called.origin().ascii_serialization();
        if let Some(metadata) = self.server(&base).await? {
            return Ok(of_metadata(metadata));
        }
        let at = |path: &str| Some(format!("{base}{path}"));
        let endpoints =
            Endpoints { authorization: at("/authorize"), token: at("/token"), ..Endpoints::default() };
        Ok(Discovered { endpoints, registration: at("/register"), ..Discovered::default() })
    }

    /// The metadata of an issuer; none where it publishes none.
    async fn server(&self, issuer: &str) -> Result<Option<ServerMetadata>, Problem> {
        let url = self.checked(issuer)?;
        for place in places_of_server(&url) {
            let Some(metadata) = self.read::<ServerMetadata>(&place).await? else { continue };
            if !same_issuer(&metadata.issuer, issuer) {
                return Err(invalid(format!(
                    "{place} says that it is of {:?}, and {issuer} was asked",
                    shown(&metadata.issuer)
                )));
            }
            return Ok(Some(metadata));
        }
        Ok(None)
    }

    /// Reads metadata; none where there is no JSON object. What is there and
    /// can't be read is not taken for nothing: a guess would follow.
    async fn read<T: DeserializeOwned>(&self, place: &str) -> Result<Option<T>, Problem> {
        let Some(Value::Object(mut document)) = self.document(place).await? else { return Ok(None) };
        // Some write null for what they leave out.
        document.retain(|_, value| !value.is_null());
        serde_json::from_value(Value::Object(document)).map(Some).map_err(|error| {
            let why = shown(&error.to_string());
            invalid(format!("the metadata at {} can't be read: {why}", shown(place)))
        })
    }
}

/// The endpoints of one flow as a document writes them.
fn written(config: &OauthConfig, flow: Flow) -> Discovered {
    let chosen = config.all().find(|one| one.known_flow() == Some(flow)).unwrap_or(config);
    let endpoints = Endpoints {
        issuer: None,
        authorization: chosen.authorization_url.clone().filter(|_| flow == Flow::AuthorizationCode),
        token: chosen.token_url.clone(),
        refresh: chosen.refresh_url.clone().filter(|url| Some(url) != chosen.token_url.as_ref()),
        device: chosen.device_authorization_url.clone(),
        revocation: None,
    };
    Discovered { endpoints, ..Discovered::default() }
}

fn of_metadata(metadata: ServerMetadata) -> Discovered {
    let endpoints = Endpoints {
        issuer: Some(metadata.issuer.clone()),
        authorization: metadata.authorization_endpoint.clone(),
        token: metadata.token_endpoint.clone(),
        refresh: None,
        device: metadata.device_authorization_endpoint.clone(),
        revocation: metadata.revocation_endpoint.clone(),
    };
    let registration = metadata.registration_endpoint.clone();
    Discovered { endpoints, registration, metadata: Some(metadata), ..Discovered::default() }
}

fn needs(endpoints: &Endpoints, flow: Flow) -> Result<(), Problem> {
    let wanted = match flow {
        Flow::AuthorizationCode => ("authorization endpoint", endpoints.authorization.is_some()),
        Flow::DeviceCode => ("device authorization endpoint", endpoints.device.is_some()),
        Flow::ClientCredentials => ("token endpoint", endpoints.token.is_some()),
    };
    for (what, there) in [wanted, ("token endpoint", endpoints.token.is_some())] {
        if !there {
            return Err(invalid(format!("no {what} is known, which this flow needs")));
        }
    }
    Ok(())
}

fn invalid(message: String) -> Problem {
    Problem::new(ProblemKind::Unprocessable, "authorization-invalid", message)
        .hint("ask whoever publishes the API; a token that you have can be given with --set token=-")
}
