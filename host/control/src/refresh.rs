//! Sources that are made anew from what their documents are by now.

use std::collections::BTreeMap;

use executor_runtime::Indexed;
use executor_store::{ComponentRow, Digest, SourceName, SourceRow, Staged, WarningRow};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use crate::caller::Caller;
use crate::document::{DocumentInput, Kept};
use crate::problem::{Problem, ProblemKind};
use crate::reviews::UnreviewedTool;
use crate::source_settings::SourceSettings;
use crate::sources::{ProgressSink, SourceView, named_origins, parse_hosts};
use crate::workspace::Workspace;

/// Writes that a refresh lists.
const UNREVIEWED: usize = 100;

/// What to make a source anew from.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RefreshSource {
    /// The newer document of a source that was made from a file; others are
    /// asked for again.
    #[serde(default)]
    pub document: Option<DocumentInput>,
    /// What to change of the source before.
    #[serde(default)]
    pub change: SourceSettings,
}

/// A source that was indexed anew.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SourceRefreshed {
    /// The source.
    pub source: SourceView,
    /// Tools that are new.
    pub added: Vec<String>,
    /// Tools that are gone.
    pub removed: Vec<String>,
    /// Tools that are not what they were.
    pub changed: Vec<String>,
    /// Origins that the document newly names; they are not granted.
    pub new_origins: Vec<String>,
    /// The writes that ask a person, whatever the rules allow, until they were
    /// reviewed: the first hundred of as many as the source says.
    pub unreviewed: Vec<UnreviewedTool>,
}

impl Workspace {
    /// Fetches a source's document, takes the newer file of one that was made
    /// from a file, or asks its program again, and says what changed. A source
    /// that shows its tools to those who have signed in is indexed with its
    /// connection.
    ///
    /// # Errors
    /// When it can't be had, its adapter is gone, or it does not take the
    /// connection: then its tools stay as they are.
    pub async fn refresh_source(
        &self,
        caller: &Caller,
        name: &str,
        request: RefreshSource,
        progress: ProgressSink,
    ) -> Result<SourceRefreshed, Problem> {
        let name = self.known_source(name)?.name;
        let _turn = self.listening.turn(&name, true).await;
        self.refresh(caller, name.as_str(), request, progress).await
    }

    /// The same for whoever has the source's turn.
    pub(crate) async fn refresh(
        &self,
        caller: &Caller,
        name: &str,
        request: RefreshSource,
        progress: ProgressSink,
    ) -> Result<SourceRefreshed, Problem> {
        let old = self.known_source(name)?;
        if request.change.is_empty() {
            return self.refresh_as(caller, old, request, progress).await;
        }
        let changed = self.changed_source(old, &request.change).await?;
        let what = json!({
            "source": name, "settings": request.change.settings.keys().collect::<Vec<_>>(),
            "origins": changed.origins, "allowed_hosts": changed.allowed_hosts, "trusted": changed.trusted,
        });
        let refreshed = self.refresh_as(caller, changed, request, progress).await?;
        self.record(caller, "source.set", what).await?;
        Ok(refreshed)
    }

    /// Makes a source anew as `old` says.
    async fn refresh_as(
        &self,
        caller: &Caller,
        old: SourceRow,
        request: RefreshSource,
        progress: ProgressSink,
    ) -> Result<SourceRefreshed, Problem> {
        let name = old.name.clone();
        let from_file = old.command.is_none() && old.document_url.is_none();
        if request.document.is_some() && !from_file {
            return Err(Problem::invalid(format!("{name} was not made from a file, so it takes none"))
                .hint(format!("`executor sources refresh {name}` asks where it was made from")));
        }
        if old.command.is_some() {
            let connection = self.usual_connection(&old.name)?;
            let (component, indexed) = self.index_command(&old, connection.as_ref(), progress).await?;
            return self.swap_in(caller, old, &component, indexed, Kept::default()).await;
        }
        let found = match (&old.document_url, &request.document) {
            (Some(url), _) => self.find_document(Some(url), None, &parse_hosts(&old.allowed_hosts)?).await?,
            (None, Some(document)) => self.find_document(None, Some(document), &[]).await?,
            (None, None) if !request.change.is_empty() => self.stored_document(&old)?,
            (None, None) => {
                let message = format!("{name} was made from a file, and where that lies is not known");
                return Err(Problem::new(ProblemKind::Conflict, "no-document-url", message).hint(format!(
                    "`executor sources refresh {name} --from-file FILE` reads the newer one"
                )));
            }
        };
        let connection = self.index_connection(&old)?;
        self.reindex(caller, old, found, connection.as_ref(), progress).await
    }

