//! Executions that wait for a person: what each keeps, and how fast one goes
//! on. There is no peer's figure: it keeps what waits in memory.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use executor_upstreams::ledger::Keep;
use executor_upstreams::plain::{self, Answer, Config, Routes};
use serde_json::{Value, json};

use crate::Context;
use crate::calling::{document, host};
use crate::client::Client;
use crate::daemon::Daemon;
use crate::figures::{Row, reach};
use crate::rounds::{action, alternate, timed};

const DISK: &str = "disk that a waiting execution takes";
const MEMORY: &str = "memory that a waiting execution takes";
const ASK: &str = "an execution from its start to its question";
const RESUME: &str = "an accepted execution, from the answer to its end";
const REPLAY: &str = "the same, with 1,000 recorded calls to replay";

const WORKSPACE: &str = "/v1/workspaces/default";
/// A program that stops at a write.
const WRITE: &str = "const n = input.n; return await tools.plain.items.post({ n })";
/// The same, after a thousand reads.
const LONG: &str = "const n = input.n; for (let i = 0; i < 1000; i++) await tools.plain.items.get({ n: i }); \
     return await tools.plain.items.post({ n })";

pub(crate) fn measure(context: &mut Context<'_>) -> Result<()> {
    if !context.figures.begins("waiting", &[DISK, MEMORY, ASK, RESUME, REPLAY]) {
        return Ok(());
    }
    let home = context.homes.ours()?;
    let (daemon, _) = context.homes.start(&home)?;
    let answer = || Answer::json(200, &json!({ "ok": true }));
    let routes = Routes::new().on("GET", "/item", answer()).on("POST", "/item", answer());
    let config = Config { port: 0, keep: Keep::Count };
    let upstream = context.handle.block_on(plain::start_with(config, routes.handler()))?;
    let served =
        Answer::new(200, &[("content-type", "application/json")], document(upstream.origin()).to_string());
    let documents = Routes::new().on("GET", "/openapi.json", served);
    let documents = context.handle.block_on(plain::start(documents.handler()))?;
    let url = format!("{}/openapi.json", documents.origin());
    let hosts = [&url, upstream.origin()].map(|at| host(at).to_owned());
    let mut client = daemon.client()?;
    let request = json!({ "url": url, "name": "plain", "allow_hosts": hosts });
    client.post(&format!("{WORKSPACE}/sources"), &request.to_string())?;

    kept(context, &daemon, &home)?;
    let mut other = daemon.client()?;
    let [ask, resume] = alternate(
        context.options.plan(60, 1.0),
        [
            action(|number| Ok(timed(|| waiting(&mut client, WRITE, number))?.0)),
            action(|number| resumed(&mut other, WRITE, number)),
        ],
    );
    context.figures.add(Row::new(ASK, "ms", ask).more("with the preview, and its record on disk"));
    context
        .figures
        .add(Row::new(RESUME, "ms", resume).more("with the replay, the intent on disk and the call"));
    let mut third = daemon.client()?;
    let [replay] =
        alternate(context.options.plan(3, 0.1), [action(|number| resumed(&mut third, LONG, number))]);
    context.figures.add(Row::new(REPLAY, "ms", replay));
    Ok(())
}

/// What many of them take on disk and in memory.
fn kept(context: &mut Context<'_>, daemon: &Daemon, home: &Path) -> Result<()> {
    let count = if context.options.quick { 500 } else { 10_000 };
    let mut warm = daemon.client()?;
    for number in 0..50 {
        waiting(&mut warm, WRITE, number)?;
    }
    let before = (on_disk(home)?, daemon.memory_mb()?);
    std::thread::scope(|scope| -> Result<()> {
        let workers: Vec<_> = (0..16)
            .map(|worker| {
                scope.spawn(move || -> Result<()> {
                    let mut client = daemon.client()?;
                    (0..count / 16)
                        .try_for_each(|number| waiting(&mut client, WRITE, number * 16 + worker).map(drop))
                })
            })
            .collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a worker does not panic"))
    })?;
    std::thread::sleep(Duration::from_secs(2));
    let made = (count / 16 * 16) as f64;
    let bytes = (on_disk(home)? - before.0) as f64 / made;
    let kept_kb = (daemon.memory_mb()? - before.1) * 1000.0 / made;
    let more = format!("{made} of them");
    context.figures.add(Row::new(DISK, "bytes", bytes).reach(reach(10_240.0)).more(more.clone()));
    context.figures.add(Row::new(MEMORY, "KB", kept_kb).more(more));
    Ok(())
}

/// Runs a program to its question; the execution's id.
fn waiting(client: &mut Client, code: &str, number: usize) -> Result<String> {
    let request = json!({ "code": code, "input": { "n": number } }).to_string();
    let answer: Value = serde_json::from_str(&client.post(&format!("{WORKSPACE}/executions"), &request)?)?;
    ensure!(answer["status"] == "waiting_for_interaction", "it does not wait: {answer}");
    Ok(answer["id"].as_str().context("an execution has an id")?.to_owned())
}

/// How long an execution that waits takes from the answer to its end.
fn resumed(client: &mut Client, code: &str, number: usize) -> Result<Duration> {
    let id = waiting(client, code, number)?;
    let path = format!("{WORKSPACE}/executions/{id}/resume");
    let (took, answer) = timed(|| client.post(&path, r#"{"action":"accept"}"#))?;
    let answer: Value = serde_json::from_str(&answer)?;
    ensure!(answer["status"] == "completed", "it did not end: {answer}");
    Ok(took)
}

/// What the executions of a home take, in bytes.
fn on_disk(home: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(home.join("workspaces/default"))? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with("executions.db") {
            bytes += entry.metadata()?.len();
        }
    }
    Ok(bytes)
}
