//! Tickets: how a browser opens a stream of events, since an `EventSource`
//! can't send a token, and a token has no business in a URL.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use executor_control::Caller;

/// How long a ticket may wait for its use.
pub(super) const LIFETIME: Duration = Duration::from_secs(30);
/// Tickets that may wait at once; the oldest go first.
const LIMIT: usize = 1024;

/// The tickets that nobody has used yet.
#[derive(Default)]
pub(crate) struct Tickets(Mutex<HashMap<String, Ticket>>);

struct Ticket {
    caller: Arc<Caller>,
    given: Instant,
}

impl Tickets {
    /// A ticket in a caller's name, good for one use.
    pub(super) fn give(&self, caller: Arc<Caller>) -> String {
        let mut bytes = [0; 24];
        getrandom::fill(&mut bytes).expect("the operating system gives randomness");
        let text = format!("tkt_{}", hex::encode(bytes));
        let mut tickets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tickets.retain(|_, ticket| ticket.given.elapsed() < LIFETIME);
        if tickets.len() >= LIMIT
            && let Some(oldest) =
                tickets.iter().min_by_key(|(_, ticket)| ticket.given).map(|(text, _)| text.clone())
        {
            tickets.remove(&oldest);
        }
        tickets.insert(text.clone(), Ticket { caller, given: Instant::now() });
        text
    }

    /// Whose ticket it was; from now on it is nobody's.
    pub(crate) fn redeem(&self, text: &str) -> Option<Arc<Caller>> {
        let ticket = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(text)?;
        (ticket.given.elapsed() < LIFETIME).then_some(ticket.caller)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_control::Surface;

    #[test]
    fn a_ticket_is_good_once() {
        let tickets = Tickets::default();
        let caller = Arc::new(Caller::owner("browser", Surface::Http));
        let text = tickets.give(caller.clone());
        assert_eq!(tickets.redeem(&text).unwrap().client, "browser");
        assert!(tickets.redeem(&text).is_none());
        assert!(tickets.redeem("").is_none());
        for _ in 0..LIMIT + 10 {
            tickets.give(caller.clone());
        }
        assert!(tickets.0.lock().unwrap().len() <= LIMIT);
    }
}
