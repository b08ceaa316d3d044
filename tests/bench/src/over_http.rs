//! The daemon over HTTP and by its command line.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use executor_upstreams::github::{self, Config};
use executor_upstreams::plain::{self, Answer, Routes};
use serde_json::{Value, json};

use crate::client::Client;
use crate::daemon::Daemon;
use crate::figures::Figures;

const EXECUTIONS: &str = "/v1/workspaces/default/executions";
const QUERIES: &str = include_str!("../../../host/control/src/search/queries_github.txt");

pub(crate) async fn measure(figures: &mut Figures, executor: &Path) -> Result<()> {
    eprintln!("over HTTP");
    let home = tempfile::tempdir()?;
    let (first, _) = Daemon::start(executor, home.path())?;
    trivial(&mut first.client()?, 0)?;
    drop(first);
    let starts = (0..5).map(|_| Ok(Daemon::start(executor, home.path())?.1)).collect::<Result<Vec<_>>>()?;
    figures.add_times("`serve` to first answer, cache warm", starts, (50.0, "reach"));

    let (daemon, _) = Daemon::start(executor, home.path())?;
    let mut client = daemon.client()?;
    trivial(&mut client, 0)?;
    std::thread::sleep(Duration::from_secs(1));
    figures.add("resident memory, idle", daemon.memory_mb()?, "MB", (50.0, "reach"), String::new());

    execute(figures, &daemon, &mut client)?;
    command_line(figures, &daemon)?;
    let document = fixtures().join("octokit-openapi/generated/api.github.com.json");
    let document =
        std::fs::read(&document).with_context(|| format!("{}: run `make fixtures`", document.display()))?;
    let config = Config { document: Some(document.into()), ..Config::default() };
    let emulator = github::start(config).await?;
    let origin = emulator.origin().to_owned();
    catalogue(figures, &daemon, &mut client, &origin)?;
    calls(figures, &daemon, &mut client).await?;
    figures.add(
        "resident memory, after all of this",
        daemon.memory_mb()?,
        "MB",
        (150.0, "reach"),
        String::new(),
    );
    Ok(())
}

fn fixtures() -> PathBuf {
    std::env::var_os("EXECUTOR_FIXTURES").map_or_else(|| PathBuf::from("fixtures"), PathBuf::from)
}

fn trivial(client: &mut Client, number: usize) -> Result<Duration> {
    let body = json!({ "code": format!("return {number} + 1") }).to_string();
    let begun = Instant::now();
    let answer = client.post(EXECUTIONS, &body)?;
    let took = begun.elapsed();
    anyhow::ensure!(answer.contains("\"completed\""), "{answer}");
    Ok(took)
}

fn execute(figures: &mut Figures, daemon: &Daemon, client: &mut Client) -> Result<()> {
    let health = (0..2_000)
        .map(|_| {
            let begun = Instant::now();
            client.get("/v1/health")?;
            Ok(begun.elapsed())
        })
        .collect::<Result<Vec<_>>>()?;
    figures.add_times("GET /v1/health, the floor of this client", health, (0.1, "reach"));
    let program = |number: usize| number % 64;
    (0..64).try_for_each(|number| trivial(client, number).map(drop))?;
    let times = (0..3_000).map(|number| trivial(client, program(number))).collect::<Result<Vec<_>>>()?;
    figures.add_times("execute trivial over HTTP, 1 client", times, (0.20, "reach"));
    let times = (0..300).map(|number| trivial(client, 1_000_000 + number)).collect::<Result<Vec<_>>>()?;
    figures.add_times("the same, each program new (compiled)", times, (0.5, "reach"));

    let begun = Instant::now();
    let each = 1_000;
    std::thread::scope(|scope| -> Result<()> {
        let workers: Vec<_> = (0..32)
            .map(|_| {
                scope.spawn(move || -> Result<()> {
                    let mut client = daemon.client()?;
                    (0..each).try_for_each(|number| trivial(&mut client, program(number)).map(drop))
                })
            })
            .collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a worker does not panic"))
    })?;
    let rate = 32.0 * f64::from(each as u32) / begun.elapsed().as_secs_f64();
    figures.add(
        "the same, 32 clients",
        rate,
        "/s",
        (8_000.0, "reach"),
        "clients on the same two cores".into(),
    );
    figures.add("resident memory, after that", daemon.memory_mb()?, "MB", (150.0, "reach"), String::new());
    neighbour(figures, daemon, client)
}

/// Others while one program computes without end.
fn neighbour(figures: &mut Figures, daemon: &Daemon, client: &mut Client) -> Result<()> {
    let mut spinner = daemon.client()?;
    let spin = std::thread::spawn(move || {
        let body = json!({ "code": "const end = Date.now() + 3000; while (Date.now() < end) {} return 1" });
        spinner.post(EXECUTIONS, &body.to_string())
    });
    std::thread::sleep(Duration::from_millis(200));
    let begun = Instant::now();
    let mut times = Vec::new();
    while begun.elapsed() < Duration::from_millis(2_500) {
        times.push(trivial(client, times.len() % 64)?);
    }
    spin.join().expect("the spinner does not panic")?;
    times.sort_unstable();
    let p99 = times[times.len() * 99 / 100].as_secs_f64() * 1e3;
    figures.add(
        "another request during a CPU loop, p99",
        p99,
        "ms",
        (15.0, "reach"),
        format!("n {}", times.len()),
    );
    Ok(())
}

