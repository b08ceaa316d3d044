//! The tables of `executions.db`.

use std::time::Duration;

use crate::database::Plan;
use crate::once;
use crate::writer::SyncPolicy;

/// So long a commit that nobody waits for may stay unsynced
/// (ARCHITECTURE.md, "Durability, by class": 50 ms), less what a sync takes.
const SYNC_DELAY: Duration = Duration::from_millis(40);

pub(super) const PLAN: Plan = Plan {
    steps: &[FORMAT_1, once::TABLE, FORMAT_3, FORMAT_4, FORMAT_5],
    page_bytes: 4096,
    sync: SyncPolicy::OnDemand { mark: "UPDATE sync_mark SET count = count + 1", delay: SYNC_DELAY },
};

/// Identifiers sort by time, so that rows of `executions` are appended, and
/// the newest are read from the end.
const FORMAT_1: &str = "
CREATE TABLE sync_mark (count INTEGER NOT NULL) STRICT;
INSERT INTO sync_mark VALUES (0);

CREATE TABLE executions (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    surface TEXT NOT NULL,
    client TEXT NOT NULL,
    account TEXT NOT NULL,
    title TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    changed_ms INTEGER NOT NULL,
    settled_ms INTEGER,
    error TEXT,
    fuel INTEGER NOT NULL,
    memory_bytes INTEGER NOT NULL,
    truncated INTEGER NOT NULL,
    engine BLOB,
    code TEXT,
    compiled TEXT,
    source_map TEXT,
    input TEXT,
    result TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX executions_by_status ON executions (status, id);

CREATE TABLE calls (
    execution TEXT NOT NULL,
    scope INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    root TEXT NOT NULL,
    path TEXT NOT NULL,
    args TEXT NOT NULL,
    options TEXT,
    write INTEGER NOT NULL,
    idempotent INTEGER NOT NULL,
    intent_ms INTEGER NOT NULL,
    outcome TEXT,
    outcome_ms INTEGER,
    delivery INTEGER,
    PRIMARY KEY (execution, scope, ordinal)
) STRICT, WITHOUT ROWID;

CREATE TABLE recorded_values (
    execution TEXT NOT NULL,
    kind TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (execution, kind, ordinal)
) STRICT, WITHOUT ROWID;

CREATE TABLE output (
    execution TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    kind TEXT NOT NULL,
    level TEXT,
    body TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (execution, sequence)
) STRICT, WITHOUT ROWID;

CREATE TABLE interactions (
    id TEXT PRIMARY KEY,
    execution TEXT NOT NULL,
    scope INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    kind TEXT NOT NULL,
    message TEXT NOT NULL,
    request TEXT NOT NULL,
    status TEXT NOT NULL,
    answer TEXT,
    created_ms INTEGER NOT NULL,
    answered_ms INTEGER,
    answered_by TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX interactions_by_execution ON interactions (execution, id);
CREATE INDEX interactions_pending ON interactions (id) WHERE status = 'pending';

CREATE TABLE audit (
    sequence INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    hash BLOB NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE TABLE audit_head (
    sequence INTEGER NOT NULL,
    hash BLOB NOT NULL
) STRICT;
INSERT INTO audit_head VALUES (0, zeroblob(32));
";

/// Whose token began an execution, and which tools that may call: both hold
/// for whatever is done in its name later.
const FORMAT_3: &str = "
ALTER TABLE executions ADD COLUMN token TEXT;
ALTER TABLE executions ADD COLUMN toolkit TEXT;
";

/// Finds the last call of a tool that was allowed, and executions by their
/// end; the audit log may begin later than at its first record.
const FORMAT_4: &str = "
CREATE INDEX interactions_allowed ON interactions (json_extract(request, '$.tool'), id)
    WHERE kind = 'approval' AND status = 'accepted';
CREATE INDEX executions_settled ON executions (settled_ms) WHERE settled_ms IS NOT NULL;
CREATE TABLE audit_base (
    sequence INTEGER NOT NULL,
    hash BLOB NOT NULL
) STRICT;
INSERT INTO audit_base VALUES (0, zeroblob(32));
";

/// What an execution did when, as one text that is written with its end: the
/// last column, so that only who reads it reads the pages that it fills.
const FORMAT_5: &str = "ALTER TABLE executions ADD COLUMN spans TEXT";
