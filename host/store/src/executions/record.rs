//! The record of an execution.

use rusqlite::{Connection, params};

use super::Executions;
use crate::digest::Digest;
use crate::error::{Fault, Result};
use crate::identifiers::ExecutionId;
use crate::sql::{self, Columns, bits};

/// One execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionRow {
    /// Its id.
    pub id: ExecutionId,
    /// What ran: code, a call, a document.
    pub kind: String,
    /// pending, running, waiting_for_interaction, completed, failed or cancelled.
    pub status: String,
    /// Through what it came: http, mcp, cli.
    pub surface: String,
    /// The client's name.
    pub client: String,
    /// Whose it is.
    pub account: String,
    /// A line for lists.
    pub title: String,
    /// What its author wrote.
    pub code: Option<String>,
    /// What the engine runs.
    pub compiled: Option<String>,
    /// From places in `compiled` to places in `code`.
    pub source_map: Option<String>,
    /// The engine that it is pinned to.
    pub engine: Option<Digest>,
    /// Its input as JSON.
    pub input: Option<String>,
    /// When it was taken on.
    pub created_ms: i64,
    /// When it ended.
    pub settled_ms: Option<i64>,
    /// Its result as JSON.
    pub result: Option<String>,
    /// Its error as JSON.
    pub error: Option<String>,
    /// Fuel used by all of its runs.
    pub fuel: u64,
    /// The most memory that it held.
    pub memory_bytes: u64,
    /// Whether its result or output was cut.
    pub truncated: bool,
    /// The id of the token that began it; none: a session of its account.
    pub token: Option<String>,
    /// The patterns of the tools that it may call, as a JSON list; none: all.
    pub toolkit: Option<String>,
    /// Its spans as JSON, as far as they are known.
    pub spans: Option<String>,
}

impl ExecutionRow {
    pub(super) fn weight_bytes(&self) -> usize {
        let optional = [
            &self.code,
            &self.compiled,
            &self.source_map,
            &self.input,
            &self.result,
            &self.error,
            &self.spans,
        ];
        let long: usize = optional.into_iter().flatten().map(String::len).sum();
        long + self.title.len()
    }
}

/// The most that a list gives at once.
const LIST_LIMIT: usize = 1000;

impl Executions {
    /// How many executions have a status.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn count(&self, status: &str) -> Result<u64> {
        self.read("counting executions", |connection| {
            let sql = "SELECT count(*) FROM executions WHERE status = ?1";
            Ok(sql::first(connection, sql, [status], |row| row.unsigned())?.unwrap_or(0))
        })
    }

    /// An execution with all that is known of it.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn execution(&self, id: &ExecutionId) -> Result<Option<ExecutionRow>> {
        self.read("reading an execution", |connection| {
            let sql = "SELECT id, kind, status, surface, client, account, title, created_ms,
                settled_ms, error, fuel, memory_bytes, truncated, engine, code, compiled,
                source_map, input, result, token, toolkit, spans FROM executions WHERE id = ?1";
            sql::first(connection, sql, [id], read_row)
        })
    }

    /// Executions, the newest first: at most `limit` (and 1,000), those before
    /// `before`, and only those with `status`. Rows of a list carry no `code`,
    /// `compiled`, `source_map`, `input`, `result` and `spans`, whatever these are.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn list(
        &self,
        limit: usize,
        before: Option<&ExecutionId>,
        status: Option<&str>,
    ) -> Result<Vec<ExecutionRow>> {
        // A character that no identifier has, after all that they have.
        let before = before.map_or("~", ExecutionId::as_str);
        let limit = i64::try_from(limit.min(LIST_LIMIT)).expect("the limit is small");
        self.read("listing executions", |connection| match status {
            Some(status) => {
                let sql = "SELECT id, kind, status, surface, client, account, title, created_ms,
                    settled_ms, error, fuel, memory_bytes, truncated, engine, NULL, NULL,
                    NULL, NULL, NULL, token, toolkit, NULL FROM executions WHERE status = ?3 AND id < ?1
                    ORDER BY id DESC LIMIT ?2";
                sql::all(connection, sql, params![before, limit, status], read_row)
            }
            None => {
                let sql = "SELECT id, kind, status, surface, client, account, title, created_ms,
                    settled_ms, error, fuel, memory_bytes, truncated, engine, NULL, NULL,
                    NULL, NULL, NULL, token, toolkit, NULL FROM executions WHERE id < ?1
                    ORDER BY id DESC LIMIT ?2";
                sql::all(connection, sql, params![before, limit], read_row)
            }
        })
    }

    /// The engines that executions began with which have not ended, each once.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn unsettled_engines(&self) -> Result<Vec<Digest>> {
        self.read("reading the engines of unsettled executions", |connection| {
            let sql = "SELECT DISTINCT engine FROM executions
                WHERE status IN ('pending', 'running', 'waiting_for_interaction')
                AND engine IS NOT NULL";
            sql::all(connection, sql, [], |row| row.get())
        })
    }

    /// Executions that a process which is gone has left pending, running, or
    /// waiting in the middle of a call that was in its memory, the oldest
    /// first, when asked before anything new is run.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn unsettled(&self) -> Result<Vec<ExecutionRow>> {
        self.read("reading unsettled executions", |connection| {
            let sql = "SELECT id, kind, status, surface, client, account, title, created_ms,
                settled_ms, error, fuel, memory_bytes, truncated, engine, code, compiled,
                source_map, input, result, token, toolkit, spans FROM executions
                WHERE status IN ('pending', 'running')
                OR (status = 'waiting_for_interaction' AND EXISTS (SELECT 1 FROM interactions
                    WHERE interactions.execution = executions.id
                    AND interactions.status = 'pending'
                    AND json_extract(interactions.request, '$.live')))
                ORDER BY id";
            sql::all(connection, sql, [], read_row)
        })
    }
}

