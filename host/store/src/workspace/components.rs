//! The components that a workspace has pinned, and what it granted them.

use std::sync::Arc;

use rusqlite::params;

use super::Workspace;
use crate::digest::Digest;
use crate::error::{Fault, Result};
use crate::once::{self, Once};
use crate::sql::{self, Columns, bits, json};

/// One pinned component. Its bytes are the home's
/// ([`crate::component_bytes`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComponentRow {
    /// Its name in the workspace.
    pub name: String,
    /// The digest of its bytes.
    pub digest: Digest,
    /// The world that it exports.
    pub world: String,
    /// The kind of source that an adapter is for.
    pub kind: Option<String>,
    /// The size of its bytes.
    pub size: u64,
    /// Whether it came with the executor.
    pub first_party: bool,
    /// What it imports.
    pub imports: Vec<String>,
    /// What it was granted, as JSON.
    pub grant: String,
    /// When it was pinned.
    pub added_ms: i64,
}

impl Workspace {
    /// Pins a component, in the place of the one of its name.
    ///
    /// # Errors
    /// The database could not be written.
    pub async fn put_component(&self, row: ComponentRow, once: Option<Once>) -> Result<()> {
        self.write("pinning a component", move |connection| {
            let sql = "INSERT OR REPLACE INTO components (name, digest, world, kind, size,
                first_party, imports, granted, added_ms)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
            let params = params![
                row.name,
                row.digest,
                row.world,
                row.kind,
                bits(row.size),
                row.first_party,
                json(&row.imports),
                row.grant,
                row.added_ms
            ];
            sql::execute(connection, sql, params)?;
            once::put(connection, once.as_ref(), &row.name)
        })
        .await
    }

    /// The pinned components, by name.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn components(&self) -> Result<Vec<ComponentRow>> {
        self.read("listing components", |connection| {
            let sql = "SELECT name, digest, world, kind, size, first_party, imports, granted,
                added_ms FROM components ORDER BY name";
            sql::all(connection, sql, [], read_row)
        })
    }

    /// One pinned component.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn component(&self, name: &str) -> Result<Option<ComponentRow>> {
        let read = || {
            self.read("reading a component", |connection| {
                let sql = "SELECT name, digest, world, kind, size, first_party, imports, granted,
                    added_ms FROM components WHERE name = ?1";
                sql::first(connection, sql, [name], read_row)
            })
        };
        let row = self.inner.kept.get(|rows| &mut rows.components, name, read)?;
        Ok(row.map(Arc::unwrap_or_clone))
    }

    /// Unpins a component; whether there was one.
    ///
    /// # Errors
    /// The database could not be written.
    pub async fn remove_component(&self, name: &str) -> Result<bool> {
        let name = name.to_owned();
        self.write("unpinning a component", move |connection| {
            let sql = "DELETE FROM components WHERE name = ?1";
            Ok(sql::execute(connection, sql, [&name])? > 0)
        })
        .await
    }
}

fn read_row(row: &mut Columns<'_, '_>) -> std::result::Result<ComponentRow, Fault> {
    Ok(ComponentRow {
        name: row.get()?,
        digest: row.get()?,
        world: row.get()?,
        kind: row.get()?,
        size: row.unsigned()?,
        first_party: row.get()?,
        imports: row.json()?,
        grant: row.get()?,
        added_ms: row.get()?,
    })
}
