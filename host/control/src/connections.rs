//! Connections: one credential, or none, for a source, by name.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use executor_store::{ConnectionName, ConnectionRow, SourceName, SourceRow, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use crate::auth::{AuthMethod, AuthMethodView, Wanted, auth_method_view, wanted};
use crate::caller::Caller;
use crate::catalogue::Tool;
use crate::clock::rfc3339;
use crate::commands::ENVIRONMENT;
use crate::indexing::ConnectionIndex;
use crate::oauth::{Endpoints, Flow, Grant, OK};
use crate::once::Once;
use crate::page::{Page, PageQuery};
use crate::problem::{Problem, ProblemKind};
use crate::workspace::Workspace;

/// The name of a connection where none is given.
pub(crate) const DEFAULT: &str = "default";

/// Time to have its tokens revoked; it is removed in any case.
const REVOKING: Duration = Duration::from_secs(10);

/// A connection, without its values.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ConnectionView {
    /// Its source.
    pub source: String,
    /// Its name.
    pub name: String,
    /// The auth methods that it serves.
    pub methods: Vec<String>,
    /// Names of its values.
    pub variables: Vec<String>,
    /// Where its values may travel.
    pub origins: Vec<String>,
    /// `ok`, or `authorization-expired` where a person has to authorize it
    /// again.
    pub state: String,
    /// What it was authorized for, where it was by OAuth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oauth: Option<GrantView>,
    /// Its auth methods as they are pinned: where its values go.
    pub auth: Vec<AuthMethodView>,
    /// When it was added.
    pub created_at: String,
    /// What came of indexing its source with it, where that was waiting for a
    /// connection; told once, when the connection gets its values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indexed: Option<ConnectionIndex>,
}

/// What a connection was authorized for.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct GrantView {
    /// The flow.
    pub flow: Flow,
    /// As which client.
    pub client_id: String,
    /// The scopes that it has.
    pub scopes: Vec<String>,
    /// Those that were asked for and not granted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing_scopes: Vec<String>,
    /// Whether its tokens are got anew without a person; null where that is
    /// not known.
    pub refreshable: Option<bool>,
    /// The endpoints that it is pinned to.
    pub endpoints: Endpoints,
}

/// New values for a connection.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetConnection {
    /// Those that change.
    pub variables: BTreeMap<String, String>,
}

/// A connection to add.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddConnection {
    /// Its source.
    pub source: String,
    /// Its name; `default` by default.
    #[serde(default)]
    pub name: Option<String>,
    /// The auth methods; those that fit the values by default.
    #[serde(default)]
    pub methods: Option<Vec<String>>,
    /// Its values.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
}

/// Whether a connection works.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ConnectionCheck {
    /// `ok`, `rejected`, `unreachable` or `unchecked`.
    pub status: &'static str,
    /// In words.
    pub message: String,
    /// The tool that was called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
}

impl Workspace {
    /// The connections.
    ///
    /// # Errors
    /// When they can't be read.
    pub fn connections(&self, query: &PageQuery) -> Result<Page<ConnectionView>, Problem> {
        let views = self.store.connections(None)?.into_iter().map(connection_view).collect();
        query.page(views, |view: &ConnectionView| format!("{}/{}", view.source, view.name))
    }

    /// Adds a connection. Its values may travel to the source's origins as
    /// they are now, and nowhere else.
    ///
    /// # Errors
    /// When the source, a method or a variable is none, or a value is missing.
    pub async fn add_connection(
        &self,
        caller: &Caller,
        request: AddConnection,
        once: Option<Once>,
    ) -> Result<ConnectionView, Problem> {
        if let Some(key) = Once::earlier(once.as_ref(), |once| self.store.once(once))? {
            let (source, name) = key.split_once('/').unwrap_or((&key, DEFAULT));
            return Ok(connection_view(self.known_connection(source, name)?));
        }
        let source = self.known_source(&request.source)?;
        let name = self.free_connection(&source, request.name.as_deref().unwrap_or(DEFAULT))?;
        let methods = self.chosen_methods(&source, &request)?;
        let once = once.map(Once::into_store);
        let view = self.put_new_connection(&source, name, methods, &request.variables, None, once).await?;
        let what = json!({"source": view.source, "connection": view.name, "origins": view.origins});
        self.record(caller, "connection.add", what).await?;
        Ok(self.indexed_with(caller, view).await)
    }

