//! What upstreams tell by themselves: a watch for each connection in use whose
//! adapter can listen, and the catalogue brought up to date when one says that
//! its source changed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use executor_runtime::{
    AdapterContext, AdapterError, CallError, Changed, FaultKind, Local, MethodRule, Scope, limits::Limits,
};
use executor_store::{ConnectionName, ConnectionRow, SourceName, SourceRow};
use tokio::sync::{Notify, OwnedMutexGuard};
use tokio::task::AbortHandle;

use crate::caller::Caller;
use crate::components::Grant;
use crate::document::Kept;
use crate::invoke::Bound;
use crate::problem::Problem;
use crate::sources::{ProgressSink, parse_hosts};
use crate::workspace::Workspace;

/// How long changes are gathered into one.
const GATHER: Duration = Duration::from_millis(500);
/// Between the ends of two refreshes of one source that nobody asked for.
const APART: Duration = Duration::from_secs(5);
/// The pause before a watch that ended is begun anew; twice as long each time.
const PAUSE: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(300);
/// The time for which a watch has its fuel.
const BUDGET: Duration = Duration::from_secs(3600);

/// The watches of a workspace.
#[derive(Default)]
pub(crate) struct Listening {
    watches: Mutex<HashMap<(SourceName, String), Watching>>,
    /// Whoever holds a source's brings it up to date.
    turns: Mutex<HashMap<SourceName, Arc<tokio::sync::Mutex<Option<Instant>>>>>,
}

/// One watch.
struct Watching {
    task: AbortHandle,
    used: Arc<Mutex<Instant>>,
}

/// A source's turn: nobody else refreshes it meanwhile.
pub(crate) struct Turn(OwnedMutexGuard<Option<Instant>>);

impl Drop for Turn {
    fn drop(&mut self) {
        *self.0 = Some(Instant::now());
    }
}

impl Listening {
    fn watches(&self) -> MutexGuard<'_, HashMap<(SourceName, String), Watching>> {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a source's turn; and where nobody asked, until it is long
    /// enough after the one before.
    pub(crate) async fn turn(&self, source: &SourceName, asked: bool) -> Turn {
        let turns = {
            let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
            turns.entry(source.clone()).or_default().clone()
        };
        let turn = turns.lock_owned().await;
        if let Some(last) = turn.filter(|_| !asked) {
            tokio::time::sleep(APART.saturating_sub(last.elapsed())).await;
        }
        Turn(turn)
    }

    /// Ends the watch of one connection, or those of a whole source.
    pub(crate) fn end(&self, source: &SourceName, connection: Option<&ConnectionName>) {
        let meant = |key: &(SourceName, String)| {
            key.0 == *source && connection.is_none_or(|connection| connection.as_str() == key.1)
        };
        self.watches().retain(|key, watching| {
            let ends = meant(key);
            if ends {
                watching.task.abort();
            }
            !ends
        });
    }

    pub(crate) fn end_all(&self) {
        for (_, watching) in self.watches().drain() {
            watching.task.abort();
        }
    }
}

/// What is listened to: a source through a connection.
#[derive(Clone)]
pub(crate) struct Listened {
    source: SourceName,
    connection: Option<ConnectionRow>,
    /// The call that it began after, whose reach it has.
    bound: Option<Bound>,
}

impl Listened {
    pub(crate) fn of_call(bound: &Bound) -> Self {
        let (source, connection) = (bound.source.name.clone(), bound.connection.clone());
        Self { source, connection, bound: Some(bound.clone()) }
    }

    pub(crate) fn of_index(source: &SourceRow, connection: Option<ConnectionRow>) -> Self {
        Self { source: source.name.clone(), connection, bound: None }
    }

    fn connection_name(&self) -> &str {
        self.connection.as_ref().map_or("", |row| row.name.as_str())
    }
}

/// What a watch may still burn.
struct Budget {
    since: Instant,
    left: u64,
}

impl Workspace {
    /// Listens to a source through a connection, or goes on with it: for as
    /// long as it is in use.
    pub(crate) fn listen(&self, listened: Listened) {
        let key = (listened.source.clone(), listened.connection_name().to_owned());
        let mut watches = self.listening.watches();
        if let Some(watching) = watches.get(&key).filter(|watching| !watching.task.is_finished()) {
            *watching.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
            return;
        }
        let used = Arc::new(Mutex::new(Instant::now()));
        let (workspace, in_use) = (self.this(), used.clone());
        let task = tokio::spawn(async move { workspace.listen_while_used(&listened, &in_use).await });
        watches.insert(key, Watching { task: task.abort_handle(), used });
    }

