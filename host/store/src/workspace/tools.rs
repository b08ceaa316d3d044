//! What a source's index gives: tools, definitions, auth methods, warnings.

use std::sync::Arc;

use rusqlite::{Connection, Params, params};
use serde::{Deserialize, Serialize};

use super::Workspace;
use crate::digest::Digest;
use crate::error::{Fault, Result};
use crate::names::SourceName;
use crate::sql::{self, Columns, bits, json};

/// One tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRow {
    /// Its path without the source: `issues.create`.
    pub name: String,
    /// What it does.
    pub description: String,
    /// A line for lists, as its API has it.
    pub title: Option<String>,
    /// A line for lists.
    pub summary: String,
    /// The request that it makes, for a person: `POST /repos/{owner}`.
    pub request: Option<String>,
    /// The JSON Schema of its arguments.
    pub input_schema: String,
    /// The JSON Schema of its result.
    pub output_schema: Option<String>,
    /// Whether it says that it changes nothing.
    pub read_only: bool,
    /// Whether it says that it may destroy something.
    pub destructive: bool,
    /// Whether it says that twice is as good as once.
    pub idempotent: bool,
    /// Whether its API would rather not have it used.
    pub deprecated: bool,
    /// Whether it asks to be approved.
    pub requires_approval: bool,
    /// Alternatives of auth-method ids that are needed together.
    pub auth: Vec<Vec<String>>,
    /// What its adapter needs to make the call, opaque.
    pub binding: Vec<u8>,
    /// More of its annotations, as JSON.
    pub annotations_meta: Option<String>,
    /// Anything else, as JSON.
    pub meta: Option<String>,
    /// The digest of all that says what it does.
    pub digest: Digest,
}

/// Takes a tool's name, its alternatives of auth methods, and its `meta`.
pub type VisitAuth<'a> = dyn FnMut(&str, &[Vec<String>], Option<&str>) + 'a;

/// One way to authenticate with a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthMethodRow {
    /// Its id, as tools name it.
    pub id: String,
    /// What kind of method it is.
    pub kind: String,
    /// A line for lists.
    pub label: String,
    /// Its configuration as JSON.
    pub config: String,
    /// Anything else, as JSON.
    pub meta: Option<String>,
}

/// Something that an index could not do well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WarningRow {
    /// The tool that it is about.
    pub tool: Option<String>,
    /// Its code.
    pub code: String,
    /// What a person reads.
    pub message: String,
}

/// All that an index gave, to be put in as a whole. Names are distinct.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Staged {
    /// The tools.
    pub tools: Vec<ToolRow>,
    /// Schemas that others refer to: name and JSON Schema.
    pub definitions: Vec<(String, String)>,
    /// The ways to authenticate, the preferred one first.
    pub auth_methods: Vec<AuthMethodRow>,
    /// What went less than well, in order.
    pub warnings: Vec<WarningRow>,
}

/// A tool as a search index reads it, where it lies in the database.
#[derive(Debug, Clone, Copy)]
pub struct ToolDocument<'a> {
    /// As in [`ToolRow`].
    pub name: &'a str,
    /// As in [`ToolRow`].
    pub summary: &'a str,
    /// As in [`ToolRow`].
    pub description: &'a str,
    /// As in [`ToolRow`].
    pub input_schema: &'a str,
    /// As in [`ToolRow`].
    pub read_only: bool,
    /// As in [`ToolRow`].
    pub deprecated: bool,
    /// As in [`ToolRow`].
    pub digest: Digest,
}

