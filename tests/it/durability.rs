//! What survives: a daemon that is killed at the worst moments, a cache that
//! is deleted under it.

use std::time::{Duration, Instant};

use executor_upstreams::github::{Fault, FaultKind};

use crate::daemon::{Daemon, emulator, execution_id};

const CREATE: &str = r#"return (await tools.github.issues.create(
    { owner: "octocat", repo: "hello-world", body: { title: "once" } })).title"#;
const ISSUES: &str = "/repos/octocat/hello-world/issues";

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_execution_outlives_a_killed_daemon() {
    let (mut daemon, emulator) = (Daemon::start(), emulator().await);
    daemon.add_github(&emulator);
    let (_, waiting) = daemon.execute(&format!(
        "const before = (await tools.github.issues.listForRepo({{ owner: 'octocat', repo: 'hello-world' }})).length;
         const at = Date.now(), id = crypto.randomUUID();
         console.log('once', id);
         const title = await (async () => {{ {CREATE} }})();
         return {{ before, at, id, title }}"
    ));
    let id = execution_id(waiting["id"].as_str().unwrap());
    let reads = emulator.ledger.matching("GET", ISSUES).len();
    daemon.kill();
    daemon.serve();
    let done = daemon.run(&["resume", &id, "--accept", "--yes", "--json"]).json();
    assert_eq!(done["status"], "completed", "{done}");
    assert_eq!(done["result"]["title"], "once", "{done}");
    assert_eq!(emulator.ledger.matching("GET", ISSUES).len(), reads, "what was read is not read again");
    assert_eq!(emulator.ledger.matching("POST", ISSUES).len(), 1);
    let logs = done["logs"].as_array().unwrap();
    assert_eq!(logs.len(), 1, "what was said is not said twice: {done}");
    assert!(logs[0]["text"].as_str().unwrap().contains(done["result"]["id"].as_str().unwrap()), "{done}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_under_way_at_a_kill_is_unknown_and_never_sent_again() {
    let (mut daemon, emulator) = (Daemon::start(), emulator().await);
    daemon.add_github(&emulator);
    daemon.run(&["policies", "add", "github.*", "allow"]).ok();
    emulator.fault(Fault::new("POST", ISSUES, FaultKind::SlowHeaders { delay_ms: 60_000 }));
    let run = daemon.run_beside(&["run", "-e", CREATE]);
    let begun = Instant::now();
    while emulator.ledger.matching("POST", ISSUES).is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the request never came");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    daemon.kill();
    run.join().unwrap();
    emulator.clear_faults();
    daemon.serve();

    let list = daemon.run(&["executions", "list", "--json"]).json();
    let execution = &list["items"][0];
    assert_eq!(execution["status"], "failed", "{list}");
    assert_eq!(execution["error"]["code"], "outcome-unknown", "{list}");
    let trace = daemon.run(&["executions", "trace", execution["id"].as_str().unwrap(), "--json"]).json();
    assert_eq!(trace["calls"][0]["status"], "unknown", "{trace}");
    assert_eq!(emulator.ledger.matching("POST", ISSUES).len(), 1, "it is never sent again");
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_the_cache_under_a_daemon_costs_nothing_but_time() {
    let (daemon, emulator) = (Daemon::start(), emulator().await);
    daemon.add_github(&emulator);
    std::fs::remove_dir_all(daemon.home().join("cache/sled")).unwrap();
    let read = "return (await tools.github.users.getAuthenticated({})).login";
    for _ in 0..3 {
        let (code, done) = daemon.execute(read);
        assert_eq!((code, &done["result"]), (0, &"octocat".into()), "{done}");
    }
    daemon.run(&["sources", "refresh", "github"]).ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn sources_and_executions_are_there_after_a_restart() {
    let (mut daemon, emulator) = (Daemon::start(), emulator().await);
    daemon.add_github(&emulator);
    let (_, done) = daemon.execute("return 42");
    assert!(daemon.stop().success());
    daemon.serve();
    let shown = daemon.run(&["executions", "show", done["id"].as_str().unwrap(), "--json"]).json();
    assert_eq!(shown["result"], 42, "{shown}");
    let (code, done) = daemon.execute("return (await tools.github.users.getAuthenticated({})).login");
    assert_eq!((code, &done["result"]), (0, &"octocat".into()), "{done}");
}

#[test]
fn a_home_has_one_owner_and_a_port_has_one_holder() {
    let daemon = Daemon::start();
    let second = daemon.run(&["serve", "--port", "auto"]);
    let said = second.fails(1);
    assert!(said.contains("process"), "it names who owns the home: {said}");

    let other = Daemon::stopped();
    let status = daemon.run(&["status", "--json"]).json();
    let address = status["address"].as_str().unwrap_or_else(|| panic!("{status}"));
    let port = address.rsplit(':').next().unwrap().trim_end_matches('/');
    let said = other.run(&["serve", "--port", port]).fails(2);
    assert!(said.contains(port) && said.contains("executor"), "it names who holds the port: {said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nearly_full_disk_takes_no_new_work_and_says_so() {
    let mut daemon = Daemon::stopped();
    std::fs::write(daemon.home().join("config.toml"), "[storage]\ndisk_floor_mib = 1000000000\n").unwrap();
    daemon.serve();
    let refused = daemon.run(&["run", "-e", "return 1"]);
    assert_eq!(refused.code(), 1, "{refused:?}");
    assert!(refused.stderr.contains("MiB are free"), "{refused:?}");
    let doctor = daemon.run(&["doctor"]);
    assert!(format!("{}{}", doctor.stdout, doctor.stderr).contains("MiB are free"), "{doctor:?}");
}
