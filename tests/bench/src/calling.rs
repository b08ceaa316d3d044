//! Tool calls to an upstream on loopback, beside a client that calls it
//! directly in the same rounds.

use anyhow::Result;
use executor_upstreams::ledger::Keep;
use executor_upstreams::plain::{self, Answer, Config, Routes};
use serde_json::{Value, json};

use crate::Context;
use crate::client::Client;
use crate::daemon::{Daemon, Pair};
use crate::disk;
use crate::executing::programs;
use crate::figures::{Row, reach};
use crate::peer;
use crate::rounds::{Outcome, Plan, action, alternate, timed};

const DIRECT: &str = "a direct client's call of the upstream";
const ONE: &str = "one tool call from TypeScript";
const OVERHEAD: &str = "the same, less the direct client's";
const TEN: &str = "ten such calls, one after the other";
const PARALLEL: &str = "ten such calls, at the same time";
const SYNC: &str = "raw fdatasync of 4 KiB on the same disk";
const WRITE: &str = "one write call from TypeScript, on record before it is sent";
const COMMAND: &str = "`executor call`, daemon running";

pub(crate) fn measure(context: &mut Context<'_>) -> Result<()> {
    let rows = [DIRECT, ONE, OVERHEAD, TEN, PARALLEL, SYNC, WRITE, COMMAND];
    if !context.figures.begins("calling", &rows) {
        return Ok(());
    }
    let pair = context.pair()?;
    let answer = || Answer::json(200, &json!({ "ok": true }));
    let routes = Routes::new().on("GET", "/item", answer()).on("POST", "/item", answer());
    let config = Config { port: 0, keep: Keep::Count };
    let upstream = context.handle.block_on(plain::start_with(config, routes.handler()))?;
    let document = document(upstream.origin()).to_string();
    let served = Answer::new(200, &[("content-type", "application/json")], document);
    let documents = Routes::new().on("GET", "/openapi.json", served);
    let documents = context.handle.block_on(plain::start(documents.handler()))?;
    let url = format!("{}/openapi.json", documents.origin());
    let hosts = [&url, upstream.origin()].map(|at| host(at).to_owned());
    let request = json!({ "url": url, "name": "plain", "allow_hosts": hosts });
    let mut client = pair.ours.client()?;
    client.post("/v1/workspaces/default/sources", &request.to_string())?;
    let policy = json!({ "pattern": "plain.*", "action": "allow" });
    client.post("/v1/workspaces/default/policies", &policy.to_string())?;
    let pair = with_peer(pair, &url, upstream.origin());

    if context.figures.wants(DIRECT) || context.figures.wants(ONE) || context.figures.wants(OVERHEAD) {
        one(context, &pair, host(upstream.origin()))?;
    }
    for (row, code, to_reach) in [
        (TEN, "for (let i = 0; i < 10; i++) await get({ n: n + i }); return 1", 6.0),
        (
            PARALLEL,
            "return (await Promise.all(Array.from({ length: 10 }, (_, i) => get({ n: n + i })))).length",
            3.0,
        ),
    ] {
        if context.figures.wants(row) {
            let [ours, peer] = both(context.options.plan(60, 1.0), &pair, code)?;
            context.figures.add(Row::new(row, "ms", ours).peer(peer).reach(reach(to_reach)));
        }
    }
    if context.figures.wants(SYNC) || context.figures.wants(WRITE) {
        let sync = disk::syncing(context.homes.directory())?;
        let code = "return await post({ n })";
        let [ours, peer, sync] = alternate(
            context.options.plan(200, 1.0),
            [
                action(programs(&pair.ours, on_ours(code))?),
                pair.peer(|peer| programs(peer, on_peer(code))).and_then(action),
                action(sync),
            ],
        );
        let a_second = sync.as_ref().map_or(0.0, |sync| 1e3 / sync.at_ms(0.5));
        let row = Row::new(SYNC, "ms", sync).more(format!("{a_second:.0} a second"));
        context.figures.add(row);
        let more = "ours waits for the disk before the request leaves; the peer keeps no record";
        context.figures.add(Row::new(WRITE, "ms", ours).peer(peer).more(more));
    }
    if context.figures.wants(COMMAND) {
        command(context, &pair)?;
    }
    Ok(())
}

/// The peer with the upstream added; none, with the reason, where that fails.
fn with_peer(mut pair: Pair, url: &str, base: &str) -> Pair {
    let added = pair.peer(|daemon| {
        let mut client = daemon.client()?;
        peer::add(&mut client, url, "plain", base)?;
        peer::allow(&mut client, "plain.*")
    });
    if let Err(reason) = added {
        pair.peer = Err(reason);
    }
    pair
}

