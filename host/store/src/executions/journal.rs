//! The journal of an execution: its calls, the times and random values that
//! its code was given, and its output. A replay reads it back.

use rusqlite::{Connection, params};

use super::Executions;
use crate::error::{Fault, Result};
use crate::identifiers::ExecutionId;
use crate::sql::{self, Columns, bits};

/// One call out of the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRow {
    /// The execution.
    pub id: ExecutionId,
    /// The scope in which the call was made.
    pub scope: u64,
    /// Its place among the calls of that scope.
    pub ordinal: u64,
    /// The first segment of what was called: tools, files, blobs.
    pub root: String,
    /// The rest of it.
    pub path: String,
    /// The arguments as JSON.
    pub args: String,
    /// The options as JSON.
    pub options: Option<String>,
    /// Whether it may change something outside.
    pub write: bool,
    /// Whether it may be sent again when its outcome is unknown.
    pub idempotent: bool,
    /// When it was recorded, before anything left.
    pub intent_ms: i64,
    /// What came of it, as JSON.
    pub outcome: Option<String>,
    /// When that was known.
    pub outcome_ms: Option<i64>,
    /// Its place in the order in which the code was given outcomes.
    pub delivery: Option<u64>,
}

/// One line of the log, or one emitted value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputRow {
    /// Its place among all output of the execution.
    pub sequence: u64,
    /// `log` or `emit`.
    pub kind: String,
    /// A log line's level.
    pub level: Option<String>,
    /// The line, or the value as JSON.
    pub body: String,
    /// When.
    pub at_ms: i64,
}

impl Executions {
    /// An execution's calls, by scope and ordinal.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn journal(&self, id: &ExecutionId) -> Result<Vec<CallRow>> {
        self.read("reading a journal", |connection| {
            let sql = "SELECT execution, scope, ordinal, root, path, args, options, write,
                idempotent, intent_ms, outcome, outcome_ms, delivery FROM calls
                WHERE execution = ?1 ORDER BY scope, ordinal";
            sql::all(connection, sql, [id], read_call)
        })
    }

    /// The times and random values that an execution's code was given: kind,
    /// ordinal, value.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn values(&self, id: &ExecutionId) -> Result<Vec<(String, u64, String)>> {
        self.read("reading recorded values", |connection| {
            let sql = "SELECT kind, ordinal, value FROM recorded_values
                WHERE execution = ?1 ORDER BY kind, ordinal";
            sql::all(connection, sql, [id], |row| Ok((row.get()?, row.unsigned()?, row.get()?)))
        })
    }

    /// An execution's log and emitted values, in order.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn output(&self, id: &ExecutionId) -> Result<Vec<OutputRow>> {
        self.read("reading output", |connection| {
            let sql = "SELECT sequence, kind, level, body, at_ms FROM output
                WHERE execution = ?1 ORDER BY sequence";
            sql::all(connection, sql, [id], |row| {
                Ok(OutputRow {
                    sequence: row.unsigned()?,
                    kind: row.get()?,
                    level: row.get()?,
                    body: row.get()?,
                    at_ms: row.get()?,
                })
            })
        })
    }
}

fn read_call(row: &mut Columns<'_, '_>) -> std::result::Result<CallRow, Fault> {
    Ok(CallRow {
        id: row.get()?,
        scope: row.unsigned()?,
        ordinal: row.unsigned()?,
        root: row.get()?,
        path: row.get()?,
        args: row.get()?,
        options: row.get()?,
        write: row.get()?,
        idempotent: row.get()?,
        intent_ms: row.get()?,
        outcome: row.get()?,
        outcome_ms: row.get()?,
        delivery: row.unsigned_option()?,
    })
}

