//! An MCP server without a daemon around it: how the conformance suite's
//! fixtures are served through the very code that serves `/mcp`.

use std::io;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::any;
use rmcp::ServerHandler;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::McpTransport;
use crate::access::Access;
use crate::http::Failure;

struct Alone<H: ServerHandler> {
    access: Access,
    transport: McpTransport<H>,
}

/// Serves `/mcp` for what `make` makes, on a loopback listener, until the
/// process ends. Sites are checked; no token is asked for.
///
/// # Errors
/// The listener has no address, or breaks.
pub async fn serve_alone<H: ServerHandler>(
    listener: TcpListener,
    make: impl Fn() -> H + Send + Sync + 'static,
) -> io::Result<()> {
    let (_running, stop) = watch::channel(false);
    let access = Access::new(listener.local_addr()?, &[], |_, _| None).map_err(io::Error::other)?;
    let alone = Arc::new(Alone { access, transport: McpTransport::new(make, stop) });
    axum::serve(listener, Router::new().route("/mcp", any(serve::<H>)).with_state(alone)).await
}

async fn serve<H: ServerHandler>(
    State(alone): State<Arc<Alone<H>>>,
    request: Request,
) -> Result<Response, Failure> {
    alone.access.check_site(request.uri(), request.headers(), false)?;
    alone.transport.answer(request).await
}
