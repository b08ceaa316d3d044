//! `/mcp`: the daemon as an MCP server.
//!
//! Like a handler of the HTTP API, a tool decodes, makes one call of the
//! control plane and encodes. What is more here is people: a client that can
//! ask its user does so when an execution waits.

mod alone;
mod answer;
mod call;
mod changes;
mod description;
mod direct;
mod execute;
mod interaction;
mod listing;
mod names;
mod progress;
mod resume;
mod search;
mod service;
mod target;
#[cfg(test)]
pub(crate) mod tests;
mod text;
mod transport;
mod waiting;
mod who;

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::Method;
use axum::response::Response;

pub use alone::serve_alone;
pub(crate) use service::McpServer;
pub(crate) use transport::McpTransport;

use crate::http::{App, Failure, Need, Route};
use executor_control::{Caller, Capability};
use target::Target;

/// The endpoint for the workspace `default`, or the one in the query; and the
/// one that names its workspace.
const PATHS: [&str; 2] = ["/mcp", "/mcp/{workspace}"];

pub(crate) fn routes() -> Vec<Route> {
    let methods = [Method::POST, Method::GET, Method::DELETE];
    let of_path = |path| {
        methods.clone().map(|method| {
            Route::new(method, path, "MCP, by streamable HTTP", serve)
                .cancellable()
                .needs(Need::Token)
                .gives_other("application/json")
        })
    };
    PATHS.into_iter().flat_map(of_path).collect()
}

async fn serve(State(app): State<Arc<App>>, mut request: Request) -> Result<Response, Failure> {
    let target = Target::of(request.uri())?;
    // Whoever mistyped it should hear so at once, not from each tool.
    let caller = request.extensions().get::<Arc<Caller>>().cloned().ok_or_else(Failure::unauthorized)?;
    let caller = app.control.caller_in(&caller, &target.workspace)?;
    caller.expect(Capability::Call)?;
    request.extensions_mut().insert(Arc::new(caller));
    request.extensions_mut().insert(Arc::new(target));
    app.mcp.answer(request).await
}