    /// A name that no connection of the source has.
    pub(crate) fn free_connection(&self, source: &SourceRow, name: &str) -> Result<ConnectionName, Problem> {
        let name = ConnectionName::parse(name).map_err(|error| Problem::invalid(error.to_string()))?;
        if self.store.connection(&source.name, &name)?.is_none() {
            return Ok(name);
        }
        Err(taken(&source.name, &name))
    }

    /// Stores a connection and its values, the values first; if it is not
    /// stored, neither are they.
    pub(crate) async fn put_new_connection(
        &self,
        source: &SourceRow,
        name: ConnectionName,
        methods: Vec<String>,
        values: &BTreeMap<String, String>,
        grant: Option<&Grant>,
        once: Option<executor_store::Once>,
    ) -> Result<ConnectionView, Problem> {
        let auth = self.store.auth_methods(&source.name)?;
        let auth = auth.into_iter().filter(|row| methods.contains(&row.id)).collect();
        let variables: Vec<_> = values.keys().map(|variable| (variable.clone(), self.secret_id())).collect();
        let row = ConnectionRow {
            source: source.name.clone(),
            name,
            methods,
            variables,
            origins: source.origins.clone(),
            state: OK.into(),
            oauth: grant.map(Grant::write),
            auth,
            created_ms: self.shared.now_ms(),
        };
        let stored = self.store_with_values(&row, values, once).await;
        if let Err(problem) = stored {
            self.drop_secrets(&row).await?;
            return Err(problem);
        }
        Ok(connection_view(row))
    }

    async fn store_with_values(
        &self,
        row: &ConnectionRow,
        values: &BTreeMap<String, String>,
        once: Option<executor_store::Once>,
    ) -> Result<(), Problem> {
        for (variable, id) in &row.variables {
            let label = format!("{}/{} {variable}", row.source, row.name);
            let value = values.get(variable).map_or("", String::as_str);
            self.keep_secret(id, &label, value.trim_end_matches(['\r', '\n'])).await?;
        }
        self.store.add_connection(row.clone(), once).await.map_err(|error| match error {
            StoreError::Conflict { .. } => taken(&row.source, &row.name),
            other => other.into(),
        })
    }

    /// Gives a connection other values: where they may travel stays as it is.
    ///
    /// # Errors
    /// When there is no such connection, or it has no value of a name.
    pub async fn set_connection(
        &self,
        caller: &Caller,
        source: &str,
        name: &str,
        request: SetConnection,
    ) -> Result<ConnectionView, Problem> {
        let row = self.known_connection(source, name)?;
        if request.variables.is_empty() {
            return Err(Problem::invalid("there is no value to set").hint("--set NAME=- reads one"));
        }
        let mut variables = row.variables.clone();
        let methods = self.pinned_methods(&row)?;
        let methods: Vec<AuthMethod> = methods.iter().map(AuthMethod::read).collect();
        let served: Vec<&AuthMethod> = methods
            .iter()
            .filter(|method| row.methods.contains(&method.id) && !(method.is_oauth() && row.oauth.is_some()))
            .collect();
        let known: BTreeSet<String> = variables
            .iter()
            .map(|(variable, _)| variable.clone())
            .chain(wanted(&served).into_iter().map(|one| one.name))
            .collect();
        if let Some(unknown) = request.variables.keys().find(|name| !known.contains(*name)) {
            let hint = if known.is_empty() && row.oauth.is_some() {
                format!("it was made by OAuth: `executor connections authorize {source} {name}`")
            } else {
                format!("it takes: {}", known.into_iter().collect::<Vec<_>>().join(", "))
            };
            return Err(Problem::invalid(format!("{source}/{name} has no value {unknown:?}")).hint(hint));
        }
        for (variable, value) in &request.variables {
            let id = variables.iter().find(|(known, _)| known == variable).map(|(_, id)| id.clone());
            // One that was left out when it was added.
            let id = id.unwrap_or_else(|| {
                let id = self.secret_id();
                variables.push((variable.clone(), id.clone()));
                id
            });
            let label = format!("{source}/{name} {variable}");
            self.keep_secret(&id, &label, value.trim_end_matches(['\r', '\n'])).await?;
        }
        if variables.len() > row.variables.len() {
            self.store.set_variables(&row.source, &row.name, variables).await?;
        }
        self.forget_use(&row.source, &row.name);
        let set: Vec<&String> = request.variables.keys().collect();
        self.record(caller, "connection.set", json!({"source": source, "connection": name, "values": set}))
            .await?;
        Ok(self.indexed_with(caller, connection_view(row)).await)
    }

