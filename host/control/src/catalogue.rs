//! The catalogue: every tool of every source, persisted by the store, found
//! by search, held in memory only as far as it is used.

use std::borrow::Cow;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use executor_store::{SourceName, ToolRow};
use lru::LruCache;
use serde_json::Value;
use tokio::sync::watch;

use crate::arguments::{self, Validator};
use crate::indexing::wants_sign_in;
use crate::problem::{Problem, ProblemKind};
use crate::search::{Document, Index};
use crate::workspace::Workspace;

/// Tools that stay in memory after use.
const TOOLS: NonZeroUsize = NonZeroUsize::new(256).expect("not zero");

/// Parameters of one tool that search looks into.
const PARAMETERS: usize = 64;

/// A tool as calls need it.
pub(crate) struct Tool {
    pub(crate) source: SourceName,
    pub(crate) path: String,
    pub(crate) row: ToolRow,
    pub(crate) input_schema: Value,
    /// None where the schema can't be compiled: names alone are checked then.
    pub(crate) validator: Option<Validator>,
}

/// What is in memory of a workspace's catalogue.
pub(crate) struct Catalogue {
    tools: Mutex<LruCache<String, Arc<Tool>>>,
    /// Moves on with every change, so that what was read before one is not
    /// kept after it.
    generation: watch::Sender<u64>,
    search: Mutex<Option<Arc<Searchable>>>,
}

/// The search index and what its numbers stand for.
pub(crate) struct Searchable {
    pub(crate) index: Index,
    pub(crate) entries: Vec<Entry>,
}

/// What search shows of a tool.
pub(crate) struct Entry {
    pub(crate) source: u32,
    pub(crate) path: Box<str>,
    pub(crate) summary: Box<str>,
    pub(crate) read_only: bool,
    pub(crate) deprecated: bool,
}

impl Default for Catalogue {
    fn default() -> Self {
        Self {
            tools: Mutex::new(LruCache::new(TOOLS)),
            generation: watch::Sender::new(0),
            search: Mutex::default(),
        }
    }
}

