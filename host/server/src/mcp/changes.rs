//! Word to clients that `tools/list` gives something else now: on the stream of
//! their session, or in revision 2026-07-28 on one that they asked for
//! (`subscriptions/listen`).

use std::future::Future;

use executor_control::Problem;
use rmcp::RoleServer;
use rmcp::model::SubscriptionFilter;
use rmcp::service::{Peer, SubscriptionContext};
use tokio::task::JoinHandle;

use super::description;
use super::who::Asking;

/// What of a filter is told: nothing but tools is offered here.
pub(super) fn accepted(requested: &SubscriptionFilter) -> SubscriptionFilter {
    let mut accepted = SubscriptionFilter::default();
    accepted.tools_list_changed = requested.tools_list_changed;
    accepted
}

/// Tells a session, until it is dropped.
pub(super) struct Telling(JoinHandle<()>);

impl Drop for Telling {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Tells a session of the older revisions for as long as that lives.
pub(super) fn tell_session(asking: Asking, peer: Peer<RoleServer>) -> Telling {
    Telling(tokio::spawn(async move {
        each(&asking, || async { peer.notify_tool_list_changed().await.is_ok() }).await;
    }))
}

/// Tells a subscription until it is cancelled.
pub(super) async fn tell_subscription(asking: &Asking, context: &SubscriptionContext) {
    if context.accepted().tools_list_changed != Some(true) {
        return context.cancelled().await;
    }
    let sink = context.sink();
    tokio::select! {
        () = each(asking, || async { sink.notify_tool_list_changed().await.is_ok() }) => {}
        () = context.cancelled() => {}
    }
}

/// Calls `tell` after each change of what the list of whoever asks shows, until
/// it says that nobody hears it any more, or the workspace is gone.
async fn each<F: Future<Output = bool>>(asking: &Asking, tell: impl Fn() -> F) {
    let Ok(place) = asking.place(None) else { return };
    let mut changes = place.workspace.catalogue_changes();
    drop(place);
    let Ok(mut shown) = shown(asking) else { return };
    while changes.next().await {
        let Ok(now) = self::shown(asking) else { return };
        if now.as_ref().is_some_and(|now| Some(now) == shown.as_ref()) {
            continue;
        }
        shown = now;
        if !tell().await {
            return;
        }
    }
}

/// All that can change in the list without the catalogue's own tools: what is
/// said of the sources. None where its tools are in it, and any change is one.
fn shown(asking: &Asking) -> Result<Option<String>, Problem> {
    if asking.target.direct.is_some() {
        return Ok(None);
    }
    let place = asking.place(None)?;
    Ok(Some(description::execute(&place.workspace.sources()?)))
}
