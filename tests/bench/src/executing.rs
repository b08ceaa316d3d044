//! Trivial programs, over HTTP and over MCP.

use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::json;

use crate::Context;
use crate::daemon::{Daemon, Pair};
use crate::figures::{Measured, Reach, Row, reach};
use crate::options::Options;
use crate::rounds::{Samples, action, alternate, timed};

const HEALTH: &str = "GET health, the floor of this client";
const ONE: &str = "execute trivial over HTTP, 1 client, each program new";
const AGAIN: &str = "the same program, each input new";
const MANY: &str = "execute trivial over HTTP, 32 clients, rate";
const MANY_TIMES: &str = "the same, time of each";
const MCP: &str = "execute trivial over MCP";
const LOOP: &str = "1e6 loop turns";
const CLIENTS: usize = 32;

pub(crate) fn measure(context: &mut Context<'_>) -> Result<()> {
    if !context.figures.begins("executing", &[HEALTH, ONE, AGAIN, MANY, MANY_TIMES, MCP, LOOP]) {
        return Ok(());
    }
    let pair = context.pair()?;
    if context.figures.wants(HEALTH) {
        let mut client = pair.ours.client()?;
        let [ours] = alternate(
            context.options.plan(1_000, 0.3),
            [action(|_| Ok(timed(|| client.get("/v1/health"))?.0))],
        );
        context.figures.add(Row::new(HEALTH, "ms", ours));
    }
    if context.figures.wants(ONE) {
        let [ours, peer] = alternate(
            context.options.plan(1_000, 1.0),
            [
                action(programs(&pair.ours, trivial)?),
                pair.peer(|peer| programs(peer, trivial)).and_then(action),
            ],
        );
        let both = Reach { p50: Some(0.20), p99: Some(1.0) };
        context.figures.add(Row::new(ONE, "ms", ours).peer(peer).reach(both));
    }
    if context.figures.wants(AGAIN) {
        let mut client = pair.ours.client()?;
        let [ours] = alternate(
            context.options.plan(1_000, 0.5),
            [action(|number| {
                let request = json!({ "code": "export default (n: number) => n + 1", "input": number });
                Ok(pair.ours.post(&mut client, &request)?.0)
            })],
        );
        let both = Reach { p50: Some(0.20), p99: Some(1.0) };
        context
            .figures
            .add(Row::new(AGAIN, "ms", ours).reach(both).more("the peer's programs take no input"));
    }
    if context.figures.wants(MANY) || context.figures.wants(MANY_TIMES) {
        many(context, &pair)?;
    }
    if context.figures.wants(MCP) {
        let session = |daemon: &Daemon| {
            let mut session = daemon.mcp()?;
            Ok(move |number| session.execute(number, &trivial(number)))
        };
        let ours = session(&pair.ours).map_err(|error| format!("{error:#}"));
        let [ours, peer] = alternate(
            context.options.plan(500, 0.8),
            [ours.and_then(action), pair.peer(session).and_then(action)],
        );
        context.figures.add(Row::new(MCP, "ms", ours).peer(peer).reach(reach(0.30)));
    }
    if context.figures.wants(LOOP) {
        let turns =
            |number: usize| format!("let s = {number}; for (let i = 0; i < 1e6; i++) s += i; return s");
        let [ours, peer] = alternate(
            context.options.plan(4, 1.0),
            [action(programs(&pair.ours, turns)?), pair.peer(|peer| programs(peer, turns)).and_then(action)],
        );
        context.figures.add(Row::new(LOOP, "ms", ours).peer(peer).reach(reach(65.0)));
    }
    Ok(())
}

/// A program that no other call runs.
fn trivial(number: usize) -> String {
    format!("return {number} + 1")
}

/// One client that runs one program after the other.
pub(crate) fn programs<'a>(
    daemon: &'a Daemon,
    program: impl Fn(usize) -> String + 'a,
) -> Result<impl FnMut(usize) -> Result<Duration> + 'a> {
    let mut client = daemon.client()?;
    Ok(move |number| Ok(daemon.execute(&mut client, &program(number))?.0))
}

fn many(context: &mut Context<'_>, pair: &Pair) -> Result<()> {
    let Options { quick, .. } = *context.options;
    let (rounds, window) = if quick { (3, 0.7) } else { (5, 2.0) };
    let mut all: [Result<Load, String>; 2] = [Ok(Load::default()), Ok(Load::default())];
    for round in 0..=rounds {
        let sides = [Ok(&pair.ours), pair.peer.as_ref().map_err(String::clone)];
        for (load, side) in all.iter_mut().zip(sides) {
            let Ok(so_far) = load else { continue };
            // The first round is the warm-up.
            let window = if round == 0 { window / 4.0 } else { window };
            let loaded = side.and_then(|daemon| {
                flood(daemon, CLIENTS, Duration::from_secs_f64(window), round * 1_000_000)
                    .map_err(|error| format!("{error:#}"))
            });
            match loaded {
                Ok((rate, times)) if round > 0 => {
                    so_far.rates.push(rate);
                    so_far.times.push(times);
                }
                Ok(_) => {}
                Err(reason) => *load = Err(reason),
            }
        }
    }
    let [(rate, times), (peer_rate, peer_times)] = all.map(|load| match load {
        Ok(Load { rates, times }) => (Measured::of_rounds(rates), Ok(Samples(times)).into()),
        Err(reason) => (Measured::Missing(reason.clone()), Measured::Missing(reason)),
    });
    let more = format!("{rounds} rounds of {window} s; the clients share the cores");
    context.figures.add(Row::new(MANY, "/s", rate).peer(peer_rate).reach(reach(8_000.0)).more(more));
    context.figures.add(Row::new(MANY_TIMES, "ms", times).peer(peer_times));
    Ok(())
}

#[derive(Default)]
struct Load {
    rates: Vec<f64>,
    times: Vec<Vec<Duration>>,
}

/// So many clients, each running one new program after the other for so long:
/// programs a second, and the time of each.
pub(crate) fn flood(
    daemon: &Daemon,
    clients: usize,
    window: Duration,
    first: usize,
) -> Result<(f64, Vec<Duration>)> {
    let mut ready = (0..clients).map(|_| daemon.client()).collect::<Result<Vec<_>>>()?;
    let begun = Instant::now();
    let times = std::thread::scope(|scope| -> Result<Vec<Duration>> {
        let workers: Vec<_> = ready
            .iter_mut()
            .enumerate()
            .map(|(worker, client)| {
                scope.spawn(move || -> Result<Vec<Duration>> {
                    let mut times = Vec::new();
                    while begun.elapsed() < window {
                        let number = first + times.len() * clients + worker;
                        times.push(daemon.execute(client, &trivial(number))?.0);
                    }
                    Ok(times)
                })
            })
            .collect();
        let mut all = Vec::new();
        for worker in workers {
            all.extend(worker.join().expect("a worker does not panic")?);
        }
        Ok(all)
    })?;
    Ok((times.len() as f64 / begun.elapsed().as_secs_f64(), times))
}
