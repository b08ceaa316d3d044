//! `/metrics`: what Prometheus reads.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use axum::http::{HeaderMap, Method};
use axum::response::Response;
use executor_telemetry::metrics;
use executor_telemetry::metrics::RouteMetrics;
use tower_service::Service;

use super::route::Need;
use super::{App, Route};

/// Whose content type a scraper asks for that wants OpenMetrics.
const OPEN_METRICS: &str = "application/openmetrics-text";

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/metrics", "What is counted, for Prometheus", show)
            .needs(Need::Installation)
            .gives_other("text/plain; version=0.0.4"),
    ]
}

async fn show(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    app.control.count();
    let accepts = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok());
    let (media_type, page) = if accepts.is_some_and(|accept| accept.contains(OPEN_METRICS)) {
        ("application/openmetrics-text; version=1.0.0; charset=utf-8", metrics().encode_open_metrics())
    } else {
        ("text/plain; version=0.0.4; charset=utf-8", metrics().encode())
    };
    let mut response = Response::new(Body::from(page));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Measures the answers of one route.
#[derive(Clone)]
pub(super) struct Measured {
    route: RouteMetrics,
}

impl Measured {
    pub(super) fn new(path: &'static str, method: &Method) -> Self {
        let known = ["GET", "POST", "PUT", "PATCH", "DELETE"];
        let method = known.into_iter().find(|known| method.as_str() == *known).unwrap_or("other");
        Self { route: metrics().http.route(path, method) }
    }
}

impl<S> tower_layer::Layer<S> for Measured {
    type Service = MeasuredService<S>;

    fn layer(&self, inner: S) -> MeasuredService<S> {
        MeasuredService { inner, route: self.route.clone() }
    }
}

/// A route that is measured.
#[derive(Clone)]
pub(super) struct MeasuredService<S> {
    inner: S,
    route: RouteMetrics,
}

impl<S> Service<Request> for MeasuredService<S>
where
    S: Service<Request, Response = Response>,
    S::Future: Send + 'static,
    S::Error: 'static,
{
    type Response = Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let (begun, route) = (Instant::now(), self.route.clone());
        let answering = self.inner.call(request);
        Box::pin(async move {
            let response = answering.await?;
            route.answered(response.status().as_u16(), begun.elapsed());
            Ok(response)
        })
    }
}
