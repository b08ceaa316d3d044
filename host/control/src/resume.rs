//! Going on after a person answered, and ending what runs or waits.
//!
//! Whoever changes what an execution is holds its claim, so that two answers
//! at one time run it one after the other; and the store moves an execution
//! on only from the status that was seen, so that nothing that has ended is
//! brought back.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use executor_runtime::{Answer, Sandbox};
use executor_store::{Change, ExecutionId, ExecutionRow, InteractionId, InteractionRow, StoreError};
use executor_telemetry::metrics::{ApprovalEvent, metrics};
use futures::FutureExt as _;
use futures::future::{AbortHandle, Abortable, Aborted, BoxFuture};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::approvals::APPROVAL;
use crate::audit::audit_change;
use crate::caller::{Caller, Capability};
use crate::drive::Work;
use crate::executions::{ExecutionError, ExecutionView};
use crate::outlive::Outliving;
use crate::problem::{Problem, ProblemKind};
use crate::questions::{FORM, form_answer};
use crate::recall::kept_module;
use crate::running::{Claim, Running, until_waits};
use crate::session::Session;
use crate::waits::is_live;
use crate::workspace::Workspace;

/// How long whoever asked for a cancelled execution waits to hear of it.
const SETTLE_TRIES: u32 = 50;
const SETTLE_PAUSE: Duration = Duration::from_millis(10);

/// The status of an execution that waits for a person.
pub(crate) const WAITING: &str = "waiting_for_interaction";

/// A person's answer.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Resume {
    /// What they said.
    pub action: ResumeAction,
    /// To which question; the oldest by default.
    #[serde(default)]
    pub interaction: Option<String>,
    /// What they filled in.
    #[serde(default)]
    pub content: Option<Value>,
    /// Whether this tool, as it is now, is allowed from now on.
    #[serde(default)]
    pub remember: bool,
}

/// What a person can say to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ResumeAction {
    /// Do it.
    Accept,
    /// Don't; the program hears of it and goes on.
    Decline,
    /// End the execution.
    Cancel,
}

/// What is kept of a yes. A form may be filled in by whoever began the
/// execution, a model too; everything else is for a person to accept.
fn accepted(
    caller: &Caller,
    row: &ExecutionRow,
    chosen: &InteractionRow,
    content: Option<&Value>,
) -> Result<Option<String>, Problem> {
    if chosen.kind == FORM {
        return form_answer(chosen, content).map(Some);
    }
    if !caller.may(Capability::Approve) {
        return Err(Problem::new(
            ProblemKind::Denied,
            "approval-not-yours",
            "this client may not accept approvals: a person must",
        )
        .hint(format!("on a terminal: executor resume {} --accept", chosen.execution)));
    }
    if !caller.accepts(row) {
        return Err(Problem::new(
            ProblemKind::Denied,
            "approval-not-yours",
            format!(
                "this execution is of {}, and a {} accepts what their own ask",
                row.account,
                caller.role.as_str()
            ),
        )
        .hint("an admin of the organization accepts it"));
    }
    Ok(content.map(Value::to_string))
}

impl Workspace {
    /// Goes on with a waiting execution. The answer is committed before the
    /// program runs again; a second answer to the same question gets what
    /// became of the first.
    ///
    /// # Errors
    /// When there is nothing to answer, or the caller may not accept.
    pub async fn resume(&self, caller: &Caller, id: &str, request: Resume) -> Result<ExecutionView, Problem> {
        if request.remember {
            caller.expect(Capability::Manage)?;
        }
        let id = self.handled_execution(caller, id)?.id;
        let claim = self.running.claim(&id).await;
        loop {
            self.running.wait(&id).await;
            self.executions().written().await?;
            let row = self.known_execution(id.as_str())?;
            let Some(chosen) = self.question(&row, request.interaction.as_deref())? else {
                drop(claim);
                return self.once_settled(&id).await;
            };
            let answer = match request.action {
                ResumeAction::Cancel => {
                    drop(claim);
                    return self.cancel(caller, id.as_str()).await;
                }
                ResumeAction::Accept => accepted(caller, &row, &chosen, request.content.as_ref())?,
                ResumeAction::Decline => None,
            };
            if is_live(&chosen) {
                self.answer_live(caller, &chosen, &request, answer).await?;
                drop(claim);
                self.running.wait(&id).await;
                return self.execution_view(&id).await;
            }
            if self.running.has(&id) {
                if self.answer_while_others_wait(caller, &chosen, &request, answer).await? {
                    return self.execution_view(&id).await;
                }
                // The other call goes on: this answer is for when it has ended.
                continue;
            }
            let sandbox = self.pinned_sandbox(&row).await?;
            let (workspace, caller) = (self.this(), caller.clone());
            let go_on =
                async move { workspace.go_on(&caller, claim, row, &chosen, &request, answer, sandbox).await };
            return self.launch(&id, go_on.boxed()).await;
        }
    }

