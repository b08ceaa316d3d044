//! A person authorizes a connection: begun here, answered in a browser, on
//! another device, or not at all where the client is its own owner.

use std::collections::BTreeMap;

use executor_store::{ConnectionName, Digest, SecretId, SourceRow};
use serde_json::json;

use super::answer::{Refusal, shown};
use super::authorization::{
    AuthorizationView, BeginAuthorization, Callback, FinishAuthorization, OauthChoices,
};
use super::config::OauthConfig;
use super::discover::Discovered;
use super::exchange::{KnownClient, refused};
use super::grant::{ClientAuth, Flow, Grant, Tokens};
use super::pending::{Entry, LIFETIME_MS, Open};
use super::reply::{check_issuer, pasted};
use super::request::{RESERVED, authorization_url, redirect, secret_text};
use crate::auth::AuthMethod;
use crate::caller::Caller;
use crate::clock::rfc3339;
use crate::connections::{ConnectionView, DEFAULT};
use crate::control::Control;
use crate::policies::random;
use crate::problem::{Problem, ProblemKind};
use crate::workspace::Workspace;

/// A connection that is to be.
#[derive(Clone)]
pub(super) struct Draft {
    pub(super) source: SourceRow,
    pub(super) name: ConnectionName,
    pub(super) methods: Vec<String>,
    pub(super) variables: BTreeMap<String, String>,
    pub(super) grant: Grant,
    pub(super) client: KnownClient,
    /// Whether the connection exists already.
    pub(super) again: bool,
}

impl Workspace {
    /// Begins to authorize a connection. `base` is where the daemon listens.
    ///
    /// # Errors
    /// When the source offers no OAuth, its endpoints can't be found, or a
    /// client has to be named.
    pub async fn begin_authorization(
        &self,
        caller: &Caller,
        base: &str,
        request: BeginAuthorization,
    ) -> Result<AuthorizationView, Problem> {
        let redirect = redirect(base, request.oauth.redirect_uri.as_deref())?;
        if let Some(name) = request.oauth.parameters.keys().find(|name| RESERVED.contains(&name.as_str())) {
            return Err(Problem::invalid(format!("{name:?} is the host's own parameter")));
        }
        let draft = self.draft(request, &redirect).await?;
        let mut id = [0; 16];
        getrandom::fill(&mut id).expect("the operating system gives randomness");
        let view = self.waiting(hex::encode(id), &draft);
        match draft.grant.flow {
            Flow::ClientCredentials => {
                let connection = self.own(caller, draft).await?;
                let mut view = view;
                view.connected(connection);
                Ok(view)
            }
            Flow::DeviceCode => self.begin_device(caller, draft, view).await,
            Flow::AuthorizationCode => self.begin_code(caller, draft, view, redirect),
        }
    }

    /// How an authorization stands.
    ///
    /// # Errors
    /// When there is none of that id.
    pub fn authorization(&self, id: &str) -> Result<AuthorizationView, Problem> {
        self.shared.pending.view(self.name.as_str(), id, self.shared.now_ms())
    }

    /// Gives an authorization up.
    ///
    /// # Errors
    /// When there is none of that id.
    pub fn cancel_authorization(&self, id: &str) -> Result<(), Problem> {
        self.shared.pending.remove(self.name.as_str(), id)
    }

    /// Ends an authorization with what a person copied from the browser.
    ///
    /// # Errors
    /// When it holds no code, belongs to another authorization, or the code is
    /// not taken.
    pub async fn finish_authorization(
        &self,
        id: &str,
        request: FinishAuthorization,
    ) -> Result<AuthorizationView, Problem> {
        self.authorization(id)?;
        let pasted = pasted(&request.address)?;
        if !pasted.state.is_empty() && !self.shared.pending.has_state(id, &pasted.state) {
            return Err(Problem::invalid("this address is of another authorization")
                .hint("copy the one at which the browser ended after the last link was opened"));
        }
        if pasted.is_code_alone() && self.shared.pending.names_issuer(id) {
            return Err(Problem::invalid(
                "this server names itself in its answers, and a code alone does not",
            )
            .hint("copy the whole address at which the browser ended"));
        }
        let (_, caller, open) = self.shared.pending.take(id, self.shared.now_ms())?;
        self.answered(id, caller, open, pasted).await?;
        self.authorization(id)
    }

