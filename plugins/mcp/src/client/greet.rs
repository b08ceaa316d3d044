//! Which era a server is of, and the handshake of the older one.
//!
//! A server is asked by `server/discover`: what it answers by the letter, and
//! the errors that revision 2026-07-28 defines, make it a modern one; anything
//! else, and silence, make it one that wants `initialize` (revision
//! 2026-07-28, "Backward Compatibility"). The answer is remembered.

use serde_json::{Value, json};

use super::peer::{LEGACY, MODERN, Peer, capabilities, client_info, meta};
use super::session::Shared;
use super::{Client, Way, modern_headers, session};
use crate::config::{Endpoint, Era};
use crate::rpc::{self, Params, Request, RpcError};
use crate::seam::{Failure, World};
use crate::text::{hash_of, line};
use crate::transport::{Answered, Ear, Lines, Lost, Old, Streamable, Wait};

/// The silence after which a server is taken for an older one.
const DISCOVER_MS: u64 = 10_000;
/// A server that is only being downloaded answers late.
const INITIALIZE_MS: u64 = 60_000;

/// Where it is remembered that a process ends when it is asked `server/discover`.
const FRAGILE: &str = "process:fragile";

/// What `server/discover` showed.
enum Found {
    Modern(Peer),
    /// It wants `initialize`.
    Legacy,
}

impl<'w> Client<'w> {
    /// Reaches the server, unless that was done.
    ///
    /// # Errors
    /// What stood in the way; nothing was asked of the server yet.
    pub(crate) fn connect(&mut self) -> Result<(), Lost> {
        if self.way.is_some() && self.peer.is_some() {
            return Ok(());
        }
        let (url, sse, era) = match self.endpoint.clone() {
            Endpoint::Stdio => return self.connect_process(),
            Endpoint::Http { url, sse, era } => (url, sse, era),
        };
        if sse {
            return self.connect_old(&url);
        }
        if era == Some(Era::Modern) && !self.learns {
            self.adopt(&url, Peer::modern(), true);
            return Ok(());
        }
        if !self.shares {
            let peer = greet(self.world, &url, era)?;
            if peer.sse {
                return self.connect_old(&url);
            }
            self.adopt(&url, peer, false);
            return Ok(());
        }
        let world = self.world;
        let shared = session::shared(world, &http_key(&url), |_| greet(world, &url, era))?;
        if shared.peer.sse {
            return self.connect_old(&url);
        }
        self.adopt(&url, shared.peer, shared.recalled);
        Ok(())
    }

    /// A way that nothing was said on yet, for a request that is only shown.
    pub(super) fn go_bare(&mut self) -> Result<(), Lost> {
        if self.way.is_some() {
            return Ok(());
        }
        match self.endpoint.clone() {
            Endpoint::Stdio => {
                self.way = Some(Way::Process(Lines::attach(self.world).map_err(Lost::Unsent)?))
            }
            Endpoint::Http { url, era, .. } => {
                let peer = Some(Peer::modern()).filter(|_| era == Some(Era::Modern));
                let headers = peer.as_ref().map(Peer::headers).unwrap_or_default();
                self.way = Some(Way::Http(streamable(self.world, &url, headers, peer.is_none())));
                self.peer = peer;
            }
        }
        Ok(())
    }

    fn adopt(&mut self, url: &str, peer: Peer, recalled: bool) {
        let legacy = peer.era == Era::Legacy;
        self.way = Some(Way::Http(streamable(self.world, url, peer.headers(), legacy)));
        (self.peer, self.recalled) = (Some(peer), recalled);
    }

    /// A session of the oldest transport is its stream: nothing is shared.
    fn connect_old(&mut self, url: &str) -> Result<(), Lost> {
        let world = self.world;
        let way = self.way.insert(Way::Old(Old::open(streamable(world, url, Vec::new(), true))?));
        let Way::Old(old) = way else { return Ok(()) };
        let mut peer = initialize(world, |request, wait, ear| old.exchange(request, wait, ear))?;
        // It is told; what it thinks of it shows in what follows.
        let _ = old.tell(&initialized(), &mut Wait::short(world, DISCOVER_MS));
        peer.sse = true;
        (self.peer, self.recalled) = (Some(peer), false);
        Ok(())
    }

    fn connect_process(&mut self) -> Result<(), Lost> {
        let world = self.world;
        let is_fragile = world.recall(FRAGILE).is_some();
        let mut lines = Lines::attach(world).map_err(Lost::Unsent)?;
        let mut result = share_process(world, &mut lines, is_fragile);
        if matches!(result, Err(Lost::Broken(_))) && !is_fragile {
            // An older server that ends at what it does not know is started again.
            let noise = std::mem::take(&mut lines.noise);
            lines = Lines::attach(world).map_err(Lost::Unsent)?;
            lines.noise = noise;
            result = share_process(world, &mut lines, true);
        }
        // What a process wrote before it failed is part of the explanation.
        self.way = Some(Way::Process(lines));
        let shared = result.inspect_err(|_| self.peer = None)?;
        (self.peer, self.recalled) = (Some(shared.peer), shared.recalled);
        Ok(())
    }