    /// Answers a call that waits in memory. Where it waits no more, its
    /// question has been closed.
    async fn answer_live(
        &self,
        caller: &Caller,
        chosen: &InteractionRow,
        request: &Resume,
        answer: Option<String>,
    ) -> Result<(), Problem> {
        let told = match (request.action, &answer) {
            (ResumeAction::Accept, Some(json)) => Answer::Accepted(json.clone()),
            (ResumeAction::Accept, None) => Answer::Accepted("null".into()),
            _ => Answer::Declined,
        };
        let (changes, record) = self.answer_changes(caller, chosen, request, answer);
        if self.answer_waiting(chosen, changes, told).await? {
            self.tell_answer(request, record);
        }
        Ok(())
    }

    /// Puts an answer on record while another call of the execution waits in
    /// memory. Whether one does.
    async fn answer_while_others_wait(
        &self,
        caller: &Caller,
        chosen: &InteractionRow,
        request: &Resume,
        answer: Option<String>,
    ) -> Result<bool, Problem> {
        let (changes, record) = self.answer_changes(caller, chosen, request, answer);
        let waits = self.answer_beside(&chosen.execution, changes).await?;
        if waits {
            self.tell_answer(request, record);
            self.remember(caller, chosen, request).await;
        }
        Ok(waits)
    }

    /// The question that an answer is for; none where it needs no answer any
    /// more.
    fn question(&self, row: &ExecutionRow, wanted: Option<&str>) -> Result<Option<InteractionRow>, Problem> {
        let mut asked = self.executions().interactions(&row.id)?.into_iter();
        let chosen = match wanted {
            Some(wanted) => Some(
                asked
                    .find(|interaction| interaction.id.as_str() == wanted)
                    .ok_or_else(|| Problem::not_found("interaction", wanted))?,
            ),
            None => asked.find(|interaction| interaction.status == "pending"),
        };
        Ok(chosen.filter(|interaction| interaction.status == "pending" && row.status == WAITING))
    }

    /// Commits the answer and runs the execution again. What fails after the
    /// answer ends the execution: nothing stays `running` with nobody at it.
    #[expect(clippy::too_many_arguments, reason = "what a person said to what, and what goes on with it")]
    async fn go_on(
        &self,
        caller: &Caller,
        claim: Claim,
        row: ExecutionRow,
        chosen: &InteractionRow,
        request: &Resume,
        answer: Option<String>,
        sandbox: Option<Arc<Sandbox>>,
    ) -> Result<ExecutionView, Problem> {
        match self.answer(caller, chosen, request, answer).await {
            Ok(()) => {}
            Err(Problem { kind: ProblemKind::Conflict, .. }) => return self.execution_view(&row.id).await,
            Err(problem) => return Err(problem),
        }
        self.remember(caller, chosen, request).await;
        // Whoever answers next waits for this run, which may wait itself.
        drop(claim);
        let id = row.id.clone();
        match self.replay(row, sandbox).await {
            Ok(view) => Ok(view),
            Err(problem) => self.give_up(&id, caller, &problem).await,
        }
    }

    /// Keeps what a yes to an approval says of the calls to come: the tool was
    /// seen as it is, and is allowed from now on where the person said so.
    async fn remember(&self, caller: &Caller, chosen: &InteractionRow, request: &Resume) {
        if request.action != ResumeAction::Accept || chosen.kind != APPROVAL {
            return;
        }
        self.review_by_answer(caller, chosen).await;
        if request.remember
            && let Some(rule) = self.rule_from(caller, chosen)
            && let Err(problem) = self.write_policy(caller, rule, None).await
        {
            tracing::warn!(%problem, execution = %chosen.execution, "the rule of an approval was not written");
        }
    }

    /// Goes on where everything that an execution waited for was answered
    /// while one of its calls waited in memory.
    async fn go_on_answered(
        &self,
        mut view: ExecutionView,
        id: &ExecutionId,
    ) -> Result<ExecutionView, Problem> {
        while view.status == WAITING && view.interactions.is_empty() {
            let at_ms = self.shared.now_ms();
            let (expected, status) = (WAITING.into(), "running".into());
            let moved = Change::Status { id: id.clone(), expected, status, at_ms };
            self.executions().commit(vec![moved]).await?;
            view = match Box::pin(self.replay_kept(id)).await {
                Ok(view) => view,
                Err(problem) => return self.give_up(id, &Caller::daemon(), &problem).await,
            };
        }
        Ok(view)
    }

