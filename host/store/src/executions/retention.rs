//! What is kept of executions, and for how long.

use rusqlite::{Connection, params};

use super::Executions;
use super::audit::{AuditRecord, append};
use crate::digest::Digest;
use crate::error::{Fault, Result};
use crate::sql::{self, bits};

/// Executions that one transaction forgets, so that none holds the writer for
/// long.
const BATCH: i64 = 200;

impl Executions {
    /// Forgets executions that ended before a time, the oldest first: a batch
    /// of them. Returns how many.
    ///
    /// # Errors
    /// The database could not be written.
    pub async fn forget_settled(&self, before_ms: i64) -> Result<u64> {
        let forgotten = self.database.write("forgetting executions", move |connection| {
            let sql = "SELECT id FROM executions WHERE settled_ms < ?1 ORDER BY settled_ms LIMIT ?2";
            let ids = sql::all(connection, sql, params![before_ms, BATCH], |row| row.get::<String>())?;
            for id in &ids {
                for sql in [
                    "DELETE FROM calls WHERE execution = ?1",
                    "DELETE FROM recorded_values WHERE execution = ?1",
                    "DELETE FROM output WHERE execution = ?1",
                    "DELETE FROM interactions WHERE execution = ?1",
                    "DELETE FROM executions WHERE id = ?1",
                ] {
                    sql::execute(connection, sql, [id])?;
                }
            }
            Ok(ids.len() as u64)
        });
        forgotten.await
    }

    /// How much of the file is in use, in bytes.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn used_bytes(&self) -> Result<u64> {
        self.read("measuring a database", |connection| {
            let pages: i64 = connection.pragma_query_value(None, "page_count", |row| row.get(0))?;
            let free: i64 = connection.pragma_query_value(None, "freelist_count", |row| row.get(0))?;
            let size: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
            Ok(u64::try_from((pages - free) * size).unwrap_or_default())
        })
    }

    /// Forgets the audit records from before a time. The chain goes on from
    /// the last that went, and `told` stands in it for them, in the same
    /// commit. Returns how many went.
    ///
    /// # Errors
    /// The database could not be written.
    pub async fn prune_audit(
        &self,
        before_ms: i64,
        told: impl Fn(u64) -> AuditRecord + Send + 'static,
    ) -> Result<u64> {
        let pruned = self.database.write("pruning the audit log", move |connection| {
            let Some((last, hash)) = last_before(connection, before_ms)? else { return Ok(0) };
            let sql = "DELETE FROM audit WHERE sequence <= ?1";
            let gone = sql::execute(connection, sql, [bits(last)])? as u64;
            let sql = "UPDATE audit_base SET sequence = ?1, hash = ?2";
            sql::execute(connection, sql, params![bits(last), hash])?;
            append(connection, &told(gone))?;
            Ok(gone)
        });
        pruned.await
    }
}

/// The last record of the unbroken beginning that is older than a time.
fn last_before(connection: &Connection, before_ms: i64) -> std::result::Result<Option<(u64, Digest)>, Fault> {
    let sql = "SELECT sequence, hash FROM audit WHERE sequence <
        ifnull((SELECT min(sequence) FROM audit WHERE at_ms >= ?1), 9223372036854775807)
        ORDER BY sequence DESC LIMIT 1";
    sql::first(connection, sql, [before_ms], |row| Ok((row.unsigned()?, row.get()?)))
}