    /// The methods that a new connection serves: those that were named, else
    /// the one that its values fit.
    fn chosen_methods(&self, source: &SourceRow, request: &AddConnection) -> Result<Vec<String>, Problem> {
        let rows = self.store.auth_methods(&source.name)?;
        let methods: Vec<AuthMethod> = rows.iter().map(AuthMethod::read).collect();
        let known = || methods.iter().map(|method| method.id.as_str()).collect::<Vec<_>>().join(", ");
        let given: BTreeSet<&str> = request.variables.keys().map(String::as_str).collect();
        let chosen: Vec<&AuthMethod> = match &request.methods {
            Some(ids) => ids
                .iter()
                .map(|id| {
                    methods.iter().find(|method| method.id == *id).ok_or_else(|| {
                        Problem::invalid(format!("{} has no auth method {id:?}", source.name))
                            .hint(format!("it has: {}", known()))
                    })
                })
                .collect::<Result<_, _>>()?,
            None => {
                let fits = |method: &&AuthMethod| {
                    let all = wanted(&[method]);
                    let is_given = |one: &Wanted| one.optional || given.contains(one.name.as_str());
                    all.iter().all(is_given)
                        && given.iter().all(|name| all.iter().any(|one| one.name == *name))
                };
                match methods.iter().filter(fits).collect::<Vec<_>>().as_slice() {
                    [] if methods.len() == 1 => vec![&methods[0]],
                    [] if methods.is_empty() => {
                        return Err(Problem::new(
                            ProblemKind::Unprocessable,
                            "no-auth-methods",
                            format!(
                                "{} declares no way to sign in, so a connection has nothing to place",
                                source.name
                            ),
                        ));
                    }
                    [first, ..] => vec![*first],
                    [] => {
                        return Err(Problem::invalid(format!(
                            "no auth method of {} takes exactly these values",
                            source.name
                        ))
                        .hint(format!("choose with --auth: {}", known())));
                    }
                }
            }
        };
        check_values(&source.name, &chosen, &given)?;
        Ok(chosen.into_iter().map(|method| method.id.clone()).collect())
    }

    /// Checks the values that go along with an authorization: those of the
    /// other methods.
    pub(crate) fn check_other_values(
        &self,
        source: &SourceRow,
        methods: &[AuthMethod],
        named: &[String],
        values: &BTreeMap<String, String>,
    ) -> Result<(), Problem> {
        let mut others = Vec::new();
        for id in named {
            let method = methods.iter().find(|method| method.id == *id).ok_or_else(|| {
                let known: Vec<&str> = methods.iter().map(|method| method.id.as_str()).collect();
                Problem::invalid(format!("{} has no auth method {id:?}", source.name))
                    .hint(format!("it has: {}", known.join(", ")))
            })?;
            if !method.is_oauth() {
                others.push(method);
            }
        }
        check_values(&source.name, &others, &values.keys().map(String::as_str).collect())
    }

