//! The routes: one file a noun, and the table of them all.

mod audit;
mod components;
mod connections;
mod decode;
mod encode;
mod executions;
mod failure;
mod health;
mod installation;
mod metrics;
mod policies;
mod sources;
mod stream;
mod tools;

use std::sync::Arc;

use axum::Router;
use axum::handler::Handler;
use axum::http::Method;
use axum::routing::{MethodFilter, MethodRouter, on};
use executor_control::Control;
use tokio::sync::watch;

pub(crate) use failure::Failure;

/// The one route that needs no token.
pub(crate) const HEALTH: &str = "/v1/health";

/// What handlers share.
pub(crate) struct App {
    pub(crate) control: Control,
    /// `http://127.0.0.1:4788`
    pub(crate) address: String,
    /// Turned true, the daemon ends.
    pub(crate) stop: watch::Sender<bool>,
}

/// One row of the table.
struct Route {
    method: Method,
    path: &'static str,
    handler: Box<dyn FnOnce(MethodFilter) -> MethodRouter<Arc<App>>>,
}

impl Route {
    fn get<T: 'static>(path: &'static str, handler: impl Handler<T, Arc<App>>) -> Self {
        Self::new(Method::GET, path, handler)
    }

    fn post<T: 'static>(path: &'static str, handler: impl Handler<T, Arc<App>>) -> Self {
        Self::new(Method::POST, path, handler)
    }

    fn delete<T: 'static>(path: &'static str, handler: impl Handler<T, Arc<App>>) -> Self {
        Self::new(Method::DELETE, path, handler)
    }

    fn new<T: 'static>(method: Method, path: &'static str, handler: impl Handler<T, Arc<App>>) -> Self {
        Self { method, path, handler: Box::new(|filter| on(filter, handler)) }
    }
}

/// Every route there is.
fn routes() -> Vec<Route> {
    let groups = [
        health::routes(),
        installation::routes(),
        sources::routes(),
        connections::routes(),
        tools::routes(),
        executions::routes(),
        policies::routes(),
        components::routes(),
        audit::routes(),
        metrics::routes(),
    ];
    groups.into_iter().flatten().collect()
}

/// The router of the table.
pub(crate) fn router(app: Arc<App>) -> Router {
    let mut router = Router::new();
    for route in routes() {
        let measured = metrics::Measured::new(route.path, &route.method);
        let filter = MethodFilter::try_from(route.method).expect("the table has common methods alone");
        router = router.route(route.path, (route.handler)(filter).layer(measured));
    }
    router
        .fallback(|| async {
            executor_telemetry::metrics().http.refused(404);
            Failure::no_route()
        })
        .method_not_allowed_fallback(|| async { Failure::wrong_method() })
        .with_state(app)
}

/// Method and a path of every route, its parameters filled in.
#[cfg(test)]
pub(crate) fn test_routes() -> Vec<(String, String)> {
    routes().iter().map(|route| (route.method.to_string(), route.path.replace(['{', '}'], ""))).collect()
}