fn command_line(figures: &mut Figures, daemon: &Daemon) -> Result<()> {
    let timed = |run: &dyn Fn() -> Result<()>| -> Result<Vec<Duration>> {
        (0..30)
            .map(|_| {
                let begun = Instant::now();
                run()?;
                Ok(begun.elapsed())
            })
            .collect()
    };
    let mut spawn = timed(&|| {
        Command::new("true").status()?;
        Ok(())
    })?;
    spawn.sort_unstable();
    let floor = spawn[spawn.len() / 2].as_secs_f64() * 1e3;
    let times = timed(&|| daemon.run(&["run", "-e", "return 1"]).map(drop))?;
    figures.add_times("`executor run -e`, daemon running", times, (15.0, "reach"));
    figures.add("spawning `true`, the floor of that", floor, "ms", (15.0, "reach"), String::new());
    Ok(())
}

fn catalogue(figures: &mut Figures, daemon: &Daemon, client: &mut Client, origin: &str) -> Result<()> {
    let host = origin.trim_start_matches("http://");
    let (url, base) = (format!("{origin}/openapi.json"), format!("base_url={origin}"));
    let add = ["sources", "add", &url, "--name", "github", "--set", &base, "--allow-host", host, "--json"];
    let mut elapsed = Vec::new();
    for round in 0..3 {
        if round > 0 {
            daemon.run(&["sources", "remove", "github"])?;
        }
        let added: Value = serde_json::from_str(&daemon.run(&add)?)?;
        anyhow::ensure!(added["source"]["tool_count"] == 1_223, "{added}");
        elapsed.push(Duration::from_millis(added["elapsed_ms"].as_u64().context("elapsed_ms")?));
    }
    figures.add_times("GitHub's document to callable (13 MB, 1,223 tools)", elapsed, (500.0, "reach"));
    std::thread::sleep(Duration::from_secs(1));
    figures.add("resident memory, GitHub added", daemon.memory_mb()?, "MB", (100.0, "reach"), String::new());

    let queries: Vec<(&str, &str)> = QUERIES
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once('\t'))
        .collect();
    let (mut times, mut right) = (Vec::new(), 0);
    for round in 0..10 {
        for (query, expect) in &queries {
            let query = query.replace(' ', "+");
            let begun = Instant::now();
            let page =
                client.get(&format!("/v1/workspaces/default/tools?limit={}&query={query}", 5 + round))?;
            times.push(begun.elapsed());
            let page: Value = serde_json::from_str(&page)?;
            right += usize::from(page["items"][0]["path"] == *expect);
        }
    }
    figures.add_times("search, 1,223 tools", times, (1.0, "reach"));
    let recall = right as f64 / (queries.len() * 10) as f64;
    figures.add(
        "search, the right tool first",
        recall,
        "share",
        (1.0, "all"),
        format!("{} queries", queries.len()),
    );

    let mut times = Vec::new();
    for (number, (_, path)) in queries.iter().cycle().take(200).enumerate() {
        let begun = Instant::now();
        client.get(&format!("/v1/workspaces/default/tools/{path}?depth={}", 1 + number % 3))?;
        times.push(begun.elapsed());
    }
    figures.add_times("describe one GitHub operation", times, (1.0, "reach"));
    figures.add(
        "resident memory, after 200 describes",
        daemon.memory_mb()?,
        "MB",
        (100.0, "reach"),
        String::new(),
    );
    Ok(())
}

/// Calls of one tool, beside a client that calls the upstream directly.
async fn calls(figures: &mut Figures, daemon: &Daemon, client: &mut Client) -> Result<()> {
    let upstream =
        plain::start(Routes::new().on("GET", "/item", Answer::json(200, &json!({ "ok": true }))).handler())
            .await?;
    let host = upstream.origin().trim_start_matches("http://").to_owned();
    let document = json!({
        "openapi": "3.0.3", "info": { "title": "Plain", "version": "1" }, "servers": [{ "url": upstream.origin() }],
        "paths": { "/item": { "get": { "operationId": "items/get",
            "parameters": [{ "name": "n", "in": "query", "schema": { "type": "integer" } }],
            "responses": { "200": { "description": "", "content": { "application/json": {} } } } } } }
    });
    let file = tempfile::NamedTempFile::with_suffix(".json")?;
    std::fs::write(file.path(), document.to_string())?;
    let path = file.path().to_str().context("a UTF-8 path")?;
    daemon.run(&["sources", "add", path, "--name", "plain", "--allow-host", &host])?;

    let mut direct = Client::new(&host, None)?;
    let mut times = (0..500)
        .map(|number| {
            let begun = Instant::now();
            direct.get(&format!("/item?n={number}"))?;
            Ok(begun.elapsed())
        })
        .collect::<Result<Vec<_>>>()?;
    times.sort_unstable();
    let floor = times[times.len() / 2].as_secs_f64() * 1e3;
    figures.add("a direct client's call", floor, "ms", (floor, "itself"), String::new());
    let mut run = |code: &str, count: usize| -> Result<Vec<Duration>> {
        (0..count)
            .map(|number| {
                let body = json!({ "code": code, "input": number }).to_string();
                let begun = Instant::now();
                let answer = client.post(EXECUTIONS, &body)?;
                anyhow::ensure!(answer.contains("\"completed\""), "{answer}");
                Ok(begun.elapsed())
            })
            .collect()
    };
    let one = "export default async (n) => await tools.plain.items.get({ n })";
    figures.add_times(
        "one tool call from TypeScript",
        run(one, 300)?,
        (floor + 0.5, "direct + an execute + 0.3"),
    );
    let ten = "export default async (n) => { for (let i = 0; i < 10; i++) await tools.plain.items.get({ n: n + i }) }";
    figures.add_times("ten such calls, one after the other", run(ten, 100)?, (6.0, "reach"));
    let ten = "export default async (n) => { await Promise.all(Array.from({ length: 10 }, (_, i) => tools.plain.items.get({ n: n + i }))) }";
    figures.add_times("ten such calls, at the same time", run(ten, 100)?, (3.0, "reach"));
    Ok(())
}
