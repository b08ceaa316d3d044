//! `/v1/events`: what happens, as it happens, as server-sent events.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use axum::response::Response;
use executor_control::{Caller, Capability, Control, Watch, Watched};
use futures::stream;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use utoipa::{IntoParams, ToSchema};

use super::decode::{Nothing, Parameters, Who};
use super::encode::{Answer, created};
use super::route::Need;
use super::{App, Route, tickets};

/// Where events are.
pub(crate) const PATH: &str = "/v1/events";

/// A line is sent at least this often, so that whoever stands between the
/// daemon and a watcher keeps the connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get(PATH, "What happens, as it happens", watch)
            .needs(Need::Ticket(Capability::Read))
            .query::<EventQuery>()
            .gives_other("text/event-stream"),
        Route::post("/v1/events/tickets", "A ticket for one stream of events", ticket)
            .needs(Need::Capability(Capability::Read))
            .gives::<TicketView>(StatusCode::CREATED),
    ]
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
struct EventQuery {
    /// Those of one workspace alone.
    workspace: Option<String>,
    /// In place of a token.
    #[expect(dead_code, reason = "the door has looked at it")]
    ticket: Option<String>,
}

/// A ticket for one stream.
#[derive(Debug, Serialize, ToSchema)]
struct TicketView {
    /// To be sent as `ticket` in the query.
    ticket: String,
    /// How long it may wait for its use.
    expires_in_seconds: u64,
}

async fn ticket(State(app): State<Arc<App>>, Who(caller): Who, _: Nothing) -> Answer {
    let expires_in_seconds = tickets::LIFETIME.as_secs();
    created(&TicketView { ticket: app.tickets.give(caller), expires_in_seconds })
}

async fn watch(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Parameters(query): Parameters<EventQuery>,
) -> Answer {
    if let Some(workspace) = &query.workspace {
        app.control.caller_in(&caller, workspace)?.expect(Capability::Read)?;
    }
    let watching = Watching {
        watch: app.control.watch(),
        stop: app.stop.subscribe(),
        workspace: query.workspace,
        caller,
        control: app.control.clone(),
    };
    // The first line says that whatever happens from here on is told.
    let first = stream::iter([Ok::<_, Infallible>(Bytes::from_static(b": watching\n\n"))]);
    let lines = stream::unfold(watching, |mut watching| async move {
        let line = watching.line().await?;
        Some((Ok(line), watching))
    });
    let mut response = Response::new(Body::from_stream(futures::StreamExt::chain(first, lines)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// One open stream.
struct Watching {
    watch: Watch,
    stop: watch::Receiver<bool>,
    workspace: Option<String>,
    caller: Arc<Caller>,
    control: Control,
}

impl Watching {
    /// The next line; none when the daemon ends, or the watcher's token was
    /// revoked.
    async fn line(&mut self) -> Option<Bytes> {
        loop {
            let next = tokio::select! {
                next = self.watch.next() => next?,
                () = crate::connection::stopped(&mut self.stop) => return None,
                () = tokio::time::sleep(KEEP_ALIVE) => {
                    return self.control.still_known(&self.caller).then(|| Bytes::from_static(b": alive\n\n"));
                }
            };
            if !self.control.still_known(&self.caller) {
                return None;
            }
            match next {
                Watched::Missed(missed) => {
                    let data = format!("event: missed\ndata: {{\"missed\":{missed}}}\n\n");
                    return Some(data.into());
                }
                Watched::Event(event) => {
                    let wanted = self.workspace.is_none()
                        || event.workspace.is_none()
                        || self.workspace == event.workspace;
                    // As its roles are now, not as they were at the start.
                    if wanted && self.control.may_watch(&self.caller, event.workspace.as_deref()) {
                        let data = serde_json::to_string(&*event).ok()?;
                        return Some(
                            format!("id: {}\nevent: {}\ndata: {data}\n\n", event.sequence, event.kind).into(),
                        );
                    }
                }
            }
        }
    }
}
