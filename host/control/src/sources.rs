//! Sources: APIs that were added to a workspace, and how they become tools.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use executor_runtime::memory;
use executor_runtime::{DocumentFiles, HostPort, Indexed, Origin, Scope};
use executor_store::{SourceName, SourceRow, Staged};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::auth::{AuthMethodView, auth_method_view};
use crate::caller::Caller;
use crate::clock::rfc3339;
use crate::commands::{CommandInput, CommandView};
use crate::components::Grant;
use crate::detection::HINT_CHARS;
use crate::discovery::shown;
use crate::document::{DocumentInput, shown_url};
use crate::indexing::{Indexing, SIGN_IN_NEEDED};
use crate::once::Once;
use crate::page::{Page, PageQuery};
use crate::problem::{Problem, ProblemKind};
use crate::source_settings::{base_origin, parse_origin};
use crate::trust::settle_hints;
use crate::workspace::Workspace;

/// A source to add.
#[derive(Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddSource {
    /// A URL to fetch.
    #[serde(default)]
    pub url: Option<String>,
    /// Or a document.
    #[serde(default)]
    pub document: Option<DocumentInput>,
    /// Or a program of the daemon's machine, which is run; for whoever runs
    /// the installation.
    #[serde(default)]
    pub command: Option<CommandInput>,
    /// What the program gets in its environment: the values of a connection
    /// `default`. Other connections give others.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Its name; one made from the document by default.
    #[serde(default)]
    pub name: Option<String>,
    /// The kind of adapter; the one that is surest by default.
    #[serde(default)]
    pub kind: Option<String>,
    /// Settings of the adapter: `base_url`, …
    #[serde(default)]
    pub settings: Map<String, Value>,
    /// Hosts whose special addresses are granted: `localhost:4010`.
    #[serde(default)]
    pub allow_hosts: Vec<String>,
    /// Origins that requests may go to, beside those of the document.
    #[serde(default)]
    pub allow_origins: Vec<String>,
    /// Whether its own hints count.
    #[serde(default)]
    pub trusted: bool,
}

/// A source in a line.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SourceView {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// Its title.
    pub title: String,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// How many tools it has.
    pub tool_count: u64,
    /// How many warnings there were.
    pub warning_count: u64,
    /// Its adapter.
    pub adapter: String,
    /// When it was added.
    pub created_at: String,
    /// When it was last indexed.
    pub refreshed_at: String,
    /// How many connections it has.
    pub connections: usize,
    /// How many writes a refresh brought that nobody has seen.
    pub unreviewed: u64,
}

/// A source in full.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SourceDetail {
    /// In a line.
    #[serde(flatten)]
    pub source: SourceView,
    /// Where its requests may go.
    pub origins: Vec<String>,
    /// Hosts whose special addresses were granted.
    pub allowed_hosts: Vec<String>,
    /// How its calls go over the wire, where its adapter says so: `http`,
    /// `streamable-http`, `sse`, `stdio`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// The revision of the protocol that it speaks, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// How one can sign in.
    pub auth_methods: Vec<AuthMethodView>,
    /// What was left out of it, and why.
    pub warnings: Vec<WarningView>,
    /// Its connections.
    pub connection_names: Vec<String>,
    /// Its adapter's settings.
    pub settings: Value,
    /// Where its document is from; of a query it is shown that there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document_url: Option<String>,
    /// The files that its document is, its own first, where it is several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub document_files: Vec<String>,
    /// The program that it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandView>,
}

/// Something that was left out of a source.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct WarningView {
    /// The tool it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// A stable code.
    pub code: String,
    /// What and why.
    pub message: String,
}

/// A source that was added.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SourceAdded {
    /// The source.
    pub source: SourceDetail,
    /// From the request to callable tools.
    pub elapsed_ms: u64,
    /// How its description was found, where it was not just at the URL.
    pub notes: Vec<String>,
    /// What a person may do now.
    pub next: Vec<String>,
}

/// How far an index is.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ProgressView {
    /// Done.
    pub done: u64,
    /// Of so many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Of what.
    pub what: String,
}

/// Hears of an index's progress.
pub type ProgressSink = Arc<dyn Fn(ProgressView) + Send + Sync>;