impl Workspace {
    /// One tool.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn tool(&self, source: &SourceName, name: &str) -> Result<Option<ToolRow>> {
        self.read("reading a tool", |connection| {
            let sql = "SELECT name, description, title, summary, request, input_schema,
                output_schema, read_only, destructive, idempotent, deprecated, requires_approval,
                auth, binding, annotations_meta, meta, digest FROM tools
                WHERE source = (SELECT id FROM sources WHERE name = ?1) AND name = ?2";
            sql::first(connection, sql, params![source, name], read_tool)
        })
    }

    /// The names of a source's tools, sorted.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn tool_names(&self, source: &SourceName) -> Result<Vec<String>> {
        self.read("listing tools", |connection| {
            let sql = "SELECT name FROM tools
                WHERE source = (SELECT id FROM sources WHERE name = ?1) ORDER BY name";
            sql::all(connection, sql, [source], |row| row.get())
        })
    }

    /// Shows each tool of a source, in no order, without holding them all.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn each_tool(&self, source: &SourceName, visit: &mut dyn FnMut(ToolDocument<'_>)) -> Result<()> {
        self.read("reading tools", |connection| {
            let sql = "SELECT name, summary, description, input_schema, read_only, deprecated,
                digest FROM tools WHERE source = (SELECT id FROM sources WHERE name = ?1)";
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query([source])?;
            while let Some(row) = rows.next()? {
                let mut columns = Columns::of(row);
                visit(ToolDocument {
                    name: columns.text()?,
                    summary: columns.text()?,
                    description: columns.text()?,
                    input_schema: columns.text()?,
                    read_only: columns.get()?,
                    deprecated: columns.get()?,
                    digest: columns.get()?,
                });
            }
            Ok(())
        })
    }

    /// Shows how each tool of a source signs in: its alternatives of auth
    /// methods, and its `meta`.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn each_tool_auth(&self, source: &SourceName, visit: &mut VisitAuth<'_>) -> Result<()> {
        self.read("reading how tools sign in", |connection| {
            let sql =
                "SELECT name, auth, meta FROM tools WHERE source = (SELECT id FROM sources WHERE name = ?1)";
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query([source])?;
            while let Some(row) = rows.next()? {
                let mut columns = Columns::of(row);
                let name: String = columns.get()?;
                let auth: Vec<Vec<String>> = columns.json()?;
                let meta: Option<String> = columns.get()?;
                visit(&name, &auth, meta.as_deref());
            }
            Ok(())
        })
    }

    /// A schema that others of the source refer to.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn definition(&self, source: &SourceName, name: &str) -> Result<Option<String>> {
        self.read("reading a definition", |connection| {
            let sql = "SELECT body FROM definitions
                WHERE source = (SELECT id FROM sources WHERE name = ?1) AND name = ?2";
            sql::first(connection, sql, params![source, name], |row| row.get())
        })
    }

    /// Schemas that others of the source refer to, by name: at most `limit`,
    /// those after the name `after`.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn definitions(
        &self,
        source: &SourceName,
        after: &str,
        limit: usize,
    ) -> Result<Vec<(String, String)>> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.read("listing definitions", |connection| {
            let sql = "SELECT definitions.name, body FROM definitions
                JOIN sources ON sources.id = definitions.source
                WHERE sources.name = ?1 AND definitions.name > ?2 ORDER BY definitions.name LIMIT ?3";
            sql::all(connection, sql, params![source, after, limit], |row| Ok((row.get()?, row.get()?)))
        })
    }

    /// The ways to authenticate with a source, the preferred one first.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn auth_methods(&self, source: &SourceName) -> Result<Vec<AuthMethodRow>> {
        let read = || {
            self.read("reading auth methods", |connection| {
                let sql = "SELECT id, kind, label, config, meta FROM auth_methods
                    WHERE source = (SELECT id FROM sources WHERE name = ?1) ORDER BY position";
                sql::all(connection, sql, [source], |row| {
                    Ok(AuthMethodRow {
                        id: row.get()?,
                        kind: row.get()?,
                        label: row.get()?,
                        config: row.get()?,
                        meta: row.get()?,
                    })
                })
            })
        };
        let rows = self.inner.kept.get(|rows| &mut rows.auth_methods, source, || read().map(Some))?;
        Ok(rows.map(Arc::unwrap_or_clone).unwrap_or_default())
    }

    /// What a source's index warned of, in order.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn warnings(&self, source: &SourceName) -> Result<Vec<WarningRow>> {
        self.read("reading warnings", |connection| {
            let sql = "SELECT tool, code, message FROM warnings
                WHERE source = (SELECT id FROM sources WHERE name = ?1) ORDER BY position";
            sql::all(connection, sql, [source], |row| {
                Ok(WarningRow { tool: row.get()?, code: row.get()?, message: row.get()? })
            })
        })
    }
}

