//! Hears of changes as long as a connection is in use.

use std::convert::Infallible;

use crate::catalogue::list;
use crate::client::{Ask, CANCELLED, Client, Failed, Offers, Peer, Way, cancelled, failure};
use crate::config::{self, Era};
use crate::rpc::{self, Message, Params};
use crate::seam::{Failure, HttpResponse, World};
use crate::transport::stray::{self, Stray};
use crate::transport::{Ear, Events, Lines, Lost, Old, STEP_MS, Streamable, Wait, listener};

const READ_BYTES: u32 = 64 << 10;
/// The first pause before a stream is opened again; it doubles.
const BACK_OFF_MS: u64 = 1_000;
const MAX_BACK_OFF_MS: u64 = 60_000;
/// Failures in a row after which the host decides what to do.
const MAX_FAILURES: u32 = 8;
/// A stream that lived for so long was a good one.
const GOOD_MS: u64 = 60_000;
/// Within which a stream opens.
const OPEN_MS: u32 = 30_000;
/// A list is looked at again no sooner, and no later, than this.
const MIN_TTL_MS: u64 = 60_000;
const MAX_TTL_MS: u64 = 86_400_000;
/// The longest sleep at once.
const MAX_SLEEP_MS: u64 = 3_600_000;

/// Listens until the host ends it.
///
/// # Errors
/// `invalid-config`, `settings-invalid`, and what the server was lost by after some attempts.
pub fn run(config: &str, settings: &str, world: &dyn World) -> Result<(), Failure> {
    let endpoint = config::read(config, settings, None)?;
    let mut failures = 0;
    let mut has_listened = false;
    loop {
        let mut client = Client::learning(world, endpoint.clone());
        let begun = world.ticks_ms();
        let Err(lost) = watch(&mut client, &mut has_listened);
        if matches!(lost, Lost::SessionGone) {
            client.forget();
        }
        failures = if world.ticks_ms().saturating_sub(begun) >= GOOD_MS { 1 } else { failures + 1 };
        let ends = matches!(&lost, Lost::Refused(refused) if matches!(refused.status, 401 | 403));
        if ends || failures == MAX_FAILURES {
            return Err(failure(Failed { asked: false, lost }, true, client.noise()));
        }
        world.sleep_ms((BACK_OFF_MS << (failures - 1)).min(MAX_BACK_OFF_MS));
    }
}

/// One stream, until it is lost. Where there was one before, nobody heard what
/// changed since.
fn watch(client: &mut Client<'_>, has_listened: &mut bool) -> Result<Infallible, Lost> {
    client.connect()?;
    let peer = client.peer().cloned();
    let offers = peer.as_ref().and_then(|peer| peer.offers);
    let tells = offers.is_none_or(Offers::tells);
    let modern = peer.as_ref().is_some_and(|peer| peer.era == Era::Modern);
    let clock = if tells { Clock::none() } else { Clock::of(client) };
    let world = client.world;
    let ask = modern.then(|| listen(client, offers)).filter(|_| tells);
    let mut heard = Heard { world, clock };
    let mut begins = || {
        if std::mem::replace(has_listened, true) {
            world.changed("tools");
        }
    };
    match client.way() {
        Some(Way::Process(lines)) => {
            begins();
            heard.process(lines, ask.as_ref())
        }
        Some(Way::Old(old)) => {
            begins();
            heard.old(old)
        }
        Some(Way::Http(way)) => {
            // An older server that tells of no changes may ask all the same.
            if !tells && modern {
                return heard.clock.run(world);
            }
            let opened = match &ask {
                Some(request) => way.open_answer(request, OPEN_MS),
                None => way.open(None, OPEN_MS),
            };
            match opened {
                Ok(stream) => {
                    begins();
                    heard.stream(stream, way)
                }
                // It has no such stream, whatever it says of changes.
                Err(Lost::Refused(refused)) if matches!(refused.status, 400 | 404 | 405 | 406 | 501) => {
                    listener::show(way, false);
                    heard.clock = Clock::of(client);
                    let session = |peer: Option<&Peer>| peer.and_then(|peer| peer.session.clone());
                    if session(client.peer()) != session(peer.as_ref()) {
                        // It knew the session no more, and was greeted anew meanwhile.
                        let message = "the session ended, and there is another";
                        return Err(Lost::Broken(Failure::passing("connection-lost", message)));
                    }
                    heard.clock.run(world)
                }
                Err(lost) => Err(lost),
            }
        }
        None => Err(Lost::Silent),
    }
}

