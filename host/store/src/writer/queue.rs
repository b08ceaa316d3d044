//! What waits for the writer's thread, bounded, and the answers to it.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

use super::Job;
use crate::error::{Result, StoreError};

/// What may wait before there is room no more.
pub(super) const PENDING_JOBS: usize = 10_000;
pub(super) const PENDING_BYTES: usize = 64 * 1024 * 1024;
/// Jobs of one transaction: so long the first of them waits for its answer.
const BATCH_JOBS: usize = 1024;

/// What waits, and how the writer is doing.
#[derive(Default)]
pub(super) struct Queue {
    pub(super) jobs: VecDeque<Job>,
    pub(super) weight_bytes: usize,
    /// The thread waits and must be woken.
    pub(super) idle: bool,
    pub(super) closing: bool,
    pub(super) stopped: Option<String>,
    pub(super) failed: u64,
    pub(super) last_failure: Option<String>,
}

/// What the callers and the thread share.
#[derive(Default)]
pub(super) struct Shared {
    queue: Mutex<Queue>,
    pub(super) ready: Condvar,
    /// Told of when a full queue is one no more.
    room: Notify,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl Queue {
    pub(super) fn is_full(&self) -> bool {
        self.jobs.len() >= PENDING_JOBS || self.weight_bytes >= PENDING_BYTES
    }

    pub(super) fn take_batch(&mut self) -> VecDeque<Job> {
        let count = self.jobs.len().min(BATCH_JOBS);
        let batch: VecDeque<Job> = self.jobs.drain(..count).collect();
        let taken: usize = batch.iter().map(|job| job.weight_bytes).sum();
        self.weight_bytes -= taken;
        batch
    }

    pub(super) fn note_failure(&mut self, context: &'static str, error: &StoreError) {
        self.failed += 1;
        self.last_failure = Some(format!("{context}: {error}"));
        // A disk that stays full would fill the log with one and the same line.
        if self.failed.is_power_of_two() {
            let failed = self.failed;
            tracing::warn!(context, error = %error, failed, "what nobody waits for has failed");
        }
    }
}

/// What the thread does next.
pub(super) enum Next {
    Batch(VecDeque<Job>),
    Overdue,
    Closed,
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&self, mut queue: MutexGuard<'_, Queue>, job: Job) -> Result<()> {
        if queue.stopped.is_some() {
            return Err(StoreError::Stopped);
        }
        queue.weight_bytes += job.weight_bytes;
        queue.jobs.push_back(job);
        let wake = std::mem::take(&mut queue.idle);
        drop(queue);
        if wake {
            self.ready.notify_one();
        }
        Ok(())
    }

    /// Resolves once there is room, or nothing is taken any more.
    pub(super) async fn room(&self) {
        loop {
            // It hears of what happens from here on.
            let told = self.room.notified();
            {
                let queue = self.lock();
                if !queue.is_full() || queue.stopped.is_some() {
                    return;
                }
            }
            told.await;
        }
    }

    /// The thread takes nothing more: whoever waits for room need not.
    pub(super) fn no_more(&self) {
        self.room.notify_waiters();
    }

    pub(super) fn next(&self, deadline: Option<Instant>) -> Next {
        let mut queue = self.lock();
        loop {
            if !queue.jobs.is_empty() {
                queue.idle = false;
                let was_full = queue.is_full();
                let batch = queue.take_batch();
                drop(queue);
                if was_full {
                    self.room.notify_waiters();
                }
                return Next::Batch(batch);
            }
            if queue.closing {
                return Next::Closed;
            }
            queue.idle = true;
            let Some(deadline) = deadline else {
                queue = self.ready.wait(queue).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Next::Overdue;
            }
            queue = self.ready.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    pub(super) fn answer(&self, job: Job, outcome: Result<()>) {
        match (job.answer, outcome) {
            // Whoever dropped the future does not want to know.
            (Some(answer), outcome) => drop(answer.send(outcome)),
            (None, Ok(())) => {}
            (None, Err(error)) => self.lock().note_failure(job.context, &error),
        }
    }
}
