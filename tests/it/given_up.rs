//! Calls of an MCP server that nobody waits for any more: the server is told,
//! whoever gave them up.

use std::fs;
use std::time::{Duration, Instant};

use executor_upstreams::program;
use serde_json::{Value, json};

use crate::daemon::Daemon;

const PATIENCE: Duration = Duration::from_secs(30);

/// A daemon whose programs may take four seconds, with a local server that
/// leaves calls of `wait` without an answer.
fn daemon(options: &[&str]) -> Daemon {
    let mut daemon = Daemon::stopped();
    fs::write(daemon.home().join("config.toml"), "[limits]\nexecute_wall_seconds = 4\n").unwrap();
    daemon.serve();
    let emulator = program::path("waiting-emulator");
    let begin = ["sources", "add", "--name", "slow", "--trusted", "--", emulator.to_str().unwrap()];
    daemon.run(&[&begin[..], options].concat()).ok();
    daemon
}

/// What the server was told since it began.
fn heard(daemon: &Daemon) -> Vec<Value> {
    let (exit, view) = daemon.execute("return (await tools.slow.heard({})).messages");
    assert_eq!(exit, 0, "{view}");
    view["result"].as_array().unwrap().clone()
}

fn calls_of_wait(heard: &[Value]) -> Vec<&Value> {
    heard.iter().filter(|message| message["tool"] == "wait").map(|message| &message["id"]).collect()
}

fn cancelled(heard: &[Value]) -> Vec<&Value> {
    let about_cancel = heard.iter().filter(|message| message["method"] == "notifications/cancelled");
    about_cancel.map(|message| &message["cancels"]).collect()
}

/// Waits until so many calls were begun and each was cancelled, once.
#[track_caller]
fn until_cancelled(daemon: &Daemon, count: usize) {
    let begun = Instant::now();
    loop {
        let heard = heard(daemon);
        let calls = calls_of_wait(&heard);
        if calls.len() == count && cancelled(&heard).len() >= count {
            assert_eq!(cancelled(&heard), calls, "{heard:?}");
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{count} calls were never all cancelled: {heard:?}");
    }
}

fn running(daemon: &Daemon) -> Option<String> {
    let list = daemon.run(&["executions", "list", "--json"]).json();
    let found = list["items"].as_array().unwrap().iter().find(|item| item["status"] == "running").cloned();
    found.map(|item| item["id"].as_str().unwrap().to_owned())
}

#[test]
fn a_server_is_told_of_each_call_that_is_given_up() {
    for options in [&[][..], &["--modern"]] {
        let daemon = daemon(options);
        assert_eq!(cancelled(&heard(&daemon)), Vec::<&Value>::new());

        // The program itself gives it up.
        let (exit, view) = daemon.execute(
            "const given = new AbortController();
             const call = tools.slow.wait({}, { signal: given.signal });
             await new Promise(resolve => setTimeout(resolve, 300));
             given.abort();
             try { await call } catch (error) { return error.name }",
        );
        assert_eq!((exit, &view["result"]), (0, &json!("AbortError")), "{view}");
        until_cancelled(&daemon, 1);

        // It returns without it.
        let (exit, view) = daemon.execute(
            "void tools.slow.wait({});
             await new Promise(resolve => setTimeout(resolve, 300));
             return 'done'",
        );
        assert_eq!((exit, &view["result"]), (0, &json!("done")), "{view}");
        until_cancelled(&daemon, 2);

        // It takes longer than it may.
        let (exit, view) = daemon.execute("return await tools.slow.wait({})");
        assert_eq!((exit, &view["error"]["code"]), (1, &json!("timeout")), "{view}");
        until_cancelled(&daemon, 3);
        let kept = daemon.run(&["executions", "show", view["id"].as_str().unwrap(), "--json"]).json();
        assert_eq!(kept["status"], "failed", "the end of its call does not undo its own: {kept}");

        // A person ends it.
        let waiting = daemon.run_beside(&["run", "--json", "-e", "return await tools.slow.wait({})"]);
        let begun = Instant::now();
        let id = loop {
            assert!(begun.elapsed() < PATIENCE, "it never ran");
            match running(&daemon) {
                Some(id) if calls_of_wait(&heard(&daemon)).len() == 4 => break id,
                _ => {}
            }
        };
        let cancelled = daemon.run(&["executions", "cancel", &id, "--json"]).json();
        assert_eq!(cancelled["status"], "cancelled", "{cancelled}");
        let output = waiting.join().unwrap();
        let view: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(view["status"], "cancelled", "{view}");
        until_cancelled(&daemon, 4);

        let audit = daemon.run(&["audit", "search", "--json", "--what", "tool.call"]).json();
        let of_wait = |record: &&Value| record["record"]["tool"] == "slow.wait";
        let records: Vec<&Value> = audit["items"].as_array().unwrap().iter().filter(of_wait).collect();
        assert_eq!(records.len(), 4, "{audit}");
        for record in records {
            let errors: Vec<&Value> =
                record["record"]["requests"].as_array().unwrap().iter().map(|sent| &sent["error"]).collect();
            assert_eq!(errors, [&Value::Null, &json!("unheard")], "what was told is on record: {record}");
        }
    }
}
