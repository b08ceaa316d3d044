//! Finding tools and learning how to call them.

use std::borrow::Cow;

use executor_store::SourceName;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::caller::Caller;
use crate::catalogue::{Entry, Searchable};
use crate::invoke::subject;
use crate::listing::whole;
use crate::page::{PageQuery, cursor};
use crate::policies::{Action, Subject};
use crate::problem::Problem;
use crate::search::Query;
use crate::signature::{self, Options, Signature};
use crate::workspace::Workspace;

/// Tools on a page where nothing is said, and at most.
const PAGE: usize = 12;
const PAGE_MAX: usize = 500;

/// What to look for.
#[derive(Debug, Clone, Default, Deserialize, IntoParams, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolQuery {
    /// Words; none: every tool, by path.
    #[serde(default)]
    pub query: Option<String>,
    /// One source alone.
    #[serde(default)]
    pub source: Option<String>,
    /// At most so many.
    #[serde(default)]
    pub limit: Option<usize>,
    /// After so many.
    #[serde(default)]
    pub offset: Option<usize>,
    /// The `next_cursor` of the page before, in place of an offset.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// A page of tools.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ToolPage {
    /// The tools, best first.
    pub items: Vec<ToolItem>,
    /// How many there are in all.
    pub total: usize,
    /// Where the page begins.
    pub offset: usize,
    /// Whether there are more.
    pub has_more: bool,
    /// Where the next page begins; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A tool on a page.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ToolItem {
    /// Its path.
    pub path: String,
    /// What it does, in a line.
    pub summary: String,
    /// Its source.
    pub source: String,
    /// How well it fits.
    pub score: f32,
    /// Whether it only reads.
    pub read_only: bool,
    /// Whether a call asks a person first.
    pub requires_approval: bool,
    /// Whether its API is leaving it behind.
    pub deprecated: bool,
}

/// How much of a tool's types to show.
#[derive(Debug, Clone, Default, Deserialize, IntoParams, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DescribeOptions {
    /// One named type, in full.
    #[serde(default, rename = "type")]
    pub type_name: Option<String>,
    /// How deep the result's types go; 2 where nothing is said.
    #[serde(default)]
    pub depth: Option<u32>,
    /// Whether the argument schema takes along, as `$defs`, what it refers to.
    #[serde(default)]
    pub definitions: bool,
}

/// How to call a tool.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ToolDescription {
    /// Its path.
    pub path: String,
    /// What it does, in a line.
    pub summary: String,
    /// What it does.
    pub description: String,
    /// Its source.
    pub source: String,
    /// What it sends: `POST /repos/{owner}/{repo}/issues`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// Its TypeScript signature.
    pub signature: String,
    /// The types that the signature names.
    pub types: String,
    /// Types that were left out; `type` asks for one.
    pub omitted: Vec<String>,
    /// The JSON Schema of its arguments.
    pub input_schema: Value,
    /// Whether it only reads.
    pub read_only: bool,
    /// Whether it takes something away.
    pub destructive: bool,
    /// Whether a call asks a person first.
    pub requires_approval: bool,
    /// What the policies say.
    pub policy: ToolPolicy,
    /// The source's connections.
    pub connections: Vec<String>,
}

/// What the policies say of a tool.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ToolPolicy {
    /// The decision.
    pub action: Action,
    /// The rule that decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

impl Workspace {
    /// Searches the catalogue.
    ///
    /// # Errors
    /// When the catalogue can't be read, or the source is none.
    pub async fn search_tools(&self, caller: &Caller, query: ToolQuery) -> Result<ToolPage, Problem> {
        let searchable = self.searchable()?;
        if let Some(source) = &query.source {
            self.known_source(source)?;
        }
        let limit = query.limit.unwrap_or(PAGE).clamp(1, PAGE_MAX);
        let paging = PageQuery { limit: None, cursor: query.cursor };
        let offset = paging.place()?.or(query.offset).unwrap_or(0);
        let found = matches(&searchable, query.query.as_deref().unwrap_or_default(), query.source.as_deref());
        let rules = self.rules();
        let decide = |entry: &Entry| {
            let (path, read_only) = (&entry.path, entry.read_only);
            let subject = Subject { path, digest: None, connection: None, read_only, unreviewed: None };
            rules.decide(subject).action
        };
        let visible = found.into_iter().filter_map(|(document, score)| {
            let entry = &searchable.entries[document as usize];
            let action = decide(entry);
            (action != Action::Block && caller.has_tool(&entry.path)).then_some((score, entry, action))
        });
        let mut items = Vec::new();
        let mut total = 0;
        for (score, entry, action) in visible {
            if (offset..offset.saturating_add(limit)).contains(&total) {
                items.push(tool_item(score, entry, self.asks_anyway(entry, action)?));
            }
            total += 1;
        }
        let end = offset.saturating_add(items.len());
        let has_more = end < total;
        Ok(ToolPage { has_more, next_cursor: has_more.then(|| cursor(end)), items, total, offset })
    }

