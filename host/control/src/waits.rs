//! Questions in the middle of a call, which waits for its answer in memory.
//!
//! They are questions of the execution like any other: on record before
//! anybody is asked, shown everywhere, answered once. Only where the answer
//! goes is different: into the call that runs, not into one that is made
//! again. Nothing of it survives the daemon, so a wait is bounded in time and
//! in number.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use executor_runtime::{AdapterFailure, Answer, Asked as Asking, Call, Question};
use executor_store::{Change, ExecutionId, InteractionId, InteractionRow, StoreError};
use executor_telemetry::metrics::{ApprovalEvent, metrics};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use crate::audit::audit_change;
use crate::caller::Caller;
use crate::invoke::{Bound, Entered};
use crate::outlive::Outliving;
use crate::policies::random;
use crate::problem::Problem;
use crate::questions::Asked;
use crate::resume::WAITING;
use crate::session::Session;
use crate::tool_error::ToolError;
use crate::workspace::Workspace;

/// So long a call waits for a person: what it holds open upstream does not
/// stay open for much longer.
pub(crate) const WAIT_MS: i64 = 30 * 60 * 1000;

/// Calls of one workspace that wait so at one time: each holds an instance.
const PLACES: usize = 32;

/// How often is looked whether the time is over.
const LOOK: Duration = Duration::from_secs(1);

/// The key of a request that says that its call waits in memory.
const LIVE: &str = "live";

/// The calls of a workspace that wait in memory.
#[derive(Default)]
pub(crate) struct Waits(Mutex<HashMap<InteractionId, Wait>>);

struct Wait {
    execution: ExecutionId,
    answer: oneshot::Sender<Answer>,
}

type Waiting = HashMap<InteractionId, Wait>;

impl Waits {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a call of this execution waits.
    pub(crate) fn hold(&self, execution: &ExecutionId) -> bool {
        of(&self.lock(), execution)
    }
}

/// The answer that comes before a time; none after it.
async fn before(
    end_ms: i64,
    now_ms: impl Fn() -> i64,
    answer: &mut oneshot::Receiver<Answer>,
) -> Option<Answer> {
    loop {
        match tokio::time::timeout(LOOK, &mut *answer).await {
            Ok(answer) => return Some(answer.unwrap_or(Answer::Cancelled)),
            Err(_) if now_ms() >= end_ms => return None,
            Err(_) => {}
        }
    }
}

fn of(waiting: &Waiting, execution: &ExecutionId) -> bool {
    waiting.values().any(|wait| &wait.execution == execution)
}

/// Whether a question's call waits, or waited, in memory.
pub(crate) fn is_live(row: &InteractionRow) -> bool {
    serde_json::from_str::<Value>(&row.request).is_ok_and(|request| request[LIVE] == true)
}

/// A question while its call waits. Dropping it closes it: nobody waits for
/// an answer any more.
struct Open<'a> {
    session: &'a Session,
    id: InteractionId,
}

impl Open<'_> {
    /// Closes it; whether it was still open.
    fn close(&self, status: &str) -> bool {
        let workspace = &self.session.workspace;
        let mut waiting = workspace.waits.lock();
        let Some(wait) = waiting.remove(&self.id) else { return false };
        let changes = workspace.closing(&waiting, &wait.execution, &self.id, status);
        if let Err(error) = workspace.executions().commit_behind(changes) {
            tracing::debug!(%error, interaction = %self.id, "a question was not closed");
        }
        true
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.close("cancelled");
    }
}

impl Session {
    /// Runs a call of an adapter to its end, and asks a person what it asks
    /// meanwhile.
    pub(crate) async fn answering(
        &self,
        call: &Call,
        bound: &Bound,
        mut questions: mpsc::Receiver<Asking>,
        entered: impl Future<Output = Result<Entered, ToolError>>,
    ) -> Result<Entered, ToolError> {
        let mut entered = std::pin::pin!(entered);
        loop {
            let asked = tokio::select! {
                biased;
                result = &mut entered => return result,
                Some(asked) = questions.recv() => asked,
            };
            // The guest waits too: nothing else of the call goes on.
            let answer = self.ask_meanwhile(call, bound, &asked.question).await;
            let answer = answer.map_err(|error| AdapterFailure {
                retryable: error.retryable,
                ..AdapterFailure::new(error.code, error.message)
            });
            // Whoever asked may be gone.
            let _ = asked.reply.send(answer);
        }
    }