    /// A source as a person wants it by now.
    async fn changed_source(&self, old: SourceRow, change: &SourceSettings) -> Result<SourceRow, Problem> {
        let component = self.store.component(&old.adapter)?;
        let component = component.ok_or_else(|| Problem::not_found("adapter", &old.adapter))?;
        self.check_settings(&component, &change.settings).await?;
        change.applied(old)
    }

    /// Puts what an index found in the place of what a source had, as a whole.
    pub(crate) async fn swap_in(
        &self,
        caller: &Caller,
        old: SourceRow,
        component: &ComponentRow,
        indexed: Indexed,
        kept: Kept,
    ) -> Result<SourceRefreshed, Problem> {
        // Removed meanwhile, it is not brought back.
        self.known_source(old.name.as_str())?;
        let before = self.tool_digests(&old.name)?;
        let changes = compare(&before, &indexed.staged);
        let named = named_origins(&indexed);
        let row = SourceRow {
            adapter_digest: component.digest,
            title: indexed.title.clone().unwrap_or(old.title),
            version: indexed.version.clone(),
            document: kept.document,
            files: kept.files,
            tool_count: indexed.staged.tools.len() as u64,
            warning_count: indexed.staged.warnings.len() as u64,
            meta: indexed.meta.clone().unwrap_or_else(|| "{}".into()),
            refreshed_ms: self.shared.now_ms(),
            ..old
        };
        let has_base = row.settings.contains("\"base_url\"");
        let new_origins =
            named.into_iter().filter(|origin| !has_base && !row.origins.contains(origin)).collect();
        let (added, removed, changed) = changes;
        let what = json!({"source": row.name.to_string(), "added": added.len(), "removed": removed.len(), "changed": changed.len()});
        self.put_source(caller, "source.refresh", row.clone(), indexed.staged, None, what).await?;
        let unreviewed = self.first_unreviewed(&row.name, UNREVIEWED)?;
        Ok(SourceRefreshed {
            source: self.source_view(&row)?,
            added,
            removed,
            changed,
            new_origins,
            unreviewed,
        })
    }

    fn tool_digests(&self, source: &SourceName) -> Result<BTreeMap<String, Digest>, Problem> {
        let mut digests = BTreeMap::new();
        self.store.each_tool(source, &mut |tool| {
            digests.insert(tool.name.to_owned(), tool.digest);
        })?;
        Ok(digests)
    }

    /// Whether an index found what the source has already: to swap it in would
    /// change nothing. Of warnings only which there are counts: some tell how
    /// often, which is never twice the same.
    pub(crate) fn is_as_before(
        &self,
        source: &SourceRow,
        component: &ComponentRow,
        indexed: &Indexed,
    ) -> Result<bool, Problem> {
        let Staged { tools, definitions, auth_methods, warnings } = &indexed.staged;
        let (name, store) = (&source.name, &self.store);
        let is_alike = component.digest == source.adapter_digest
            && indexed.version == source.version
            && indexed.title.as_ref().is_none_or(|title| *title == source.title)
            && indexed.meta.as_deref().unwrap_or("{}") == source.meta
            && tools.len() as u64 == source.tool_count
            && *auth_methods == store.auth_methods(name)?;
        if !is_alike || which(warnings) != which(&store.warnings(name)?) {
            return Ok(false);
        }
        for tool in tools {
            if store.tool(name, &tool.name)?.as_ref() != Some(tool) {
                return Ok(false);
            }
        }
        for (definition, body) in definitions {
            if store.definition(name, definition)?.as_ref() != Some(body) {
                return Ok(false);
            }
        }
        // Names are distinct, so one more is one that was not asked for.
        Ok(store.definitions(name, "", definitions.len() + 1)?.len() == definitions.len())
    }
}

