//! The writer's thread: one transaction for all that waits.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Instant;

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use rusqlite::wal::CheckpointMode;

use super::queue::{Next, Shared};
use super::{Commit, Durability, Job, OBSERVER, SyncPolicy};
use crate::error::{Fault, Result, StoreError};

/// Pages in the log at which it is copied into the database, when there is
/// time (4 MiB) and when there is none (16 MiB).
const LOG_PAGES_IDLE: i32 = 1024;
const LOG_PAGES_BUSY: i32 = 4096;
/// A log of 256 MiB means that some reader never ends.
const LOG_PAGES_ALARM: i32 = 65_536;

/// Why a whole transaction was undone.
enum Undone {
    /// The file can't be trusted.
    Ends(Fault),
    /// By one of its jobs, or for want of space: alone, others may succeed.
    ByJob(Fault),
    /// It could not begin or commit at all.
    Refused(Fault),
}

impl Undone {
    fn of(error: rusqlite::Error) -> Self {
        let fault = Fault::from(error);
        if fault.ends_writing() {
            Self::Ends(fault)
        } else if fault.is_full() {
            Self::ByJob(fault)
        } else {
            Self::Refused(fault)
        }
    }
}

/// The thread's side.
pub(super) struct Worker {
    connection: Connection,
    sync: SyncPolicy,
    shared: Arc<Shared>,
    /// What SQLite's `synchronous` is set to.
    synchronous: Durability,
    /// When the first commit that isn't synced yet was made.
    unsynced_since: Option<Instant>,
    log_pages: Arc<AtomicI32>,
    copied_pages: i32,
}

impl Worker {
    /// Takes over a connection whose commits are synced.
    pub(super) fn new(mut connection: Connection, sync: SyncPolicy, shared: Arc<Shared>) -> Result<Self> {
        let log_pages = Arc::new(AtomicI32::new(0));
        let counted = Arc::clone(&log_pages);
        // This takes the place of SQLite's own checkpoints, which a caller's
        // commit would wait for.
        connection
            .wal_hook(Some(move |_: &mut _, pages| {
                counted.store(pages, Ordering::Relaxed);
                Ok(())
            }))
            .map_err(|error| Fault::from(error).into_error("watching a log's size"))?;
        Ok(Self {
            connection,
            sync,
            shared,
            synchronous: Durability::Synced,
            unsynced_since: None,
            log_pages,
            copied_pages: 0,
        })
    }

    pub(super) fn run(&mut self) {
        loop {
            let served = match self.shared.next(self.deadline()) {
                Next::Batch(jobs) => self.serve(jobs),
                Next::Overdue => self.sync_overdue().map_err(no_jobs),
                Next::Closed => break,
            };
            let served = served.and_then(|()| self.tend_log().map_err(no_jobs));
            if let Err((fault, jobs)) = served {
                return self.stop(fault.into_error("writing").to_string(), jobs);
            }
        }
        if self.unsynced_since.is_some()
            && let Err(fault) = self.sync_overdue()
        {
            self.stop(fault.into_error("closing").to_string(), VecDeque::new());
        }
    }

    /// Syncs what was committed without. Where that fails and may succeed
    /// later, it is due again after another delay.
    fn sync_overdue(&mut self) -> std::result::Result<(), Fault> {
        let fault = match self.attempt(&mut [], Durability::Synced) {
            Ok(_) => return Ok(()),
            Err(Undone::Ends(fault)) => return Err(fault),
            Err(Undone::ByJob(fault) | Undone::Refused(fault)) => fault,
        };
        self.unsynced_since = Some(Instant::now());
        let context = "syncing what was written";
        let error = fault.into_error(context);
        self.shared.lock().note_failure(context, &error);
        Ok(())
    }

    fn deadline(&self) -> Option<Instant> {
        match self.sync {
            SyncPolicy::Always => None,
            SyncPolicy::OnDemand { delay, .. } => self.unsynced_since.map(|since| since + delay),
        }
    }