    async fn draft(&self, request: BeginAuthorization, redirect: &str) -> Result<Draft, Problem> {
        let source = self.known_source(&request.source)?;
        if request.again {
            return self.draft_again(source, request, redirect).await;
        }
        let name = request.name.as_deref().unwrap_or(DEFAULT);
        let name = self.free_connection(&source, name)?;
        let (methods, method) = self.oauth_methods(&source, &request)?;
        let (id, config) = (method.id.clone(), method.oauth().clone());
        let flow = chosen_flow(&config, request.oauth.flow, &id)?;
        let servers = self.servers(&source.allowed_hosts);
        let found = servers.discover(&config, flow).await?;
        check_pkce(&config, &found, flow)?;
        let client = servers.client(&found, &request.oauth, flow, redirect).await?;
        if flow == Flow::ClientCredentials && client.secret.is_none() {
            return Err(Problem::new(
                ProblemKind::Unprocessable,
                "client-needed",
                "client credentials are an id and a secret, and there is no secret",
            )
            .hint("give --client-secret -"));
        }
        let scopes = match &request.oauth.scopes {
            Some(scopes) => scopes.clone(),
            None => self.default_scopes(&source.name, &id, &config, &found, flow)?,
        };
        let secret = client.secret.as_ref().map(|_| self.secret_id());
        let grant = Grant {
            method: id,
            flow,
            endpoints: found.endpoints.clone(),
            client: client.kept(secret),
            resource: found.resource.clone(),
            scopes,
            granted: Vec::new(),
            refreshable: None,
            parameters: request.oauth.parameters,
            tokens: self.secret_id(),
            issuer_required: found
                .metadata
                .as_ref()
                .is_some_and(|it| it.authorization_response_iss_parameter_supported),
        };
        let variables = request.variables;
        Ok(Draft { source, name, methods, variables, grant, client, again: false })
    }

    /// What was pinned stays as it is; scopes may be added, and the client may
    /// be another one: servers forget those that registered themselves, and
    /// people replace secrets.
    async fn draft_again(
        &self,
        source: SourceRow,
        request: BeginAuthorization,
        redirect: &str,
    ) -> Result<Draft, Problem> {
        let row = self.known_connection(&request.source, request.name.as_deref().unwrap_or(DEFAULT))?;
        let mut grant = Grant::read(row.oauth.as_deref()).ok_or_else(|| {
            Problem::invalid(format!("{}/{} was not made by OAuth", row.source, row.name))
                .hint("`executor connections set` gives its values anew")
        })?;
        let choices = request.oauth;
        let other_flow = choices.flow.is_some_and(|flow| flow != grant.flow);
        if other_flow || choices.client_metadata_url.is_some() || !request.variables.is_empty() {
            return Err(Problem::invalid(format!(
                "{}/{} stays authorized by the flow that it has, and its values stay",
                row.source, row.name
            ))
            .hint(
                "remove the connection and add it for another flow; `executor connections set` gives values",
            ));
        }
        // What the server did not grant is not asked for again, unless the person
        // says so.
        let missing = grant.missing();
        grant.scopes.retain(|scope| !missing.contains(scope));
        for scope in choices.scopes.iter().flatten() {
            if !grant.scopes.contains(scope) {
                grant.scopes.push(scope.clone());
            }
        }
        grant.parameters.extend(choices.parameters.clone());
        let client = self.client_again(&source, &grant, &choices, redirect).await?;
        let secret = grant.client.secret.clone().or_else(|| Some(self.secret_id()));
        grant.client = client.kept(secret.filter(|_| client.secret.is_some()));
        let (name, methods) = (row.name, row.methods);
        Ok(Draft { source, name, methods, variables: BTreeMap::new(), grant, client, again: true })
    }