    /// Runs an execution again as its record says.
    async fn replay_kept(&self, id: &ExecutionId) -> Result<ExecutionView, Problem> {
        let row = self.known_execution(id.as_str())?;
        let sandbox = self.pinned_sandbox(&row).await?;
        self.replay(row, sandbox).await
    }

    async fn replay(
        &self,
        row: ExecutionRow,
        sandbox: Option<Arc<Sandbox>>,
    ) -> Result<ExecutionView, Problem> {
        let recalled = self.recall(&row.id).await?;
        let work = match sandbox {
            None => Work::Call,
            Some(sandbox) => {
                Work::Program { module: kept_module(&row)?.into(), sandbox, history: recalled.history }
            }
        };
        let (past, logs, emitted) = (recalled.past, recalled.logs, recalled.emitted);
        let caller = Caller::of_execution(&row)?;
        Session::again(self.this(), caller, row, past, logs, emitted).drive(work).await
    }

    async fn answer(
        &self,
        caller: &Caller,
        chosen: &InteractionRow,
        request: &Resume,
        answer: Option<String>,
    ) -> Result<(), Problem> {
        let (mut changes, record) = self.answer_changes(caller, chosen, request, answer);
        changes.push(Change::Status {
            id: chosen.execution.clone(),
            expected: WAITING.into(),
            status: "running".into(),
            at_ms: self.shared.now_ms(),
        });
        self.executions().commit(changes).await.map_err(|error| match error {
            StoreError::Conflict { what } => Problem::new(ProblemKind::Conflict, "already-answered", what),
            other => other.into(),
        })?;
        self.tell_answer(request, record);
        Ok(())
    }

    /// Counts an answer that is on record, and tells of it.
    fn tell_answer(&self, request: &Resume, record: Value) {
        let accepted = request.action == ResumeAction::Accept;
        metrics().control.approval(if accepted { ApprovalEvent::Accepted } else { ApprovalEvent::Declined });
        self.tell("approval.answer", || record);
    }

    /// What puts an answer on record, and what is told of it.
    fn answer_changes(
        &self,
        caller: &Caller,
        chosen: &InteractionRow,
        request: &Resume,
        answer: Option<String>,
    ) -> (Vec<Change>, Value) {
        let status = if request.action == ResumeAction::Accept { "accepted" } else { "declined" };
        let now_ms = self.shared.now_ms();
        let record = json!({
            "execution": chosen.execution.to_string(), "interaction": chosen.id.to_string(),
            "answer": status, "remember": request.remember,
        });
        let changes = vec![
            Change::Answer {
                interaction: chosen.id.clone(),
                expected: "pending".into(),
                status: status.into(),
                answer,
                answered_by: caller.signature(),
                at_ms: now_ms,
            },
            audit_change(now_ms, caller, "approval.answer", record.clone()),
        ];
        (changes, record)
    }

    /// The engine that an execution began with; a call needs none.
    async fn pinned_sandbox(&self, row: &ExecutionRow) -> Result<Option<Arc<Sandbox>>, Problem> {
        if row.kind != "code" {
            return Ok(None);
        }
        let Some(digest) = &row.engine else { return self.sandbox().await.map(Some) };
        let sandbox = self.sandbox_of(digest).await.map_err(|problem| match problem.code.as_str() {
            "component-missing" => Problem::new(
                ProblemKind::Conflict,
                "engine-changed",
                format!("this execution began with another version of the engine ({digest}), which is gone"),
            )
            .hint(format!("run it anew with `executor executions rerun {}`", row.id)),
            _ => problem,
        });
        sandbox.map(Some)
    }

    /// Ends an execution.
    ///
    /// # Errors
    /// When there is none of that id, or it has ended.
    pub async fn cancel(&self, caller: &Caller, id: &str) -> Result<ExecutionView, Problem> {
        let id = self.handled_execution(caller, id)?.id;
        self.running.abort(&id).await;
        let _claim = self.running.claim(&id).await;
        // Somebody's answer may have run it again before the claim was free.
        self.running.abort(&id).await;
        self.end_waits(&id).await?;
        let row = self.known_execution(id.as_str())?;
        let ended = |status: &str| {
            Problem::new(ProblemKind::Conflict, "already-ended", format!("{id} has ended: {status}"))
        };
        if !matches!(row.status.as_str(), "running" | "pending" | WAITING) {
            return Err(ended(&row.status));
        }
        let waited = row.status == WAITING;
        let error = ExecutionError {
            code: "cancelled".into(),
            message: "it was cancelled".into(),
            ..ExecutionError::default()
        };
        let now_ms = self.shared.now_ms();
        let mut changes = self.last_changes(&id, caller, "cancelled", &error)?;
        changes.push(audit_change(now_ms, caller, "execution.cancel", json!({"execution": id.to_string()})));
        self.executions().commit(changes).await.map_err(|error| match error {
            StoreError::Conflict { .. } => ended("meanwhile"),
            other => other.into(),
        })?;
        // Of one that ran, its session has told.
        if waited {
            metrics().control.executed(&row.kind, &row.surface, "cancelled");
        }
        self.tell("execution.cancelled", || json!({"execution": id.to_string()}));
        self.execution_view(&id).await
    }

