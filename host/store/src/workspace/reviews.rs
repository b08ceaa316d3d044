//! The writes of a source that a refresh brought, until a person has seen
//! them.

use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::{Connection, params};

use super::{Staged, ToolRow, Workspace};
use crate::digest::Digest;
use crate::error::{Fault, Result};
use crate::names::SourceName;
use crate::sql::{self, Columns};

/// A tool that may change something, and that came with a refresh or was
/// changed by one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreviewedRow {
    /// Its path without the source.
    pub name: String,
    /// The version that nobody has seen.
    pub digest: Digest,
    /// Whether an earlier version of it was there before.
    pub changed: bool,
    /// The request of the version before, where that was another one.
    pub request_before: Option<String>,
    /// When the refresh was.
    pub since_ms: i64,
}

/// The unreviewed tools of one source, by name.
pub type Unreviewed = HashMap<String, UnreviewedRow>;

/// What a refresh finds of the tools that a source had.
pub(super) struct Before {
    tools: HashMap<String, (Digest, Option<String>)>,
    unreviewed: Unreviewed,
}

impl Workspace {
    /// The tools of a source that nobody has seen since a refresh brought
    /// them.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn unreviewed(&self, source: &SourceName) -> Result<Arc<Unreviewed>> {
        let read = || {
            self.read("reading what nobody has reviewed", |connection| {
                let rows = sql::all(connection, OF_SOURCE, [source], read_row)?;
                Ok(Some(rows.into_iter().map(|row| (row.name.clone(), row)).collect()))
            })
        };
        let rows = self.inner.kept.get(|rows| &mut rows.unreviewed, source, read)?;
        Ok(rows.unwrap_or_default())
    }

    /// Takes note that a person has seen these versions of these tools, and
    /// returns the names of those that nobody had. A version that is not the
    /// present one stays unseen.
    ///
    /// # Errors
    /// The database could not be written.
    pub async fn reviewed(&self, source: &SourceName, seen: Vec<(String, Digest)>) -> Result<Vec<String>> {
        let source = source.clone();
        self.write("noting what was reviewed", move |connection| {
            let sql = "DELETE FROM unreviewed
                WHERE source = (SELECT id FROM sources WHERE name = ?1) AND name = ?2 AND digest = ?3";
            let mut noted = Vec::new();
            for (name, digest) in &seen {
                if sql::execute(connection, sql, params![source, name, digest])? > 0 {
                    noted.push(name.clone());
                }
            }
            Ok(noted)
        })
        .await
    }
}

const OF_SOURCE: &str = "SELECT name, digest, changed, request_before, since_ms FROM unreviewed
    WHERE source = (SELECT id FROM sources WHERE name = ?1)";

/// What a source has, before it is replaced; none where it is new, or never had
/// a tool.
pub(super) fn before(
    connection: &Connection,
    source: &SourceName,
) -> std::result::Result<Option<Before>, Fault> {
    let known =
        sql::first(connection, "SELECT id FROM sources WHERE name = ?1 AND had_tools", [source], |row| {
            row.get::<i64>()
        })?;
    let Some(known) = known else { return Ok(None) };
    let sql = "SELECT name, digest, request FROM tools WHERE source = ?1";
    let tools = sql::all(connection, sql, [known], |row| Ok((row.get()?, (row.get()?, row.get()?))))?;
    let unreviewed = sql::all(connection, OF_SOURCE, [source], read_row)?;
    Ok(Some(Before {
        tools: tools.into_iter().collect(),
        unreviewed: unreviewed.into_iter().map(|row| (row.name.clone(), row)).collect(),
    }))
}

/// Notes which of the staged writes nobody has seen: those that were not there
/// before, those that were something else, and those that were unseen already.
pub(super) fn put(
    connection: &Connection,
    source: i64,
    before: &Before,
    staged: &Staged,
    now_ms: i64,
) -> std::result::Result<(), Fault> {
    sql::execute(connection, "DELETE FROM unreviewed WHERE source = ?1", [source])?;
    for tool in staged.tools.iter().filter(|tool| !tool.read_only) {
        let unseen = before.unreviewed.get(&tool.name);
        let row = match before.tools.get(&tool.name) {
            Some((digest, _)) if *digest == tool.digest => unseen.cloned(),
            earlier => Some(brought(tool, earlier, unseen, now_ms)),
        };
        if let Some(row) = row {
            insert(connection, source, &row)?;
        }
    }
    Ok(())
}

/// The row of a write that a refresh brought. One that nobody had seen before it
/// was changed is as new as it was; one that somebody had seen is compared
/// with what they saw.
fn brought(
    tool: &ToolRow,
    earlier: Option<&(Digest, Option<String>)>,
    unseen: Option<&UnreviewedRow>,
    now_ms: i64,
) -> UnreviewedRow {
    let changed = unseen.map_or(earlier.is_some(), |row| row.changed);
    let known = unseen.and_then(|row| row.request_before.clone());
    let request = known.or_else(|| earlier.and_then(|(_, request)| request.clone()));
    UnreviewedRow {
        name: tool.name.clone(),
        digest: tool.digest,
        changed,
        request_before: request.filter(|request| changed && Some(request) != tool.request.as_ref()),
        since_ms: now_ms,
    }
}

fn insert(connection: &Connection, source: i64, row: &UnreviewedRow) -> std::result::Result<(), Fault> {
    let sql = "INSERT INTO unreviewed (source, name, digest, changed, request_before, since_ms)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let UnreviewedRow { name, digest, changed, request_before, since_ms } = row;
    sql::execute(connection, sql, params![source, name, digest, changed, request_before, since_ms])?;
    Ok(())
}

fn read_row(row: &mut Columns<'_, '_>) -> std::result::Result<UnreviewedRow, Fault> {
    Ok(UnreviewedRow {
        name: row.get()?,
        digest: row.get()?,
        changed: row.get()?,
        request_before: row.get()?,
        since_ms: row.get()?,
    })
}
