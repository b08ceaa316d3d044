//! What a source was made of: its document, what its adapter said of it, its
//! tools and the schemas that these share.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::document::shown_url;
use crate::page::{Page, PageQuery, cursor};
use crate::problem::{Problem, ProblemKind};
use crate::sources::SourceDetail;
use crate::workspace::Workspace;

/// All that a source was made of. Its document and its definitions, which may
/// be large, have routes of their own.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SourceInspection {
    /// The source in full.
    pub source: SourceDetail,
    /// The component that indexed it.
    pub adapter: AdapterView,
    /// The document that it was indexed from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document: Option<DocumentView>,
    /// What its adapter keeps of it for each call.
    pub manifest: Value,
    /// What else its adapter said.
    pub meta: Value,
    /// A page of its tools, by path.
    pub tools: Page<ToolSummary>,
}

/// The component that indexed a source.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AdapterView {
    /// Its name.
    pub name: String,
    /// Its digest when it did.
    pub digest: String,
    /// Whether the one that is pinned now is another.
    pub changed: bool,
}

/// A document.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct DocumentView {
    /// Its digest.
    pub digest: String,
    /// Its size.
    pub size_bytes: u64,
    /// Its media type, as its server said it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Where it is from; of a query it is shown that there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The files that it is, its own first, where it is several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<DocumentFileView>,
}

/// A file of a document.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct DocumentFileView {
    /// Its path.
    pub path: String,
    /// Its digest.
    pub digest: String,
}

/// Which file of a document.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct DocumentQuery {
    /// A file that it refers to, by its path; the document itself by default.
    pub file: Option<String>,
}

/// A tool in a line.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ToolSummary {
    /// Its path.
    pub path: String,
    /// What it does.
    pub summary: String,
    /// Its digest, to which approvals are pinned.
    pub digest: String,
    /// Whether it only reads.
    pub read_only: bool,
    /// Whether its API is leaving it behind.
    pub deprecated: bool,
}

/// A schema that tools share.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct DefinitionView {
    /// Its name, as `#/$defs/…` has it.
    pub name: String,
    /// The schema.
    pub schema: Value,
}

impl Workspace {
    /// All that a source was made of, with a page of its tools.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn inspect_source(&self, name: &str, query: &PageQuery) -> Result<SourceInspection, Problem> {
        let row = self.known_source(name)?;
        let mut tools = Vec::new();
        self.store.each_tool(&row.name, &mut |tool| {
            tools.push(ToolSummary {
                path: format!("{name}.{}", tool.name),
                summary: tool.summary.to_owned(),
                digest: tool.digest.to_string(),
                read_only: tool.read_only,
                deprecated: tool.deprecated,
            });
        })?;
        tools.sort_by(|a, b| a.path.cmp(&b.path));
        let document = match &row.document {
            None => None,
            Some(digest) => self.store.blobs().row(digest)?.map(|blob| DocumentView {
                digest: digest.to_string(),
                size_bytes: blob.size,
                media_type: row.media_type.clone(),
                url: row.document_url.as_deref().map(shown_url),
                files: row
                    .files
                    .iter()
                    .map(|(path, digest)| DocumentFileView { path: path.clone(), digest: digest.to_string() })
                    .collect(),
            }),
        };
        let pinned = self.store.component(&row.adapter)?;
        Ok(SourceInspection {
            adapter: AdapterView {
                name: row.adapter.clone(),
                digest: row.adapter_digest.to_string(),
                changed: pinned.is_none_or(|component| component.digest != row.adapter_digest),
            },
            document,
            manifest: json_or_text(&row.config),
            meta: json_or_text(&row.meta),
            tools: query.page(tools, |tool| tool.path.clone())?,
            source: self.source(name)?,
        })
    }

    /// A source's document, or a file of it, with its media type.
    ///
    /// # Errors
    /// When there is no such source or file, or it was made without a
    /// document.
    pub fn source_document(&self, name: &str, query: &DocumentQuery) -> Result<(String, Vec<u8>), Problem> {
        let row = self.known_source(name)?;
        let none = || Problem::new(ProblemKind::NotFound, "no-document", format!("{name} has no document"));
        let digest = match &query.file {
            None => row.document.ok_or_else(none)?,
            Some(file) => row
                .files
                .iter()
                .find(|(path, _)| path == file)
                .map(|(_, digest)| *digest)
                .ok_or_else(|| Problem::not_found("file", file))?,
        };
        let reader = self.store.blobs().open(&digest)?.ok_or_else(none)?;
        let size = usize::try_from(reader.size()).map_err(|_| none())?;
        let mut bytes = Vec::with_capacity(size);
        while bytes.len() < size {
            let piece = reader.read(bytes.len() as u64, size - bytes.len())?;
            if piece.is_empty() {
                break;
            }
            bytes.extend(piece);
        }
        Ok((row.media_type.unwrap_or_else(|| "application/octet-stream".into()), bytes))
    }

    /// A page of the schemas that a source's tools share.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn source_definitions(&self, name: &str, query: &PageQuery) -> Result<Page<DefinitionView>, Problem> {
        let row = self.known_source(name)?;
        let limit = query.limit();
        let after = query.place::<String>()?.unwrap_or_default();
        let mut found = self.store.definitions(&row.name, &after, limit + 1)?;
        let more = found.len() > limit;
        found.truncate(limit);
        let next_cursor = more.then(|| found.last().map(|(name, _)| cursor(name))).flatten();
        let view = |(name, body): (String, String)| DefinitionView { name, schema: json_or_text(&body) };
        Ok(Page { items: found.into_iter().map(view).collect(), next_cursor })
    }
}

fn json_or_text(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}
