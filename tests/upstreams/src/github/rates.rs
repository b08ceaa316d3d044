//! How many requests a caller has left.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::{Value, json};

use super::refusals::Refusal;

const WINDOW: Duration = Duration::from_secs(3600);

/// Requests counted by caller and resource, in one window that begins with
/// the emulator.
#[derive(Debug)]
pub(crate) struct Rates {
    limit: u32,
    reset_at_s: u64,
    used: Mutex<BTreeMap<(String, &'static str), u32>>,
}

/// What one caller has left of one resource.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    limit: u32,
    used: u32,
    reset_at_s: u64,
    resource: &'static str,
}

impl Rates {
    pub(crate) fn new(limit: u32) -> Self {
        Self { limit, reset_at_s: seconds_from_now(WINDOW), used: Mutex::default() }
    }

    /// Counts a request to `path`.
    pub(crate) fn count(&self, caller: Option<&str>, path: &str) -> Rate {
        let resource = match path.starts_with("/search/") {
            true => "search",
            false => "core",
        };
        let mut all = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let used = all.entry((key(caller), resource)).or_default();
        // Asking for the rate is free.
        if path != "/rate_limit" {
            *used = used.saturating_add(1);
        }
        self.rate(resource, *used)
    }

    /// The body of `GET /rate_limit`.
    pub(crate) fn overview(&self, caller: Option<&str>) -> Value {
        let all = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let of = |resource: &'static str| {
            let used = all.get(&(key(caller), resource)).copied();
            self.rate(resource, used.unwrap_or_default()).to_json()
        };
        json!({ "resources": { "core": of("core"), "search": of("search") }, "rate": of("core") })
    }

    fn rate(&self, resource: &'static str, used: u32) -> Rate {
        Rate { limit: self.limit, used, reset_at_s: self.reset_at_s, resource }
    }
}

impl Rate {
    pub(crate) fn check(&self, caller: Option<&str>) -> Result<(), Refusal> {
        if self.used <= self.limit {
            return Ok(());
        }
        Err(exceeded(caller))
    }

    /// The `x-ratelimit-*` headers.
    pub(crate) fn stamp(&self, headers: &mut HeaderMap) {
        let used = self.used.min(self.limit);
        headers.insert("x-ratelimit-limit", self.limit.into());
        headers.insert("x-ratelimit-remaining", (self.limit - used).into());
        headers.insert("x-ratelimit-used", used.into());
        headers.insert("x-ratelimit-reset", self.reset_at_s.into());
        headers.insert("x-ratelimit-resource", HeaderValue::from_static(self.resource));
    }

    /// The same with nothing left until `reset_after` from now.
    pub(crate) fn used_up(mut self, reset_after: Duration) -> Self {
        self.used = self.limit;
        self.reset_at_s = seconds_from_now(reset_after);
        self
    }

    fn to_json(self) -> Value {
        let used = self.used.min(self.limit);
        json!({
            "limit": self.limit,
            "used": used,
            "remaining": self.limit - used,
            "reset": self.reset_at_s,
            "resource": self.resource,
        })
    }
}

/// The 403 of a caller whose requests are used up.
pub(crate) fn exceeded(caller: Option<&str>) -> Refusal {
    let whose = match caller {
        Some(login) => format!("user {login}"),
        None => "127.0.0.1".to_owned(),
    };
    Refusal::new(StatusCode::FORBIDDEN, format!("API rate limit exceeded for {whose}."))
}

fn key(caller: Option<&str>) -> String {
    caller.unwrap_or_default().to_owned()
}

/// Unix time, since clients compare it with their own clock.
fn seconds_from_now(after: Duration) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (now + after).as_secs()
}
