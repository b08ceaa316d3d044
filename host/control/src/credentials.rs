//! What a connection's values become when a call is made: credentials that
//! the egress places, where the call may go.

use std::sync::Arc;

use executor_runtime::{Credential, Origin, Renewal, Scope, Secret};
use executor_store::{AuthMethodRow, ConnectionRow};
use futures::future::BoxFuture;

use crate::auth::{AuthMethod, places_alike, qualified};
use crate::catalogue::Tool;
use crate::connections::binding;
use crate::invoke::Bound;
use crate::oauth::{EXPIRED, Grant, Tokens, expired};
use crate::problem::Problem;
use crate::workspace::Workspace;

impl Workspace {
    /// A tool call's reach with the connection's values in it.
    pub(crate) fn credential(
        &self,
        tool: &Tool,
        connection: &ConnectionRow,
        tokens: Option<&Tokens>,
    ) -> Result<Option<Credential>, Problem> {
        let serves = |alternative: &&Vec<String>| {
            !alternative.is_empty() && alternative.iter().all(|id| connection.methods.contains(id))
        };
        let Some(alternative) = tool.row.auth.iter().find(serves) else {
            return if tool.row.auth.is_empty() || tool.row.auth.iter().any(Vec::is_empty) {
                Ok(None)
            } else {
                let needs: Vec<String> = tool.row.auth.iter().map(|methods| methods.join(" with ")).collect();
                Err(binding(format!(
                    "the connection {} signs in by {}, and {} needs {}",
                    connection.name,
                    connection.methods.join(", "),
                    tool.path,
                    needs.join(" or ")
                )))
            };
        };
        self.filled(connection, alternative, tokens).map(Some)
    }

    /// A connection's values, as what some of its methods place.
    fn filled(
        &self,
        connection: &ConnectionRow,
        alternative: &[String],
        tokens: Option<&Tokens>,
    ) -> Result<Credential, Problem> {
        let grant = Grant::read(connection.oauth.as_deref());
        if connection.state == EXPIRED && grant.is_some() {
            return Err(expired(&connection.source, &connection.name, "its authorization ended"));
        }
        let value = |method: &str, name: &str| {
            let called = |wanted: &str| connection.variables.iter().find(|(variable, _)| variable == wanted);
            let (_, id) = called(&qualified(method, name)).or_else(|| called(name))?;
            let secret = self.shared.installation.secret(&self.name, id).ok().flatten()?;
            String::from_utf8(secret.bytes().to_vec()).ok()
        };
        let rows = self.pinned_methods(connection)?;
        let (mut methods, mut secrets): (Vec<_>, Vec<Secret>) = (Vec::new(), Vec::new());
        for row in rows.iter().filter(|row| alternative.contains(&row.id)) {
            let authorized = grant.as_ref().filter(|grant| grant.method == row.id);
            let (method, found) = match (authorized, tokens) {
                (Some(grant), None) => {
                    let stored = self.stored_tokens(grant)?;
                    AuthMethod::read(row).fill(&|_: &str| Some(stored.access.clone()))?
                }
                (Some(_), Some(tokens)) => {
                    AuthMethod::read(row).fill(&|_: &str| Some(tokens.access.clone()))?
                }
                (None, _) => AuthMethod::read(row).fill(&|name: &str| value(&row.id, name))?,
            };
            methods.push(method);
            secrets.extend(found);
        }
        let origins = connection.origins.iter().filter_map(|origin| Origin::parse(origin).ok());
        Ok(Credential {
            connection: connection.name.to_string(),
            origins: origins.collect(),
            methods,
            default_methods: alternative.to_vec(),
            secrets,
            renewal: None,
            generation: tokens.map_or(0, |tokens| tokens.generation),
        })
    }

    /// A connection's auth methods as they were when it was added: a refresh
    /// of the source moves no value to another place, and calls none public.
    pub(crate) fn pinned_methods(&self, connection: &ConnectionRow) -> Result<Vec<AuthMethodRow>, Problem> {
        if connection.auth.is_empty() {
            return Ok(self.store.auth_methods(&connection.source)?);
        }
        Ok(connection.auth.clone())
    }

    /// The first method of a connection that its source declares otherwise by
    /// now.
    pub(crate) fn outdated_method(&self, connection: &ConnectionRow) -> Option<String> {
        let now = self.store.auth_methods(&connection.source).ok()?;
        let differs =
            |pinned: &&AuthMethodRow| now.iter().any(|row| row.id == pinned.id && !places_alike(row, pinned));
        connection.auth.iter().find(differs).map(|row| row.id.clone())
    }

    /// A connection's values, as what all its methods place: for an index, of
    /// which no tool says what it takes.
    pub(crate) async fn whole_credential(&self, connection: &ConnectionRow) -> Result<Credential, Problem> {
        let Some(grant) = Grant::read(connection.oauth.as_deref()) else {
            return self.filled(connection, &connection.methods, None);
        };
        let tokens = self.fresh_tokens(&connection.source, &connection.name, &grant, None).await?;
        let credential = self.filled(connection, &connection.methods, Some(&tokens))?;
        Ok(self.renewable(credential, connection, grant))
    }

    /// Where a call may go, and what would be placed into its requests. Its
    /// tokens may have expired: it is for showing.
    pub(crate) fn shown_scope(&self, bound: &Bound) -> Result<Scope, Problem> {
        let mut scope = self.reach(&bound.source)?;
        if let Some(connection) = &bound.connection {
            scope.credential = self.credential(&bound.tool, connection, None)?;
        }
        Ok(scope)
    }

    /// Where a call may go, and what is placed into its requests: tokens are
    /// fresh, and are renewed where the upstream takes them no more.
    pub(crate) async fn scope(&self, bound: &Bound) -> Result<Scope, Problem> {
        let mut scope = self.reach(&bound.source)?;
        let Some(connection) = &bound.connection else { return Ok(scope) };
        let Some(grant) = Grant::read(connection.oauth.as_deref()) else {
            scope.credential = self.credential(&bound.tool, connection, None)?;
            return Ok(scope);
        };
        let tokens = self.fresh_tokens(&connection.source, &connection.name, &grant, None).await?;
        let credential = self.credential(&bound.tool, connection, Some(&tokens))?;
        scope.credential = credential.map(|credential| self.renewable(credential, connection, grant));
        Ok(scope)
    }

    /// A credential that is refreshed where an upstream refuses it, and what
    /// it becomes too.
    fn renewable(&self, credential: Credential, connection: &ConnectionRow, grant: Grant) -> Credential {
        let (workspace, connection) = (self.this(), connection.clone());
        let (placed, refused) = (credential.default_methods.clone(), credential.generation);
        let method = grant.method.clone();
        let ask = Arc::new(move || {
            let (workspace, placed, connection, grant) =
                (workspace.clone(), placed.clone(), connection.clone(), grant.clone());
            Box::pin(async move {
                let (source, name) = (&connection.source, &connection.name);
                let tokens = workspace.fresh_tokens(source, name, &grant, Some(refused)).await;
                let tokens =
                    tokens.inspect_err(|problem| tracing::info!(%problem, "a token was not renewed"));
                let newer = workspace.filled(&connection, &placed, Some(&tokens.ok()?)).ok()?;
                Some(workspace.renewable(newer, &connection, grant))
            }) as BoxFuture<'static, Option<Credential>>
        });
        Credential { renewal: Some(Renewal { method, ask }), ..credential }
    }
}