    async fn ask_meanwhile(
        &self,
        call: &Call,
        bound: &Bound,
        question: &Question,
    ) -> Result<Answer, ToolError> {
        let asked = Asked::check(&bound.tool.path, question)?;
        let now_ms = self.workspace.shared.now_ms();
        let mut request = self.asked(bound, &asked);
        request[LIVE] = json!(true);
        let row = InteractionRow {
            id: InteractionId::new(now_ms, random()),
            execution: self.id().clone(),
            scope: call.scope,
            ordinal: call.ordinal,
            kind: asked.kind.into(),
            message: question.message.clone(),
            request: request.to_string(),
            status: "pending".into(),
            answer: None,
            created_ms: now_ms,
            answered_ms: None,
            answered_by: None,
        };
        let record = json!({
            "execution": self.id().to_string(), "interaction": row.id.to_string(), "tool": bound.tool.path,
            "kinds": [asked.kind], "connection": bound.connection_key(), "asked_by": bound.source.adapter,
        });
        let _still = self.watch.clock().stand_still();
        let (open, mut answer) = self.open(bound, row, record).await?;
        let in_time = before(now_ms.saturating_add(WAIT_MS), || self.workspace.shared.now_ms(), &mut answer);
        let said = match in_time.await {
            Some(answer) => answer,
            None if open.close("expired") => Answer::Cancelled,
            // It was answered in this moment: the answer is on its way.
            None => answer.await.unwrap_or(Answer::Cancelled),
        };
        if !self.workspace.waits.hold(self.id()) {
            self.tell("execution.running");
        }
        Ok(said)
    }

    /// Puts a question on record, and shows it once it is.
    async fn open(
        &self,
        bound: &Bound,
        row: InteractionRow,
        record: Value,
    ) -> Result<(Open<'_>, oneshot::Receiver<Answer>), ToolError> {
        let path = &bound.tool.path;
        let (workspace, id) = (&self.workspace, row.id.clone());
        let (sender, answer) = oneshot::channel();
        let told = record.clone();
        let queued = {
            let mut waiting = workspace.waits.lock();
            if waiting.len() >= PLACES {
                let message = format!("{PLACES} calls of this workspace wait for a person already");
                return Err(ToolError {
                    retryable: true,
                    ..ToolError::new(path, "question-refused", message)
                });
            }
            let mut changes = Vec::new();
            if !of(&waiting, self.id()) {
                changes.push(self.moves("running", WAITING, row.created_ms));
            }
            let audited = audit_change(row.created_ms, &self.caller, "question.ask", record);
            changes.extend([Change::Ask(row), audited]);
            waiting.insert(id.clone(), Wait { execution: self.id().clone(), answer: sender });
            self.mark_asked();
            self.queue(changes)
        };
        let open = Open { session: self, id };
        queued.await.map_err(|error| ToolError::of_problem(path, error.into()))?;
        metrics().control.approval(ApprovalEvent::Asked);
        workspace.tell("question.ask", || told);
        self.tell("execution.waiting");
        let waiting = workspace.waits.lock();
        if of(&waiting, self.id()) {
            workspace.running.set_waits(self.id(), true);
        }
        drop(waiting);
        Ok((open, answer))
    }

    fn moves(&self, from: &str, to: &str, at_ms: i64) -> Change {
        Change::Status { id: self.id().clone(), expected: from.into(), status: to.into(), at_ms }
    }
}

