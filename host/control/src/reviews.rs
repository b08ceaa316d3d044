//! The writes that a refresh of a source brought: whatever a rule says of
//! their names, a person is asked until somebody has seen them.

use executor_store::{Digest, InteractionRow, SourceName, UnreviewedRow};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use crate::approvals::request_text;
use crate::caller::{Caller, Capability};
use crate::catalogue::Tool;
use crate::clock::rfc3339;
use crate::page::{Page, PageQuery};
use crate::policies::{Action, Subject};
use crate::problem::Problem;
use crate::workspace::Workspace;

/// Tools that one review may name.
const REVIEWED_MAX: usize = 10_000;
/// Names that a record of the audit log holds; it says how many there were.
const RECORDED: usize = 200;

/// A tool that may change something and that nobody has seen since a refresh
/// brought it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct UnreviewedTool {
    /// The tool.
    pub path: String,
    /// What the refresh did.
    pub change: Novelty,
    /// The request that it makes: `POST /repos/{owner}/{repo}/issues`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The request that it made before, where that was another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_before: Option<String>,
    /// What it does, in a line.
    pub summary: String,
    /// Whether it takes something away.
    pub destructive: bool,
    /// Its version, to say that it was seen.
    pub digest: String,
    /// When the refresh was.
    pub since: String,
    /// What the policies say of a call through no connection in particular,
    /// once it was reviewed.
    pub then: Action,
}

/// What a refresh did to a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Novelty {
    /// There was none of its name.
    New,
    /// It was another one.
    Changed,
}

/// Versions of tools that a person has seen.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviewTools {
    /// The tools, as they were listed.
    pub tools: Vec<SeenTool>,
}

/// One version of a tool that a person has seen.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SeenTool {
    /// The tool.
    pub path: String,
    /// Its version, as it was listed: one that was refreshed since is another.
    pub digest: String,
}

/// What a review came to.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ToolsReviewed {
    /// The tools that are no longer unreviewed by it.
    pub reviewed: Vec<String>,
    /// How many of the source are left.
    pub unreviewed: u64,
}

impl Novelty {
    fn of(row: &UnreviewedRow) -> Self {
        if row.changed { Self::Changed } else { Self::New }
    }
}

/// What is new about a tool, in words.
pub(crate) fn novelty(row: &UnreviewedRow) -> String {
    let what = match Novelty::of(row) {
        Novelty::New => "is new since",
        Novelty::Changed => "has changed since",
    };
    format!("it {what} the last refresh, and nobody has reviewed it")
}

impl Workspace {
    /// The writes of a source that nobody has seen, by name.
    ///
    /// # Errors
    /// When there is no such source, or they can't be read.
    pub fn unreviewed_tools(&self, source: &str, query: &PageQuery) -> Result<Page<UnreviewedTool>, Problem> {
        let source = self.known_source(source)?.name;
        let page = query.page(self.unreviewed_names(&source)?, String::clone)?;
        let items = self.unreviewed_views(&source, &page.items)?;
        Ok(Page { items, next_cursor: page.next_cursor })
    }

    /// The first of the writes of a source that nobody has seen.
    pub(crate) fn first_unreviewed(
        &self,
        source: &SourceName,
        limit: usize,
    ) -> Result<Vec<UnreviewedTool>, Problem> {
        let mut names = self.unreviewed_names(source)?;
        names.truncate(limit);
        self.unreviewed_views(source, &names)
    }

    /// Takes note that a person has seen these versions of a source's tools:
    /// from now on the rules alone say of them what they say.
    ///
    /// # Errors
    /// When the caller may not manage and accept, there is no such source, or
    /// a tool is none of it.
    pub async fn review_tools(
        &self,
        caller: &Caller,
        source: &str,
        request: ReviewTools,
    ) -> Result<ToolsReviewed, Problem> {
        caller.expect(Capability::Manage)?;
        caller.expect(Capability::Approve)?;
        let source = self.known_source(source)?.name;
        if request.tools.len() > REVIEWED_MAX {
            return Err(Problem::invalid(format!("a review names at most {REVIEWED_MAX} tools")));
        }
        let parse = |seen: &SeenTool| {
            let name = seen.path.strip_prefix(source.as_str()).and_then(|rest| rest.strip_prefix('.'));
            let name = name.ok_or_else(|| {
                Problem::invalid(format!("{:?} is no tool of {source}", seen.path))
                    .hint(format!("its tools are named {source}.…, as the review lists them"))
            })?;
            let digest = Digest::parse(&seen.digest).map_err(|error| {
                Problem::invalid(format!("the digest of {:?}: {error}", seen.path))
                    .hint("it is the one that the review lists")
            })?;
            Ok((name.to_owned(), digest))
        };
        let seen = request.tools.iter().map(parse).collect::<Result<Vec<_>, Problem>>()?;
        let reviewed = self.note_reviewed(caller, &source, seen, None).await?;
        Ok(ToolsReviewed { reviewed, unreviewed: self.store.unreviewed(&source)?.len() as u64 })
    }