impl Workspace {
    /// The sources.
    ///
    /// # Errors
    /// When they can't be read.
    pub fn sources(&self) -> Result<Vec<SourceView>, Problem> {
        self.store.sources()?.into_iter().map(|row| self.source_view(&row)).collect()
    }

    /// A page of the sources.
    ///
    /// # Errors
    /// When they can't be read.
    pub fn sources_page(&self, query: &PageQuery) -> Result<Page<SourceView>, Problem> {
        query.page(self.sources()?, |view: &SourceView| view.name.clone())
    }

    /// One source in full.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn source(&self, name: &str) -> Result<SourceDetail, Problem> {
        let row = self.known_source(name)?;
        self.source_detail(&row)
    }

    /// Adds a source: finds out what it is, indexes it, and makes it tools.
    ///
    /// # Errors
    /// When it can't be had, is nothing that is known, or its name is taken.
    pub async fn add_source(
        &self,
        caller: &Caller,
        request: AddSource,
        once: Option<Once>,
        progress: ProgressSink,
    ) -> Result<SourceAdded, Problem> {
        let begun = Instant::now();
        if let Some(name) = Once::earlier(once.as_ref(), |once| self.store.once(once))? {
            let source = self.source(&name)?;
            return Ok(SourceAdded {
                next: next_steps(&source, false),
                source,
                elapsed_ms: 0,
                notes: Vec::new(),
            });
        }
        self.shared.check_disk()?;
        if let Some(command) = request.command.clone() {
            return self.add_command(caller, request, command, once, progress).await;
        }
        if !request.environment.is_empty() {
            return Err(Problem::invalid("an environment is for a command, and there is none")
                .hint("the values of other sources belong to a connection: `executor connections add`"));
        }
        let hosts = parse_hosts(&request.allow_hosts)?;
        if let Some(name) = &request.name {
            self.free_name(name)?;
        }
        report(&progress, 0, None, "fetching the document");
        let found = self.find_document(request.url.as_deref(), request.document.as_ref(), &hosts).await?;
        report(&progress, 0, None, "finding out what it is");
        let tell = |what: &str| report(&progress, 0, None, what);
        let (found, candidate, notes) = self.choose(found, request.kind.as_deref(), &hosts, &tell).await?;
        let name = match &request.name {
            Some(name) => self.free_name(name)?,
            None => self.name_for(&candidate.detection.suggested_name)?,
        };
        self.check_settings(&candidate.component, &request.settings).await?;
        let settings = Value::Object(request.settings.clone()).to_string();
        let indexing = Indexing {
            component: &candidate.component,
            config: &candidate.detection.config,
            settings: &settings,
            document: found.document.clone(),
            several: found.several.as_ref(),
            hosts: hosts.clone(),
            connection: None,
        };
        let mut indexed = self.index(indexing, progress).await?;
        settle_hints(&mut indexed.staged, indexed.meta.as_deref(), request.trusted);
        let kept = self.keep_document(&found).await?;
        let now_ms = self.shared.now_ms();
        let row = SourceRow {
            name: name.clone(),
            kind: candidate.kind,
            adapter: candidate.component.name,
            adapter_digest: candidate.component.digest,
            title: indexed.title.clone().unwrap_or_else(|| name.to_string()),
            version: indexed.version.clone(),
            config: candidate.detection.config,
            settings,
            document: kept.document,
            files: kept.files,
            document_url: found.lasting.clone(),
            media_type: found.document.media_type.clone(),
            origins: origins(&request, &indexed)?,
            allowed_hosts: hosts.iter().map(HostPort::to_string).collect(),
            trusted: request.trusted,
            tool_count: indexed.staged.tools.len() as u64,
            warning_count: indexed.staged.warnings.len() as u64,
            meta: indexed.meta.clone().unwrap_or_else(|| "{}".into()),
            command: None,
            created_ms: now_ms,
            refreshed_ms: now_ms,
        };
        let open = indexed
            .staged
            .tools
            .iter()
            .all(|tool| tool.auth.is_empty() || tool.auth.iter().any(Vec::is_empty));
        let what = json!({"source": name.to_string(), "kind": row.kind, "origins": row.origins, "tools": row.tool_count});
        self.put_source(caller, "source.add", row.clone(), indexed.staged, once, what).await?;
        let detail = self.source_detail(&row)?;
        let next = next_steps(&detail, open);
        drop((found, request));
        tokio::task::spawn_blocking(memory::release);
        Ok(SourceAdded {
            source: detail,
            elapsed_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            notes,
            next,
        })
    }

    /// Puts a source into the catalogue as a whole, and on record as `action`.
    /// Once begun it is done to its end.
    pub(crate) async fn put_source(
        &self,
        caller: &Caller,
        action: &'static str,
        row: SourceRow,
        staged: Staged,
        once: Option<Once>,
        what: Value,
    ) -> Result<(), Problem> {
        let caller = caller.clone();
        self.finish(|workspace| async move {
            workspace.store.replace_source(row, staged, once.map(Once::into_store)).await?;
            workspace.catalogue.forget();
            workspace.record(&caller, action, what).await
        })
        .await
    }

    /// Removes a source with its tools and connections.
    ///
    /// # Errors
    /// When there is none of that name.
    pub async fn remove_source(&self, caller: &Caller, name: &str) -> Result<(), Problem> {
        let row = self.known_source(name)?;
        for connection in self.store.connections(Some(&row.name))? {
            self.drop_connection(&connection).await?;
        }
        self.store.remove_source(&row.name).await?;
        self.end_use(&row.name, None);
        self.shared.cache.remove_tree(&format!("{}/", self.pool(&row.name)));
        self.catalogue.forget();
        self.shared.runtime.egress().forget(&self.pool(&row.name));
        self.record(caller, "source.remove", json!({"source": name})).await
    }

    pub(crate) fn known_source(&self, name: &str) -> Result<SourceRow, Problem> {
        let unknown = || {
            let known = self.store.sources().unwrap_or_default();
            let names: Vec<&str> = known.iter().map(|row| row.name.as_str()).collect();
            let hint = if names.is_empty() {
                "there are no sources yet: `executor sources add URL` adds one".to_owned()
            } else {
                format!("there is: {}", names.join(", "))
            };
            Problem::not_found("source", name).hint(hint)
        };
        let parsed = SourceName::parse(name).map_err(|_| unknown())?;
        self.store.source(&parsed)?.ok_or_else(unknown)
    }

    /// Whose connections, sessions and pools these are.
    pub(crate) fn pool(&self, source: &SourceName) -> String {
        format!("{}/{source}", self.name)
    }

    pub(crate) fn free_name(&self, name: &str) -> Result<SourceName, Problem> {
        let parsed = SourceName::parse(name).map_err(|error| Problem::invalid(error.to_string()))?;
        match self.store.source(&parsed)? {
            None => Ok(parsed),
            Some(_) => Err(Problem::new(
                ProblemKind::Conflict,
                "source-exists",
                format!("there is a source {name} already"),
            )
            .hint(format!(
                "`executor sources refresh {name}` brings it up to date; --name chooses another name"
            ))),
        }
    }

    /// A valid name near the adapter's proposal. One that is taken is not
    /// changed silently: the person decides.
    pub(crate) fn name_for(&self, proposal: &str) -> Result<SourceName, Problem> {
        let mut name: String = proposal
            .to_ascii_lowercase()
            .chars()
            .map(|character| if character.is_ascii_alphanumeric() { character } else { '_' })
            .collect();
        name = name.trim_matches('_').chars().take(40).collect();
        if !name.starts_with(|character: char| character.is_ascii_lowercase()) {
            name.insert_str(0, "api_");
        }
        if SourceName::parse(&name).is_err() {
            name.push_str("_api");
        }
        self.free_name(name.trim_end_matches('_'))
    }

    pub(crate) fn source_view(&self, row: &SourceRow) -> Result<SourceView, Problem> {
        Ok(SourceView {
            name: row.name.to_string(),
            kind: row.kind.clone(),
            title: row.title.clone(),
            version: row.version.clone(),
            tool_count: row.tool_count,
            warning_count: row.warning_count,
            adapter: row.adapter.clone(),
            created_at: rfc3339(row.created_ms),
            refreshed_at: rfc3339(row.refreshed_ms),
            connections: self.store.connections(Some(&row.name))?.len(),
            unreviewed: self.store.unreviewed(&row.name)?.len() as u64,
        })
    }

    fn source_detail(&self, row: &SourceRow) -> Result<SourceDetail, Problem> {
        let warnings = self.store.warnings(&row.name)?.into_iter();
        let connections = self.store.connections(Some(&row.name))?.into_iter();
        let meta: Value = serde_json::from_str(&row.meta).unwrap_or_default();
        let told = |key: &str| meta.get(key).and_then(Value::as_str).map(|text| shown(text, HINT_CHARS));
        Ok(SourceDetail {
            source: self.source_view(row)?,
            origins: row.origins.clone(),
            allowed_hosts: row.allowed_hosts.clone(),
            transport: told("transport"),
            protocol: told("protocol"),
            auth_methods: self.store.auth_methods(&row.name)?.iter().map(auth_method_view).collect(),
            warnings: warnings
                .map(|warning| WarningView {
                    tool: warning.tool,
                    code: warning.code,
                    message: warning.message,
                })
                .collect(),
            connection_names: connections.map(|connection| connection.name.to_string()).collect(),
            settings: serde_json::from_str(&row.settings).unwrap_or(Value::Null),
            document_url: row.document_url.as_deref().map(shown_url),
            document_files: row.files.iter().map(|(path, _)| path.clone()).collect(),
            command: CommandView::of(row)?,
        })
    }

    /// What a call of a source's tool may reach, before credentials.
    pub(crate) fn reach(&self, source: &SourceRow) -> Result<Scope, Problem> {
        let grant = self.store.component(&source.adapter)?.map(|row| Grant::of(&row)).unwrap_or_default();
        let parse = |origin: &String| {
            Origin::parse(origin)
                .map_err(|error| Problem::internal(format!("a stored origin is damaged: {error}")))
        };
        let origins = source.origins.iter().chain(&grant.origins).map(parse).collect::<Result<_, _>>()?;
        Ok(Scope::new(self.pool(&source.name), origins, parse_hosts(&source.allowed_hosts)?))
    }
}