/// `subscriptions/listen`, for what the server can tell.
fn listen(client: &Client<'_>, offers: Option<Offers>) -> rpc::Request {
    let offers = offers.unwrap_or(Offers {
        tools_changed: true,
        prompts_changed: true,
        resources_changed: true,
        ..Offers::default()
    });
    let filter = serde_json::json!({
        "toolsListChanged": offers.tools_changed,
        "promptsListChanged": offers.prompts_changed,
        "resourcesListChanged": offers.resources_changed,
    });
    client.prepare(&Ask {
        method: "subscriptions/listen",
        params: Params::default().with("notifications", filter.to_string()),
        name: None,
        headers: Vec::new(),
        progress: false,
    })
}

/// When the list of a server that tells nothing is to be looked at again.
struct Clock {
    every_ms: Option<u64>,
    due: u64,
}

impl Clock {
    fn none() -> Self {
        Self { every_ms: None, due: u64::MAX }
    }

    /// By what the server says of its list. A tenth is left to chance, so that
    /// many clients don't ask at the same time.
    fn of(client: &mut Client<'_>) -> Self {
        let world = client.world;
        let listed = list(client, "tools/list", "tools", 1).ok();
        let Some(ttl) = listed.and_then(|listed| listed.ttl_ms) else { return Self::none() };
        let ttl = ttl.clamp(MIN_TTL_MS, MAX_TTL_MS);
        let every_ms = ttl + world.random() % (ttl / 10 + 1);
        Self { every_ms: Some(every_ms), due: world.ticks_ms() + every_ms }
    }

    fn tick(&mut self, world: &dyn World) {
        if let Some(every_ms) = self.every_ms
            && world.ticks_ms() >= self.due
        {
            self.due = world.ticks_ms() + every_ms;
            world.changed("tools");
        }
    }

    /// Does nothing else. A server that tells nothing and whose list does not
    /// become stale is left alone: to end would be to be begun anew.
    fn run(&mut self, world: &dyn World) -> Result<Infallible, Lost> {
        loop {
            world.sleep_ms(self.due.saturating_sub(world.ticks_ms()).clamp(1, MAX_SLEEP_MS));
            self.tick(world);
        }
    }
}

struct Heard<'w> {
    world: &'w dyn World,
    clock: Clock,
}

