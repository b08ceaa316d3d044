//! Questions to a person, and what became of them.

use rusqlite::{Connection, params};

use super::Executions;
use crate::error::{Fault, Result};
use crate::identifiers::{ExecutionId, InteractionId};
use crate::sql::{self, Columns, bits};

/// One question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InteractionRow {
    /// Its id.
    pub id: InteractionId,
    /// The execution that waits for it.
    pub execution: ExecutionId,
    /// The scope of the call that asks.
    pub scope: u64,
    /// The place of the call in its scope.
    pub ordinal: u64,
    /// approval, form or url.
    pub kind: String,
    /// What the person reads.
    pub message: String,
    /// The whole question as JSON.
    pub request: String,
    /// pending, accepted, declined, cancelled or expired.
    pub status: String,
    /// The content of the answer as JSON.
    pub answer: Option<String>,
    /// When it was asked.
    pub created_ms: i64,
    /// When it was answered.
    pub answered_ms: Option<i64>,
    /// Who answered.
    pub answered_by: Option<String>,
}

impl Executions {
    /// The questions of an execution, in the order in which they were asked.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn interactions(&self, execution: &ExecutionId) -> Result<Vec<InteractionRow>> {
        self.read("reading interactions", |connection| {
            let sql = "SELECT id, execution, scope, ordinal, kind, message, request, status, answer,
                created_ms, answered_ms, answered_by FROM interactions
                WHERE execution = ?1 ORDER BY id";
            sql::all(connection, sql, [execution], read_row)
        })
    }

    /// One question.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn interaction(&self, id: &InteractionId) -> Result<Option<InteractionRow>> {
        self.read("reading an interaction", |connection| {
            let sql = "SELECT id, execution, scope, ordinal, kind, message, request, status, answer,
                created_ms, answered_ms, answered_by FROM interactions WHERE id = ?1";
            sql::first(connection, sql, [id], read_row)
        })
    }

    /// The last call of a tool through a connection that a person allowed, as
    /// it was asked about.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn last_allowed(&self, tool: &str, connection: Option<&str>) -> Result<Option<InteractionRow>> {
        self.read("reading an earlier approval", |source| {
            let sql = "SELECT id, execution, scope, ordinal, kind, message, request, status, answer,
                created_ms, answered_ms, answered_by FROM interactions
                WHERE kind = 'approval' AND status = 'accepted'
                AND json_extract(request, '$.tool') = ?1
                AND json_extract(request, '$.connection') IS ?2
                ORDER BY id DESC LIMIT 1";
            sql::first(source, sql, params![tool, connection], read_row)
        })
    }

    /// Executions whose questions were asked before a time and still wait, the
    /// oldest first: at most `limit`.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn waiting_since(&self, before_ms: i64, limit: usize) -> Result<Vec<ExecutionId>> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.read("looking for questions that nobody answered", |connection| {
            let sql = "SELECT DISTINCT interactions.execution FROM interactions
                JOIN executions ON executions.id = interactions.execution
                WHERE interactions.status = 'pending' AND interactions.created_ms < ?1
                AND executions.status = 'waiting_for_interaction' LIMIT ?2";
            sql::all(connection, sql, params![before_ms, limit], |row| row.get())
        })
    }

    /// At most `limit` questions that wait for an answer, the oldest first.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn pending_interactions(&self, limit: usize) -> Result<Vec<InteractionRow>> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.read("reading pending interactions", |connection| {
            let sql = "SELECT id, execution, scope, ordinal, kind, message, request, status, answer,
                created_ms, answered_ms, answered_by FROM interactions
                WHERE status = 'pending' ORDER BY id LIMIT ?1";
            sql::all(connection, sql, [limit], read_row)
        })
    }
}

fn read_row(row: &mut Columns<'_, '_>) -> std::result::Result<InteractionRow, Fault> {
    Ok(InteractionRow {
        id: row.get()?,
        execution: row.get()?,
        scope: row.unsigned()?,
        ordinal: row.unsigned()?,
        kind: row.get()?,
        message: row.get()?,
        request: row.get()?,
        status: row.get()?,
        answer: row.get()?,
        created_ms: row.get()?,
        answered_ms: row.get()?,
        answered_by: row.get()?,
    })
}

pub(super) fn ask(connection: &Connection, row: &InteractionRow) -> std::result::Result<(), Fault> {
    let sql = "INSERT INTO interactions (id, execution, scope, ordinal, kind, message, request,
        status, answer, created_ms, answered_ms, answered_by)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) ON CONFLICT DO NOTHING";
    let params = params![
        row.id,
        row.execution,
        bits(row.scope),
        bits(row.ordinal),
        row.kind,
        row.message,
        row.request,
        row.status,
        row.answer,
        row.created_ms,
        row.answered_ms,
        row.answered_by,
    ];
    if sql::execute(connection, sql, params)? == 1 {
        Ok(())
    } else {
        Err(Fault::conflict(format!("interaction {} was asked already", row.id)))
    }
}

/// What [`super::Change::Answer`] writes.
pub(super) struct Answered<'a> {
    pub(super) status: &'a str,
    pub(super) answer: Option<&'a str>,
    pub(super) answered_by: &'a str,
    pub(super) at_ms: i64,
}

pub(super) fn answer(
    connection: &Connection,
    id: &InteractionId,
    expected: &str,
    answered: &Answered<'_>,
) -> std::result::Result<(), Fault> {
    let sql = "UPDATE interactions SET status = ?3, answer = ?4, answered_by = ?5, answered_ms = ?6
        WHERE id = ?1 AND status = ?2";
    let params =
        params![id, expected, answered.status, answered.answer, answered.answered_by, answered.at_ms];
    if sql::execute(connection, sql, params)? == 1 {
        return Ok(());
    }
    let sql = "SELECT status FROM interactions WHERE id = ?1";
    match sql::first(connection, sql, [id], |row| row.get::<String>())? {
        Some(status) => Err(Fault::conflict(format!("interaction {id} is {status}, not {expected}"))),
        None => Err(Fault::not_found(format!("interaction {id}"))),
    }
}