impl Workspace {
    /// What closes a question of a call that waits in memory without a
    /// person's answer.
    fn closing(
        &self,
        waiting: &Waiting,
        execution: &ExecutionId,
        id: &InteractionId,
        status: &str,
    ) -> Vec<Change> {
        let at_ms = self.shared.now_ms();
        metrics().control.approval(ApprovalEvent::Withdrawn);
        let mut changes = vec![Change::Answer {
            interaction: id.clone(),
            expected: "pending".into(),
            status: status.into(),
            answer: None,
            answered_by: Caller::daemon().signature(),
            at_ms,
        }];
        changes.extend(self.going_on(waiting, execution, at_ms));
        changes
    }

    /// The execution runs again where no other of its calls waits.
    fn going_on(&self, waiting: &Waiting, execution: &ExecutionId, at_ms: i64) -> Option<Change> {
        if of(waiting, execution) {
            return None;
        }
        self.running.set_waits(execution, false);
        let expected = WAITING.into();
        Some(Change::Status { id: execution.clone(), expected, status: "running".into(), at_ms })
    }

    /// Hands an answer to the call that waits for it, once it is on record.
    /// Whether one waited.
    pub(crate) async fn answer_waiting(
        &self,
        chosen: &InteractionRow,
        mut changes: Vec<Change>,
        answer: Answer,
    ) -> Result<bool, Problem> {
        let (queued, wait) = {
            let mut waiting = self.waits.lock();
            let Some(wait) = waiting.remove(&chosen.id) else { return Ok(false) };
            changes.extend(self.going_on(&waiting, &chosen.execution, self.shared.now_ms()));
            (self.executions().commit(changes), wait)
        };
        // Whoever answers may go away meanwhile: the call hears it all the same.
        let handed = Outliving::new(async move {
            queued.await?;
            // A call that ended in this moment hears nothing.
            let _ = wait.answer.send(answer);
            Ok::<_, StoreError>(())
        });
        handed.await?;
        Ok(true)
    }

    /// Puts an answer on record that the execution goes on with later, since
    /// another of its calls waits in memory now. Whether one does.
    pub(crate) async fn answer_beside(
        &self,
        execution: &ExecutionId,
        changes: Vec<Change>,
    ) -> Result<bool, Problem> {
        let queued = {
            let waiting = self.waits.lock();
            if !of(&waiting, execution) {
                return Ok(false);
            }
            self.executions().commit(changes)
        };
        queued.await?;
        Ok(true)
    }

    /// Closes what the calls of an execution ask in memory, which has ended,
    /// and waits until that is written.
    pub(crate) async fn end_waits(&self, execution: &ExecutionId) -> Result<(), Problem> {
        {
            let mut waiting = self.waits.lock();
            let ids: Vec<_> = waiting
                .iter()
                .filter(|(_, wait)| &wait.execution == execution)
                .map(|(id, _)| id.clone())
                .collect();
            for id in ids {
                waiting.remove(&id);
                self.executions().commit_behind(self.closing(&waiting, execution, &id, "cancelled"))?;
            }
        }
        Ok(self.executions().written().await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicI64, Ordering};

    #[tokio::test]
    async fn an_answer_comes_in_time_or_not_at_all() {
        let clock = AtomicI64::new(0);
        let now_ms = || clock.load(Ordering::Relaxed);
        let (sender, mut answer) = oneshot::channel();
        let wait = async { before(WAIT_MS, now_ms, &mut answer).await };
        let person = async {
            clock.store(WAIT_MS - 1, Ordering::Relaxed);
            tokio::time::sleep(LOOK + LOOK / 4).await;
            assert!(sender.send(Answer::Declined).is_ok(), "it waits to the last");
        };
        assert!(matches!(tokio::join!(wait, person).0, Some(Answer::Declined)));

        let (_sender, mut answer) = oneshot::channel();
        clock.store(WAIT_MS, Ordering::Relaxed);
        assert!(before(WAIT_MS, now_ms, &mut answer).await.is_none(), "nobody answered");
        let (sender, mut answer) = oneshot::channel();
        drop(sender);
        assert!(matches!(before(WAIT_MS, now_ms, &mut answer).await, Some(Answer::Cancelled)));
    }
}