    async fn listen_while_used(&self, listened: &Listened, used: &Mutex<Instant>) {
        let limit = self.shared.settings.process_idle();
        let idle = async {
            loop {
                let elapsed = used.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
                match limit.checked_sub(elapsed) {
                    Some(left) if !left.is_zero() => tokio::time::sleep(left).await,
                    _ => return,
                }
            }
        };
        let changed = Arc::new(Notify::new());
        let told = changed.clone();
        let hears: Changed = Arc::new(move |what| {
            tracing::debug!(what, "a source says that it changed");
            told.notify_one();
        });
        tokio::select! {
            () = idle => {}
            () = self.watch_again_and_again(listened, &hears) => {}
            () = self.refresh_on_change(listened, &changed) => {}
        }
    }

    /// Begins a watch anew whenever it ends; comes back where there is nothing
    /// to listen with any more.
    async fn watch_again_and_again(&self, listened: &Listened, changed: &Changed) {
        let whole = || Budget { since: Instant::now(), left: Limits::adapter_watch().fuel };
        let (mut pause, mut budget) = (PAUSE, whole());
        loop {
            if budget.since.elapsed() >= BUDGET {
                budget = whole();
            }
            let begun = Instant::now();
            let ended = match self.watch_once(listened, changed, &mut budget).await {
                Ok(ended) => ended,
                Err(problem) => {
                    return tracing::debug!(%problem, source = %listened.source, "not listened to");
                }
            };
            if begun.elapsed() > PAUSE_MAX {
                pause = PAUSE;
            }
            let spent = matches!(&ended, Err(AdapterError::Broken(CallError::Guest(fault)))
                if fault.kind == FaultKind::OutOfFuel);
            if let Err(error) = ended {
                tracing::debug!(%error, source = %listened.source, "a watch ended");
            }
            if spent {
                tokio::time::sleep(BUDGET.saturating_sub(budget.since.elapsed())).await;
            } else {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(PAUSE_MAX);
            }
        }
    }

    async fn watch_once(
        &self,
        listened: &Listened,
        changed: &Changed,
        budget: &mut Budget,
    ) -> Result<Result<(), AdapterError>, Problem> {
        let source = self.known_source(listened.source.as_str())?;
        let adapter = self.adapter(&source.adapter).await?;
        let local = self.local(&source, listened.connection.as_ref())?;
        let context = AdapterContext {
            session: format!("{}/{}", self.pool(&source.name), listened.connection_name()),
            scope: self.watch_scope(&source, listened).await?,
            local: local.map(|local| Local { counts: false, ..local }),
            changed: Some(changed.clone()),
            limits: Some(Limits { fuel: budget.left, ..Limits::adapter_watch() }),
            ..self.no_reach()
        };
        let (result, usage) = adapter.watch(&self.share, context, source.config, source.settings).await;
        budget.left = budget.left.saturating_sub(usage.fuel);
        Ok(result)
    }

    /// The reach of the call that a watch began after, held to reads.
    async fn watch_scope(&self, source: &SourceRow, listened: &Listened) -> Result<Scope, Problem> {
        let mut scope = match &listened.bound {
            Some(bound) => self.scope(bound).await?,
            None => self.reach(source)?,
        };
        let component = self.store.component(&source.adapter)?;
        let by_post = component.is_some_and(|row| Grant::of(&row).reads_by_post);
        scope.methods = if by_post { MethodRule::SafeOrPost } else { MethodRule::Safe };
        Ok(scope)
    }

    /// Brings the source up to date after it said that it changed.
    async fn refresh_on_change(&self, listened: &Listened, changed: &Notify) {
        loop {
            changed.notified().await;
            tokio::time::sleep(GATHER).await;
            let turn = self.listening.turn(&listened.source, false).await;
            // What was told meanwhile is part of this one.
            let _ = futures::FutureExt::now_or_never(changed.notified());
            if let Err(problem) = self.refresh_changed(listened).await {
                tracing::warn!(%problem, source = %listened.source, "a source that changed was not refreshed");
            }
            drop(turn);
        }
    }

    async fn refresh_changed(&self, listened: &Listened) -> Result<(), Problem> {
        let source = self.known_source(listened.source.as_str())?;
        let nobody: ProgressSink = Arc::new(|_| {});
        let (component, indexed, found) = match &source.document_url {
            Some(url) if source.command.is_none() => {
                let found = self.find_document(Some(url), None, &parse_hosts(&source.allowed_hosts)?).await?;
                let connection = self.index_connection(&source)?;
                let (component, indexed) =
                    self.index_again(&source, &found, connection.as_ref(), nobody).await?;
                (component, indexed, Some(found))
            }
            _ => {
                let connection = listened.connection.as_ref();
                let (component, indexed) = self.index_command(&source, connection, nobody).await?;
                (component, indexed, None)
            }
        };
        // Servers tell more than there is, and a list that is stale is mostly
        // what it was: what is the same is no event.
        if self.is_as_before(&source, &component, &indexed)? {
            return Ok(());
        }
        let kept = match &found {
            Some(found) => self.keep_document(found).await?,
            None => Kept::default(),
        };
        self.swap_in(&Caller::daemon(), source, &component, indexed, kept).await.map(|_| ())
    }
}