    /// Removes a connection and its values.
    ///
    /// # Errors
    /// When there is none of that name.
    pub async fn remove_connection(&self, caller: &Caller, source: &str, name: &str) -> Result<(), Problem> {
        let row = self.known_connection(source, name)?;
        let grant = Grant::read(row.oauth.as_deref());
        // A refresh under way would bring back tokens that nobody revokes.
        let _turn = match &grant {
            Some(grant) => Some(self.token_turn(grant).await),
            None => None,
        };
        let revoked = match &grant {
            Some(grant) => {
                let hosts = self.known_source(source)?.allowed_hosts;
                tokio::time::timeout(REVOKING, self.revoke(&hosts, grant)).await.unwrap_or(Some(false))
            }
            None => None,
        };
        self.drop_connection(&row).await?;
        let what = json!({"source": source, "connection": name, "revoked": revoked});
        self.record(caller, "connection.remove", what).await
    }

    pub(crate) async fn drop_connection(&self, row: &ConnectionRow) -> Result<(), Problem> {
        self.store.remove_connection(&row.source, &row.name).await?;
        self.forget_use(&row.source, &row.name);
        self.drop_secrets(row).await
    }

    /// Ends what goes on with a connection's values, and forgets what was
    /// agreed on with them: sessions, processes, watches.
    pub(crate) fn forget_use(&self, source: &SourceName, name: &ConnectionName) {
        self.end_use(source, Some(name));
        self.shared.cache.remove_tree(&format!("{}/{name}", self.pool(source)));
    }

    async fn drop_secrets(&self, row: &ConnectionRow) -> Result<(), Problem> {
        let grant = Grant::read(row.oauth.as_deref());
        let authorized =
            grant.into_iter().flat_map(|grant| grant.client.secret.into_iter().chain([grant.tokens]));
        let values = row.variables.iter().map(|(_, secret)| secret.clone());
        for secret in values.chain(authorized) {
            self.shared.installation.remove_secret(&self.name, &secret).await?;
        }
        Ok(())
    }

    pub(crate) fn known_connection(&self, source: &str, name: &str) -> Result<ConnectionRow, Problem> {
        let source = self.known_source(source)?;
        let known = self.store.connections(Some(&source.name))?;
        let names: Vec<String> = known.iter().map(|row| row.name.to_string()).collect();
        known.into_iter().find(|row| row.name.as_str() == name).ok_or_else(|| {
            let hint = if names.is_empty() {
                format!("`executor connections add {}` makes one", source.name)
            } else {
                format!("there is: {}", names.join(", "))
            };
            Problem::new(
                ProblemKind::NotFound,
                "no-connection",
                format!("{} has no connection {name}", source.name),
            )
            .hint(hint)
        })
    }

    /// Which connection a call uses: the named one, else the one named like
    /// the source, else `default`, else the only one, of those that serve the
    /// tool; never one of several by chance. A tool that takes no credential
    /// needs none.
    pub(crate) fn bind(&self, tool: &Tool, named: Option<&str>) -> Result<Option<ConnectionRow>, Problem> {
        if let Some(name) = named {
            return self.known_connection(tool.source.as_str(), name).map(Some);
        }
        let mut connections = self.store.connections(Some(&tool.source))?;
        let serve: Vec<ConnectionRow> = connections.iter().filter(|row| serves(row, tool)).cloned().collect();
        // Where none does, the one that would be used says what it lacks.
        if !serve.is_empty() {
            connections = serve;
        }
        let of_program = |row: &ConnectionRow| row.methods.iter().any(|method| method == ENVIRONMENT);
        match (unnamed(&connections, &tool.source), connections.as_slice()) {
            (Some(chosen), _) => Ok(Some(chosen.clone())),
            (None, several) if tool.row.auth.is_empty() && !several.iter().any(of_program) => Ok(None),
            (None, []) if tool.row.auth.is_empty() || tool.row.auth.iter().any(Vec::is_empty) => Ok(None),
            (None, []) => {
                Err(binding(format!("{} needs a connection, and {} has none", tool.path, tool.source))
                    .hint(format!("`executor connections add {}` makes one", tool.source)))
            }
            (None, several) => {
                let names: Vec<&str> = several.iter().map(|row| row.name.as_str()).collect();
                Err(binding(format!("{} has several connections, and none was named", tool.source)).hint(
                    format!(
                        "name one of {}: {{ connection: \"{}\" }} or --connection",
                        names.join(", "),
                        names[0]
                    ),
                ))
            }
        }
    }