/// Records a call; one without an outcome may be recorded anew. A write that may
/// have left is replaced by an outcome alone, or by a pause.
pub(super) fn put_intent(
    connection: &Connection,
    row: &CallRow,
    pause: bool,
) -> std::result::Result<(), Fault> {
    let sql = "INSERT INTO calls (execution, scope, ordinal, root, path, args, options, write,
        idempotent, intent_ms, outcome, outcome_ms, delivery)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
        ON CONFLICT DO UPDATE SET root = excluded.root, path = excluded.path,
        args = excluded.args, options = excluded.options, write = excluded.write,
        idempotent = excluded.idempotent, intent_ms = excluded.intent_ms,
        outcome = excluded.outcome, outcome_ms = excluded.outcome_ms,
        delivery = excluded.delivery WHERE calls.outcome IS NULL
        AND (?14 OR calls.intent_ms = 0 OR calls.idempotent OR excluded.outcome IS NOT NULL)";
    let params = params![
        row.id,
        bits(row.scope),
        bits(row.ordinal),
        row.root,
        row.path,
        row.args,
        row.options,
        row.write,
        row.idempotent,
        row.intent_ms,
        row.outcome,
        row.outcome_ms,
        row.delivery.map(bits),
        pause,
    ];
    if sql::execute(connection, sql, params)? == 1 {
        return Ok(());
    }
    Err(has_outcome(&row.id, (row.scope, row.ordinal)))
}

/// Records the outcome of the call at (scope, ordinal).
pub(super) fn put_outcome(
    connection: &Connection,
    id: &ExecutionId,
    (scope, ordinal): (u64, u64),
    outcome: &str,
    at_ms: i64,
) -> std::result::Result<(), Fault> {
    let sql = "UPDATE calls SET outcome = ?4, outcome_ms = ?5
        WHERE execution = ?1 AND scope = ?2 AND ordinal = ?3 AND outcome IS NULL";
    let params = params![id, bits(scope), bits(ordinal), outcome, at_ms];
    if sql::execute(connection, sql, params)? == 1 {
        return Ok(());
    }
    let sql = "SELECT 1 FROM calls WHERE execution = ?1 AND scope = ?2 AND ordinal = ?3";
    let params = params![id, bits(scope), bits(ordinal)];
    match sql::first(connection, sql, params, |row| row.get::<i64>())? {
        Some(_) => Err(has_outcome(id, (scope, ordinal))),
        None => Err(no_call(id, (scope, ordinal))),
    }
}

/// Records when the code was given the outcome of the call at (scope, ordinal).
pub(super) fn put_delivery(
    connection: &Connection,
    id: &ExecutionId,
    (scope, ordinal): (u64, u64),
    delivery: u64,
) -> std::result::Result<(), Fault> {
    let sql = "UPDATE calls SET delivery = ?4
        WHERE execution = ?1 AND scope = ?2 AND ordinal = ?3";
    let params = params![id, bits(scope), bits(ordinal), bits(delivery)];
    if sql::execute(connection, sql, params)? == 1 { Ok(()) } else { Err(no_call(id, (scope, ordinal))) }
}

pub(super) fn put_value(
    connection: &Connection,
    id: &ExecutionId,
    kind: &str,
    ordinal: u64,
    value: &str,
) -> std::result::Result<(), Fault> {
    let sql = "INSERT INTO recorded_values (execution, kind, ordinal, value)
        VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING";
    sql::execute(connection, sql, params![id, kind, bits(ordinal), value])?;
    Ok(())
}

pub(super) fn put_output(
    connection: &Connection,
    id: &ExecutionId,
    sequence: u64,
    kind: &str,
    level: Option<&str>,
    body: &str,
    at_ms: i64,
) -> std::result::Result<(), Fault> {
    let sql = "INSERT INTO output (execution, sequence, kind, level, body, at_ms)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING";
    let params = params![id, bits(sequence), kind, level, body, at_ms];
    sql::execute(connection, sql, params)?;
    Ok(())
}

fn has_outcome(id: &ExecutionId, (scope, ordinal): (u64, u64)) -> Fault {
    Fault::conflict(format!("call {scope}/{ordinal} of execution {id} has its outcome already"))
}

fn no_call(id: &ExecutionId, (scope, ordinal): (u64, u64)) -> Fault {
    Fault::not_found(format!("call {scope}/{ordinal} of execution {id}"))
}