    /// Says how a tool is called.
    ///
    /// # Errors
    /// When there is no such tool; details hold what was meant.
    pub async fn describe_tool(
        &self,
        caller: &Caller,
        path: &str,
        options: DescribeOptions,
    ) -> Result<ToolDescription, Problem> {
        let tool = self.tool(path)?;
        let unreviewed = self.unreviewed_version(&tool)?;
        let decision = self.rules().decide(subject(&tool, unreviewed.as_ref()));
        if decision.action == Action::Block || !caller.has_tool(path) {
            return Err(self.unknown_tool(path));
        }
        let signature = self.signature(&tool, &options);
        let input_schema = match options.definitions {
            true => whole(tool.input_schema.clone(), &|name| self.definition(&tool.source, name)),
            false => tool.input_schema.clone(),
        };
        let connections = self.store.connections(Some(&tool.source))?;
        Ok(ToolDescription {
            path: path.to_owned(),
            summary: tool.row.summary.clone(),
            description: tool.row.description.clone(),
            source: tool.source.to_string(),
            request: tool.row.request.clone(),
            signature: signature.declaration,
            types: signature.types,
            omitted: signature.omitted,
            input_schema,
            read_only: tool.row.read_only,
            destructive: tool.row.destructive,
            requires_approval: decision.action == Action::Approve,
            policy: ToolPolicy { action: decision.action, rule: decision.rule_id() },
            connections: connections.into_iter().map(|connection| connection.name.to_string()).collect(),
        })
    }

    /// What becomes of a call that the rules allow, where a refresh brought its
    /// tool and nobody has seen it.
    fn asks_anyway(&self, entry: &Entry, action: Action) -> Result<Action, Problem> {
        if action != Action::Allow || entry.read_only {
            return Ok(action);
        }
        let (source, name) = entry.path.split_once('.').unwrap_or((&entry.path, ""));
        let source = SourceName::parse(source).map_err(|error| Problem::internal(error.to_string()))?;
        if !self.store.unreviewed(&source)?.contains_key(name) {
            return Ok(action);
        }
        // Its source may have been removed since the index was built.
        let Ok(tool) = self.tool(&entry.path) else { return Ok(action) };
        let unreviewed = self.unreviewed_version(&tool)?;
        Ok(self.rules().decide(subject(&tool, unreviewed.as_ref())).action)
    }

    fn signature(&self, tool: &crate::catalogue::Tool, options: &DescribeOptions) -> Signature {
        let output: Option<Value> =
            tool.row.output_schema.as_deref().and_then(|schema| serde_json::from_str(schema).ok());
        let definitions = |name: &str| self.definition(&tool.source, name).map(Cow::Owned);
        let default = Options::default();
        signature::render(
            &signature::Tool {
                path: &tool.path,
                description: &tool.row.description,
                summary: &tool.row.summary,
                request: tool.row.request.as_deref().unwrap_or_default(),
                input_schema: &tool.input_schema,
                output_schema: output.as_ref(),
                deprecated: tool.row.deprecated,
            },
            &definitions,
            &Options {
                depth: options.depth.map_or(default.depth, |depth| depth.min(6)),
                type_name: options.type_name.as_deref(),
                ..default
            },
        )
    }
}

fn tool_item(score: f32, entry: &Entry, action: Action) -> ToolItem {
    ToolItem {
        path: entry.path.to_string(),
        summary: entry.summary.to_string(),
        source: entry.path.split('.').next().unwrap_or_default().to_owned(),
        score,
        read_only: entry.read_only,
        requires_approval: action == Action::Approve,
        deprecated: entry.deprecated,
    }
}

/// What fits, best first; without words everything, by path.
fn matches(searchable: &Searchable, text: &str, source: Option<&str>) -> Vec<(u32, f32)> {
    if text.trim().is_empty() && source.is_none() {
        let mut all: Vec<u32> = (0..).take(searchable.entries.len()).collect();
        all.sort_by_key(|document| &searchable.entries[*document as usize].path);
        return all.into_iter().map(|document| (document, 0.0)).collect();
    }
    let query = Query { text, source, limit: usize::MAX, offset: 0 };
    let found = searchable.index.search(&query);
    found.hits.into_iter().map(|hit| (hit.document, hit.score)).collect()
}
