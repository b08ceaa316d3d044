//! The routes: one file a noun, and the table of them all.

mod accounts;
mod audit;
mod authorizations;
mod blobs;
mod components;
mod connections;
mod decode;
mod encode;
mod events;
mod executions;
mod failure;
mod finishing;
mod handoffs;
mod health;
mod installation;
mod invitations;
mod metrics;
mod needs;
mod openapi;
mod organizations;
mod policies;
mod route;
mod sessions;
mod sign_in;
mod sources;
mod stream;
mod tickets;
mod tokens;
mod tools;
mod workspaces;

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::http::Method;
use executor_control::Control;
use tokio::sync::watch;

pub(crate) use decode::{Via, read as read_body};
pub(crate) use events::PATH as EVENTS;
pub(crate) use failure::Failure;
pub(crate) use route::{Need, Route};
pub(crate) use sessions::is_safe;
pub(crate) use tickets::Tickets;

use crate::mcp::{self, McpServer, McpTransport};

/// Where the daemon says that it is there.
const HEALTH: &str = "/v1/health";

/// What handlers share.
pub(crate) struct App {
    pub(crate) control: Control,
    /// `http://127.0.0.1:4788`
    pub(crate) address: String,
    /// The address by which people elsewhere reach it.
    pub(crate) public: String,
    /// Whether what goes over the network is sealed.
    pub(crate) sealed: bool,
    /// Turned true, the daemon ends.
    pub(crate) stop: watch::Sender<bool>,
    pub(crate) tickets: Arc<Tickets>,
    pub(crate) mcp: McpTransport<McpServer>,
}

/// Every route there is.
fn routes() -> Vec<Route> {
    let groups = [
        health::routes(),
        installation::routes(),
        openapi::routes(),
        workspaces::routes(),
        sources::routes(),
        connections::routes(),
        authorizations::routes(),
        handoffs::routes(),
        tools::routes(),
        blobs::routes(),
        executions::routes(),
        policies::routes(),
        components::routes(),
        audit::routes(),
        metrics::routes(),
        tokens::routes(),
        accounts::routes(),
        organizations::routes(),
        invitations::routes(),
        sessions::routes(),
        sign_in::routes(),
        events::routes(),
        mcp::routes(),
    ];
    groups.into_iter().flatten().collect()
}

/// The routes that anybody may ask for.
static OPEN: LazyLock<Vec<Route>> =
    LazyLock::new(|| routes().into_iter().filter(|route| route.need == Need::Nothing).collect());

/// Whether a request is for anybody, whoever asks.
pub(crate) fn is_open(method: &Method, path: &str) -> bool {
    OPEN.iter().any(|route| route.is(method, path))
}

/// Whether it is for a page that anybody may come to from anywhere.
pub(crate) fn is_page(method: &Method, path: &str) -> bool {
    *method == Method::GET && !path.starts_with("/v1/") && is_open(method, path)
}

/// The router of the table.
pub(crate) fn router(app: Arc<App>) -> Router {
    let mut router = Router::new();
    for route in routes() {
        let measured = metrics::Measured::new(route.path, &route.method);
        let (path, method) = route.serve(&app);
        router = router.route(path, method.layer(measured));
    }
    router
        .fallback(|| async {
            executor_telemetry::metrics().http.refused(404);
            Failure::no_route()
        })
        .method_not_allowed_fallback(|| async { Failure::wrong_method() })
        .with_state(app)
}

/// Method, a path with its parameters filled in, and who may come in, of
/// every route.
#[cfg(test)]
pub(crate) fn test_routes() -> Vec<(String, String, Need)> {
    routes()
        .iter()
        .map(|route| (route.method.to_string(), route.path.replace(['{', '}'], ""), route.need))
        .collect()
}