    /// The client of a connection that is authorized again: as the person says
    /// now, else registered anew where executor had registered it, else as it
    /// was.
    async fn client_again(
        &self,
        source: &SourceRow,
        grant: &Grant,
        choices: &OauthChoices,
        redirect: &str,
    ) -> Result<KnownClient, Problem> {
        let known = self.grant_client(grant)?;
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let (id, secret) = (given(&choices.client_id), given(&choices.client_secret));
        if id.is_some() || secret.is_some() {
            let (id, secret) = (id.unwrap_or_else(|| known.id.clone()), secret.or(known.secret));
            let auth = match (known.auth, &secret) {
                (_, None) => ClientAuth::None,
                (ClientAuth::None, Some(_)) => ClientAuth::ClientSecretBasic,
                (auth, Some(_)) => auth,
            };
            return Ok(KnownClient { id, secret, auth, registered_at: None });
        }
        let Some(place) = &known.registered_at else { return Ok(known) };
        let servers = self.servers(&source.allowed_hosts);
        let found = Discovered { endpoints: grant.endpoints.clone(), ..Discovered::default() };
        match servers.register(place, &found, grant.flow, redirect).await {
            Ok(client) => Ok(client),
            Err(problem) => {
                tracing::info!(%problem, source = %source.name, "the client that is registered is used again");
                Ok(known)
            }
        }
    }

    /// The methods of a new connection, and the one of them by OAuth.
    fn oauth_methods(
        &self,
        source: &SourceRow,
        request: &BeginAuthorization,
    ) -> Result<(Vec<String>, AuthMethod), Problem> {
        let rows = self.store.auth_methods(&source.name)?;
        let methods: Vec<AuthMethod> = rows.iter().map(AuthMethod::read).collect();
        let by_oauth: Vec<&AuthMethod> = methods.iter().filter(|method| method.is_oauth()).collect();
        let named = match &request.methods {
            Some(named) => named.clone(),
            None => match by_oauth.as_slice() {
                [only] => vec![only.id.clone()],
                [] => {
                    let known: Vec<&str> = methods.iter().map(|method| method.id.as_str()).collect();
                    return Err(Problem::new(
                        ProblemKind::Unprocessable,
                        "auth-unsupported",
                        format!("{} offers no OAuth", source.name),
                    )
                    .hint(format!("it has: {}", known.join(", "))));
                }
                several => {
                    let known: Vec<&str> = several.iter().map(|method| method.id.as_str()).collect();
                    return Err(Problem::invalid(format!("{} has several ways to authorize", source.name))
                        .hint(format!("choose with --auth: {}", known.join(", "))));
                }
            },
        };
        self.check_other_values(source, &methods, &named, &request.variables)?;
        let chosen = named.iter().filter_map(|id| by_oauth.iter().find(|method| method.id == *id));
        let chosen: Vec<&&AuthMethod> = chosen.collect();
        let [method] = chosen.as_slice() else {
            return Err(Problem::invalid("a connection is authorized by exactly one method of OAuth"));
        };
        let id = method.id.clone();
        let method = methods.into_iter().find(|method| method.id == id);
        Ok((named, method.ok_or_else(|| Problem::internal("an auth method went away"))?))
    }

    fn begin_code(
        &self,
        caller: &Caller,
        draft: Draft,
        mut view: AuthorizationView,
        redirect: String,
    ) -> Result<AuthorizationView, Problem> {
        let (state, verifier) = (secret_text(), secret_text());
        view.url = Some(authorization_url(&draft.grant, &redirect, &state, &verifier)?);
        let open = Open { draft, verifier, redirect };
        self.wait(caller, &view, Some(open), Some(&state));
        Ok(view)
    }

