//! Work that is done to its end though its client leaves: what a handler
//! wrote is followed by what has to follow it, in memory and on record.

use std::task::{Context, Poll};

use axum::body::Body;
use axum::http::Request;
use axum::response::Response;
use executor_control::Outliving;
use tower_service::Service;

/// The layer of a route that changes something.
#[derive(Clone)]
pub(super) struct Finishing;

impl<S> tower_layer::Layer<S> for Finishing {
    type Service = Finished<S>;

    fn layer(&self, inner: S) -> Finished<S> {
        Finished(inner)
    }
}

/// The route behind the layer.
#[derive(Clone)]
pub(super) struct Finished<S>(S);

impl<S> Service<Request<Body>> for Finished<S>
where
    S: Service<Request<Body>, Response = Response>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
{
    type Response = Response;
    type Error = S::Error;
    type Future = Outliving<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Outliving::new(self.0.call(request))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::mcp::tests::daemon;

    #[tokio::test]
    async fn what_a_client_began_to_change_is_changed_and_on_record_though_it_left() {
        let daemon = daemon().await;
        let rule = json!({ "pattern": "shop.*", "action": "block" }).to_string();
        let mut adding =
            Box::pin(daemon.ask("POST", "/v1/workspaces/default/policies", &[], Body::from(rule)));
        assert!(futures::poll!(&mut adding).is_pending(), "the database takes its time");
        drop(adding);
        let is_over = async {
            loop {
                let page = daemon.ask("GET", "/v1/workspaces/default/audit", &[], Body::empty()).await;
                if page.body.contains("policy.add") {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), is_over).await.expect("it is on record");
    }
}