fn one(context: &mut Context<'_>, pair: &Pair, upstream: &str) -> Result<()> {
    let mut direct = Client::new(upstream, None)?;
    let code = "return await get({ n })";
    let [ours, peer, direct] = alternate(
        context.options.plan(300, 1.0),
        [
            action(programs(&pair.ours, on_ours(code))?),
            pair.peer(|peer| programs(peer, on_peer(code))).and_then(action),
            action(|number| Ok(timed(|| direct.get(&format!("/item?n={number}")))?.0)),
        ],
    );
    let floor = direct.as_ref().map_or(0.0, |direct| direct.at_ms(0.5));
    let less = |outcome: &Outcome| outcome.as_ref().map(|samples| samples.at_ms(0.5) - floor).ok();
    let (overhead, peer_overhead) = (less(&ours), less(&peer));
    let row = Row::new(ONE, "ms", ours).peer(peer).reach(reach(floor + 0.30));
    context.figures.add(row.more("each program new; the reach is the direct client's + 0.30"));
    context.figures.add(Row::new(DIRECT, "ms", direct));
    if let Some(ours) = overhead {
        let row = Row::new(OVERHEAD, "ms", ours).reach(reach(0.30));
        context.figures.add(match peer_overhead {
            Some(peer) => row.peer(peer),
            None => row,
        });
    }
    Ok(())
}

/// The command line, with the same argument spelt as each wants it.
fn command(context: &mut Context<'_>, pair: &Pair) -> Result<()> {
    let peer_call = |peer: &Daemon| {
        // It finds its daemon by its home, as ours does.
        let cli = peer.cli.clone();
        Ok(move |number: usize| {
            let arguments = format!("{{\"n\":{number}}}");
            let words = ["call", "plain", "org", "main", "items", "get", &arguments];
            Ok(timed(|| cli.run(&words))?.0)
        })
    };
    let [ours, peer, spawn] = alternate(
        context.options.plan(12, 2.0),
        [
            action(|number| {
                let arguments = format!("{{\"n\":{number}}}");
                Ok(timed(|| pair.ours.cli.run(&["call", "plain.items.get", &arguments]))?.0)
            }),
            pair.peer(peer_call).and_then(action),
            action(|_| Ok(timed(|| Ok(std::process::Command::new("true").status()?))?.0)),
        ],
    );
    let floor = spawn.map_or(0.0, |spawn| spawn.at_ms(0.5));
    let row = Row::new(COMMAND, "ms", ours).peer(peer).reach(reach(15.0));
    context.figures.add(row.more(format!("the call included; spawning `true` takes {floor:.1} ms")));
    Ok(())
}

/// A program on both sides.
fn both(plan: Plan, pair: &Pair, code: &'static str) -> Result<[Outcome; 2]> {
    let ours = action(programs(&pair.ours, on_ours(code))?);
    Ok(alternate(plan, [ours, pair.peer(|peer| programs(peer, on_peer(code))).and_then(action)]))
}

/// The program with `get`, `post` and the number `n` of its call.
fn on_ours(code: &'static str) -> impl Fn(usize) -> String {
    move |n| format!("const {{ get, post }} = tools.plain.items; const n = {n}; {code}")
}

/// The same for the peer, where a call that fails is a value: it must not
/// count as one that went well.
fn on_peer(code: &'static str) -> impl Fn(usize) -> String {
    move |n| {
        format!(
            "const items = tools.plain.org.main.items;
             const ok = (answer) => {{ if (!answer.ok) throw new Error(answer.error.code); return answer.data }};
             const get = async (args) => ok(await items.get(args)), post = async (args) => ok(await items.post(args));
             const n = {n}; {code}"
        )
    }
}

pub(crate) fn document(origin: &str) -> Value {
    let operation = |id: &str| {
        json!({
            "operationId": id, "tags": ["items"],
            "parameters": [{ "name": "n", "in": "query", "schema": { "type": "integer" } }],
            "responses": { "200": { "description": "", "content": { "application/json": {} } } },
        })
    };
    json!({
        "openapi": "3.0.3", "info": { "title": "Plain", "version": "1" }, "servers": [{ "url": origin }],
        "paths": { "/item": { "get": operation("items/get"), "post": operation("items/post") } },
    })
}

/// Host and port of a URL of this run.
pub(crate) fn host(url: &str) -> &str {
    let host = url.trim_start_matches("http://");
    host.split('/').next().unwrap_or(host)
}
