//! The sources of a workspace.

use std::sync::Arc;

use rusqlite::{Connection, params};

use super::{Staged, Workspace, reviews, tools};
use crate::digest::Digest;
use crate::error::{Fault, Result};
use crate::names::SourceName;
use crate::once::{self, Once};
use crate::sql::{self, Columns, bits, json};

/// One source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceRow {
    /// What follows `tools.` in TypeScript.
    pub name: SourceName,
    /// What kind of API it is: openapi, graphql, mcp.
    pub kind: String,
    /// The component that indexed it.
    pub adapter: String,
    /// That component's digest.
    pub adapter_digest: Digest,
    /// A line for lists.
    pub title: String,
    /// The API's own version.
    pub version: Option<String>,
    /// What its adapter is given at each call, as JSON.
    pub config: String,
    /// What its person set, as JSON.
    pub settings: String,
    /// The document that it was indexed from, a blob.
    pub document: Option<Digest>,
    /// Where that document is several files: their paths and blobs, the
    /// document's own first.
    pub files: Vec<(String, Digest)>,
    /// Where that document came from.
    pub document_url: Option<String>,
    /// That document's media type.
    pub media_type: Option<String>,
    /// The origins that its calls go to.
    pub origins: Vec<String>,
    /// Hosts that would be refused but for its person's grant.
    pub allowed_hosts: Vec<String>,
    /// Whether its hints about tools count.
    pub trusted: bool,
    /// How many tools it has.
    pub tool_count: u64,
    /// How many warnings its index gave.
    pub warning_count: u64,
    /// Anything else that its adapter said, as JSON.
    pub meta: String,
    /// The program that it is, as JSON; none: it is reached over the network.
    pub command: Option<String>,
    /// When it was added.
    pub created_ms: i64,
    /// When it was indexed last.
    pub refreshed_ms: i64,
}

impl Workspace {
    /// Adds a source with all that its index staged, or puts these in the
    /// place of what the source of that name had; its connections stay, and
    /// the writes that it did not have are [unreviewed](Self::unreviewed). A
    /// reader sees the old or the new source, never a part of either.
    ///
    /// # Errors
    /// [`crate::StoreError::Conflict`] when a name is staged twice. After any
    /// error the old source is as it was.
    pub async fn replace_source(&self, row: SourceRow, staged: Staged, once: Option<Once>) -> Result<()> {
        self.write("replacing a source", move |connection| {
            let before = reviews::before(connection, &row.name)?;
            let id = put(connection, &row)?;
            tools::clear(connection, id)?;
            tools::put(connection, id, &staged)?;
            if let Some(before) = before {
                reviews::put(connection, id, &before, &staged, row.refreshed_ms)?;
            }
            once::put(connection, once.as_ref(), row.name.as_str())
        })
        .await
    }

    /// The sources, by name.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn sources(&self) -> Result<Vec<SourceRow>> {
        self.read("listing sources", |connection| {
            let sql = "SELECT name, kind, adapter, adapter_digest, title, version, config, settings,
                document, document_url, media_type, origins, allowed_hosts, trusted, tool_count,
                warning_count, meta, created_ms, refreshed_ms, command, files FROM sources ORDER BY name";
            sql::all(connection, sql, [], read_row)
        })
    }

    /// One source.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn source(&self, name: &SourceName) -> Result<Option<SourceRow>> {
        let read = || {
            self.read("reading a source", |connection| {
                let sql = "SELECT name, kind, adapter, adapter_digest, title, version, config, settings,
                    document, document_url, media_type, origins, allowed_hosts, trusted, tool_count,
                    warning_count, meta, created_ms, refreshed_ms, command, files FROM sources WHERE name = ?1";
                sql::first(connection, sql, [name], read_row)
            })
        };
        let row = self.inner.kept.get(|rows| &mut rows.sources, name, read)?;
        Ok(row.map(Arc::unwrap_or_clone))
    }

    /// Removes a source with its tools, definitions, auth methods, warnings
    /// and connections; whether there was one. Secrets and blobs stay.
    ///
    /// # Errors
    /// The database could not be written.
    pub async fn remove_source(&self, name: &SourceName) -> Result<bool> {
        let name = name.clone();
        self.write("removing a source", move |connection| {
            let sql = "DELETE FROM sources WHERE name = ?1";
            Ok(sql::execute(connection, sql, [&name])? > 0)
        })
        .await
    }
}

/// Writes a source's own row and returns its number, which stays the same.
fn put(connection: &Connection, row: &SourceRow) -> std::result::Result<i64, Fault> {
    let sql = "INSERT INTO sources (name, kind, adapter, adapter_digest, title, version, config,
        settings, document, document_url, media_type, origins, allowed_hosts, trusted, tool_count,
        warning_count, meta, created_ms, refreshed_ms, command, files)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,
        ?19, ?20, ?21)
        ON CONFLICT (name) DO UPDATE SET kind = excluded.kind, adapter = excluded.adapter,
        adapter_digest = excluded.adapter_digest, title = excluded.title,
        version = excluded.version, config = excluded.config, settings = excluded.settings,
        document = excluded.document, document_url = excluded.document_url,
        media_type = excluded.media_type, origins = excluded.origins,
        allowed_hosts = excluded.allowed_hosts, trusted = excluded.trusted,
        tool_count = excluded.tool_count, warning_count = excluded.warning_count,
        meta = excluded.meta, created_ms = excluded.created_ms,
        refreshed_ms = excluded.refreshed_ms, command = excluded.command, files = excluded.files";
    let params = params![
        row.name,
        row.kind,
        row.adapter,
        row.adapter_digest,
        row.title,
        row.version,
        row.config,
        row.settings,
        row.document,
        row.document_url,
        row.media_type,
        json(&row.origins),
        json(&row.allowed_hosts),
        row.trusted,
        bits(row.tool_count),
        bits(row.warning_count),
        row.meta,
        row.created_ms,
        row.refreshed_ms,
        row.command,
        json(&row.files),
    ];
    sql::execute(connection, sql, params)?;
    let sql = "UPDATE sources SET had_tools = 1 WHERE name = ?1 AND tool_count > 0 AND NOT had_tools";
    sql::execute(connection, sql, [&row.name])?;
    number(connection, &row.name)
}

/// A source's number.
pub(super) fn number(connection: &Connection, name: &SourceName) -> std::result::Result<i64, Fault> {
    let sql = "SELECT id FROM sources WHERE name = ?1";
    sql::first(connection, sql, [name], |row| row.get())?
        .ok_or_else(|| Fault::not_found(format!("source {name}")))
}

fn read_row(row: &mut Columns<'_, '_>) -> std::result::Result<SourceRow, Fault> {
    Ok(SourceRow {
        name: row.get()?,
        kind: row.get()?,
        adapter: row.get()?,
        adapter_digest: row.get()?,
        title: row.get()?,
        version: row.get()?,
        config: row.get()?,
        settings: row.get()?,
        document: row.get()?,
        document_url: row.get()?,
        media_type: row.get()?,
        origins: row.json()?,
        allowed_hosts: row.json()?,
        trusted: row.get()?,
        tool_count: row.unsigned()?,
        warning_count: row.unsigned()?,
        meta: row.get()?,
        created_ms: row.get()?,
        refreshed_ms: row.get()?,
        command: row.get()?,
        files: row.json()?,
    })
}
