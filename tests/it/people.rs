//! People in the loop: questions that adapters ask, waits that outlast
//! restarts and upgrades, and a record that can't be changed unnoticed.

use std::path::Path;

use executor_upstreams::github::{Fault, FaultKind};
use executor_upstreams::plain;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::components::{add_plain_source, guest, hello};
use crate::daemon::{Daemon, emulator, execution_id};
use crate::wire::Wire;

const RUN: &str = "/v1/workspaces/default/executions";
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// A source of the adapter that a stranger wrote.
async fn add_plain(daemon: &Daemon) -> plain::Upstream {
    let upstream = hello().await;
    daemon.run(&["component", "add", &guest("adapter_plain"), "--yes"]).ok();
    add_plain_source(daemon, "default", upstream.origin());
    upstream
}

/// The executions of a daemon that does not run.
fn database(daemon: &Daemon) -> Connection {
    Connection::open(daemon.home().join("workspaces/default/executions.db")).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_adapter_asks_a_form_and_a_page_across_restarts() {
    let mut daemon = Daemon::start();
    let _upstream = add_plain(&daemon).await;
    let (code, waiting) = daemon.execute("return await tools.mine.ask({page: 'https://elsewhere.test/x'})");
    assert_eq!(code, 3, "{waiting}");
    let id = execution_id(waiting["id"].as_str().unwrap());
    let form = &waiting["interactions"][0];
    assert_eq!((&form["kind"], &form["asked_by"]), (&json!("form"), &json!("plain")), "{waiting}");
    assert_eq!(form["schema"]["required"], json!(["title"]), "{form}");

    let owner = Wire::owner(&daemon);
    let resume = format!("{RUN}/{id}/resume");
    let added = owner.post("/v1/tokens", &json!({"name": "agent"})).json();
    let wrong = owner.post(&resume, &json!({"action": "accept", "content": {"title": 3}}));
    assert_eq!(wrong.refused(422), "invalid-answer");
    let more = owner.post(&resume, &json!({"action": "accept", "content": {"title": "x", "more": 1}}));
    assert_eq!(more.refused(422), "invalid-answer");
    assert_eq!(owner.post(&resume, &json!({"action": "accept"})).refused(422), "invalid-answer");

    daemon.kill();
    daemon.serve();
    let filled =
        daemon.run(&["resume", &id, "--accept", "--content", r#"{"title":"from a person"}"#, "--json"]);
    assert_eq!(filled.code(), 3, "it asks once more: {filled:?}");
    let waiting: Value = serde_json::from_str(&filled.stdout).unwrap();
    let page = &waiting["interactions"][0];
    assert_eq!(
        (&page["kind"], &page["url"]),
        (&json!("url"), &json!("https://elsewhere.test/x")),
        "{waiting}"
    );
    assert_eq!(page["url_is_of_source"], false, "a page of another origin is said to be one");

    let agent = Wire::with(&daemon, added["secret"].as_str());
    assert_eq!(agent.get(&format!("{RUN}/{id}")).refused(404), "not-found", "another's execution is none");
    daemon.kill();
    daemon.serve();
    let done = daemon.run(&["resume", &id, "--accept", "--yes", "--json"]).json();
    assert_eq!(done["result"], json!({"form": {"title": "from a person"}, "page": null}), "{done}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_may_change_something_asks_as_well() {
    let mut daemon = Daemon::start();
    let _upstream = add_plain(&daemon).await;
    daemon.run(&["policies", "add", "mine.*", "allow"]).ok();
    let (code, waiting) = daemon.execute("return await tools.mine.askWrite({})");
    assert_eq!(code, 3, "{waiting}");
    let id = execution_id(waiting["id"].as_str().unwrap());
    daemon.kill();
    daemon.serve();
    let filled = daemon.run(&["resume", &id, "--accept", "--content", r#"{"title":"t"}"#, "--json"]);
    assert_eq!(filled.code(), 3, "it asks once more: {filled:?}");
    let done = daemon.run(&["resume", &id, "--accept", "--yes", "--json"]).json();
    assert_eq!(done["result"], json!({"form": {"title": "t"}, "page": null}), "{done}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_may_be_filled_in_by_a_model_and_never_asks_for_a_secret() {
    let daemon = Daemon::start();
    let _upstream = add_plain(&daemon).await;
    let owner = Wire::owner(&daemon);
    let added = owner.post("/v1/tokens", &json!({"name": "agent"})).json();
    let agent = Wire::with(&daemon, added["secret"].as_str());
    let waiting = agent.post(RUN, &json!({"code": "return await tools.mine.ask({})"})).json();
    let resume = format!("{RUN}/{}/resume", waiting["id"].as_str().unwrap());
    let content = json!({"action": "accept", "content": {"title": "by a model"}});
    let waiting = agent.post(&resume, &content);
    assert_eq!(waiting.status, 202, "{waiting:?}");
    let accept = json!({"action": "accept"});
    assert_eq!(agent.post(&resume, &accept).refused(403), "approval-not-yours", "a page is for a person");
    let done = agent.post(&resume, &json!({"action": "decline"})).json();
    assert_eq!(done["result"], json!({"form": {"title": "by a model"}, "page": "declined"}), "{done}");

    let (_, refused) = daemon.execute("return await tools.mine.ask({secret: true}, {raw: true})");
    assert_eq!(refused["result"]["error"]["code"], "secret-asked", "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn human_time_counts_nowhere_and_a_question_expires() {
    let (mut daemon, emulator) = (Daemon::start(), emulator().await);
    daemon.add_github(&emulator);
    let write = "const at = Date.now(); await tools.github.issues.create({owner: 'octocat', repo: 'hello-world', body: {title: 't'}}); return at";
    let ids: Vec<String> =
        (0..2).map(|_| daemon.execute(write).1["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(daemon.stop().code(), Some(0));
    let aged = database(&daemon);
    let age = |id: &str, by_ms: i64| {
        for sql in [
            "UPDATE executions SET created_ms = created_ms - ?2, changed_ms = changed_ms - ?2 WHERE id = ?1",
            "UPDATE interactions SET created_ms = created_ms - ?2 WHERE execution = ?1",
        ] {
            assert_eq!(aged.execute(sql, rusqlite::params![id, by_ms]).unwrap(), 1);
        }
    };
    age(&ids[0], 3 * DAY_MS);
    age(&ids[1], 8 * DAY_MS);
    drop(aged);
    daemon.serve();
    let done = daemon.run(&["resume", &ids[0], "--accept", "--yes", "--json"]).json();
    assert_eq!(done["status"], "completed", "three days under a limit of five minutes: {done}");
    let expired = loop {
        let view = daemon.run(&["executions", "show", &ids[1], "--json"]).json();
        if view["status"] != "waiting_for_interaction" {
            break view;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    };
    assert_eq!(
        (&expired["status"], &expired["error"]["code"]),
        (&json!("failed"), &json!("expired")),
        "{expired}"
    );
    assert_eq!(emulator.ledger.matching("POST", "/repos/octocat/hello-world/issues").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_shows_what_differs_from_the_last_one() {
    let (daemon, emulator) = (Daemon::start(), emulator().await);
    daemon.add_github(&emulator);
    let write = |title: &str| {
        format!(
            "await tools.github.issues.create({{owner: 'octocat', repo: 'hello-world', body: {{title: '{title}'}}}})"
        )
    };
    let (_, first) = daemon.execute(&write("one"));
    assert!(first["interactions"][0]["changes"].is_null(), "{first}");
    daemon.run(&["resume", first["id"].as_str().unwrap(), "--accept", "--yes"]).ok();
    let (_, second) = daemon.execute(&write("two"));
    assert_eq!(
        second["interactions"][0]["changes"],
        json!([{"pointer": "/body/title", "before": "one", "after": "two"}]),
        "{second}"
    );
    let shown = daemon.run(&["executions", "show", second["id"].as_str().unwrap()]).stderr;
    assert!(
        shown.contains("other than the last one that was allowed") && shown.contains("one → two"),
        "{shown}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_execution_goes_on_in_the_engine_that_it_began_with() {
    let (mut daemon, emulator) = (Daemon::start(), emulator().await);
    daemon.add_github(&emulator);
    let (_, waiting) = daemon.execute(
        "await tools.github.issues.create({owner: 'octocat', repo: 'hello-world', body: {title: 't'}}); return 'gone on'",
    );
    let id = waiting["id"].as_str().unwrap();
    let stored: Vec<_> = std::fs::read_dir(daemon.home().join("components")).unwrap().flatten().collect();
    assert_eq!(stored.len(), 1, "the engine's bytes are kept while something waits on it");
    // As after an upgrade: the execution began with an engine that is not the
    // one of this binary. A custom section makes another component of it.
    let mut bytes = std::fs::read(stored[0].path()).unwrap();
    bytes.extend([0, 5, 4, b'p', b'a', b's', b't']);
    daemon.stop();
    let older = another_engine(&daemon, id, &bytes);
    std::fs::remove_file(stored[0].path()).unwrap();
    daemon.serve();
    let done = daemon.run(&["resume", id, "--accept", "--yes", "--json"]).json();
    assert_eq!(done["result"], "gone on", "{done}");
    daemon.stop();
    daemon.serve();
    // What nothing needs is put away, soon after the start.
    daemon.until(|_| !older.exists());

    let (_, waiting) = daemon.execute(
        "await tools.github.issues.create({owner: 'octocat', repo: 'hello-world', body: {title: 't'}})",
    );
    let id = waiting["id"].as_str().unwrap();
    daemon.stop();
    another_engine(&daemon, id, b"gone");
    for entry in std::fs::read_dir(daemon.home().join("components")).unwrap().flatten() {
        std::fs::remove_file(entry.path()).unwrap();
    }
    daemon.serve();
    let refused = daemon.run(&["resume", id, "--accept", "--yes"]).fails(1);
    assert!(refused.contains("rerun"), "{refused}");
}

/// Pins an execution to other bytes, which are put into the home.
fn another_engine(daemon: &Daemon, id: &str, bytes: &[u8]) -> std::path::PathBuf {
    use sha2::{Digest as _, Sha256};
    let digest = Sha256::digest(bytes);
    let name: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let path = daemon.home().join("components").join(format!("{name}.wasm"));
    std::fs::write(&path, bytes).unwrap();
    let sql = "UPDATE executions SET engine = ?2 WHERE id = ?1";
    assert_eq!(database(daemon).execute(sql, rusqlite::params![id, &digest[..]]).unwrap(), 1);
    path
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_was_changed_is_found() {
    let mut daemon = Daemon::start();
    for pattern in ["a.*", "b.*", "c.*"] {
        daemon.run(&["policies", "add", pattern, "block"]).ok();
    }
    assert!(daemon.run(&["audit", "verify"]).ok().contains("holds: 3 records"));
    let exported = daemon.run(&["audit", "export"]).ok();
    assert_eq!(exported.lines().count(), 3);
    assert!(exported.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{exported}");
    let found = daemon.run(&["audit", "search", "B.*", "--what", "policy.", "--json"]).json();
    assert_eq!(found["items"].as_array().unwrap().len(), 1, "{found}");
    assert!(daemon.run(&["audit", "search", "--since", "yesterday"]).fails(2).contains("no time"));

    let tamper = [
        ("record 2", "UPDATE audit SET body = replace(body, 'b.*', 'z.*') WHERE sequence = 2"),
        ("record 3", "DELETE FROM audit WHERE sequence = 3"),
        ("record 4", "INSERT INTO audit SELECT 4, at_ms, hash, body FROM audit WHERE sequence = 1"),
    ];
    daemon.stop();
    let file = daemon.home().join("workspaces/default/executions.db");
    // Into the file itself, so that it alone can be put back.
    database(&daemon).query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    let sound = std::fs::read(&file).unwrap();
    for (expect, tamper) in tamper {
        std::fs::write(&file, &sound).unwrap();
        remove_log(&file);
        assert_eq!(Connection::open(&file).unwrap().execute(tamper, []).unwrap(), 1);
        daemon.serve();
        let verdict = daemon.run(&["audit", "verify"]);
        assert_eq!(verdict.code(), 1, "{verdict:?}");
        assert!(verdict.stdout.contains(expect), "{expect}: {verdict:?}");
        daemon.stop();
    }
}

fn remove_log(file: &Path) {
    for ending in ["-wal", "-shm"] {
        let mut log = file.as_os_str().to_owned();
        log.push(ending);
        let _ = std::fs::remove_file(log);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_dies_between_an_answer_and_the_call_sends_nothing() {
    let (mut daemon, emulator) = (Daemon::start(), emulator().await);
    daemon.add_github(&emulator);
    let write = "return await tools.github.issues.create({owner: 'octocat', repo: 'hello-world', body: {title: 't'}})";
    let (_, waiting) = daemon.execute(write);
    let id = waiting["id"].as_str().unwrap();
    daemon.kill();
    // As the answer is committed, before the program runs again.
    let executions = database(&daemon);
    for sql in [
        "UPDATE interactions SET status = 'accepted' WHERE execution = ?1",
        "UPDATE executions SET status = 'running' WHERE id = ?1",
    ] {
        assert_eq!(executions.execute(sql, [id]).unwrap(), 1);
    }
    drop(executions);
    daemon.serve();
    let view = daemon.run(&["executions", "show", id, "--json"]).json();
    assert_eq!(
        (&view["status"], &view["error"]["code"]),
        (&json!("failed"), &json!("interrupted")),
        "{view}"
    );
    assert!(emulator.ledger.matching("POST", "/repos/octocat/hello-world/issues").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_dies_while_an_accepted_call_is_under_way_never_sends_it_again() {
    let (mut daemon, emulator) = (Daemon::start(), emulator().await);
    daemon.add_github(&emulator);
    let issues = "/repos/octocat/hello-world/issues";
    let write = "return await tools.github.issues.create({owner: 'octocat', repo: 'hello-world', body: {title: 't'}})";
    let (_, waiting) = daemon.execute(write);
    let id = waiting["id"].as_str().unwrap();
    emulator.fault(Fault::new("POST", issues, FaultKind::SlowHeaders { delay_ms: 60_000 }));
    let resuming = daemon.run_beside(&["resume", id, "--accept", "--yes"]);
    while emulator.ledger.matching("POST", issues).is_empty() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    daemon.kill();
    resuming.join().unwrap();
    emulator.clear_faults();
    daemon.serve();
    let view = daemon.run(&["executions", "show", id, "--json"]).json();
    assert_eq!(view["error"]["code"], "outcome-unknown", "{view}");
    assert_eq!(view["error"]["details"]["unknown"], json!(["tools.github.issues.create"]), "{view}");
    daemon.run(&["resume", id, "--accept", "--yes"]);
    assert_eq!(emulator.ledger.matching("POST", issues).len(), 1, "it is never sent again");
}
