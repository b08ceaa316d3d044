//! Many clients beside programs that take what they can get.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::daemon::Daemon;

const CLIENTS: usize = 32;
const RUNS: usize = 4;
/// Time ends an offender that nothing else ends; no client needs a part of it.
const LIMITS: &str = "[limits]\nexecute_wall_seconds = 5\nexecute_cpu_seconds = 600\n";
/// Past it something hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// Programs that never end by themselves, and how each is ended.
const OFFENDERS: [(&str, &str, &str); 3] = [
    ("a CPU loop", "while (true) {}", "timeout"),
    ("a memory hog", "const a = []; while (true) a.push(new Array(1e5).fill(1.5))", "out-of-memory"),
    ("a flood of logs", "while (true) console.log('flood '.repeat(100))", "timeout"),
];

#[test]
fn offenders_end_with_their_own_errors_and_spoil_nobodys_answers() {
    let mut daemon = Daemon::stopped();
    std::fs::write(daemon.home().join("config.toml"), LIMITS).unwrap();
    daemon.serve();
    daemon.execute("return 'warm'");
    let daemon = Arc::new(daemon);
    let begun = Instant::now();
    let offenders = OFFENDERS.map(|(_, code, _)| daemon.run_beside(&["run", "--json", "-e", code]));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let daemon = Arc::clone(&daemon);
            std::thread::spawn(move || (0..RUNS).for_each(|run| is_right(&daemon, client, run)))
        })
        .collect();
    for client in clients {
        client.join().unwrap();
    }

    for ((name, _, expect), offender) in OFFENDERS.into_iter().zip(offenders) {
        let output = offender.join().unwrap();
        let view: Value = serde_json::from_slice(&output.stdout).unwrap();
        let error = &view["error"];
        assert_eq!((&view["status"], &error["code"]), (&"failed".into(), &expect.into()), "{name}: {error}");
        if name == "a flood of logs" {
            let logs = view["logs"].as_array().unwrap();
            let bytes: usize = logs.iter().map(|log| log["text"].as_str().unwrap().len()).sum();
            assert!(bytes <= 1024 * 1024 + 100, "{bytes} bytes of logs are kept");
            let last = logs.last().unwrap();
            assert_eq!(last["level"], "warn", "{last}");
            assert!(last["text"].as_str().unwrap().contains("the log is full"), "{last}");
        }
    }
    assert!(begun.elapsed() < PATIENCE, "it took {:?}", begun.elapsed());

    let failed = daemon.run(&["executions", "list", "--status", "failed", "--json"]).json();
    assert_eq!(failed["items"].as_array().unwrap().len(), OFFENDERS.len(), "nothing else fails: {failed}");
    let running = daemon.run(&["executions", "list", "--status", "running", "--json"]).json();
    assert_eq!(running["items"].as_array().unwrap().len(), 0, "nothing is left over: {running}");
    let (exit, view) = daemon.execute("return 'still here'");
    assert_eq!((exit, &view["result"]), (0, &"still here".into()), "{view}");
}

/// One program of one client: its answer and its logs are its own.
#[track_caller]
fn is_right(daemon: &Daemon, client: usize, run: usize) {
    let code = format!(
        "const mine = await Promise.all([1, 2, 3].map(async (n: number) => n * {client} + {run}));
         console.log('client {client} run {run}');
         return {{ mine, found: (await tools.search({{ query: 'nothing' }})).items.length }}"
    );
    let (exit, view) = daemon.execute(&code);
    assert_eq!((exit, &view["status"]), (0, &"completed".into()), "client {client}, run {run}: {view}");
    let mine: Vec<usize> = [1, 2, 3].map(|n| n * client + run).into();
    assert_eq!(view["result"], serde_json::json!({ "mine": mine, "found": 0 }), "client {client}, run {run}");
    let logs = view["logs"].as_array().unwrap();
    assert_eq!(logs.len(), 1, "client {client}, run {run}: {view}");
    assert_eq!(logs[0]["text"], format!("client {client} run {run}"), "{view}");
}
