//! What happens, as it happens, for whoever watches.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use tokio::sync::broadcast;
use utoipa::ToSchema;

/// Events that may wait for a slow watcher; one that is further behind is
/// told so, and reads the lists anew.
const BACKLOG: usize = 1024;

/// Something that happened.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Event {
    /// Its number since the daemon started.
    pub sequence: u64,
    /// What: `execution.completed`, `source.add`, `approval.ask`, …
    pub kind: String,
    /// Where; none: in the installation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// When.
    pub at: String,
    /// About what.
    pub about: Value,
}

/// Where events are told. Telling costs nothing while nobody watches.
pub(crate) struct Events(broadcast::Sender<Arc<Event>>, std::sync::atomic::AtomicU64);

impl Default for Events {
    fn default() -> Self {
        Self(broadcast::channel(BACKLOG).0, std::sync::atomic::AtomicU64::new(0))
    }
}

impl Events {
    pub(crate) fn watched(&self) -> bool {
        self.0.receiver_count() > 0
    }

    pub(crate) fn tell(&self, kind: &str, workspace: Option<&str>, at_ms: i64, about: Value) {
        if !self.watched() {
            return;
        }
        let sequence = self.1.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        let event = Event {
            sequence,
            kind: kind.to_owned(),
            workspace: workspace.map(str::to_owned),
            at: crate::clock::rfc3339(at_ms),
            about,
        };
        // Between the question and this the last watcher may have gone.
        let _ = self.0.send(Arc::new(event));
    }

    pub(crate) fn watch(&self) -> Watch {
        Watch(self.0.subscribe())
    }
}

/// What happens from now on.
pub struct Watch(broadcast::Receiver<Arc<Event>>);

/// The next of what happens.
#[derive(Debug, Clone)]
pub enum Watched {
    /// Something happened.
    Event(Arc<Event>),
    /// So many events were missed: the watcher was too slow.
    Missed(u64),
}

impl Watch {
    /// Waits for the next event; nothing once the daemon ends.
    pub async fn next(&mut self) -> Option<Watched> {
        match self.0.recv().await {
            Ok(event) => Some(Watched::Event(event)),
            Err(broadcast::error::RecvError::Lagged(missed)) => Some(Watched::Missed(missed)),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[tokio::test]
    async fn a_slow_watcher_hears_what_it_missed() {
        let events = Events::default();
        events.tell("nobody.watches", None, 0, json!({}));
        let mut watch = events.watch();
        for _ in 0..BACKLOG + 5 {
            events.tell("execution.completed", Some("default"), 0, json!({"id": "x"}));
        }
        assert!(matches!(watch.next().await, Some(Watched::Missed(5))));
        match watch.next().await {
            Some(Watched::Event(event)) => assert_eq!(event.sequence, 6),
            other => panic!("{other:?}"),
        }
        drop(events);
        for _ in 0..BACKLOG - 1 {
            watch.next().await.unwrap();
        }
        assert!(watch.next().await.is_none());
    }
}
