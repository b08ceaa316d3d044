//! Turns away who may not do what a route does, before the route reads
//! anything of the request; and says who they are where the route leads to.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::http::Request;
use axum::response::{IntoResponse, Response};
use executor_control::{Caller, Capability, Control};
use futures::future::Either;
use tower_service::Service;

use super::route::Need;
use super::{App, Failure};

/// The layer of a route.
#[derive(Clone)]
pub(super) struct Needs {
    app: Arc<App>,
    need: Need,
    place: Place,
}

/// What of the path says where a route leads to, by its segment's number.
#[derive(Debug, Clone, Copy)]
enum Place {
    Installation,
    Organization(usize),
    Workspace(usize),
}

impl Place {
    fn of(path: &str) -> Self {
        let find = |name: &str| path.split('/').position(|segment| segment == name);
        match (find("{workspace}"), find("{organization}")) {
            (Some(segment), _) => Self::Workspace(segment),
            (None, Some(segment)) => Self::Organization(segment),
            (None, None) => Self::Installation,
        }
    }
}

impl Needs {
    /// What a route of this path needs.
    pub(super) fn new(app: &Arc<App>, need: Need, path: &str) -> Self {
        Self { app: app.clone(), need, place: Place::of(path) }
    }

    /// The caller as what they are in the workspace or organization of the
    /// path. A place where they have no business is not there, whatever they
    /// were to do in it.
    fn admit(&self, request: &Request<Body>) -> Result<Arc<Caller>, Failure> {
        // Only a request that did not pass the door has no caller.
        let caller = request.extensions().get::<Arc<Caller>>().ok_or_else(Failure::unauthorized)?;
        let control = &self.app.control;
        // Names are of characters that a path has as they are.
        let segment = |number| request.uri().path().split('/').nth(number).unwrap_or_default();
        let caller = match self.place {
            Place::Installation => caller.clone(),
            Place::Organization(number) => Arc::new(control.caller_of(caller, segment(number))?),
            Place::Workspace(number) => Arc::new(control.caller_in(caller, segment(number))?),
        };
        expect(control, &caller, self.need)?;
        Ok(caller)
    }
}

fn expect(control: &Control, caller: &Caller, need: Need) -> Result<(), Failure> {
    match need {
        Need::Nothing | Need::Token => Ok(()),
        Need::Look if caller.may(Capability::Read) => Ok(()),
        Need::Look => Ok(caller.expect(Capability::Call)?),
        Need::Capability(capability) | Need::Ticket(capability) => Ok(caller.expect(capability)?),
        Need::Installation => Ok(control.expect_runs_installation(caller)?),
    }
}

impl<S> tower_layer::Layer<S> for Needs {
    type Service = Gate<S>;

    fn layer(&self, inner: S) -> Gate<S> {
        Gate { inner, needs: self.clone() }
    }
}

/// The route behind the layer.
#[derive(Clone)]
pub(super) struct Gate<S> {
    inner: S,
    needs: Needs,
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

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        match self.needs.admit(&request) {
            Err(failure) => Either::Left(ready(Ok(failure.into_response()))),
            Ok(caller) => {
                request.extensions_mut().insert(caller);
                Either::Right(self.inner.call(request))
            }
        }
    }
}