    /// Runs jobs as one transaction and answers them. An error means that the
    /// file can't be trusted, and returns who has no answer yet.
    fn serve(&mut self, mut jobs: VecDeque<Job>) -> std::result::Result<(), (Fault, VecDeque<Job>)> {
        let durability = self.durability_of(&jobs);
        match self.attempt(jobs.make_contiguous(), durability) {
            Ok(outcomes) => {
                for (job, outcome) in jobs.into_iter().zip(outcomes) {
                    self.shared.answer(job, outcome);
                }
                Ok(())
            }
            Err(Undone::Ends(fault)) => Err((fault, jobs)),
            Err(Undone::ByJob(_)) => self.serve_alone(jobs, durability),
            Err(Undone::Refused(fault)) => {
                for job in jobs {
                    let outcome = Err(same(&fault).into_error(job.context));
                    self.shared.answer(job, outcome);
                }
                Ok(())
            }
        }
    }

    fn serve_alone(
        &mut self,
        mut jobs: VecDeque<Job>,
        durability: Durability,
    ) -> std::result::Result<(), (Fault, VecDeque<Job>)> {
        while let Some(mut job) = jobs.pop_front() {
            let outcome = match self.attempt(std::slice::from_mut(&mut job), durability) {
                Ok(mut outcomes) => outcomes.pop().unwrap_or(Ok(())),
                Err(Undone::ByJob(fault) | Undone::Refused(fault)) => Err(fault.into_error(job.context)),
                Err(Undone::Ends(fault)) => {
                    jobs.push_front(job);
                    return Err((fault, jobs));
                }
            };
            self.shared.answer(job, outcome);
        }
        Ok(())
    }

    fn durability_of(&self, jobs: &VecDeque<Job>) -> Durability {
        let asked = jobs.iter().any(|job| job.durability == Durability::Synced);
        let overdue = self.deadline().is_some_and(|deadline| deadline <= Instant::now());
        match self.sync {
            SyncPolicy::OnDemand { .. } if !asked && !overdue => Durability::Behind,
            _ => Durability::Synced,
        }
    }

    fn attempt(
        &mut self,
        jobs: &mut [Job],
        durability: Durability,
    ) -> std::result::Result<Vec<Result<()>>, Undone> {
        let begun = Instant::now();
        self.set_synchronous(durability).map_err(Undone::of)?;
        self.execute("BEGIN IMMEDIATE").map_err(Undone::of)?;
        let changes = self.connection.total_changes();
        let outcomes = jobs
            .iter_mut()
            .map(|job| self.run_job(job))
            .collect::<std::result::Result<Vec<_>, Undone>>()
            .and_then(|outcomes| {
                self.commit(durability).map_err(Undone::of)?;
                Ok(outcomes)
            });
        if outcomes.is_err() {
            if !self.connection.is_autocommit() {
                // What fails here fails again, and is seen, at the next BEGIN.
                let _ = self.execute("ROLLBACK");
            }
            return outcomes;
        }
        if let Some(observer) = OBSERVER.get() {
            let synced = durability == Durability::Synced;
            observer(Commit { synced, changes: jobs.len(), took: begun.elapsed() });
        }
        match durability {
            Durability::Synced => self.unsynced_since = None,
            Durability::Behind if self.connection.total_changes() != changes => {
                self.unsynced_since.get_or_insert_with(Instant::now);
            }
            Durability::Behind => {}
        }
        outcomes
    }