    /// The connection that is used where none is named.
    pub(crate) fn unnamed_connection(&self, source: &SourceName) -> Result<Option<ConnectionRow>, Problem> {
        Ok(unnamed(&self.store.connections(Some(source))?, source).cloned())
    }
}

/// Whether a connection has all methods of an alternative of the tool, or the
/// tool takes calls without any.
fn serves(connection: &ConnectionRow, tool: &Tool) -> bool {
    let serves = |methods: &Vec<String>| methods.iter().all(|id| connection.methods.contains(id));
    tool.row.auth.is_empty() || tool.row.auth.iter().any(serves)
}

/// Every value that the methods need is there, and no other.
fn check_values(source: &SourceName, methods: &[&AuthMethod], given: &BTreeSet<&str>) -> Result<(), Problem> {
    for method in methods {
        method.check_supported()?;
    }
    let all = wanted(methods);
    let wanted: BTreeSet<&str> = all.iter().map(|one| one.name.as_str()).collect();
    let required: BTreeSet<&str> =
        all.iter().filter(|one| !one.optional).map(|one| one.name.as_str()).collect();
    let list = |names: Vec<&&str>| names.into_iter().copied().collect::<Vec<_>>().join(", ");
    let missing: Vec<_> = required.difference(given).collect();
    if !missing.is_empty() && methods.iter().any(|method| method.is_oauth()) {
        return Err(Problem::new(
            ProblemKind::Unprocessable,
            "connection-incomplete",
            format!("{source} is authorized by OAuth, and no token was given"),
        )
        .hint(format!(
            "`executor connections add {source}` has you sign in; by HTTP, POST to …/authorizations"
        )));
    }
    if !missing.is_empty() {
        return Err(Problem::new(
            ProblemKind::Unprocessable,
            "connection-incomplete",
            format!("a value is missing for {}", list(missing)),
        )
        .hint("--set NAME=- reads it from standard input; without --set it is asked for"));
    }
    let unknown: Vec<_> = given.difference(&wanted).collect();
    if !unknown.is_empty() {
        return Err(Problem::invalid(format!("there is no value named {}", list(unknown)))
            .hint(format!("the method takes: {}", list(wanted.iter().collect()))));
    }
    Ok(())
}

/// The connection that is used where none is named: the one named like the
/// source, else `default`, else the only one.
fn unnamed<'c>(connections: &'c [ConnectionRow], source: &SourceName) -> Option<&'c ConnectionRow> {
    let by_name = |name: &str| connections.iter().find(|row| row.name.as_str() == name);
    by_name(source.as_str()).or_else(|| by_name(DEFAULT)).or(match connections {
        [only] => Some(only),
        _ => None,
    })
}

fn taken(source: &SourceName, name: &ConnectionName) -> Problem {
    Problem::new(
        ProblemKind::Conflict,
        "connection-exists",
        format!("{source} has a connection {name} already"),
    )
    .hint(format!("remove it with `executor connections remove {source} {name}`, or choose another --name"))
}

pub(crate) fn binding(message: String) -> Problem {
    Problem::new(ProblemKind::Unprocessable, "binding", message)
}

pub(crate) fn connection_view(row: ConnectionRow) -> ConnectionView {
    let oauth = Grant::read(row.oauth.as_deref()).map(|grant| GrantView {
        missing_scopes: grant.missing(),
        scopes: if grant.granted.is_empty() { grant.scopes } else { grant.granted },
        refreshable: grant.refreshable,
        flow: grant.flow,
        client_id: grant.client.id,
        endpoints: grant.endpoints,
    });
    ConnectionView {
        oauth,
        auth: row.auth.iter().map(auth_method_view).collect(),
        source: row.source.to_string(),
        name: row.name.to_string(),
        methods: row.methods,
        variables: row.variables.into_iter().map(|(name, _)| name).collect(),
        origins: row.origins,
        state: row.state,
        created_at: rfc3339(row.created_ms),
        indexed: None,
    }
}
