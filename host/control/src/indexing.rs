//! Indexes: what an adapter makes of a source's document, and where it may
//! look. Some APIs show what they can do to those who have signed in alone: a
//! source of one is there without tools, and is indexed again with its
//! connection.

use std::sync::Arc;
use std::time::Duration;

use executor_runtime::{AdapterContext, Document, DocumentFiles, HostPort, Indexed, Origin, Progress, Scope};
use executor_store::{ComponentRow, ConnectionRow, SourceRow};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::asking::may_ask;
use crate::caller::Caller;
use crate::connections::ConnectionView;
use crate::document::{Found, Several};
use crate::inspect::DocumentQuery;
use crate::problem::{Problem, ProblemKind};
use crate::refresh::SourceRefreshed;
use crate::sources::{ProgressSink, parse_hosts, report};
use crate::trust::settle_hints;
use crate::workspace::Workspace;

/// The setting of an adapter by which a person lets its index read documents of
/// other origins.
const REFERENCE_ORIGINS: &str = "reference_origins";

/// The code of a source's warning, and of a refusal, that wants a connection.
pub(crate) const SIGN_IN_NEEDED: &str = "sign-in-needed";

/// Time for the index that a new connection brings about: whoever adds it
/// waits.
const CONNECTED_TIMEOUT: Duration = Duration::from_secs(60);

/// What an index is made of.
pub(crate) struct Indexing<'a> {
    pub(crate) component: &'a ComponentRow,
    pub(crate) config: &'a str,
    pub(crate) settings: &'a str,
    pub(crate) document: Document,
    /// Where that is several files.
    pub(crate) several: Option<&'a Several>,
    pub(crate) hosts: Vec<HostPort>,
    /// Whose credential is placed.
    pub(crate) connection: Option<&'a ConnectionRow>,
}

/// What indexing a source with a new connection came to.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ConnectionIndex {
    /// How many tools the source has now.
    pub tool_count: u64,
    /// Why it has none, or those that it had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<IndexProblem>,
}