/// Which warnings there are.
fn which(warnings: &[WarningRow]) -> Vec<(Option<&str>, &str)> {
    warnings.iter().map(|warning| (warning.tool.as_deref(), warning.code.as_str())).collect()
}

/// Added, removed and changed tools.
fn compare(before: &BTreeMap<String, Digest>, staged: &Staged) -> (Vec<String>, Vec<String>, Vec<String>) {
    let after: BTreeMap<&str, &Digest> =
        staged.tools.iter().map(|tool| (tool.name.as_str(), &tool.digest)).collect();
    let added = after.keys().filter(|name| !before.contains_key(**name)).map(|name| (*name).to_owned());
    let removed = before.keys().filter(|name| !after.contains_key(name.as_str())).cloned();
    let changed = before
        .iter()
        .filter(|(name, digest)| after.get(name.as_str()).is_some_and(|now| now != digest))
        .map(|(name, _)| name.clone());
    (added.collect(), removed.collect(), changed.collect())
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use executor_runtime::Usage;
    use executor_store::{Keyring, ToolRow};

    use super::*;
    use crate::audit::AuditQuery;
    use crate::clock::SystemClock;
    use crate::control::{Control, Options};
    use crate::settings::Settings;

    pub(crate) fn tool_row(name: &str) -> ToolRow {
        ToolRow {
            name: name.into(),
            description: String::new(),
            title: None,
            summary: String::new(),
            request: None,
            input_schema: "{}".into(),
            output_schema: None,
            read_only: true,
            destructive: false,
            idempotent: true,
            deprecated: false,
            requires_approval: false,
            auth: Vec::new(),
            binding: Vec::new(),
            annotations_meta: None,
            meta: None,
            digest: Digest::of(name.as_bytes()),
        }
    }

    fn staged(tools: &[&str]) -> Staged {
        Staged { tools: tools.iter().map(|name| tool_row(name)).collect(), ..Staged::default() }
    }

    pub(crate) fn source_row() -> SourceRow {
        SourceRow {
            name: SourceName::parse("shop").unwrap(),
            kind: "openapi".into(),
            adapter: "openapi".into(),
            adapter_digest: Digest::of(b"adapter"),
            title: "Shop".into(),
            version: None,
            config: "{}".into(),
            settings: "{}".into(),
            document: None,
            files: Vec::new(),
            document_url: None,
            media_type: None,
            origins: Vec::new(),
            allowed_hosts: Vec::new(),
            trusted: false,
            tool_count: 1,
            warning_count: 0,
            meta: "{}".into(),
            command: None,
            created_ms: 1,
            refreshed_ms: 1,
        }
    }

    fn source(component: &ComponentRow) -> SourceRow {
        SourceRow { adapter: component.name.clone(), adapter_digest: component.digest, ..source_row() }
    }

    #[tokio::test]
    async fn a_refresh_that_nobody_waits_for_any_more_is_seen_and_on_record() {
        let home = tempfile::tempdir().unwrap();
        let options = Options {
            home: home.path().to_owned(),
            cache: None,
            config: Settings::default(),
            clock: Arc::new(SystemClock),
            programs: None,
            keyring: Keyring::default(),
        };
        let control = Control::open(options).await.unwrap();
        let workspace = control.any_workspace("default").unwrap();
        let component = workspace.store.component(executor_bundle::OPENAPI.name).unwrap().unwrap();
        let row = source(&component);
        workspace.store.replace_source(row.clone(), staged(&["old"]), None).await.unwrap();
        workspace.tool("shop.old").unwrap();

        let indexed = Indexed {
            title: None,
            version: None,
            base_url: None,
            meta: None,
            staged: staged(&["new"]),
            usage: Usage::default(),
        };
        let caller = Caller::daemon();
        let mut refreshing = Box::pin(workspace.swap_in(&caller, row, &component, indexed, Kept::default()));
        assert!(futures::poll!(&mut refreshing).is_pending(), "the database takes its time");
        drop(refreshing);

        let is_over = async {
            loop {
                let page = workspace.audit(&AuditQuery::default()).unwrap();
                if json!(page.items).to_string().contains("source.refresh") {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), is_over).await.expect("it is on record");
        workspace.tool("shop.new").unwrap();
        assert!(workspace.tool("shop.old").is_err(), "what is gone is called no more");
    }
}
