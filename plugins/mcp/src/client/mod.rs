//! One client of one server, for as long as a call runs.

mod failure;
mod greet;
mod peer;
mod session;

pub(crate) use failure::{failure, rpc_failure};
pub(crate) use greet::{ask_discover, ask_initialize};
pub(crate) use peer::{Offers, Peer};

use serde_json::json;

use crate::config::{Endpoint, Era};
use crate::rpc::{self, Params, Request};
use crate::seam::{Failure, World};
use crate::transport::{Answered, Ear, Lines, Lost, Noise, Old, Streamable, Wait, encoded, listener};

/// Tells that the answer to a request is not waited for, or that a subscription
/// has ended.
pub(crate) const CANCELLED: &str = "notifications/cancelled";

/// Within which a server is told that its answer is no longer waited for.
const CANCEL_MS: u64 = 2_000;

/// How a client reaches its server, once it does.
pub(crate) enum Way<'w> {
    Http(Streamable<'w>),
    Old(Old<'w>),
    Process(Lines),
}

/// A client.
pub(crate) struct Client<'w> {
    pub(crate) world: &'w dyn World,
    pub(crate) endpoint: Endpoint,
    /// Whether what was agreed on is looked for and kept in the session.
    shares: bool,
    /// Whether what the server offers has to be known.
    learns: bool,
    way: Option<Way<'w>>,
    peer: Option<Peer>,
    /// Whether the peer was remembered: it may have become another one since.
    recalled: bool,
}

/// What to ask.
pub(crate) struct Ask<'a> {
    pub(crate) method: &'static str,
    pub(crate) params: Params,
    /// For `Mcp-Name`.
    pub(crate) name: Option<&'a str>,
    /// `Mcp-Param-*`.
    pub(crate) headers: Vec<(String, String)>,
    /// Whether it tells how far it is.
    pub(crate) progress: bool,
}

/// Why something asked has no answer, and whether it was asked at all.
pub(crate) struct Failed {
    pub(crate) asked: bool,
    pub(crate) lost: Lost,
}

impl<'w> Client<'w> {
    /// For a call: it takes what earlier calls agreed on.
    pub(crate) fn sharing(world: &'w dyn World, endpoint: Endpoint) -> Self {
        Self { world, endpoint, shares: true, learns: false, way: None, peer: None, recalled: false }
    }

    /// For a watch: it shares too, and has to know what the server tells.
    pub(crate) fn learning(world: &'w dyn World, endpoint: Endpoint) -> Self {
        Self { learns: true, ..Self::sharing(world, endpoint) }
    }

    /// For an index, which finds all out anew. A process is shared all the
    /// same: it is greeted once.
    pub(crate) fn fresh(world: &'w dyn World, endpoint: Endpoint) -> Self {
        let shares = endpoint == Endpoint::Stdio;
        Self { shares, learns: true, ..Self::sharing(world, endpoint) }
    }

    /// What is known of the server, once it was reached.
    pub(crate) fn peer(&self) -> Option<&Peer> {
        self.peer.as_ref()
    }