    /// Where what was agreed on is kept.
    pub(super) fn key(&self) -> Option<String> {
        match (&self.endpoint, &self.way) {
            (Endpoint::Http { url, .. }, _) => Some(http_key(url)),
            (Endpoint::Stdio, Some(Way::Process(lines))) => Some(process_key(lines)),
            (Endpoint::Stdio, _) => None,
        }
    }
}

fn http_key(url: &str) -> String {
    format!("peer:{:016x}", hash_of(url))
}

/// No process has the number of another.
fn process_key(lines: &Lines) -> String {
    format!("peer:process:{}", lines.process.generation())
}

fn share_process(world: &dyn World, lines: &mut Lines, is_fragile: bool) -> Result<Shared, Lost> {
    let key = process_key(lines);
    session::shared(world, &key, |shows| greet_process(world, lines, is_fragile, shows))
}

fn streamable<'w>(
    world: &'w dyn World,
    url: &str,
    headers: Vec<(String, String)>,
    legacy: bool,
) -> Streamable<'w> {
    Streamable { world, url: url.to_owned(), headers, legacy }
}

/// Finds out what answers at a URL, and greets it where it wants that.
pub(crate) fn greet(world: &dyn World, url: &str, era: Option<Era>) -> Result<Peer, Lost> {
    if era != Some(Era::Legacy)
        && let Found::Modern(peer) = discover_http(world, url)?
    {
        return Ok(peer);
    }
    let way = streamable(world, url, Vec::new(), false);
    let mut session = None;
    let answer = initialize(world, |request, wait, ear| {
        let answered = way.exchange(request, wait, ear)?;
        session.clone_from(&answered.session);
        // A refusal with one of these is what the oldest transport looks like.
        match (&answered.outcome, answered.status) {
            (Err(error), Some(status @ (400 | 404 | 405))) if !is_modern_error(error) => {
                Err(Lost::Refused(crate::transport::Refused {
                    status,
                    challenge: None,
                    retry_after_ms: None,
                    start: error.message.clone(),
                }))
            }
            _ => Ok(answered),
        }
    });
    let mut peer = match answer {
        Ok(peer) => peer,
        Err(Lost::Refused(refused)) if matches!(refused.status, 400 | 404 | 405) => {
            // The first answer is what a person wants to hear of, where the second way is none.
            return old_peer(world, url).map_err(|_| Lost::Refused(refused));
        }
        // A server that is known as an older one and has become a modern one.
        Err(lost) if era == Some(Era::Legacy) => match discover_http(world, url) {
            Ok(Found::Modern(peer)) => return Ok(peer),
            _ => return Err(lost),
        },
        Err(lost) => return Err(lost),
    };
    peer.session = session;
    let way = streamable(world, url, peer.headers(), true);
    // It is told; what it thinks of it shows in what follows.
    let _ = way.tell(&initialized(), &Wait::short(world, DISCOVER_MS));
    Ok(peer)
}

/// Whether a stream opens by a GET that says where to post to.
fn old_peer(world: &dyn World, url: &str) -> Result<Peer, Lost> {
    Old::open(streamable(world, url, Vec::new(), true))?;
    Ok(Peer { era: Era::Legacy, version: "2024-11-05".to_owned(), sse: true, offers: None, ..Peer::modern() })
}

fn discover_http(world: &dyn World, url: &str) -> Result<Found, Lost> {
    let way = streamable(world, url, Peer::modern().headers(), false);
    let mut request = discover(world);
    request.headers = modern_headers(request.method, None);
    let result =
        way.exchange(&request, &mut Wait::short(world, DISCOVER_MS), &mut Ear::new(world, request.id));
    match result {
        Ok(answered) => found(&answered),
        // Who asks is a question of both eras.
        Err(Lost::Refused(refused)) if refused.status == 401 => Err(Lost::Refused(refused)),
        Err(Lost::Unsent(failure)) => Err(Lost::Unsent(failure)),
        Err(_) => Ok(Found::Legacy),
    }
}

fn greet_process(
    world: &dyn World,
    lines: &mut Lines,
    is_fragile: bool,
    shows: &dyn Fn(),
) -> Result<Peer, Lost> {
    let probe = |lines: &mut Lines| {
        let request = discover(world);
        let mut wait = Wait::short(world, DISCOVER_MS).showing(shows);
        lines.exchange(&request, &mut wait, &mut Ear::new(world, request.id))
    };
    let first = (!is_fragile).then(|| probe(lines));
    match first.unwrap_or(Err(Lost::Silent)) {
        Ok(answered) => {
            if let Found::Modern(peer) = found(&answered)? {
                return Ok(peer);
            }
        }
        Err(Lost::Unsent(failure)) => return Err(Lost::Unsent(failure)),
        Err(Lost::Broken(failure)) => {
            world.swap(FRAGILE, None, Some(b"1"));
            return Err(Lost::Broken(failure));
        }
        Err(_) => {}
    }
    let greeted = initialize(world, |request, _, ear| {
        lines.exchange(request, &mut Wait::short(world, INITIALIZE_MS).showing(shows), ear)
    });
    let peer = match greeted {
        Ok(peer) => peer,
        // A modern server that took its time for the first question.
        Err(Lost::Unsent(failure)) if failure.code == "upstream-rejected" => match probe(lines) {
            Ok(answered) => match found(&answered)? {
                Found::Modern(peer) => return Ok(peer),
                Found::Legacy => return Err(Lost::Unsent(failure)),
            },
            Err(_) => return Err(Lost::Unsent(failure)),
        },
        Err(lost) => return Err(lost),
    };
    lines.tell(&initialized())?;
    Ok(peer)
}

