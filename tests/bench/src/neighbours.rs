//! Programs that take what they can get, and what others feel of it.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::json;

use crate::Context;
use crate::client::beginning;
use crate::daemon::Daemon;
use crate::figures::{Measured, Row, reach};
use crate::rounds::{Outcome, Plan, Samples, action, alternate};

const NEIGHBOUR: &str = "another request during a CPU loop of 3 s, p99";
const HOG: &str = "memory hog ended";

pub(crate) fn measure(context: &mut Context<'_>) -> Result<()> {
    if !context.figures.begins("neighbours", &[NEIGHBOUR, HOG]) {
        return Ok(());
    }
    let pair = context.pair()?;
    if context.figures.wants(NEIGHBOUR) {
        let (mut ours, mut peer) = (Ok(Samples(Vec::new())), Ok(Samples(Vec::new())));
        let sides = [(&mut ours, Ok(&pair.ours)), (&mut peer, pair.peer.as_ref().map_err(String::clone))];
        let rounds = if context.options.quick { 1 } else { 3 };
        for (outcome, side) in sides {
            for round in 0..rounds {
                let times = side
                    .clone()
                    .and_then(|daemon| beside_a_loop(daemon, round).map_err(|error| format!("{error:#}")));
                match (&mut *outcome, times) {
                    (Ok(samples), Ok(times)) => samples.0.push(times),
                    (outcome, Err(reason)) => *outcome = Err(reason),
                    (Err(_), Ok(_)) => {}
                }
            }
        }
        let row = Row::new(NEIGHBOUR, "ms", p99(ours)).peer(p99(peer)).reach(reach(15.0));
        context.figures.add(row.more("of all requests that a waiting client makes during the loop"));
    }
    if context.figures.wants(HOG) {
        let hog = |daemon: &Daemon| {
            let mut client = daemon.client()?;
            let path = daemon.executions;
            Ok::<_, anyhow::Error>(move |number: usize| {
                let code = format!("const a = [{number}]; while (true) a.push(new Array(1e5).fill(1.5))");
                let request = json!({ "code": code }).to_string();
                let begun = Instant::now();
                let answer = client.post(path, &request)?;
                let took = begun.elapsed();
                ensure!(answer.contains("memory"), "not ended for its memory: {}", beginning(&answer));
                Ok(took)
            })
        };
        let [ours] = alternate(context.options.plan(2, 2.0), [action(hog(&pair.ours)?)]);
        let peer = match context.options.quick {
            true => Err("left out of a quick run: takes 18 s".into()),
            false => {
                let once = Plan { rounds: 1, calls: 1, within: Duration::ZERO, warm: 0 };
                let [peer] = alternate(once, [pair.peer(hog).and_then(action)]);
                peer
            }
        };
        let row = Row::new(HOG, "ms", ours).peer(peer).reach(reach(200.0));
        context.figures.add(row.more("the peer's once, as it takes so long"));
    }
    Ok(())
}

/// Times of trivial programs while another computes for three seconds.
fn beside_a_loop(daemon: &Daemon, round: usize) -> Result<Vec<Duration>> {
    let (mut spinner, mut client) = (daemon.client()?, daemon.client()?);
    std::thread::scope(|scope| {
        let spin = scope.spawn(move || {
            let code = format!("const end = Date.now() + 3000; while (Date.now() < end) {{}} return {round}");
            daemon.execute(&mut spinner, &code)
        });
        std::thread::sleep(Duration::from_millis(200));
        let (begun, mut times) = (Instant::now(), Vec::new());
        while begun.elapsed() < Duration::from_millis(2_500) {
            let code = format!("return {} + {round}", times.len());
            times.push(daemon.execute(&mut client, &code)?.0);
        }
        let (spun, _) = spin.join().expect("the spinner does not panic")?;
        ensure!(spun >= Duration::from_millis(2_900), "the loop ended after {spun:?}");
        Ok(times)
    })
}

/// The 99th percentile as the figure: the median is of no interest here.
fn p99(outcome: Outcome) -> Measured {
    match outcome {
        Ok(samples) => Measured::Figure {
            p50: samples.at_ms(0.99),
            p99: None,
            count: samples.count(),
            rounds: samples.medians_ms(),
        },
        Err(reason) => Measured::Missing(reason),
    }
}