fn read_row(row: &mut Columns<'_, '_>) -> std::result::Result<ExecutionRow, Fault> {
    Ok(ExecutionRow {
        id: row.get()?,
        kind: row.get()?,
        status: row.get()?,
        surface: row.get()?,
        client: row.get()?,
        account: row.get()?,
        title: row.get()?,
        created_ms: row.get()?,
        settled_ms: row.get()?,
        error: row.get()?,
        fuel: row.unsigned()?,
        memory_bytes: row.unsigned()?,
        truncated: row.get()?,
        engine: row.get()?,
        code: row.get()?,
        compiled: row.get()?,
        source_map: row.get()?,
        input: row.get()?,
        result: row.get()?,
        token: row.get()?,
        toolkit: row.get()?,
        spans: row.get()?,
    })
}

pub(super) fn put(connection: &Connection, row: &ExecutionRow) -> std::result::Result<(), Fault> {
    let sql = "INSERT OR REPLACE INTO executions (id, kind, status, surface, client, account,
        title, created_ms, changed_ms, settled_ms, error, fuel, memory_bytes, truncated, engine,
        code, compiled, source_map, input, result, token, toolkit, spans)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ifnull(?9, ?8), ?9, ?10, ?11, ?12, ?13, ?14,
        ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)";
    let params = params![
        row.id,
        row.kind,
        row.status,
        row.surface,
        row.client,
        row.account,
        row.title,
        row.created_ms,
        row.settled_ms,
        row.error,
        bits(row.fuel),
        bits(row.memory_bytes),
        row.truncated,
        row.engine,
        row.code,
        row.compiled,
        row.source_map,
        row.input,
        row.result,
        row.token,
        row.toolkit,
        row.spans,
    ];
    sql::execute(connection, sql, params)?;
    Ok(())
}

/// How an execution ended, as [`super::Change::Settle`] says it.
pub(super) struct Ending<'a> {
    pub(super) status: &'a str,
    pub(super) result: Option<&'a str>,
    pub(super) error: Option<&'a str>,
    pub(super) settled_ms: i64,
    pub(super) fuel: u64,
    pub(super) memory_bytes: u64,
    pub(super) truncated: bool,
    pub(super) spans: Option<&'a str>,
}

pub(super) fn settle(
    connection: &Connection,
    id: &ExecutionId,
    ending: &Ending<'_>,
) -> std::result::Result<(), Fault> {
    let sql = "UPDATE executions SET status = ?2, result = ?3, error = ?4, settled_ms = ?5,
        changed_ms = ?5, fuel = ?6, memory_bytes = ?7, truncated = ?8, spans = ifnull(?9, spans) WHERE id = ?1
        AND status IN ('pending', 'running', 'waiting_for_interaction')";
    let params = params![
        id,
        ending.status,
        ending.result,
        ending.error,
        ending.settled_ms,
        bits(ending.fuel),
        bits(ending.memory_bytes),
        ending.truncated,
        ending.spans,
    ];
    expect_one(connection, sql::execute(connection, sql, params)?, id)
}

/// Keeps what is known of an execution's spans before it ends. One that has
/// no record has no place for them, which is no failure.
pub(super) fn put_spans(
    connection: &Connection,
    id: &ExecutionId,
    spans: &str,
) -> std::result::Result<(), Fault> {
    sql::execute(connection, "UPDATE executions SET spans = ?2 WHERE id = ?1", params![id, spans])?;
    Ok(())
}

pub(super) fn set_status(
    connection: &Connection,
    id: &ExecutionId,
    expected: &str,
    status: &str,
    at_ms: i64,
) -> std::result::Result<(), Fault> {
    let sql = "UPDATE executions SET status = ?3, changed_ms = ?4 WHERE id = ?1 AND status = ?2";
    let changed = sql::execute(connection, sql, params![id, expected, status, at_ms])?;
    expect_one(connection, changed, id)
}

fn expect_one(connection: &Connection, changed: usize, id: &ExecutionId) -> std::result::Result<(), Fault> {
    if changed == 1 {
        return Ok(());
    }
    let sql = "SELECT status FROM executions WHERE id = ?1";
    let found = sql::all(connection, sql, [id], |row| row.get::<String>())?;
    Err(match found.first() {
        Some(status) => Fault::conflict(format!("execution {id} is {status}")),
        None => Fault::not_found(format!("execution {id}")),
    })
}