    pub(super) fn wait(
        &self,
        caller: &Caller,
        view: &AuthorizationView,
        open: Option<Open>,
        state: Option<&str>,
    ) {
        let now_ms = self.shared.now_ms();
        let entry = Entry {
            workspace: self.name.to_string(),
            caller: caller.clone(),
            view: view.clone(),
            open: open.map(Box::new),
            state: state.map(|state| Digest::of(state.as_bytes())),
            poll: None,
            expires_ms: now_ms + LIFETIME_MS,
        };
        self.shared.pending.insert(view.id.clone(), entry, now_ms);
    }

    fn waiting(&self, id: String, draft: &Draft) -> AuthorizationView {
        AuthorizationView {
            id,
            source: draft.source.name.to_string(),
            name: draft.name.to_string(),
            status: "waiting",
            flow: draft.grant.flow,
            endpoints: draft.grant.endpoints.clone(),
            origins: draft.source.origins.clone(),
            scopes: draft.grant.scopes.clone(),
            client_id: draft.grant.client.id.clone(),
            url: None,
            user_code: None,
            expires_at: rfc3339(self.shared.now_ms() + LIFETIME_MS),
            connection: None,
            error: None,
        }
    }

    /// The client asks for itself.
    async fn own(&self, caller: &Caller, draft: Draft) -> Result<ConnectionView, Problem> {
        let mut client = draft.client.clone();
        let tokens = self.own_tokens(&draft.source.allowed_hosts, &draft.grant, &mut client).await?;
        let draft = Draft { client, ..draft };
        self.connect(caller, draft, tokens).await
    }

    /// What the authorization server, or a person, brought: the code is
    /// exchanged by a task of its own, which a browser that goes away does not
    /// end.
    async fn answered(
        &self,
        id: &str,
        caller: Caller,
        open: Box<Open>,
        callback: Callback,
    ) -> Result<ConnectionView, Problem> {
        let (workspace, id) = (self.this(), id.to_owned());
        let task = tokio::spawn(async move {
            let outcome = workspace.exchange(&caller, *open, callback).await;
            workspace.shared.pending.settle(&id, &outcome);
            outcome
        });
        task.await.unwrap_or_else(|_| Err(Problem::internal("the exchange of the code broke")))
    }

    async fn exchange(
        &self,
        caller: &Caller,
        open: Open,
        callback: Callback,
    ) -> Result<ConnectionView, Problem> {
        let Open { mut draft, verifier, redirect } = open;
        check_issuer(&draft.grant.endpoints, draft.grant.issuer_required, callback.iss.as_deref())?;
        let servers = self.servers(&draft.source.allowed_hosts);
        let url = servers.checked(draft.grant.endpoints.token.as_deref().unwrap_or_default())?;
        let code = callback.code.filter(|code| !code.is_empty());
        let Some(code) = code else {
            let error = callback.error.as_deref().map_or_else(|| "no code".to_owned(), shown);
            let description = callback.error_description.as_deref().map(shown);
            return Err(refused(&url, Refusal::Refused { error, description }));
        };
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", &code),
            ("redirect_uri", &redirect),
            ("code_verifier", &verifier),
        ];
        fields.extend(draft.grant.resource.as_deref().map(|resource| ("resource", resource)));
        let tokens = servers
            .tokens(&url, &mut draft.client, &fields, &draft.grant.scopes)
            .await
            .map_err(|refusal| refused(&url, refusal))?;
        self.connect(caller, draft, tokens).await
    }

    /// Makes the connection of a draft, or gives it its new tokens.
    pub(super) async fn connect(
        &self,
        caller: &Caller,
        draft: Draft,
        tokens: Tokens,
    ) -> Result<ConnectionView, Problem> {
        let again = draft.again;
        let mut grant = draft.grant.clone().with(&tokens);
        grant.client.auth = draft.client.auth;
        let scopes = tokens.scopes.clone();
        let view = self.keep(draft, &grant, tokens).await?;
        let what = json!({
            "source": view.source, "connection": view.name, "origins": view.origins,
            "endpoints": grant.endpoints, "scopes": scopes, "flow": grant.flow,
        });
        let action = if again { "connection.authorize" } else { "connection.add" };
        self.record(caller, action, what).await?;
        Ok(self.indexed_with(caller, view).await)
    }

    /// Stores what was authorized, while nobody refreshes it.
    async fn keep(&self, draft: Draft, grant: &Grant, tokens: Tokens) -> Result<ConnectionView, Problem> {
        let Draft { source, name, methods, variables, client, again, .. } = draft;
        let _turn = self.token_turn(grant).await;
        let label = format!("{}/{name}", source.name);
        let mut tokens = tokens;
        let before = match again {
            true => Grant::read(self.known_connection(source.name.as_str(), name.as_str())?.oauth.as_deref()),
            false => None,
        };
        if let Some(before) = &before {
            tokens.generation = self.stored_tokens(before)?.generation + 1;
        }
        self.keep_tokens(grant, &label, &tokens).await?;
        if let (Some(id), Some(secret)) = (&grant.client.secret, &client.secret) {
            self.keep_secret(id, &format!("{label} client secret"), secret).await?;
        }
        let Some(before) = before else {
            return self.put_new_connection(&source, name, methods, &variables, Some(grant), None).await;
        };
        let view = self.reconnect(&source.name, &name, grant).await?;
        if let (Some(secret), None) = (before.client.secret, &grant.client.secret) {
            self.shared.installation.remove_secret(&self.name, &secret).await?;
        }
        Ok(view)
    }

    pub(crate) fn secret_id(&self) -> SecretId {
        SecretId::new(self.shared.now_ms(), random())
    }
}