impl Heard<'_> {
    fn notification(&self, method: &str) {
        let what = match method {
            "notifications/tools/list_changed" => "tools",
            "notifications/prompts/list_changed" => "prompts",
            "notifications/resources/list_changed" => "resources",
            _ => return,
        };
        self.world.changed(what);
    }

    /// A stream of HTTP. A question on it is for a call that takes it; what
    /// none takes, and any other request, is answered here.
    fn stream(
        &mut self,
        mut stream: Box<dyn HttpResponse>,
        way: &Streamable<'_>,
    ) -> Result<Infallible, Lost> {
        let world = self.world;
        let mut events = Events::default();
        let mut open: Vec<(u64, Stray)> = Vec::new();
        let mut shown = None;
        loop {
            self.clock.tick(world);
            let now = world.ticks_ms();
            if way.legacy && shown.is_none_or(|shown| now - shown >= u64::from(listener::SHOW_MS)) {
                listener::show(way, true);
                shown = Some(now);
            }
            for (_, stray) in open.extract_if(.., |(due, _)| *due <= now) {
                if stray.withdraw(way) {
                    self.answer(way, &stray.id, stray::QUESTION, stray.params.as_deref());
                }
            }
            let step = if open.is_empty() { listener::SHOW_MS } else { stray::LOOK_MS };
            let Some(bytes) = stream.read(READ_BYTES, step).map_err(Lost::Broken)? else { continue };
            if bytes.is_empty() {
                let message = "the stream of changes ended";
                return Err(Lost::Broken(Failure::passing("connection-lost", message)));
            }
            let found =
                events.feed(&bytes).map_err(|why| Lost::Broken(Failure::new("upstream-too-large", why)))?;
            for event in found {
                for message in rpc::parse(&event.data).into_iter().flatten() {
                    match message {
                        Message::Notification { method, .. } => self.notification(&method),
                        // The end of a subscription, or its refusal.
                        Message::Response { outcome: Err(error), .. } if error.code == -32_601 => {
                            return Clock::none().run(self.world);
                        }
                        Message::Response { outcome, .. } => return Err(ended(outcome.err())),
                        // Revision 2026-07-28 has no requests of servers.
                        Message::Request { .. } if !way.legacy => {}
                        Message::Request { id, method, params } => {
                            let stray = Some(stray::QUESTION).filter(|question| method == *question);
                            match stray.and_then(|_| Stray::put(way, id, params)) {
                                Some(stray) => open.push((world.ticks_ms() + stray::PATIENCE_MS, stray)),
                                None => self.answer(way, id, &method, params),
                            }
                        }
                    }
                }
            }
        }
    }

    /// Answers a request that no call answers.
    fn answer(&self, way: &Streamable<'_>, id: &str, method: &str, params: Option<&str>) {
        let world = self.world;
        let reply = Ear::new(world, 0).request(id, method, params, &mut Wait::call(world));
        // A server that does not take the reply shows what it thinks of it on the stream.
        let _ = way.tell(&reply, &Wait::short(world, u64::from(STEP_MS)));
    }

    fn old(&mut self, old: &mut Old<'_>) -> Result<Infallible, Lost> {
        let world = self.world;
        loop {
            self.clock.tick(world);
            for data in old.take() {
                for message in rpc::parse(&data).into_iter().flatten() {
                    match message {
                        Message::Notification { method, .. } => self.notification(&method),
                        Message::Request { id, method, params } => {
                            let mut wait = Wait::call(world);
                            let reply = Ear::new(world, 0).request(id, &method, params, &mut wait);
                            old.tell(&reply, &mut Wait::short(world, u64::from(STEP_MS)))?;
                        }
                        Message::Response { .. } => {}
                    }
                }
            }
            old.more(&Wait::short(world, u64::from(STEP_MS)))?;
        }
    }

    /// The lines of a process. What a server asks is for the call that it asks
    /// it for; what no call takes is answered here, so that it does not wait
    /// for ever.
    fn process(&mut self, lines: &mut Lines, ask: Option<&rpc::Request>) -> Result<Infallible, Lost> {
        let world = self.world;
        let own = ask.map(|request| request.id.to_string());
        if let Some(request) = ask {
            // The process outlives this watch, and would go on telling it.
            let _ = lines.process.farewell(Some(&cancelled(request.id, "nobody listens any more")));
            lines.tell(&request.text)?;
        }
        let mut open: Vec<(u64, String, String, Option<String>)> = Vec::new();
        loop {
            self.clock.tick(world);
            let now = world.ticks_ms();
            let due = open.iter().position(|(due, ..)| *due <= now);
            if let Some((_, id, method, params)) = due.map(|at| open.swap_remove(at)) {
                lines.answer(&id, &method, || {
                    Ear::new(world, 0).request(&id, &method, params.as_deref(), &mut Wait::call(world))
                });
                continue;
            }
            let step = if open.is_empty() { STEP_MS } else { stray::LOOK_MS };
            let Some(text) = lines.read(step)? else { continue };
            for message in rpc::parse(&text).into_iter().flatten() {
                match message {
                    // How a server ends a subscription where there is no stream to close.
                    Message::Notification { method, params }
                        if method == CANCELLED && own.is_some() && cancels(params) == own =>
                    {
                        return Err(ended(None));
                    }
                    Message::Notification { method, .. } => self.notification(&method),
                    Message::Request { id, method, params } if open.len() < 100 => {
                        let wait = if method == stray::QUESTION { stray::PATIENCE_MS } else { 0 };
                        let params = params.map(str::to_owned);
                        open.push((world.ticks_ms() + wait, id.to_owned(), method, params));
                    }
                    // One without subscriptions may tell all the same.
                    Message::Response { id, outcome: Err(error) }
                        if id.is_some() && id == own && error.code != -32_601 =>
                    {
                        return Err(ended(Some(error)));
                    }
                    _ => {}
                }
            }
        }
    }
}

/// The request that a `notifications/cancelled` is about.
fn cancels(params: Option<&str>) -> Option<String> {
    let params: serde_json::Value = serde_json::from_str(params?).ok()?;
    rpc::id_text(&params.get("requestId")?.to_string())
}

fn ended(error: Option<rpc::RpcError>) -> Lost {
    Lost::Broken(match error {
        Some(error) => Failure::new("upstream-error", error.message),
        None => Failure::passing("connection-lost", "the server ended the subscription"),
    })
}
