//! The one thread that writes to a file.
//!
//! It takes everything that waits, runs each job in a savepoint of one
//! transaction, commits once, and answers. A job that fails is undone alone.
//! Where a failure undid the whole transaction (a full disk can), the jobs run
//! again, each in a transaction of its own, so that only those that don't fit
//! are lost. After an I/O error nothing more is written: what the file holds
//! beyond its last synced commit can't be known by asking again.

mod queue;
mod worker;

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::error::{Fault, Result, StoreError};
use queue::Shared;
use worker::Worker;

/// What a job's answer, if any, waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Committed, so that it survives the end of the process; synced within
    /// 50 ms, so that it survives the end of the machine from then on.
    Behind,
    /// Committed and synced.
    Synced,
}

/// When the commits of a file are synced.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SyncPolicy {
    /// Every one.
    Always,
    /// Those with a job that asks for it, and one within `delay` after any
    /// other. `mark` is a statement that always changes a page: SQLite syncs
    /// its log only in a commit that wrote to it.
    OnDemand { mark: &'static str, delay: Duration },
}

/// How a file's writer is doing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Health {
    /// Why nothing is written any more, if so.
    pub stopped: Option<String>,
    /// How many changes that nobody waited for could not be kept, and how often
    /// a sync that was due has failed.
    pub failed: u64,
    /// What the last of them met.
    pub last_failure: Option<String>,
    /// How many wait to be written.
    pub pending: usize,
}

/// One commit, of all that waited.
#[derive(Debug, Clone, Copy)]
pub struct Commit {
    /// Whether it was synced to disk.
    pub synced: bool,
    /// How many logical transactions it held.
    pub changes: usize,
    /// From its beginning to its end.
    pub took: Duration,
}

static OBSERVER: OnceLock<fn(Commit)> = OnceLock::new();

/// Has every commit of this process told to a function, which must not wait
/// for anything. The first function stays.
pub fn observe_commits(observer: fn(Commit)) {
    // Whoever comes second wants the same.
    let _ = OBSERVER.set(observer);
}

type Work = Box<dyn FnMut(&Connection) -> std::result::Result<(), Fault> + Send>;

/// One logical transaction.
pub(crate) struct Job {
    context: &'static str,
    work: Work,
    savepoint: bool,
    weight_bytes: usize,
    durability: Durability,
    answer: Option<oneshot::Sender<Result<()>>>,
}

impl Job {
    pub(crate) fn new(
        context: &'static str,
        work: impl FnMut(&Connection) -> std::result::Result<(), Fault> + Send + 'static,
    ) -> Self {
        Self {
            context,
            work: Box::new(work),
            savepoint: true,
            weight_bytes: 0,
            durability: Durability::Behind,
            answer: None,
        }
    }

    /// For work that is one statement, which SQLite undoes by itself.
    pub(crate) fn one_statement(mut self) -> Self {
        self.savepoint = false;
        self
    }

    /// How much memory it holds while it waits.
    pub(crate) fn weighing(mut self, bytes: usize) -> Self {
        self.weight_bytes = bytes;
        self
    }
}

/// The caller's side. When it is dropped, all that waits is written and synced
/// first.
#[derive(Debug)]
pub(crate) struct Writer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(crate) fn start(connection: Connection, sync: SyncPolicy, path: &Path) -> Result<Self> {
        let shared = Arc::new(Shared::default());
        let mut worker = Worker::new(connection, sync, Arc::clone(&shared))?;
        let thread = std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || {
                if catch_unwind(AssertUnwindSafe(|| worker.run())).is_err() {
                    worker.stop("its thread panicked".to_owned(), VecDeque::new());
                }
            })
            .map_err(|source| StoreError::io(path, source))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Queues a job at once; the future gives its outcome. Dropping the future
    /// does not take the job back.
    pub(crate) fn submit(
        &self,
        mut job: Job,
        durability: Durability,
    ) -> impl Future<Output = Result<()>> + Send + use<> {
        let (sender, receiver) = oneshot::channel();
        job.durability = durability;
        job.answer = Some(sender);
        let queued = self.shared.push(self.shared.lock(), job);
        async move {
            queued?;
            receiver.await.unwrap_or(Err(StoreError::Stopped))
        }
    }

    /// Queues a job that nobody waits for, whether there is room or not.
    pub(crate) fn submit_behind(&self, job: Job) -> Result<()> {
        self.shared.push(self.shared.lock(), job)
    }

    /// Whether so little is pending that more may be added.
    pub(crate) fn has_room(&self) -> bool {
        !self.shared.lock().is_full()
    }

    /// Waits until there is room, or nothing is written any more.
    pub(crate) fn room(&self) -> impl Future<Output = ()> + Send + use<> {
        let shared = Arc::clone(&self.shared);
        async move { shared.room().await }
    }

    pub(crate) fn health(&self) -> Health {
        let queue = self.shared.lock();
        Health {
            stopped: queue.stopped.clone(),
            failed: queue.failed,
            last_failure: queue.last_failure.clone(),
            pending: queue.jobs.len(),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.shared.lock().closing = true;
        self.shared.ready.notify_one();
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
        {
            // A panic of the thread was already reported by its own handler.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
