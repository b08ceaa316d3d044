//! Requests that have no answer yet.

use std::collections::HashMap;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;

#[derive(Debug, Default)]
pub(super) struct Flights {
    /// By their ids, as JSON.
    flights: Mutex<HashMap<String, Flight>>,
    landed: Condvar,
}

#[derive(Debug)]
struct Flight {
    stream: Option<UnixStream>,
    stands_alone: bool,
    cancelled: bool,
}

impl Flights {
    pub(super) fn add(&self, id: &Value, stream: Option<&UnixStream>, stands_alone: bool) {
        let stream = stream.and_then(|stream| stream.try_clone().ok());
        let mut flights = self.lock();
        let cancelled = flights.get(&id.to_string()).is_some_and(|flight| flight.cancelled);
        flights.insert(id.to_string(), Flight { stream, stands_alone, cancelled });
    }

    /// Forgets one; says whether the client had cancelled it.
    pub(super) fn remove(&self, id: &Value) -> bool {
        let flight = self.lock().remove(&id.to_string());
        self.landed.notify_all();
        flight.is_some_and(|flight| flight.cancelled)
    }

    pub(super) fn count(&self) -> usize {
        self.lock().len()
    }

    pub(super) fn stands_alone(&self, id: &Value) -> bool {
        self.lock().get(&id.to_string()).is_some_and(|flight| flight.stands_alone)
    }

    /// Closes the connection of a request that the client does not want any
    /// more.
    pub(super) fn cancel(&self, id: &Value) {
        if let Some(flight) = self.lock().get_mut(&id.to_string()) {
            flight.cancelled = true;
            if let Some(stream) = &flight.stream {
                // A connection that is closed already is as good.
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
    }

    /// Waits until there are none, but no longer than `limit`.
    pub(super) fn wait(&self, limit: Duration) {
        let waited = self.landed.wait_timeout_while(self.lock(), limit, |flights| !flights.is_empty());
        drop(waited);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Flight>> {
        self.flights.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::io::Read;

    #[test]
    fn what_is_cancelled_is_closed_and_stays_so() {
        let flights = Flights::default();
        let (mut near, far) = UnixStream::pair().unwrap();
        flights.add(&json!(1), Some(&far), false);
        flights.add(&json!("1"), Some(&far), true);
        assert!(!flights.stands_alone(&json!(1)) && flights.stands_alone(&json!("1")));
        flights.cancel(&json!(2));
        flights.cancel(&json!("1"));
        assert_eq!(near.read(&mut [0]).unwrap(), 0, "the connection is closed");
        flights.add(&json!("1"), None, true);
        assert!(flights.remove(&json!("1")), "what was cancelled stays so");
        assert!(!flights.remove(&json!(1)));
        flights.wait(Duration::from_secs(60));
    }
}
