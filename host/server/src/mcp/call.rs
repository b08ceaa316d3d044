//! One call of a tool, and what can end it early.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use executor_control::{ExecutionView, Problem, ProblemKind};
use rmcp::RoleServer;
use rmcp::model::{CallToolRequestParams, ErrorData, InputResponses, JsonObject, RequestId};
use rmcp::service::RequestContext;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::{Notify, watch};

use super::progress;
use super::who::{Asking, Place, is_modern};
use crate::connection::stopped;

/// An execution is on record after so long, if it still runs.
const ON_RECORD: Duration = Duration::from_millis(100);

/// Why a call has no result.
pub(super) enum Refusal {
    /// A model should read why.
    Tool(Problem),
    /// The request is no call that can be made.
    Protocol(ErrorData),
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self::Tool(problem)
    }
}

impl From<ErrorData> for Refusal {
    fn from(error: ErrorData) -> Self {
        Self::Protocol(error)
    }
}

/// The requests of one session that can be cancelled by their ids.
#[derive(Debug, Clone, Default)]
pub(super) struct Cancels(Arc<Mutex<HashMap<RequestId, Arc<Notify>>>>);

impl Cancels {
    /// Ends a request, where it still runs.
    pub(super) fn cancel(&self, id: &RequestId) {
        if let Some(notify) = self.lock().get(id) {
            notify.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, Arc<Notify>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where the id of an execution is put before it runs.
pub(super) type Told = Arc<OnceLock<String>>;

/// One call of a tool.
pub(super) struct Call<'c> {
    pub(super) asking: Asking,
    pub(super) context: &'c RequestContext<RoleServer>,
    /// What a client of the newest revision gives back when it calls again.
    pub(super) state: Option<String>,
    pub(super) responses: InputResponses,
    cancels: Cancels,
    cancelled: Arc<Notify>,
    stop: watch::Receiver<bool>,
}

impl<'c> Call<'c> {
    pub(super) fn new(
        asking: Asking,
        context: &'c RequestContext<RoleServer>,
        cancels: &Cancels,
        stop: watch::Receiver<bool>,
        request: &CallToolRequestParams,
    ) -> Self {
        let cancelled = Arc::new(Notify::new());
        cancels.lock().insert(context.id.clone(), cancelled.clone());
        Self {
            asking,
            context,
            state: request.request_state.clone(),
            responses: request.input_responses.clone().unwrap_or_default(),
            cancels: cancels.clone(),
            cancelled,
            stop,
        }
    }

    /// Waits for an execution. It is cancelled where the client says so; where
    /// the client is merely gone it runs on.
    pub(super) async fn watch<F>(
        &self,
        place: &Place,
        start: impl FnOnce(Told) -> F,
    ) -> Result<ExecutionView, Refusal>
    where
        F: Future<Output = Result<ExecutionView, Problem>>,
    {
        let told = Told::default();
        let work = start(told.clone());
        let _telling = progress::tell(self.context, "running");
        tokio::select! {
            biased;
            view = work => Ok(view?),
            () = self.cancelled() => Err(self.cancel(place, told.get().map(String::as_str)).await),
        }
    }

    /// Cancels an execution for the client, who reads no answer any more.
    pub(super) async fn cancel(&self, place: &Place, id: Option<&str>) -> Refusal {
        if let Some(id) = id {
            let mut ended = place.workspace.cancel(&place.caller, id).await;
            if matches!(&ended, Err(problem) if problem.kind == ProblemKind::NotFound) {
                tokio::time::sleep(ON_RECORD).await;
                ended = place.workspace.cancel(&place.caller, id).await;
            }
            if let Err(problem) = ended {
                tracing::debug!(%problem, execution = id, "an execution was over before it was cancelled");
            }
        }
        Refusal::Protocol(ErrorData::internal_error("the client cancelled the call", None))
    }

    /// Resolves when the client says that it wants no answer: by a
    /// notification, or in the newest revision by closing the answer's stream.
    pub(super) async fn cancelled(&self) {
        if !is_modern(self.context) {
            return self.cancelled.notified().await;
        }
        self.context.ct.cancelled().await;
        if *self.stop.borrow() {
            // It was the daemon who closed it.
            std::future::pending::<()>().await;
        }
    }

    /// Resolves when the daemon is to end.
    pub(super) async fn stopped(&self) {
        stopped(&mut self.stop.clone()).await;
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.cancels.lock().remove(&self.context.id);
    }
}

/// A tool's arguments; a model reads what is wrong with them.
pub(super) fn parse<T: DeserializeOwned>(tool: &str, arguments: JsonObject) -> Result<T, Problem> {
    serde_path_to_error::deserialize(Value::Object(arguments)).map_err(|error| {
        let place = error.path().to_string();
        let at = if place == "." { String::new() } else { format!(" at `{place}`") };
        Problem::new(
            ProblemKind::Invalid,
            "invalid-arguments",
            format!("the arguments of {tool} do not fit{at}: {}", error.inner()),
        )
    })
}
