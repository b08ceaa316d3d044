//! What is kept, and for how long: questions that nobody answers, executions
//! that have ended, files that nobody uses, old audit records, engines that
//! nothing needs.

use std::time::Duration;

use executor_store::{
    AuditRecord, Change, Digest, ExecutionId, component_is_stored, put_component, stored_components,
};
use executor_telemetry::metrics::metrics;
use serde_json::json;

use crate::audit::audit_body;
use crate::caller::Caller;
use crate::control::{Control, Shared};
use crate::executions::ExecutionError;
use crate::problem::{Problem, ProblemKind};
use crate::resume::WAITING;
use crate::workspace::Workspace;

/// How often is looked for what is over.
const PAUSE: Duration = Duration::from_secs(60);
/// How long files are kept after the executions that may name them.
const BLOBS_MS: i64 = 7 * 24 * 60 * 60 * 1000;
/// Executions that are ended at one look.
const LOOK: usize = 500;

impl Control {
    /// Ends and forgets what is over, until the daemon ends.
    pub(crate) async fn keep_house(&self) {
        loop {
            for workspace in self.all_workspaces() {
                if let Err(problem) = workspace.keep_house().await {
                    tracing::warn!(%problem, workspace = %workspace.name, "what is over was not put away");
                }
            }
            if let Err(problem) = self.shared().forget_engines().await {
                tracing::warn!(%problem, "engines that nothing needs were not put away");
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

impl Shared {
    /// Forgets the components whose bytes are in the home and needless.
    async fn forget_engines(&self) -> Result<(), Problem> {
        let _needed = self.component_bytes.lock().await;
        for digest in stored_components(&self.home)? {
            if self.forget_component(&digest)? {
                tracing::info!(%digest, "a component that nothing needs was removed");
            }
        }
        Ok(())
    }
}

impl Workspace {
    /// Ends and forgets what is over by now.
    pub(crate) async fn keep_house(&self) -> Result<(), Problem> {
        let (now_ms, settings) = (self.shared.now_ms(), &self.shared.settings);
        for id in self.executions().waiting_since(now_ms.saturating_sub(settings.expire_ms()), LOOK)? {
            self.expire(&id).await?;
        }
        while self.executions().forget_settled(now_ms.saturating_sub(settings.keep_ms())).await? > 0 {}
        while self.executions().used_bytes()? > settings.keep_bytes()
            && self.executions().forget_settled(now_ms).await? > 0
        {}
        // Whatever an execution on record names was stored or used when it ran.
        let keep_ms = settings.keep_ms().max(settings.expire_ms()).saturating_add(BLOBS_MS);
        while self.store.blobs().forget_unused(now_ms.saturating_sub(keep_ms)).await? > 0 {}
        if let Some(keep_ms) = settings.keep_audit_ms() {
            let told = move |gone: u64| AuditRecord {
                at_ms: now_ms,
                body: audit_body(&Caller::daemon(), "audit.prune", json!({"records": gone})),
            };
            self.executions().prune_audit(now_ms.saturating_sub(keep_ms), told).await?;
        }
        Ok(())
    }

    /// Ends an execution whose question nobody answered in time.
    async fn expire(&self, id: &ExecutionId) -> Result<(), Problem> {
        let _claim = self.running.claim(id).await;
        let row = self.known_execution(id.as_str())?;
        // A call that waits in memory ends its question itself, much earlier.
        if row.status != WAITING || self.waits.hold(id) {
            return Ok(());
        }
        let hours = self.shared.settings.approvals.expire_hours;
        let error = ExecutionError {
            code: "expired".into(),
            message: format!("nobody answered within {hours} hours"),
            hint: Some(format!("run it anew with `executor executions rerun {id}`")),
            ..ExecutionError::default()
        };
        let mut changes = self.last_changes(id, &Caller::daemon(), "failed", &error)?;
        for change in &mut changes {
            if let Change::Answer { status, .. } = change {
                *status = "expired".into();
            }
        }
        match self.executions().commit(changes).await.map_err(Problem::from) {
            // Somebody answered meanwhile.
            Err(Problem { kind: ProblemKind::Conflict, .. }) => return Ok(()),
            committed => committed?,
        }
        metrics().control.executed(&row.kind, &row.surface, "failed");
        self.tell("execution.failed", || json!({"execution": id.to_string(), "code": "expired"}));
        Ok(())
    }

    /// Keeps the engine that a waiting execution began with, so that a newer
    /// executor can go on with it.
    pub(crate) fn keep_engine(&self, digest: &Digest) -> Result<(), Problem> {
        if !component_is_stored(&self.shared.home, digest) {
            put_component(&self.shared.home, &self.component_bytes(digest)?)?;
        }
        Ok(())
    }
}