/// Why an index failed.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct IndexProblem {
    /// A stable code.
    pub code: String,
    /// What is wrong.
    pub message: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Workspace {
    pub(crate) async fn index(
        &self,
        indexing: Indexing<'_>,
        progress: ProgressSink,
    ) -> Result<Indexed, Problem> {
        let Indexing { component, config, settings, mut document, several, hosts, connection } = indexing;
        let adapter = self.adapter(&component.name).await?;
        let sink: Progress = Arc::new(move |done, total, what| report(&progress, done, total, what));
        let mut scope = may_ask(component, self.index_scope(document.url.as_deref(), settings, hosts));
        if let Some(several) = several {
            document.url = Some(DocumentFiles::url(&several.own));
            scope.files = Some(several.others.clone());
        }
        let mut context = AdapterContext { progress: Some(sink), scope, ..self.no_reach() };
        if let Some(connection) = connection {
            context.scope.credential = Some(self.whole_credential(connection).await?);
            context.session = format!("{}/{}", self.pool(&connection.source), connection.name);
        }
        let meta = connection.map(|row| json!({"connection": row.name.to_string()}).to_string());
        let (config, settings) = (config.to_owned(), settings.to_owned());
        Ok(adapter.index(&self.share, context, config, settings, Some(document), meta).await?)
    }

    /// Where an index may read what its document refers to: the document's own
    /// origin, and those that the person named for it.
    pub(crate) fn index_scope(&self, url: Option<&str>, settings: &str, hosts: Vec<HostPort>) -> Scope {
        let settings: Value = serde_json::from_str(settings).unwrap_or_default();
        let named = settings.get(REFERENCE_ORIGINS).and_then(Value::as_array).into_iter().flatten();
        let origins = url.into_iter().chain(named.filter_map(Value::as_str));
        let origins = origins.filter_map(|origin| Origin::parse(origin).ok()).collect();
        Scope::new(format!("{}/", self.name), origins, hosts)
    }

    /// Indexes a source anew, with the connection that it takes for that, and
    /// swaps in what came of it.
    pub(crate) async fn reindex(
        &self,
        caller: &Caller,
        old: SourceRow,
        found: Found,
        connection: Option<&ConnectionRow>,
        progress: ProgressSink,
    ) -> Result<SourceRefreshed, Problem> {
        let (component, indexed) = self.index_again(&old, &found, connection, progress).await?;
        let kept = self.keep_document(&found).await?;
        self.swap_in(caller, old, &component, indexed, kept).await
    }

    /// What there would be to swap in. Tools that are there are not given up
    /// for an index that was refused.
    pub(crate) async fn index_again(
        &self,
        old: &SourceRow,
        found: &Found,
        connection: Option<&ConnectionRow>,
        progress: ProgressSink,
    ) -> Result<(ComponentRow, Indexed), Problem> {
        let hosts = parse_hosts(&old.allowed_hosts)?;
        let component = self.store.component(&old.adapter)?;
        let component = component.ok_or_else(|| Problem::not_found("component", &old.adapter))?;
        found.readable_by(&component)?;
        let indexing = Indexing {
            component: &component,
            config: &old.config,
            settings: &old.settings,
            document: found.document.clone(),
            several: found.several.as_ref(),
            hosts,
            connection,
        };
        let mut indexed = self.index(indexing, progress).await?;
        settle_hints(&mut indexed.staged, indexed.meta.as_deref(), old.trusted);
        if old.tool_count > 0 && wants_sign_in(indexed.meta.as_deref()) {
            return Err(sign_in_needed(old, connection));
        }
        if let Some(connection) = connection {
            indexed.meta = Some(remember(indexed.meta.as_deref(), connection));
        }
        Ok((component, indexed))
    }

    /// The connection that a refresh indexes with: the one that an index was
    /// made with, else the one that calls use. None for a source that shows its
    /// tools to everybody.
    pub(crate) fn index_connection(&self, row: &SourceRow) -> Result<Option<ConnectionRow>, Problem> {
        let meta: Value = serde_json::from_str(&row.meta).unwrap_or_default();
        let remembered = meta.get("connection").and_then(Value::as_str);
        if remembered.is_none() && !awaits_connection(row) {
            return Ok(None);
        }
        let known = self.store.connections(Some(&row.name))?;
        match known.into_iter().find(|one| Some(one.name.as_str()) == remembered) {
            Some(connection) => Ok(Some(connection)),
            None => self.unnamed_connection(&row.name),
        }
    }

    /// Indexes the source of a new connection with it, where that source had
    /// been waiting for one, and tells what came of it.
    pub(crate) async fn indexed_with(&self, caller: &Caller, view: ConnectionView) -> ConnectionView {
        let count = |row: Result<SourceRow, Problem>| row.map_or(0, |row| row.tool_count);
        let known = self.known_source(&view.source);
        if !known.as_ref().is_ok_and(awaits_connection) {
            return view;
        }
        let problem = self.index_for(caller, &view).await.err().map(|problem| IndexProblem {
            code: problem.code,
            message: problem.message,
            hint: problem.hint,
        });
        let tool_count = count(self.known_source(&view.source));
        ConnectionView { indexed: Some(ConnectionIndex { tool_count, problem }), ..view }
    }

    async fn index_for(&self, caller: &Caller, view: &ConnectionView) -> Result<(), Problem> {
        let source = self.known_source(&view.source)?;
        let connection = self.known_connection(&view.source, &view.name)?;
        let _turn = self.listening.turn(&source.name, true).await;
        let reindexing = async {
            let found = match &source.document_url {
                Some(url) => {
                    self.find_document(Some(url), None, &parse_hosts(&source.allowed_hosts)?).await?
                }
                None => self.stored_document(&source)?,
            };
            self.reindex(caller, source, found, Some(&connection), Arc::new(|_| {})).await
        };
        tokio::time::timeout(CONNECTED_TIMEOUT, reindexing).await.map_err(|_| {
            let seconds = CONNECTED_TIMEOUT.as_secs();
            Problem::new(ProblemKind::Upstream, "timeout", format!("it was not indexed within {seconds} s"))
                .hint(format!("`executor sources refresh {}` tries again", view.source))
        })??;
        let row = self.known_source(&view.source)?;
        if wants_sign_in(Some(&row.meta)) { Err(sign_in_needed(&row, Some(&connection))) } else { Ok(()) }
    }

    pub(crate) fn stored_document(&self, row: &SourceRow) -> Result<Found, Problem> {
        let read = |file: Option<String>| self.source_document(row.name.as_str(), &DocumentQuery { file });
        let (media_type, bytes) = read(None)?;
        let several = row.files.split_first().map(|((own, _), others)| {
            let read = |(path, _): &(String, _)| Ok((path.clone(), read(Some(path.clone()))?.1));
            let others = others.iter().map(read).collect::<Result<Vec<_>, Problem>>()?;
            Ok::<_, Problem>(Several { own: own.clone(), others: Arc::new(DocumentFiles::new(others)) })
        });
        Ok(Found::stored(media_type, bytes, several.transpose()?))
    }
}

/// Whether a source has nothing to call before it has a connection.
fn awaits_connection(row: &SourceRow) -> bool {
    row.command.is_none() && (row.tool_count == 0 || wants_sign_in(Some(&row.meta)))
}

/// Whether an index ended at a sign-in.
pub(crate) fn wants_sign_in(meta: Option<&str>) -> bool {
    let meta: Value = meta.and_then(|meta| serde_json::from_str(meta).ok()).unwrap_or_default();
    meta.get("sign_in") == Some(&Value::Bool(true))
}

/// Notes with which connection an index was made.
fn remember(meta: Option<&str>, connection: &ConnectionRow) -> String {
    let meta: Option<Value> = meta.and_then(|meta| serde_json::from_str(meta).ok());
    let mut meta = meta.filter(Value::is_object).unwrap_or_else(|| json!({}));
    meta["connection"] = json!(connection.name.to_string());
    meta.to_string()
}

fn sign_in_needed(source: &SourceRow, connection: Option<&ConnectionRow>) -> Problem {
    let name = &source.name;
    let (message, hint) = match connection {
        Some(connection) => (
            format!(
                "{name} shows its tools to those who have signed in, and did not take the connection {}",
                connection.name
            ),
            format!(
                "`executor connections set {name} {}` gives it other values; `executor sources show {name}` says what was answered",
                connection.name
            ),
        ),
        None => (
            format!(
                "{name} shows its tools to those who have signed in, and there is no connection to do that with"
            ),
            format!("`executor connections add {name}` makes one"),
        ),
    };
    Problem::new(ProblemKind::Unprocessable, SIGN_IN_NEEDED, message).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_yes_counts_as_a_sign_in() {
        assert!(wants_sign_in(Some(r#"{"sign_in":true,"origins":[]}"#)));
        for meta in [None, Some("{}"), Some("{"), Some(r#"{"sign_in":"true"}"#), Some("[true]")] {
            assert!(!wants_sign_in(meta), "{meta:?}");
        }
    }
}