    /// Settles an execution that can't go on by no fault of its program.
    async fn give_up(
        &self,
        id: &ExecutionId,
        caller: &Caller,
        problem: &Problem,
    ) -> Result<ExecutionView, Problem> {
        tracing::error!(%problem, execution = %id, "an execution can't go on");
        let error = ExecutionError {
            code: problem.code.clone(),
            message: problem.message.clone(),
            hint: problem.hint.clone(),
            ..ExecutionError::default()
        };
        self.end_waits(id).await?;
        self.executions().commit(self.last_changes(id, caller, "failed", &error)?).await?;
        self.tell("execution.failed", || json!({"execution": id.to_string()}));
        self.execution_view(id).await
    }

    /// What ends an execution from outside: its questions are withdrawn, what
    /// it sent and got no answer for is unknown.
    pub(crate) fn last_changes(
        &self,
        id: &ExecutionId,
        caller: &Caller,
        status: &str,
        error: &ExecutionError,
    ) -> Result<Vec<Change>, Problem> {
        let now_ms = self.shared.now_ms();
        let mut changes = self.unanswered(id, caller, now_ms)?;
        changes.extend(self.unknown_outcomes(id, now_ms)?);
        changes.push(Change::Settle {
            id: id.clone(),
            status: status.into(),
            result: None,
            error: Some(json!(error).to_string()),
            settled_ms: now_ms,
            fuel: 0,
            memory_bytes: 0,
            truncated: false,
            spans: None,
        });
        Ok(changes)
    }

    /// Withdraws the questions that nobody will answer any more.
    pub(crate) fn unanswered(
        &self,
        id: &ExecutionId,
        caller: &Caller,
        now_ms: i64,
    ) -> Result<Vec<Change>, Problem> {
        let withdraw = |interaction: InteractionId| Change::Answer {
            interaction,
            expected: "pending".into(),
            status: "cancelled".into(),
            answer: None,
            answered_by: caller.signature(),
            at_ms: now_ms,
        };
        let asked = self.executions().interactions(id)?.into_iter();
        let withdrawn: Vec<_> =
            asked.filter(|row| row.status == "pending").map(|row| withdraw(row.id)).collect();
        withdrawn.iter().for_each(|_| metrics().control.approval(ApprovalEvent::Withdrawn));
        Ok(withdrawn)
    }

    /// An execution whose task was ended, once whoever ended it has said what
    /// it is now. A daemon that ends says nothing: its next start does.
    async fn once_settled(&self, id: &ExecutionId) -> Result<ExecutionView, Problem> {
        for _ in 0..SETTLE_TRIES {
            let view = self.execution_view(id).await?;
            if view.status != "running" {
                return Ok(view);
            }
            tokio::time::sleep(SETTLE_PAUSE).await;
        }
        self.execution_view(id).await
    }

    /// Runs an execution to its end or to a question, whatever becomes of
    /// whoever asked. One that waits in the middle of a call goes on in a task
    /// of its own.
    pub(crate) async fn launch(
        &self,
        id: &ExecutionId,
        work: BoxFuture<'static, Result<ExecutionView, Problem>>,
    ) -> Result<ExecutionView, Problem> {
        let (signal, ended) = Running::signal();
        let (abort, aborted) = AbortHandle::new_pair();
        let waits = self.running.add(id.clone(), abort, ended);
        let (workspace, known) = (self.this(), id.clone());
        let work = async move {
            let _signal = signal;
            let whole = async { workspace.go_on_answered(work.await?, &known).await };
            let view = match AssertUnwindSafe(whole).catch_unwind().await {
                Ok(view) => view,
                Err(panic) => {
                    let problem =
                        Problem::internal(format!("the execution {known} broke: {}", said(panic.as_ref())));
                    workspace.give_up(&known, &Caller::daemon(), &problem).await
                }
            };
            workspace.running.remove(&known);
            view
        };
        tokio::select! {
            biased;
            finished = Outliving::new(Abortable::new(work, aborted)) => match finished {
                Ok(view) => view,
                Err(Aborted) => {
                    self.running.remove(id);
                    self.once_settled(id).await
                }
            },
            () = until_waits(waits) => self.execution_view(id).await,
        }
    }
}

/// What a panic said.
fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic")
}