fn discover(world: &dyn World) -> Request {
    Request::new(world, "server/discover", &Params::default().with("_meta", meta(None)))
}

fn found(answered: &Answered) -> Result<Found, Lost> {
    match &answered.outcome {
        Ok(result) => {
            let result: Value = serde_json::from_str(result).unwrap_or_default();
            match result.get("supportedVersions").and_then(Value::as_array) {
                Some(versions) => choose(versions, &result),
                None => Ok(Found::Legacy),
            }
        }
        Err(error) if is_modern_error(error) => {
            let data: Value =
                error.data.as_deref().and_then(|data| serde_json::from_str(data).ok()).unwrap_or_default();
            match data.get("supported").and_then(Value::as_array) {
                Some(versions) if error.code == -32_022 => choose(versions, &Value::Null),
                _ => Ok(Found::Modern(Peer::modern())),
            }
        }
        Err(_) => Ok(Found::Legacy),
    }
}

fn choose(versions: &[Value], result: &Value) -> Result<Found, Lost> {
    let has = |version: &str| versions.iter().any(|offered| offered == version);
    if has(MODERN) {
        return Ok(Found::Modern(Peer::read(Era::Modern, MODERN, result)));
    }
    if LEGACY.iter().any(|version| has(version)) {
        return Ok(Found::Legacy);
    }
    let offered: Vec<String> =
        versions.iter().filter_map(Value::as_str).take(10).map(|version| line(version, 40)).collect();
    Err(Lost::Unsent(unsupported(&offered.join(", "))))
}

fn is_modern_error(error: &RpcError) -> bool {
    (-32_022..=-32_020).contains(&error.code)
}

fn unsupported(offered: &str) -> Failure {
    let message = format!(
        "the server speaks MCP {offered}, and this executor {MODERN} and {} to {}",
        LEGACY[0],
        LEGACY[LEGACY.len() - 1]
    );
    Failure::new("protocol-unsupported", message)
}

fn initialize(
    world: &dyn World,
    exchange: impl FnOnce(&Request, &mut Wait<'_>, &mut Ear<'_>) -> Result<Answered, Lost>,
) -> Result<Peer, Lost> {
    let params = Params::default()
        .with("protocolVersion", json!(LEGACY[0]).to_string())
        .with("capabilities", capabilities().to_string())
        .with("clientInfo", client_info().to_string());
    let request = Request::new(world, "initialize", &params);
    let answered =
        exchange(&request, &mut Wait::short(world, INITIALIZE_MS), &mut Ear::new(world, request.id))?;
    let result = answered.outcome.map_err(|error| {
        let message = format!("the server refuses to begin: {} ({})", error.message, error.code);
        let details = json!({"code": error.code, "message": error.message}).to_string();
        let failure = Failure::new("upstream-rejected", message);
        Lost::Unsent(Failure { status: answered.status, details: Some(details), ..failure })
    })?;
    let result: Value = serde_json::from_str(&result).unwrap_or_default();
    let Some(version) = result.get("protocolVersion").and_then(Value::as_str) else {
        return Err(Lost::Garbage {
            status: answered.status,
            why: "its answer to initialize names no protocol version".to_owned(),
            start: String::new(),
        });
    };
    if !LEGACY.contains(&version) {
        return Err(Lost::Unsent(unsupported(&line(version, 40))));
    }
    Ok(Peer::read(Era::Legacy, version, &result))
}

fn initialized() -> String {
    rpc::notification("notifications/initialized", &Params::default())
}

/// One request that finds out whether a URL is that of a modern server.
///
/// # Errors
/// When it wants a sign-in, or can't be asked.
pub(crate) fn ask_discover(world: &dyn World, url: &str) -> Result<Option<Peer>, Lost> {
    Ok(match discover_http(world, url)? {
        Found::Modern(peer) => Some(peer),
        Found::Legacy => None,
    })
}

/// One request that finds out whether a URL is that of an older server.
///
/// # Errors
/// When it is not, wants a sign-in, or can't be asked.
pub(crate) fn ask_initialize(world: &dyn World, url: &str) -> Result<Peer, Lost> {
    let way = streamable(world, url, Vec::new(), false);
    initialize(world, |request, _, ear| way.exchange(request, &mut Wait::short(world, DISCOVER_MS), ear))
}