fn read_tool(row: &mut Columns<'_, '_>) -> std::result::Result<ToolRow, Fault> {
    Ok(ToolRow {
        name: row.get()?,
        description: row.get()?,
        title: row.get()?,
        summary: row.get()?,
        request: row.get()?,
        input_schema: row.get()?,
        output_schema: row.get()?,
        read_only: row.get()?,
        destructive: row.get()?,
        idempotent: row.get()?,
        deprecated: row.get()?,
        requires_approval: row.get()?,
        auth: row.json()?,
        binding: row.get()?,
        annotations_meta: row.get()?,
        meta: row.get()?,
        digest: row.get()?,
    })
}

/// Removes all that an earlier index of a source gave.
pub(super) fn clear(connection: &Connection, source: i64) -> std::result::Result<(), Fault> {
    let statements = [
        "DELETE FROM tools WHERE source = ?1",
        "DELETE FROM definitions WHERE source = ?1",
        "DELETE FROM auth_methods WHERE source = ?1",
        "DELETE FROM warnings WHERE source = ?1",
    ];
    for sql in statements {
        sql::execute(connection, sql, [source])?;
    }
    Ok(())
}

/// Adds all that an index of a source gave.
pub(super) fn put(connection: &Connection, source: i64, staged: &Staged) -> std::result::Result<(), Fault> {
    for tool in &staged.tools {
        put_tool(connection, source, tool)?;
    }
    let sql = "INSERT INTO definitions (source, name, body) VALUES (?1, ?2, ?3)";
    for (name, body) in &staged.definitions {
        insert(connection, sql, params![source, name, body], "definition", name)?;
    }
    let sql = "INSERT INTO auth_methods (source, position, id, kind, label, config, meta)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    for (method, position) in staged.auth_methods.iter().zip(0..) {
        let AuthMethodRow { id, kind, label, config, meta } = method;
        let params = params![source, bits(position), id, kind, label, config, meta];
        insert(connection, sql, params, "auth method", id)?;
    }
    let sql = "INSERT INTO warnings (source, position, tool, code, message)
        VALUES (?1, ?2, ?3, ?4, ?5)";
    for (warning, position) in staged.warnings.iter().zip(0..) {
        let WarningRow { tool, code, message } = warning;
        sql::execute(connection, sql, params![source, bits(position), tool, code, message])?;
    }
    Ok(())
}

fn put_tool(connection: &Connection, source: i64, tool: &ToolRow) -> std::result::Result<(), Fault> {
    let sql = "INSERT INTO tools (source, name, description, title, summary, request, input_schema,
        output_schema, read_only, destructive, idempotent, deprecated, requires_approval, auth,
        binding, annotations_meta, meta, digest)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)";
    let params = params![
        source,
        tool.name,
        tool.description,
        tool.title,
        tool.summary,
        tool.request,
        tool.input_schema,
        tool.output_schema,
        tool.read_only,
        tool.destructive,
        tool.idempotent,
        tool.deprecated,
        tool.requires_approval,
        json(&tool.auth),
        tool.binding,
        tool.annotations_meta,
        tool.meta,
        tool.digest,
    ];
    insert(connection, sql, params, "tool", &tool.name)
}

/// Adds a row whose name no other of its source may have.
fn insert(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    kind: &str,
    name: &str,
) -> std::result::Result<(), Fault> {
    match connection.prepare_cached(sql)?.execute(params) {
        Ok(_) => Ok(()),
        Err(error) if Fault::violates_constraint(&error) => {
            Err(Fault::conflict(format!("the source has two of the {kind} {}", name.escape_debug())))
        }
        Err(error) => Err(error.into()),
    }
}
