//! The MCP server itself: what it says of itself, and which file a tool is in.

use std::sync::{Mutex, PoisonError};

use executor_control::Control;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelledNotificationParam, ErrorData, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, SubscriptionFilter,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};
use tokio::sync::watch;

use crate::connection::stopped;

use super::call::{Call, Cancels, Refusal};
use super::who::Asking;
use super::{answer, changes, direct, execute, listing, resume, search};

/// What a client may show its model beside the tools.
const INSTRUCTIONS: &str = "One typed catalogue of the APIs that a person has connected. Find tools with \
    search_tools, learn their signatures with describe_tool, and run TypeScript that calls them with execute. \
    Calls that may change something wait for a person.";

/// Serves one session, or one request where there are no sessions.
pub(crate) struct McpServer {
    control: Control,
    stop: watch::Receiver<bool>,
    cancels: Cancels,
    /// Of a session.
    telling: Mutex<Option<changes::Telling>>,
}

impl McpServer {
    pub(crate) fn new(control: Control, stop: watch::Receiver<bool>) -> Self {
        Self { control, stop, cancels: Cancels::default(), telling: Mutex::default() }
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build())
            .with_server_info(
                Implementation::new("executor", env!("CARGO_PKG_VERSION")).with_title("executor"),
            )
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let asking = Asking::of(&self.control, &context)?;
        listing::page(&asking, request.and_then(|request| request.cursor).as_deref())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let asking = Asking::of(&self.control, &context)?;
        let call = Call::new(asking, &context, &self.cancels, self.stop.clone(), &request);
        let arguments = request.arguments.unwrap_or_default();
        let outcome = match request.name.as_ref() {
            execute::NAME => execute::run(&call, arguments).await,
            resume::NAME => resume::run(&call, arguments).await,
            search::SEARCH => search::search(&call, arguments).await,
            search::DESCRIBE => search::describe(&call, arguments).await,
            name => direct::run(&call, name, arguments).await,
        };
        match outcome {
            Ok(response) => Ok(response),
            Err(Refusal::Tool(problem)) => Ok(answer::problem(&problem).into()),
            Err(Refusal::Protocol(error)) => Err(error),
        }
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let client = context.peer.peer_info().map(|info| info.client_info.clone());
        let asking = Asking::behind(&self.control, &context.extensions, client.as_ref());
        let telling = asking.ok().map(|asking| changes::tell_session(asking, context.peer));
        *self.telling.lock().unwrap_or_else(PoisonError::into_inner) = telling;
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(changes::accepted(requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let asking = Asking::of(&self.control, context.request_context())?;
        let mut stop = self.stop.clone();
        tokio::select! {
            () = changes::tell_subscription(&asking, &context) => {}
            () = stopped(&mut stop) => {}
        }
        Ok(())
    }

    /// The client's own word that it wants no answer. A connection that is
    /// lost says no such thing.
    async fn on_cancelled(
        &self,
        notification: CancelledNotificationParam,
        _: NotificationContext<RoleServer>,
    ) {
        if let Some(id) = notification.request_id {
            self.cancels.cancel(&id);
        }
    }
}