pub(crate) fn parse_hosts(hosts: &[String]) -> Result<Vec<HostPort>, Problem> {
    let parse = |host: &String| HostPort::parse(host).map_err(|error| Problem::invalid(error.to_string()));
    hosts.iter().map(parse).collect()
}

pub(crate) fn report(progress: &ProgressSink, done: u64, total: Option<u64>, what: &str) {
    progress(ProgressView { done, total, what: what.to_owned() });
}

/// The origins that a source's requests may go to: those that the person
/// named, else those of the document.
fn origins(request: &AddSource, indexed: &Indexed) -> Result<Vec<String>, Problem> {
    let mut origins = BTreeSet::new();
    match base_origin(&request.settings)? {
        Some(base) => drop(origins.insert(base)),
        None => origins.extend(named_origins(indexed)),
    }
    for origin in &request.allow_origins {
        origins.insert(parse_origin(origin)?);
    }
    Ok(origins.into_iter().collect())
}

pub(crate) fn named_origins(indexed: &Indexed) -> Vec<String> {
    let meta: Value =
        indexed.meta.as_deref().and_then(|meta| serde_json::from_str(meta).ok()).unwrap_or_default();
    let named = meta.get("origins").and_then(Value::as_array).cloned().unwrap_or_default();
    let base = indexed.base_url.clone().map(Value::String);
    let all = named.into_iter().chain(base);
    let mut origins: Vec<String> =
        all.filter_map(|origin| Some(Origin::parse(origin.as_str()?).ok()?.to_string())).collect();
    // Where files seem to be there is no server.
    origins.retain(|origin| origin != DocumentFiles::origin());
    origins.sort();
    origins.dedup();
    origins
}

/// What a person does next. Where all tools can be called by anybody (`open`),
/// a connection is no step on the way to them.
fn next_steps(detail: &SourceDetail, open: bool) -> Vec<String> {
    let name = &detail.source.name;
    let mut steps = Vec::new();
    let is_locked = detail.warnings.iter().any(|warning| warning.code == SIGN_IN_NEEDED);
    if !detail.auth_methods.is_empty() {
        // It asks for what is needed, or has a person sign in.
        steps.push(format!("executor connections add {name}"));
    }
    if !is_locked {
        steps.push(format!("executor tools search --source {name} WORDS"));
    }
    if open && !is_locked {
        steps.reverse();
    }
    steps
}
