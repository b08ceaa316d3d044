//! Requests that are to be done once: an `Idempotency-Key`, committed with
//! what was created under it (draft-ietf-httpapi-idempotency-key-header).

use rusqlite::{Connection, params};

use crate::digest::Digest;
use crate::error::{Fault, StoreError};
use crate::sql;

/// A table like this is in each file in which something can be created.
pub(crate) const TABLE: &str = "
CREATE TABLE once (
    key TEXT PRIMARY KEY,
    request BLOB NOT NULL,
    created TEXT NOT NULL,
    at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX once_by_time ON once (at_ms);
";

/// How long a key is remembered.
const KEPT_MS: i64 = 24 * 60 * 60 * 1000;

/// A request that is to be done once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Once {
    /// The key, with whose it is: two clients may choose the same one.
    pub key: String,
    /// The digest of what was asked under it.
    pub request: Digest,
    /// When.
    pub at_ms: i64,
}

/// What was created under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnceRow {
    /// The digest of what was asked.
    pub request: Digest,
    /// The name or id of what was created.
    pub created: String,
}

/// Records what is created under a key, in the transaction that creates it.
///
/// # Errors
/// [`StoreError::Conflict`] when something was created under it already.
pub(crate) fn put(connection: &Connection, once: Option<&Once>, created: &str) -> Result<(), Fault> {
    let Some(once) = once else { return Ok(()) };
    let sql = "DELETE FROM once WHERE at_ms < ?1";
    sql::execute(connection, sql, [once.at_ms - KEPT_MS])?;
    let sql = "INSERT INTO once (key, request, created, at_ms) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT DO NOTHING";
    let params = params![once.key, once.request, created, once.at_ms];
    if sql::execute(connection, sql, params)? == 0 {
        let what = "something was created under this idempotency key already".to_owned();
        return Err(Fault::from(StoreError::Conflict { what }));
    }
    Ok(())
}

/// What was created under a key that is not older than a day.
pub(crate) fn get(connection: &Connection, once: &Once) -> Result<Option<OnceRow>, Fault> {
    let sql = "SELECT request, created FROM once WHERE key = ?1 AND at_ms >= ?2";
    sql::first(connection, sql, params![once.key, once.at_ms - KEPT_MS], |row| {
        Ok(OnceRow { request: row.get()?, created: row.get()? })
    })
}
