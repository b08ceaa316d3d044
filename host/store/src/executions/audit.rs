//! The audit chain: each row's hash covers the row before it, and the head is
//! kept apart, so that a row that was changed, moved, added or taken away by
//! other means than appending shows.

use rusqlite::{Connection, params};
use sha2::{Digest as _, Sha256};

use super::Executions;
use crate::digest::Digest;
use crate::error::{Fault, Result};
use crate::sql::{self, bits};

/// What happened, to be appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRecord {
    /// When.
    pub at_ms: i64,
    /// What, as JSON.
    pub body: String,
}

/// A record in the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    /// Its place, from 1.
    pub sequence: u64,
    /// When.
    pub at_ms: i64,
    /// SHA-256 over the hash before, the sequence and the time (eight bytes
    /// each, big-endian), and the body. The hash before the first is zero.
    pub hash: Digest,
    /// What, as JSON.
    pub body: String,
}

/// The first place at which the chain does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the audit log does not hold at record {sequence}: {what}")]
pub struct AuditFault {
    /// The place.
    pub sequence: u64,
    /// What is wrong there.
    pub what: String,
}

/// Rows that are read at once, so that no read holds the log for long.
const PAGE: usize = 1000;

impl Executions {
    /// At most `limit` records after `after_sequence`, in order.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn audit(&self, after_sequence: u64, limit: usize) -> Result<Vec<AuditRow>> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let after = i64::try_from(after_sequence).unwrap_or(i64::MAX);
        self.read("reading the audit log", |connection| {
            let sql = "SELECT sequence, at_ms, hash, body FROM audit
                WHERE sequence > ?1 ORDER BY sequence LIMIT ?2";
            sql::all(connection, sql, [after, limit], |row| {
                Ok(AuditRow {
                    sequence: row.unsigned()?,
                    at_ms: row.get()?,
                    hash: row.get()?,
                    body: row.get()?,
                })
            })
        })
    }

    /// Goes through the chain from what was pruned last, or its beginning, to its present head and
    /// returns how many records hold.
    ///
    /// # Errors
    /// The first record that does not hold, or could not be read.
    pub fn verify_audit(&self) -> std::result::Result<u64, AuditFault> {
        let unreadable = |sequence| {
            move |error: crate::error::StoreError| AuditFault { sequence, what: error.to_string() }
        };
        let (head, beyond) = self.audit_head().map_err(unreadable(0))?;
        let mut last = self.audit_base().map_err(unreadable(0))?;
        let base = last.sequence;
        while last.sequence < head.sequence {
            let next = last.sequence + 1;
            let rows = self.audit(last.sequence, PAGE).map_err(unreadable(next))?;
            if rows.is_empty() {
                return Err(missing(next));
            }
            for row in rows {
                if last.sequence == head.sequence {
                    break;
                }
                last = last.followed_by(&row)?;
            }
        }
        if last.hash != head.hash {
            return Err(AuditFault {
                sequence: head.sequence,
                what: "the head of the chain has another hash".to_owned(),
            });
        }
        match beyond {
            true => Err(AuditFault {
                sequence: head.sequence + 1,
                what: "it lies beyond the head of the chain".to_owned(),
            }),
            false => Ok(head.sequence - base.min(head.sequence)),
        }
    }

    /// What the chain begins after: records that were pruned.
    fn audit_base(&self) -> Result<Head> {
        self.read("reading the beginning of the audit log", |connection| {
            let sql = "SELECT sequence, hash FROM audit_base";
            let found = sql::first(connection, sql, [], |row| {
                Ok(Head { sequence: row.unsigned()?, hash: row.get()? })
            })?;
            found.ok_or_else(|| Fault::corrupt("the audit log has no beginning"))
        })
    }

    /// The head, and whether rows lie beyond it, at one moment.
    fn audit_head(&self) -> Result<(Head, bool)> {
        self.read("reading the head of the audit log", |connection| {
            let sql = "SELECT sequence, hash,
                EXISTS (SELECT 1 FROM audit WHERE audit.sequence > audit_head.sequence)
                FROM audit_head";
            let found = sql::first(connection, sql, [], |row| {
                let head = Head { sequence: row.unsigned()?, hash: row.get()? };
                Ok((head, row.get()?))
            })?;
            found.ok_or_else(|| Fault::corrupt("the audit log has no head"))
        })
    }
}

/// The last row of a chain, or of a part of one.
struct Head {
    sequence: u64,
    hash: Digest,
}

impl Head {
    fn followed_by(&self, row: &AuditRow) -> std::result::Result<Self, AuditFault> {
        let sequence = self.sequence + 1;
        if row.sequence != sequence {
            return Err(missing(sequence));
        }
        let hash = chained(&self.hash, sequence, row.at_ms, &row.body);
        if hash != row.hash {
            return Err(AuditFault {
                sequence,
                what: "its hash does not follow from what it says and the record before".to_owned(),
            });
        }
        Ok(Self { sequence, hash })
    }
}

fn missing(sequence: u64) -> AuditFault {
    AuditFault { sequence, what: "it is missing".to_owned() }
}

pub(super) fn chained(previous: &Digest, sequence: u64, at_ms: i64, body: &str) -> Digest {
    let hash = Sha256::new()
        .chain_update(previous.as_bytes())
        .chain_update(sequence.to_be_bytes())
        .chain_update(at_ms.to_be_bytes())
        .chain_update(body);
    Digest::from_bytes(hash.finalize().into())
}

pub(super) fn append(connection: &Connection, record: &AuditRecord) -> std::result::Result<(), Fault> {
    let sql = "SELECT sequence, hash FROM audit_head";
    let head =
        sql::first(connection, sql, [], |row| Ok(Head { sequence: row.unsigned()?, hash: row.get()? }))?;
    let head = head.ok_or_else(|| Fault::corrupt("the audit log has no head"))?;
    let sequence = head.sequence + 1;
    let hash = chained(&head.hash, sequence, record.at_ms, &record.body);
    let sql = "INSERT INTO audit (sequence, at_ms, hash, body) VALUES (?1, ?2, ?3, ?4)";
    let params = params![bits(sequence), record.at_ms, hash, record.body];
    sql::execute(connection, sql, params)?;
    let sql = "UPDATE audit_head SET sequence = ?1, hash = ?2";
    sql::execute(connection, sql, params![bits(sequence), hash])?;
    Ok(())
}
