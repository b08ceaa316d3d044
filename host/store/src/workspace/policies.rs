//! The rules that say which tool may be called.

use rusqlite::params;

use super::Workspace;
use crate::digest::Digest;
use crate::error::{Fault, Result};
use crate::identifiers::PolicyId;
use crate::once::{self, Once};
use crate::sql::{self, Columns};

/// One rule. Within a level the first that matches decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyRow {
    /// Its id.
    pub id: PolicyId,
    /// organization, workspace or connection.
    pub level: String,
    /// The connection that it is for, as `source/name`.
    pub connection: Option<String>,
    /// Its place within the level, from 0.
    pub position: i64,
    /// The tools that it is about.
    pub pattern: String,
    /// allow, approve or block.
    pub action: String,
    /// The one version of the tool that it is about.
    pub tool_digest: Option<Digest>,
    /// What its maker wrote.
    pub note: Option<String>,
    /// Who made it.
    pub created_by: String,
    /// When.
    pub created_ms: i64,
}

impl Workspace {
    /// Adds a rule at its place, or the nearest there is, or replaces the one
    /// that has its id; once under a key. Returns its place: those from there
    /// on are one further down.
    ///
    /// # Errors
    /// The database could not be written.
    pub async fn put_policy(&self, row: PolicyRow, once: Option<Once>) -> Result<i64> {
        self.write("adding a policy", move |connection| {
            let sql = "SELECT id FROM policies WHERE level = ?1 AND id <> ?2 ORDER BY position, id";
            let mut ids: Vec<PolicyId> =
                sql::all(connection, sql, params![row.level, row.id], |row| row.get())?;
            let place = usize::try_from(row.position).unwrap_or(0).min(ids.len());
            ids.insert(place, row.id.clone());
            let sql = "INSERT OR REPLACE INTO policies (id, level, connection, position, pattern,
                action, tool_digest, note, created_by, created_ms)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
            let params = params![
                row.id,
                row.level,
                row.connection,
                row.position,
                row.pattern,
                row.action,
                row.tool_digest,
                row.note,
                row.created_by,
                row.created_ms
            ];
            sql::execute(connection, sql, params)?;
            let sql = "UPDATE policies SET position = ?2 WHERE id = ?1 AND position <> ?2";
            for (id, position) in ids.iter().zip(0_i64..) {
                sql::execute(connection, sql, params![id, position])?;
            }
            once::put(connection, once.as_ref(), row.id.as_str())?;
            Ok(i64::try_from(place).unwrap_or(i64::MAX))
        })
        .await
    }

    /// The rules in the order in which they are read: the organization's, the
    /// workspace's, the connections', each by position.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn policies(&self) -> Result<Vec<PolicyRow>> {
        self.read("reading policies", |connection| {
            let sql = "SELECT id, level, connection, position, pattern, action, tool_digest, note,
                created_by, created_ms FROM policies
                ORDER BY CASE level WHEN 'organization' THEN 0 WHEN 'workspace' THEN 1 ELSE 2 END,
                position, id";
            sql::all(connection, sql, [], read_row)
        })
    }

    /// Removes a rule; whether there was one.
    ///
    /// # Errors
    /// The database could not be written.
    pub async fn remove_policy(&self, id: &PolicyId) -> Result<bool> {
        let id = id.clone();
        self.write("removing a policy", move |connection| {
            let sql = "DELETE FROM policies WHERE id = ?1";
            Ok(sql::execute(connection, sql, [&id])? > 0)
        })
        .await
    }
}

fn read_row(row: &mut Columns<'_, '_>) -> std::result::Result<PolicyRow, Fault> {
    Ok(PolicyRow {
        id: row.get()?,
        level: row.get()?,
        connection: row.get()?,
        position: row.get()?,
        pattern: row.get()?,
        action: row.get()?,
        tool_digest: row.get()?,
        note: row.get()?,
        created_by: row.get()?,
        created_ms: row.get()?,
    })
}