impl Control {
    /// Takes what an authorization server sent the browser back with.
    ///
    /// # Errors
    /// When it is about no authorization that is under way, or the person or
    /// the server said no.
    pub async fn authorization_callback(&self, callback: Callback) -> Result<ConnectionView, Problem> {
        let shared = self.shared();
        let id = shared.pending.find(&callback.state)?;
        let (workspace, caller, open) = shared.pending.take(&id, self.now_ms())?;
        let place = self.workspace(&caller, &workspace)?;
        place.answered(&id, caller, open, callback).await
    }
}

fn chosen_flow(config: &OauthConfig, chosen: Option<Flow>, method: &str) -> Result<Flow, Problem> {
    if config.is_discovered() {
        return Ok(chosen.unwrap_or(Flow::AuthorizationCode));
    }
    let offered: Vec<Flow> = config.all().filter_map(OauthConfig::known_flow).collect();
    match chosen {
        Some(flow) if offered.contains(&flow) => Ok(flow),
        Some(_) => Err(Problem::invalid(format!("{method:?} does not offer that flow"))
            .hint("`executor sources show` lists the flows")),
        None => offered.first().copied().ok_or_else(|| {
            let legacy: Vec<&str> = config.all().filter_map(|one| one.flow.as_deref()).collect();
            Problem::new(
                ProblemKind::Unprocessable,
                "auth-unsupported",
                format!("{method:?} offers only {}, which is not safe any more", legacy.join(" and ")),
            )
            .hint("get a token from the API's own site, and give it with --set token=-")
        }),
    }
}

/// A server of the newer kind has to say that it takes code challenges.
fn check_pkce(config: &OauthConfig, found: &Discovered, flow: Flow) -> Result<(), Problem> {
    let Some(metadata) = found.metadata.as_ref().filter(|_| flow == Flow::AuthorizationCode) else {
        return Ok(());
    };
    let methods = metadata.code_challenge_methods_supported.as_deref();
    let refuses = match methods {
        Some(methods) => !methods.iter().any(|method| method == "S256"),
        None => config.resource.is_some(),
    };
    if refuses {
        return Err(Problem::new(
            ProblemKind::Unprocessable,
            "authorization-invalid",
            format!("{} does not take code challenges (PKCE with S256)", shown(&metadata.issuer)),
        )
        .hint("a code could be stolen on its way; a token that you have can be given with --set token=-"));
    }
    Ok(())
}
