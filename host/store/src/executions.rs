//! `executions.db` of a workspace: what ran, its journal, its questions, and
//! the audit chain, so that one commit holds all that one act leaves.

mod audit;
mod interactions;
mod journal;
mod record;
mod retention;
mod schema;

use std::path::Path;
use std::sync::Arc;

pub use audit::{AuditFault, AuditRecord, AuditRow};
pub use interactions::InteractionRow;
pub use journal::{CallRow, OutputRow};
pub use record::ExecutionRow;

use rusqlite::Connection;

use crate::database::Database;
use crate::error::{Fault, Result};
use crate::home::Home;
use crate::identifiers::{ExecutionId, InteractionId};
use crate::once::{self, Once, OnceRow};
use crate::writer::{Durability, Health, Job};

/// A workspace's executions. Clones share the file.
///
/// Reads see what is committed: a change that [`Executions::commit_behind`]
/// took a moment ago may not be there yet; [`Executions::written`] waits for it.
#[derive(Debug, Clone)]
pub struct Executions {
    database: Arc<Database>,
}

/// One step of a logical transaction, which is a list of these.
#[derive(Debug, Clone)]
pub enum Change {
    /// Records an execution, or replaces the record that has its id.
    Put(Box<ExecutionRow>),
    /// Records how an execution ended.
    Settle {
        /// Which.
        id: ExecutionId,
        /// The status it ends with.
        status: String,
        /// Its result as JSON.
        result: Option<String>,
        /// Its error as JSON.
        error: Option<String>,
        /// When.
        settled_ms: i64,
        /// Fuel used by all of its runs.
        fuel: u64,
        /// The most memory that it held.
        memory_bytes: u64,
        /// Whether the result or the output was cut.
        truncated: bool,
        /// Its spans as JSON; none leaves those that are kept.
        spans: Option<String>,
    },
    /// Keeps the spans of an execution that has not ended.
    Spans {
        /// Which.
        id: ExecutionId,
        /// They, as JSON.
        spans: String,
    },
    /// Moves an execution to another status; a conflict where it is not in the
    /// expected one, so that nothing that has ended is brought back.
    Status {
        /// Which.
        id: ExecutionId,
        /// The status that it has to be in.
        expected: String,
        /// The new status.
        status: String,
        /// When.
        at_ms: i64,
    },
    /// Records a call before it is made, or with its outcome. A call that was
    /// recorded already is replaced only while it has no outcome.
    Intent(CallRow),
    /// Takes the intent of a call back that has answered with questions: what
    /// it did so far is known, and it is made again once they are answered.
    Pause(CallRow),
    /// Records what a call came to. The first outcome stays.
    Outcome {
        /// The execution.
        id: ExecutionId,
        /// The call's scope.
        scope: u64,
        /// The call's place within its scope.
        ordinal: u64,
        /// The outcome as JSON.
        outcome: String,
        /// When.
        at_ms: i64,
    },
    /// Records the place of a call's outcome in the order of deliveries.
    Delivery {
        /// The execution.
        id: ExecutionId,
        /// The call's scope.
        scope: u64,
        /// The call's place within its scope.
        ordinal: u64,
        /// The place.
        delivery: u64,
    },
    /// Records a time or a random value that the code was given. The first
    /// value stays: it is the one that the code has seen.
    Value {
        /// The execution.
        id: ExecutionId,
        /// `now` or `random`.
        kind: String,
        /// The how manieth of its kind.
        ordinal: u64,
        /// The value.
        value: String,
    },
    /// Records a line of the log or an emitted value. The first stays.
    Output {
        /// The execution.
        id: ExecutionId,
        /// Its place among all output of the execution.
        sequence: u64,
        /// `log` or `emit`.
        kind: String,
        /// A log line's level.
        level: Option<String>,
        /// The line, or the value as JSON.
        body: String,
        /// When.
        at_ms: i64,
    },
    /// Records a question to a person.
    Ask(InteractionRow),
    /// Records the answer. The whole transaction fails with
    /// [`crate::StoreError::Conflict`] when the status is not `expected`.
    Answer {
        /// The question.
        interaction: InteractionId,
        /// The status that it must have: `pending`.
        expected: String,
        /// The status that it gets.
        status: String,
        /// The content of the answer as JSON.
        answer: Option<String>,
        /// Who answered.
        answered_by: String,
        /// When.
        at_ms: i64,
    },
    /// Appends to the audit chain.
    Audit(AuditRecord),
    /// Remembers what was created under an idempotency key; a conflict where
    /// something was.
    Once {
        /// The key.
        once: Once,
        /// The execution.
        id: ExecutionId,
    },
}

impl Executions {
    pub(crate) fn open(home: &Home, directory: &Path) -> Result<Self> {
        let path = directory.join("executions.db");
        let database = Database::open(home, path, &schema::PLAN)?;
        Ok(Self { database: Arc::new(database) })
    }

    /// Makes changes as one transaction, after all that was queued before, and
    /// answers when they are synced. They are queued by the call itself; the
    /// future only waits.
    ///
    /// # Errors
    /// Nothing of the transaction was kept; others of the same batch were.
    pub fn commit(&self, changes: Vec<Change>) -> impl Future<Output = Result<()>> + Send + use<> {
        self.database.writer().submit(job(changes), Durability::Synced)
    }

    /// Queues changes as one transaction and returns. They survive the end of
    /// the process once [`Executions::written`] answers, and are synced at
    /// most 50 ms later. Whoever may queue many waits for [`Executions::room`]
    /// before each.
    ///
    /// # Errors
    /// The writer has stopped. What a queued transaction meets later shows in
    /// [`Executions::health`].
    pub fn commit_behind(&self, changes: Vec<Change>) -> Result<()> {
        self.database.writer().submit_behind(job(changes))
    }

