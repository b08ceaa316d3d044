//! Hand-offs: how a program or an agent has a person connect a source. It gets
//! a link, good once and for a while; the person enters the values on a page
//! of the daemon's own; whoever asked sees none of them.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

use executor_store::Digest;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::auth::AuthMethodView;
use crate::caller::Caller;
use crate::clock::rfc3339;
use crate::connections::{AddConnection, ConnectionView};
use crate::control::Control;
use crate::problem::{Problem, ProblemKind};

/// How long a link is good.
const LIFETIME_MS: i64 = 15 * 60 * 1000;
/// Links that may be open at once; the oldest go first.
const LIMIT: usize = 256;

/// A connection that a person is to make.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AskHandoff {
    /// The source.
    pub source: String,
    /// The connection's name; `default` by default.
    #[serde(default)]
    pub name: Option<String>,
    /// The auth method; the source's first by default.
    #[serde(default)]
    pub method: Option<String>,
}

/// A link for a person.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct HandoffView {
    /// The page; whoever has it can make this one connection.
    pub url: String,
    /// When it is good no more.
    pub expires_at: String,
}

/// What a person sees on the page.
#[derive(Debug, Clone)]
pub struct HandoffForm {
    /// The source.
    pub source: String,
    /// The name that the connection gets.
    pub name: String,
    /// Which client asks.
    pub asked_by: String,
    /// Where the values may travel.
    pub origins: Vec<String>,
    /// What is asked.
    pub method: AuthMethodView,
}

/// The links that are open, by the digests of their secrets.
#[derive(Default)]
pub(crate) struct Handoffs(Mutex<HashMap<Digest, Handoff>>);

#[derive(Clone)]
struct Handoff {
    workspace: String,
    caller: Caller,
    source: String,
    name: String,
    method: String,
    expires_ms: i64,
}

impl Handoffs {
    fn open(&self, handoff: Handoff, now_ms: i64) -> String {
        let mut bytes = [0; 24];
        getrandom::fill(&mut bytes).expect("the operating system gives randomness");
        let secret = hex::encode(bytes);
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, handoff| handoff.expires_ms > now_ms);
        if open.len() >= LIMIT
            && let Some(oldest) =
                open.iter().min_by_key(|(_, handoff)| handoff.expires_ms).map(|(digest, _)| *digest)
        {
            open.remove(&oldest);
        }
        open.insert(Digest::of(secret.as_bytes()), handoff);
        secret
    }

    fn find(&self, secret: &str, now_ms: i64) -> Result<Handoff, Problem> {
        let open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = open.get(&Digest::of(secret.as_bytes())).filter(|handoff| handoff.expires_ms > now_ms);
        found.cloned().ok_or_else(gone)
    }

    /// Takes it, so that of two who use it at one time one does.
    fn take(&self, secret: &str, now_ms: i64) -> Result<Handoff, Problem> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = open.remove(&Digest::of(secret.as_bytes()));
        taken.filter(|handoff| handoff.expires_ms > now_ms).ok_or_else(gone)
    }

    fn put_back(&self, secret: &str, handoff: Handoff) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.insert(Digest::of(secret.as_bytes()), handoff);
    }
}

fn gone() -> Problem {
    Problem::new(ProblemKind::NotFound, "handoff-spent", "this link was used, is too old, or never was one")
        .hint("whoever sent it can ask for another")
}

impl Control {
    /// Opens a link by which a person connects a source. `base` is where the
    /// daemon listens.
    ///
    /// # Errors
    /// When there is no such source, or no way to sign in to it by values.
    pub fn ask_handoff(
        &self,
        caller: &Caller,
        workspace: &str,
        base: &str,
        request: AskHandoff,
    ) -> Result<HandoffView, Problem> {
        let place = self.workspace(caller, workspace)?;
        let source = place.source(&request.source)?;
        let methods = &source.auth_methods;
        let method = match &request.method {
            Some(id) => methods.iter().find(|method| method.id == *id),
            None => methods.first(),
        };
        let method = method.ok_or_else(|| {
            let known: Vec<&str> = methods.iter().map(|method| method.id.as_str()).collect();
            Problem::new(
                ProblemKind::Unprocessable,
                "no-auth-methods",
                format!("{} has no such way to sign in", request.source),
            )
            .hint(format!("it has: {}", known.join(", ")))
        })?;
        let now_ms = self.now_ms();
        let handoff = Handoff {
            workspace: workspace.to_owned(),
            caller: caller.clone(),
            source: request.source,
            name: request.name.unwrap_or_else(|| "default".into()),
            method: method.id.clone(),
            expires_ms: now_ms + LIFETIME_MS,
        };
        let secret = self.shared().handoffs.open(handoff, now_ms);
        Ok(HandoffView { url: format!("{base}/handoff/{secret}"), expires_at: rfc3339(now_ms + LIFETIME_MS) })
    }

    /// What the page of a link asks.
    ///
    /// # Errors
    /// When the link is good no more, or its source is gone.
    pub fn handoff(&self, secret: &str) -> Result<HandoffForm, Problem> {
        let handoff = self.shared().handoffs.find(secret, self.now_ms())?;
        let source = self.workspace(&handoff.caller, &handoff.workspace)?.source(&handoff.source)?;
        let method = source.auth_methods.into_iter().find(|method| method.id == handoff.method);
        Ok(HandoffForm {
            source: handoff.source,
            name: handoff.name,
            asked_by: handoff.caller.client,
            origins: source.origins,
            method: method.ok_or_else(gone)?,
        })
    }

    /// Makes the connection of a link, which is spent then.
    ///
    /// # Errors
    /// As [`Self::handoff`], and when a value is missing: the link stays good.
    pub async fn fulfil_handoff(
        &self,
        secret: &str,
        variables: BTreeMap<String, String>,
    ) -> Result<ConnectionView, Problem> {
        let handoff = self.shared().handoffs.take(secret, self.now_ms())?;
        let request = AddConnection {
            source: handoff.source.clone(),
            name: Some(handoff.name.clone()),
            methods: Some(vec![handoff.method.clone()]),
            variables,
        };
        let caller =
            Caller { client: format!("{} (hand-off page)", handoff.caller.client), ..handoff.caller.clone() };
        let added = match self.workspace(&handoff.caller, &handoff.workspace) {
            Ok(workspace) => workspace.add_connection(&caller, request, None).await,
            Err(problem) => Err(problem),
        };
        if added.is_err() {
            self.shared().handoffs.put_back(secret, handoff);
        }
        added
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caller::Surface;

    fn handoff(expires_ms: i64) -> Handoff {
        Handoff {
            workspace: "default".into(),
            caller: Caller::owner("agent", Surface::Mcp),
            source: "github".into(),
            name: "default".into(),
            method: "token".into(),
            expires_ms,
        }
    }

    #[test]
    fn a_link_is_good_once_and_for_a_while() {
        let handoffs = Handoffs::default();
        let secret = handoffs.open(handoff(100), 0);
        assert_eq!(secret.len(), 48);
        assert!(handoffs.find(&secret, 99).is_ok() && handoffs.find(&secret, 100).is_err());
        let taken = handoffs.take(&secret, 50).unwrap();
        assert!(handoffs.take(&secret, 50).is_err(), "of two who use it one does");
        handoffs.put_back(&secret, taken);
        assert!(handoffs.find(&secret, 50).is_ok());
        assert!(handoffs.find("", 50).is_err());
        for _ in 0..LIMIT + 9 {
            handoffs.open(handoff(1_000), 0);
        }
        assert!(handoffs.0.lock().unwrap().len() <= LIMIT);
    }
}