impl Catalogue {
    /// Forgets what was read, after a source changed.
    pub(crate) fn forget(&self) {
        self.generation.send_modify(|generation| *generation += 1);
        self.tools.lock().unwrap_or_else(PoisonError::into_inner).clear();
        *self.search.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Hears of changes of a workspace's catalogue, from when it was made.
pub struct CatalogueChanges(watch::Receiver<u64>);

impl CatalogueChanges {
    /// Waits for the next change; those that came since the last are one. False
    /// once the workspace is gone.
    pub async fn next(&mut self) -> bool {
        self.0.changed().await.is_ok()
    }
}

impl Workspace {
    /// Changes of the catalogue from now on: sources that were added, removed,
    /// or swapped for what they are by now.
    pub fn catalogue_changes(&self) -> CatalogueChanges {
        CatalogueChanges(self.catalogue.generation.subscribe())
    }

    /// A tool by its path.
    pub(crate) fn tool(&self, path: &str) -> Result<Arc<Tool>, Problem> {
        let known = self.catalogue.tools.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned();
        if let Some(tool) = known {
            return Ok(tool);
        }
        let generation = *self.catalogue.generation.borrow();
        let tool = Arc::new(self.read_tool(path)?);
        let mut tools = self.catalogue.tools.lock().unwrap_or_else(PoisonError::into_inner);
        if generation == *self.catalogue.generation.borrow() {
            tools.put(path.to_owned(), tool.clone());
        }
        Ok(tool)
    }

    fn read_tool(&self, path: &str) -> Result<Tool, Problem> {
        let (source, name) = path.split_once('.').unwrap_or((path, ""));
        let parsed = SourceName::parse(source).map_err(|_| self.unknown_tool(path))?;
        let row = self.store.tool(&parsed, name)?.ok_or_else(|| self.unknown_tool(path))?;
        let input_schema: Value = serde_json::from_str(&row.input_schema)
            .map_err(|error| Problem::internal(format!("the stored schema of {path} is damaged: {error}")))?;
        let definitions = |name: &str| self.definition(&parsed, name).map(Cow::Owned);
        let validator = Validator::compile(&input_schema, &definitions)
            .inspect_err(|fault| tracing::debug!(path, %fault, "arguments are checked by name alone"))
            .ok();
        Ok(Tool { source: parsed, path: path.to_owned(), row, input_schema, validator })
    }

    /// A named schema of a source.
    pub(crate) fn definition(&self, source: &SourceName, name: &str) -> Option<Value> {
        let text = self.store.definition(source, name).ok().flatten()?;
        serde_json::from_str(&text).ok()
    }

    /// The problem of a path that leads to no tool, with what was meant.
    pub(crate) fn unknown_tool(&self, path: &str) -> Problem {
        let suggestions: Vec<String> = self.searchable().map_or_else(
            |_| Vec::new(),
            |searchable| {
                let paths = searchable.entries.iter().map(|entry| entry.path.as_ref());
                arguments::closest(path, paths).into_iter().take(3).map(str::to_owned).collect()
            },
        );
        let problem =
            Problem::new(ProblemKind::NotFound, "tool-not-found", format!("there is no tool {path}"));
        let source = SourceName::parse(path.split('.').next().unwrap_or_default()).ok();
        let locked = source.and_then(|name| self.store.source(&name).ok().flatten());
        if let Some(row) = locked.filter(|row| row.tool_count == 0 && wants_sign_in(Some(&row.meta))) {
            let name = &row.name;
            let message = format!("{name} shows its tools to those alone who sign in, and has none yet");
            return Problem::new(ProblemKind::NotFound, "tool-not-found", message)
                .hint(format!("`executor connections add {name}` signs in, and lists them"));
        }
        let hint = match suggestions.as_slice() {
            [] if self.store.sources().is_ok_and(|sources| sources.is_empty()) => {
                "there are no sources yet: `executor sources add URL` adds one".to_owned()
            }
            [] => "`executor tools search WORDS` finds tools".to_owned(),
            some => format!("did you mean {}?", some.join(" or ")),
        };
        problem.hint(hint).details(serde_json::json!({ "suggestions": suggestions }))
    }

    /// The search index, built when it is first needed.
    pub(crate) fn searchable(&self) -> Result<Arc<Searchable>, Problem> {
        let mut search = self.catalogue.search.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(searchable) = search.as_ref() {
            return Ok(searchable.clone());
        }
        let searchable = Arc::new(self.build_search()?);
        *search = Some(searchable.clone());
        Ok(searchable)
    }

    fn build_search(&self) -> Result<Searchable, Problem> {
        let (mut entries, mut texts) = (Vec::new(), Vec::new());
        let sources = self.store.sources()?;
        for (number, source) in (0_u32..).zip(&sources) {
            self.store.each_tool(&source.name, &mut |tool| {
                entries.push(Entry {
                    source: number,
                    path: format!("{}.{}", source.name, tool.name).into(),
                    summary: tool.summary.into(),
                    read_only: tool.read_only,
                    deprecated: tool.deprecated,
                });
                texts.push((tool.description.to_owned(), parameters(tool.input_schema)));
            })?;
        }
        let parameters: Vec<Vec<&str>> =
            texts.iter().map(|(_, names)| names.iter().map(String::as_str).collect()).collect();
        let documents =
            entries.iter().zip(&texts).zip(&parameters).map(|((entry, text), parameters)| Document {
                path: &entry.path,
                source: sources[entry.source as usize].name.as_str(),
                summary: &entry.summary,
                description: &text.0,
                parameters,
                deprecated: entry.deprecated,
                read_only: entry.read_only,
            });
        let index = Index::build(documents);
        Ok(Searchable { index, entries })
    }
}

/// The names of a tool's arguments, and of its body's properties.
fn parameters(schema: &str) -> Vec<String> {
    let Ok(schema) = serde_json::from_str::<Value>(schema) else {
        return Vec::new();
    };
    let names = |schema: &Value| -> Vec<String> {
        let properties = schema.get("properties").and_then(Value::as_object);
        properties.map(|properties| properties.keys().cloned().collect()).unwrap_or_default()
    };
    let mut found = names(&schema);
    if let Some(body) = schema.pointer("/properties/body") {
        found.extend(names(body));
    }
    found.truncate(PARAMETERS);
    found
}