    pub(crate) fn way(&mut self) -> Option<&mut Way<'w>> {
        self.way.as_mut()
    }

    /// What a process wrote between its messages.
    pub(crate) fn noise(&self) -> Option<&Noise> {
        match &self.way {
            Some(Way::Process(lines)) => Some(&lines.noise),
            _ => None,
        }
    }

    /// Forgets what was agreed on, here and in the session.
    pub(crate) fn forget(&mut self) {
        if let (Some(peer), Some(key)) = (&self.peer, self.key()) {
            session::forget(self.world, &key, peer);
        }
        (self.way, self.peer, self.recalled) = (None, None, false);
        if let Endpoint::Http { era, .. } = &mut self.endpoint {
            *era = None;
        }
    }

    /// Asks, and waits for the answer. A request that a server provably did
    /// not look at is sent once more, after another greeting.
    pub(crate) fn ask(&mut self, ask: &Ask<'_>) -> Result<Answered, Failed> {
        self.reach()?;
        self.await_listener();
        let mut result = self.send(ask);
        if matches!(result, Err(Lost::SessionGone)) {
            self.forget();
            self.reach()?;
            self.await_listener();
            result = self.send(ask);
        } else if self.recalled && is_of_other_era(self.peer.as_ref(), &result) {
            let before = self.is_modern();
            self.forget();
            // A server that is what it was has looked at the request, and that is its answer.
            if self.connect().is_ok() && self.is_modern() != before {
                result = self.send(ask);
            }
        }
        result.map_err(|lost| Failed { asked: true, lost })
    }

    /// An older server may ask on the stream that a watch listens to, which
    /// begins when its first call does.
    fn await_listener(&self) {
        if let (true, Some(Way::Http(way))) = (self.shares && !self.learns, &self.way)
            && way.legacy
        {
            listener::wait(way);
        }
    }

    fn reach(&mut self) -> Result<(), Failed> {
        let result = match self.connect() {
            // What is shown to a person is the request, not the greeting before it.
            Err(Lost::Unsent(failure)) if failure.is_captured() => self.go_bare(),
            result => result,
        };
        result.map_err(|lost| Failed { asked: false, lost })
    }

    /// The same without a greeting, for what is only shown.
    pub(crate) fn show(&mut self, ask: &Ask<'_>) -> Result<Answered, Failed> {
        self.go_bare().map_err(|lost| Failed { asked: false, lost })?;
        self.send(ask).map_err(|lost| Failed { asked: true, lost })
    }

    fn send(&mut self, ask: &Ask<'_>) -> Result<Answered, Lost> {
        let request = self.prepare(ask);
        let farewell = self.leave_farewell(request.id);
        let mut wait = Wait::call(self.world);
        let mut ear = Ear::new(self.world, request.id);
        let result = match &mut self.way {
            Some(Way::Http(way)) => way.exchange(&request, &mut wait, &mut ear),
            Some(Way::Old(way)) => way.exchange(&request, &mut wait, &mut ear),
            Some(Way::Process(way)) => way.exchange(&request, &mut wait, &mut ear),
            None => Err(Lost::Unsent(Failure::new("internal", "the client has no way to its server"))),
        };
        if farewell {
            self.take_farewell_back();
        }
        if matches!(result, Err(Lost::Silent)) {
            self.cancel(request.id);
        }
        result
    }

    /// Tells the server that nobody waits any more. Revision 2026-07-28 over
    /// HTTP has no such message: the closed stream says it.
    fn cancel(&mut self, id: u64) {
        let text = cancelled(id, "no answer within the time");
        let mut wait = Wait::short(self.world, CANCEL_MS);
        let modern = self.is_modern();
        // It is a courtesy: who does not take it is not asked again.
        let _ = match &mut self.way {
            Some(Way::Http(way)) if !modern => way.tell(&text, &wait),
            Some(Way::Old(way)) => way.tell(&text, &mut wait),
            Some(Way::Process(way)) => way.tell(&text),
            _ => Ok(()),
        };
    }

    /// Has the host tell the same where the call ends before it has an answer:
    /// this instance is gone then. Whether there is anything to take back.
    fn leave_farewell(&mut self, id: u64) -> bool {
        let text = cancelled(id, "nobody waits for the answer any more");
        let modern = self.is_modern();
        let left = match &mut self.way {
            Some(Way::Http(way)) if !modern => self.world.farewell(Some(way.message(&text, &[]))),
            Some(Way::Old(way)) => self.world.farewell(Some(way.post.message(&text, &[]))),
            Some(Way::Process(way)) => way.process.farewell(Some(&text)),
            _ => return false,
        };
        // It is a courtesy, and what is wrong with it is wrong with the request too.
        left.is_ok()
    }

    fn take_farewell_back(&mut self) {
        let _ = match &mut self.way {
            Some(Way::Process(way)) => way.process.farewell(None),
            _ => self.world.farewell(None),
        };
    }

    fn is_modern(&self) -> bool {
        self.peer.as_ref().is_some_and(|peer| peer.era == Era::Modern)
    }

    /// A request as this server wants it.
    pub(crate) fn prepare(&self, ask: &Ask<'_>) -> Request {
        let id = rpc::fresh_id(self.world);
        let mut params = ask.params.clone();
        if self.is_modern() {
            params.set("_meta", peer::meta(ask.progress.then_some(id)));
        } else if ask.progress {
            params.set("_meta", json!({"progressToken": id}).to_string());
        }
        let mut request = Request::with_id(id, ask.method, &params);
        if self.is_modern() && matches!(self.way, Some(Way::Http(_))) {
            request.headers = modern_headers(ask.method, ask.name);
            request.headers.extend(ask.headers.iter().cloned());
        }
        request
    }
}

/// What tells a server that nobody waits for the answer to a request.
pub(crate) fn cancelled(id: u64, reason: &str) -> String {
    let params =
        Params::default().with("requestId", id.to_string()).with("reason", json!(reason).to_string());
    rpc::notification(CANCELLED, &params)
}

/// The headers that revision 2026-07-28 wants with every request.
pub(crate) fn modern_headers(method: &str, name: Option<&str>) -> Vec<(String, String)> {
    let mut headers = vec![("mcp-method".to_owned(), method.to_owned())];
    headers.extend(name.map(|name| ("mcp-name".to_owned(), encoded(name))));
    headers
}

/// Whether an answer says that the server is not of the era that it was.
fn is_of_other_era(peer: Option<&Peer>, result: &Result<Answered, Lost>) -> bool {
    let Some(peer) = peer else { return false };
    match (peer.era, result) {
        (Era::Modern, Err(Lost::Refused(refused))) => matches!(refused.status, 400 | 404 | 405 | 406),
        (Era::Modern, Ok(Answered { status: Some(400), outcome: Err(error), .. })) => {
            (-32_019..=-32_000).contains(&error.code)
        }
        (Era::Legacy, Ok(Answered { outcome: Err(error), .. })) => (-32_022..=-32_020).contains(&error.code),
        _ => false,
    }
}