    /// Whether fewer than 10,000 transactions and 64 MiB are queued.
    pub fn has_room(&self) -> bool {
        self.database.writer().has_room()
    }

    /// Waits until there is room, or nothing is written any more.
    pub fn room(&self) -> impl Future<Output = ()> + Send + use<> {
        self.database.writer().room()
    }

    /// Waits until all that was queued before is committed.
    ///
    /// # Errors
    /// The writer has stopped.
    pub async fn written(&self) -> Result<()> {
        self.barrier(Durability::Behind).await
    }

    /// Waits until all that was queued before is committed and synced.
    ///
    /// # Errors
    /// The writer has stopped, or the disk is full.
    pub async fn synced(&self) -> Result<()> {
        self.barrier(Durability::Synced).await
    }

    /// The execution that was begun under a key.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn once(&self, once: &Once) -> Result<Option<OnceRow>> {
        self.read("looking for an idempotency key", |connection| once::get(connection, once))
    }

    /// How the writer is doing.
    pub fn health(&self) -> Health {
        self.database.writer().health()
    }

    fn barrier(&self, durability: Durability) -> impl Future<Output = Result<()>> + Send + use<> {
        let job = Job::new("waiting for what was queued", |_| Ok(())).one_statement();
        self.database.writer().submit(job, durability)
    }

    fn read<T>(
        &self,
        context: &'static str,
        work: impl FnOnce(&Connection) -> std::result::Result<T, Fault>,
    ) -> Result<T> {
        self.database.read(context, work)
    }
}

fn job(changes: Vec<Change>) -> Job {
    let weight = changes.iter().map(Change::weight_bytes).sum();
    let alone = matches!(changes.as_slice(), [change] if change.is_one_statement());
    let job = Job::new("recording an execution", move |connection| {
        changes.iter().try_for_each(|change| change.apply(connection))
    })
    .weighing(weight);
    if alone { job.one_statement() } else { job }
}

impl Change {
    fn apply(&self, connection: &Connection) -> std::result::Result<(), Fault> {
        match self {
            Self::Put(row) => record::put(connection, row),
            Self::Settle { id, status, result, error, settled_ms, fuel, memory_bytes, truncated, spans } => {
                let ending = record::Ending {
                    status,
                    result: result.as_deref(),
                    error: error.as_deref(),
                    settled_ms: *settled_ms,
                    fuel: *fuel,
                    memory_bytes: *memory_bytes,
                    truncated: *truncated,
                    spans: spans.as_deref(),
                };
                record::settle(connection, id, &ending)
            }
            Self::Spans { id, spans } => record::put_spans(connection, id, spans),
            Self::Status { id, expected, status, at_ms } => {
                record::set_status(connection, id, expected, status, *at_ms)
            }
            Self::Intent(row) => journal::put_intent(connection, row, false),
            Self::Pause(row) => journal::put_intent(connection, row, true),
            Self::Outcome { id, scope, ordinal, outcome, at_ms } => {
                journal::put_outcome(connection, id, (*scope, *ordinal), outcome, *at_ms)
            }
            Self::Delivery { id, scope, ordinal, delivery } => {
                journal::put_delivery(connection, id, (*scope, *ordinal), *delivery)
            }
            Self::Value { id, kind, ordinal, value } => {
                journal::put_value(connection, id, kind, *ordinal, value)
            }
            Self::Output { id, sequence, kind, level, body, at_ms } => {
                let level = level.as_deref();
                journal::put_output(connection, id, *sequence, kind, level, body, *at_ms)
            }
            Self::Ask(row) => interactions::ask(connection, row),
            Self::Answer { interaction, expected, status, answer, answered_by, at_ms } => {
                let answered =
                    interactions::Answered { status, answer: answer.as_deref(), answered_by, at_ms: *at_ms };
                interactions::answer(connection, interaction, expected, &answered)
            }
            Self::Audit(record) => audit::append(connection, record),
            Self::Once { once, id } => once::put(connection, Some(once), id.as_str()),
        }
    }

    /// Whether SQLite undoes it as a whole by itself.
    fn is_one_statement(&self) -> bool {
        !matches!(self, Self::Audit(_) | Self::Once { .. })
    }

    /// The memory that its texts hold, about.
    fn weight_bytes(&self) -> usize {
        fn of(text: Option<&String>) -> usize {
            text.map_or(0, String::len)
        }
        let texts = match self {
            Self::Put(row) => row.weight_bytes(),
            Self::Settle { result, error, spans, .. } => {
                of(result.as_ref()) + of(error.as_ref()) + of(spans.as_ref())
            }
            Self::Spans { spans, .. } => spans.len(),
            Self::Intent(row) | Self::Pause(row) => {
                row.args.len() + of(row.options.as_ref()) + of(row.outcome.as_ref())
            }
            Self::Outcome { outcome, .. } => outcome.len(),
            Self::Value { value, .. } => value.len(),
            Self::Output { body, .. } => body.len(),
            Self::Ask(row) => row.request.len() + row.message.len(),
            Self::Answer { answer, .. } => of(answer.as_ref()),
            Self::Audit(record) => record.body.len(),
            Self::Once { once, .. } => once.key.len(),
            Self::Status { .. } | Self::Delivery { .. } => 0,
        };
        texts + size_of::<Self>()
    }
}

#[cfg(test)]
mod tests;
