//! Keeps tokens fresh: one refresh at a time for each connection, and the new
//! tokens are synced before they are first used.
//!
//! A daemon that ends between a server's answer and the sync has lost the
//! tokens of that answer. Its next refresh is refused, once, and the connection
//! says that it has to be authorized again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use executor_store::{ConnectionName, SecretId, SourceName};
use tokio::sync::OwnedMutexGuard;
use zeroize::Zeroizing;

use super::answer::Refusal;
use super::exchange::{KnownClient, refused};
use super::grant::{Client, EXPIRED, Flow, Grant, OK, Tokens};
use crate::connections::{ConnectionView, connection_view};
use crate::problem::{Problem, ProblemKind};
use crate::workspace::Workspace;

/// What servers say of a refresh token that they take no more: RFC 6749's word,
/// and those of GitHub, Slack and others.
const ENDED: [&str; 7] = [
    "invalid_grant",
    "bad_refresh_token",
    "invalid_refresh_token",
    "expired_refresh_token",
    "expired_token",
    "invalid_token",
    "token_revoked",
];

/// Refreshes under way, by the tokens that they refresh.
#[derive(Default)]
pub(crate) struct Refreshing(Mutex<HashMap<SecretId, Arc<tokio::sync::Mutex<()>>>>);

impl Refreshing {
    fn of(&self, id: &SecretId) -> Arc<tokio::sync::Mutex<()>> {
        let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        locks.retain(|_, lock| Arc::strong_count(lock) > 1);
        locks.entry(id.clone()).or_default().clone()
    }
}

impl Workspace {
    /// The tokens as they are stored.
    pub(crate) fn stored_tokens(&self, grant: &Grant) -> Result<Tokens, Problem> {
        let missing = || {
            Problem::new(ProblemKind::NotFound, "no-connection", "the connection was removed meanwhile")
                .hint("`executor connections list` shows those that there are")
        };
        let secret = self.shared.installation.secret(&self.name, &grant.tokens)?.ok_or_else(missing)?;
        serde_json::from_slice(secret.bytes()).map_err(|_| missing())
    }

    /// Waits until nobody else changes the tokens of a connection: whoever
    /// refreshes, replaces or revokes them holds this meanwhile.
    pub(crate) async fn token_turn(&self, grant: &Grant) -> OwnedMutexGuard<()> {
        self.shared.refreshing.of(&grant.tokens).lock_owned().await
    }

    /// Tokens that can be sent. `refused` is the generation of those that an
    /// upstream did not take. A refresh goes on in a task of its own: a caller
    /// that went away loses no token that the server has rotated.
    pub(crate) async fn fresh_tokens(
        &self,
        source: &SourceName,
        name: &ConnectionName,
        grant: &Grant,
        refused: Option<u64>,
    ) -> Result<Tokens, Problem> {
        let stored = self.stored_tokens(grant)?;
        if usable(&stored, refused, self.shared.now_ms()) {
            return Ok(stored);
        }
        let (workspace, source, name, grant) = (self.this(), source.clone(), name.clone(), grant.clone());
        let task = tokio::spawn(async move {
            let _turn = workspace.token_turn(&grant).await;
            let stored = workspace.stored_tokens(&grant)?;
            if usable(&stored, refused, workspace.shared.now_ms()) {
                return Ok(stored);
            }
            workspace.refresh_tokens(&source, &name, &grant, stored).await
        });
        task.await.unwrap_or_else(|_| Err(Problem::internal("a refresh broke")))
    }

    async fn refresh_tokens(
        &self,
        source: &SourceName,
        name: &ConnectionName,
        grant: &Grant,
        stored: Tokens,
    ) -> Result<Tokens, Problem> {
        let row = self.known_connection(source.as_str(), name.as_str())?;
        if row.state == EXPIRED {
            return Err(expired(source, name, "its authorization ended"));
        }
        let hosts = self.known_source(source.as_str())?.allowed_hosts;
        let mut client = self.grant_client(grant)?;
        let refreshed = match (grant.flow, &stored.refresh) {
            (Flow::ClientCredentials, _) => {
                self.own_tokens(&hosts, grant, &mut client).await.map_err(Refreshed::Problem)
            }
            // An upstream may say 401 of what is not allowed; the token has not
            // ended by anybody's word.
            (_, None) if stored.is_fresh(self.shared.now_ms()) => {
                Err(Refreshed::Problem(expired(source, name, "the API refuses its token")))
            }
            (_, None) => {
                Err(Refreshed::Ended("its token ended, and the server gave none to refresh it with".into()))
            }
            (_, Some(refresh)) => self.refreshed(&hosts, grant, &mut client, refresh, &stored.scopes).await,
        };
        match refreshed {
            Ok(tokens) => {
                let tokens = Tokens {
                    refresh: tokens.refresh.or(stored.refresh),
                    generation: stored.generation + 1,
                    ..tokens
                };
                self.keep_tokens(grant, &format!("{source}/{name}"), &tokens).await?;
                let client = Client { auth: client.auth, ..grant.client.clone() };
                let learnt = Grant { client, ..grant.clone() }.with(&tokens);
                if learnt != *grant {
                    self.store.update_connection(source, name, &row.state, Some(learnt.write())).await?;
                }
                Ok(tokens)
            }
            Err(Refreshed::Problem(problem)) => Err(problem),
            Err(Refreshed::Ended(why)) => {
                self.store.update_connection(source, name, EXPIRED, row.oauth).await?;
                tracing::info!(%source, connection = %name, why, "an authorization ended");
                Err(expired(source, name, &why))
            }
        }
    }

