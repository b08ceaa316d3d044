//! Turns away who may not do what a route does, before the route reads
//! anything of the request.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::http::Request;
use axum::response::{IntoResponse, Response};
use executor_control::{Caller, Capability};
use futures::future::Either;
use tower_service::Service;

use super::Failure;

/// The layer of a route that needs a capability.
#[derive(Debug, Clone, Copy)]
pub(super) struct Needs(pub(super) Capability);

impl<S> tower_layer::Layer<S> for Needs {
    type Service = Gate<S>;

    fn layer(&self, inner: S) -> Gate<S> {
        Gate { inner, capability: self.0 }
    }
}

/// The route behind the layer.
#[derive(Debug, Clone)]
pub(super) struct Gate<S> {
    inner: S,
    capability: Capability,
}

impl<S> Service<Request<Body>> for Gate<S>
where
    S: Service<Request<Body>, Response = Response, Error = Infallible>,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Either<Ready<Result<Response, Infallible>>, S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        // Only a request that did not pass the door has no caller.
        let refused = match request.extensions().get::<Arc<Caller>>() {
            Some(caller) => caller.expect(self.capability).err().map(Failure::from),
            None => Some(Failure::unauthorized()),
        };
        match refused {
            Some(failure) => Either::Left(ready(Ok(failure.into_response()))),
            None => Either::Right(self.inner.call(request)),
        }
    }
}
