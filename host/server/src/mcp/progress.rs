//! Word to a client that wants it, while a call takes its time: many clients
//! give up on one of which they hear nothing.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::ProgressNotificationParam;
use rmcp::service::RequestContext;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// Until the first word; most calls are over by then.
const FIRST: Duration = Duration::from_secs(1);
/// Between words.
const EVERY: Duration = Duration::from_secs(5);

/// Tells of progress until it is dropped.
pub(super) struct Telling(JoinHandle<()>);

impl Drop for Telling {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Tells the client every few seconds that the call goes on, where it gave a
/// token to tell it by.
pub(super) fn tell(context: &RequestContext<RoleServer>, what: &'static str) -> Option<Telling> {
    let token = context.meta.get_progress_token()?;
    let peer = context.peer.clone();
    let begun = Instant::now();
    // In a task of its own: a client that reads slowly holds up its own word
    // alone.
    let telling = async move {
        let mut pause = FIRST;
        loop {
            tokio::time::sleep(pause).await;
            pause = EVERY;
            let seconds = begun.elapsed().as_secs_f64();
            let word = ProgressNotificationParam::new(token.clone(), seconds)
                .with_message(format!("{what} for {seconds:.0} s"));
            if peer.notify_progress(word).await.is_err() {
                return;
            }
        }
    };
    Some(Telling(tokio::spawn(telling)))
}