    fn run_job(&self, job: &mut Job) -> std::result::Result<Result<()>, Undone> {
        if job.savepoint {
            self.execute("SAVEPOINT job").map_err(Undone::of)?;
        }
        let work = AssertUnwindSafe(|| (job.work)(&self.connection));
        let outcome = catch_unwind(work).unwrap_or_else(|_| {
            // The panic's own message was reported by the handler of panics.
            Err(Fault::broken(job.context))
        });
        let fault = match outcome {
            Ok(()) if job.savepoint => {
                self.execute("RELEASE job").map_err(Undone::of)?;
                return Ok(Ok(()));
            }
            Ok(()) => return Ok(Ok(())),
            Err(fault) if fault.ends_writing() => return Err(Undone::Ends(fault)),
            // SQLite undid more than the statement.
            Err(fault) if self.connection.is_autocommit() => return Err(Undone::ByJob(fault)),
            Err(fault) => fault,
        };
        if job.savepoint {
            self.execute("ROLLBACK TO job").map_err(Undone::of)?;
            self.execute("RELEASE job").map_err(Undone::of)?;
        } else if fault.is_broken() {
            // Its statement may have run: only the whole transaction undoes it.
            return Err(Undone::ByJob(fault));
        }
        Ok(Err(fault.into_error(job.context)))
    }

    fn commit(&self, durability: Durability) -> rusqlite::Result<()> {
        if let SyncPolicy::OnDemand { mark, .. } = self.sync
            && durability == Durability::Synced
            && self.unsynced_since.is_some()
        {
            self.execute(mark)?;
        }
        self.execute("COMMIT")
    }

    fn set_synchronous(&mut self, durability: Durability) -> rusqlite::Result<()> {
        if self.synchronous == durability {
            return Ok(());
        }
        let value = match durability {
            Durability::Behind => "normal",
            Durability::Synced => "full",
        };
        self.connection.pragma_update(None, "synchronous", value)?;
        self.synchronous = durability;
        Ok(())
    }

    fn execute(&self, sql: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached(sql)?.execute([])?;
        Ok(())
    }

    /// Copies the log into the database once it is long, after those who wait
    /// for the commits have their answers.
    fn tend_log(&mut self) -> std::result::Result<(), Fault> {
        let pages = self.log_pages.load(Ordering::Relaxed);
        if pages < self.copied_pages {
            self.copied_pages = 0;
        }
        let fresh = pages - self.copied_pages;
        let idle = self.shared.lock().jobs.is_empty();
        if fresh < LOG_PAGES_IDLE || (fresh < LOG_PAGES_BUSY && !idle) {
            return Ok(());
        }
        self.copied_pages = pages;
        let copied = self.connection.wal_checkpoint_v2(None::<&str>, CheckpointMode::PASSIVE);
        match copied.map_err(Fault::from) {
            Err(fault) if fault.ends_writing() => Err(fault),
            // Busy or full: the log keeps what it has, and this is tried again.
            Err(_) => Ok(()),
            Ok((all, done)) => {
                if all > LOG_PAGES_ALARM {
                    tracing::warn!(pages = all, copied = done, "a reader keeps a log from ending");
                }
                Ok(())
            }
        }
    }

    pub(super) fn stop(&self, reason: String, unanswered: VecDeque<Job>) {
        tracing::error!(reason, "a store stopped writing");
        let mut queue = self.shared.lock();
        queue.stopped = Some(reason);
        let waiting = std::mem::take(&mut queue.jobs);
        queue.weight_bytes = 0;
        drop(queue);
        self.shared.no_more();
        for job in unanswered.into_iter().chain(waiting) {
            self.shared.answer(job, Err(StoreError::Stopped));
        }
        // Closing must not copy a log of which nobody knows what it holds.
        let _ = self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
    }
}

fn no_jobs(fault: Fault) -> (Fault, VecDeque<Job>) {
    (fault, VecDeque::new())
}

/// A failure of a transaction as each of its jobs sees it.
fn same(fault: &Fault) -> Fault {
    match fault {
        Fault::Sql(rusqlite::Error::SqliteFailure(error, message)) => {
            Fault::Sql(rusqlite::Error::SqliteFailure(*error, message.clone()))
        }
        other => Fault::Sql(rusqlite::Error::SqliteFailure(
            rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_ERROR),
            Some(format!("{other:?}")),
        )),
    }
}