    /// Whoever accepts an approval has seen the tool that it was about. That
    /// the answer holds does not depend on it: the next call asks again where
    /// this can't be written.
    pub(crate) async fn review_by_answer(&self, caller: &Caller, row: &InteractionRow) {
        let tool = request_text(row, "tool").unwrap_or_default();
        let digest = request_text(row, "tool_digest").and_then(|digest| Digest::parse(&digest).ok());
        let Some((source, name)) = tool.split_once('.') else { return };
        let (Ok(source), Some(digest)) = (SourceName::parse(source), digest) else { return };
        if self.store.unreviewed(&source).is_ok_and(|unseen| !unseen.contains_key(name)) {
            return;
        }
        let noted = self.note_reviewed(caller, &source, vec![(name.to_owned(), digest)], Some(row));
        if let Err(problem) = noted.await {
            tracing::warn!(%problem, execution = %row.execution, "what an approval showed was not noted as reviewed");
        }
    }

    async fn note_reviewed(
        &self,
        caller: &Caller,
        source: &SourceName,
        seen: Vec<(String, Digest)>,
        by: Option<&InteractionRow>,
    ) -> Result<Vec<String>, Problem> {
        let noted = self.store.reviewed(source, seen).await?;
        let mut paths: Vec<String> = noted.iter().map(|name| format!("{source}.{name}")).collect();
        paths.sort();
        if !paths.is_empty() {
            let record = json!({
                "source": source.to_string(), "count": paths.len(),
                "tools": paths.iter().take(RECORDED).collect::<Vec<_>>(),
                "interaction": by.map(|row| row.id.to_string()),
            });
            self.record(caller, "source.review", record).await?;
        }
        Ok(paths)
    }

    /// What a refresh brought of a tool, where nobody has seen this version of
    /// it. What only reads needs no looking at.
    pub(crate) fn unreviewed_version(&self, tool: &Tool) -> Result<Option<UnreviewedRow>, Problem> {
        if tool.row.read_only {
            return Ok(None);
        }
        let rows = self.store.unreviewed(&tool.source)?;
        Ok(rows.get(&tool.row.name).filter(|row| row.digest == tool.row.digest).cloned())
    }

    fn unreviewed_names(&self, source: &SourceName) -> Result<Vec<String>, Problem> {
        let mut names: Vec<String> = self.store.unreviewed(source)?.keys().cloned().collect();
        names.sort();
        Ok(names)
    }

    fn unreviewed_views(
        &self,
        source: &SourceName,
        names: &[String],
    ) -> Result<Vec<UnreviewedTool>, Problem> {
        let (rows, rules) = (self.store.unreviewed(source)?, self.rules());
        let mut views = Vec::new();
        for name in names {
            // Of one that was reviewed or removed since there is nothing to show.
            let (Some(row), Some(tool)) = (rows.get(name), self.store.tool(source, name)?) else { continue };
            let path = format!("{source}.{name}");
            let then = rules.decide(Subject {
                path: &path,
                digest: Some(&tool.digest),
                connection: None,
                read_only: tool.read_only,
                unreviewed: None,
            });
            views.push(UnreviewedTool {
                path,
                change: Novelty::of(row),
                request: tool.request,
                request_before: row.request_before.clone(),
                summary: tool.summary,
                destructive: tool.destructive,
                digest: row.digest.to_string(),
                since: rfc3339(row.since_ms),
                then: then.action,
            });
        }
        Ok(views)
    }
}