    async fn refreshed(
        &self,
        hosts: &[String],
        grant: &Grant,
        client: &mut KnownClient,
        refresh: &str,
        granted: &[String],
    ) -> Result<Tokens, Refreshed> {
        let servers = self.servers(hosts);
        let place = grant.endpoints.refresh.as_deref().or(grant.endpoints.token.as_deref());
        let url = servers.checked(place.unwrap_or_default()).map_err(Refreshed::Problem)?;
        let mut fields = vec![("grant_type", "refresh_token"), ("refresh_token", refresh)];
        fields.extend(grant.resource.as_deref().map(|resource| ("resource", resource)));
        // An answer that names no scopes means those granted before (RFC 6749,
        // section 6).
        let result = servers.tokens(&url, client, &fields, granted).await;
        result.map_err(|refusal| match refusal {
            Refusal::Refused { error, description } if ENDED.contains(&error.as_str()) => {
                let why = description.map(|text| format!(": {text}")).unwrap_or_default();
                Refreshed::Ended(format!("the authorization server takes its refresh token no more{why}"))
            }
            refusal => Refreshed::Problem(refused(&url, refusal)),
        })
    }

    /// Tokens for the client itself.
    pub(super) async fn own_tokens(
        &self,
        hosts: &[String],
        grant: &Grant,
        client: &mut KnownClient,
    ) -> Result<Tokens, Problem> {
        let servers = self.servers(hosts);
        let url = servers.checked(grant.endpoints.token.as_deref().unwrap_or_default())?;
        let scope = grant.scopes.join(" ");
        let mut fields = vec![("grant_type", "client_credentials")];
        if !scope.is_empty() {
            fields.push(("scope", &scope));
        }
        fields.extend(grant.resource.as_deref().map(|resource| ("resource", resource)));
        let result = servers.tokens(&url, client, &fields, &grant.scopes).await;
        result.map_err(|refusal| refused(&url, refusal))
    }

    /// The client of a grant, with its secret.
    pub(super) fn grant_client(&self, grant: &Grant) -> Result<KnownClient, Problem> {
        let secret = match &grant.client.secret {
            Some(id) => {
                let secret = self.shared.installation.secret(&self.name, id)?;
                secret.map(|secret| String::from_utf8_lossy(secret.bytes()).into_owned())
            }
            None => None,
        };
        let Client { id, auth, registered_at, .. } = grant.client.clone();
        Ok(KnownClient { id, secret, auth, registered_at })
    }

    /// Stores tokens; synced when this answers.
    pub(super) async fn keep_tokens(
        &self,
        grant: &Grant,
        label: &str,
        tokens: &Tokens,
    ) -> Result<(), Problem> {
        let sealed = Zeroizing::new(serde_json::to_string(tokens).unwrap_or_default());
        self.keep_secret(&grant.tokens, &format!("{label} tokens"), &sealed).await
    }

    pub(crate) async fn keep_secret(&self, id: &SecretId, label: &str, value: &str) -> Result<(), Problem> {
        let installation = &self.shared.installation;
        Ok(installation.put_secret(&self.name, id, label, value.as_bytes(), self.shared.now_ms()).await?)
    }

    /// A connection that was authorized anew is as it was, and can be used.
    pub(super) async fn reconnect(
        &self,
        source: &SourceName,
        name: &ConnectionName,
        grant: &Grant,
    ) -> Result<ConnectionView, Problem> {
        self.store.update_connection(source, name, OK, Some(grant.write())).await?;
        self.forget_use(source, name);
        Ok(connection_view(self.known_connection(source.as_str(), name.as_str())?))
    }

    /// Tells the authorization server that a connection's tokens are needed no
    /// more (RFC 7009), where it has a place for that. Whether it heard.
    pub(crate) async fn revoke(&self, hosts: &[String], grant: &Grant) -> Option<bool> {
        let servers = self.servers(hosts);
        let url = servers.checked(grant.endpoints.revocation.as_deref()?).ok()?;
        let tokens = self.stored_tokens(grant).ok()?;
        let client = self.grant_client(grant).ok()?;
        let (token, kind) = match &tokens.refresh {
            Some(refresh) => (refresh.as_str(), "refresh_token"),
            None => (tokens.access.as_str(), "access_token"),
        };
        let fields = [("token", token), ("token_type_hint", kind)];
        let heard = servers.post_form(&url, &client, &fields).await;
        Some(heard.is_ok_and(|fetched| (200..300).contains(&fetched.status)))
    }
}

enum Refreshed {
    /// It may work later, or is a mistake of somebody's.
    Problem(Problem),
    /// It will never work again.
    Ended(String),
}

fn usable(tokens: &Tokens, refused: Option<u64>, now_ms: i64) -> bool {
    match refused {
        Some(generation) => tokens.generation > generation,
        None => tokens.is_fresh(now_ms),
    }
}

/// A connection that a person has to authorize again.
pub(crate) fn expired(source: &SourceName, name: &ConnectionName, why: &str) -> Problem {
    Problem::new(
        ProblemKind::Unprocessable,
        "authorization-expired",
        format!("the connection {source}/{name} has to be authorized again: {why}"),
    )
    .hint(format!("`executor connections authorize {source} {name}`"))
}
