//! Sources that are programs of this machine: who may add one, what it gets,
//! and that nothing of it outlives the daemon.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use executor_upstreams::program;
use serde_json::{Value, json};

use crate::components::guest;
use crate::daemon::{Answer, Daemon};
use crate::identity::Person;
use crate::wire::{Wire, next_event};

const PATIENCE: Duration = Duration::from_secs(60);

/// A daemon that knows programs which speak lines of JSON.
fn daemon() -> Daemon {
    let mut daemon = Daemon::stopped();
    daemon.serve();
    daemon.run(&["component", "add", &guest("adapter_stdio"), "--yes"]).ok();
    daemon
}

/// Adds the emulator as a source.
fn add(daemon: &Daemon, options: &[&str], arguments: &[&str]) -> Answer {
    let emulator = program::path("stdio-emulator");
    let begin = ["sources", "add", "--json", "--kind", "lines"];
    let command = ["--", emulator.to_str().unwrap()];
    daemon.run(&[&begin[..], options, &command, arguments].concat())
}

fn call(daemon: &Daemon, tool: &str, arguments: &Value) -> Value {
    let code = format!("return await tools.{tool}({arguments})");
    let (exit, view) = daemon.execute(&code);
    assert_eq!(exit, 0, "{view}");
    view["result"].clone()
}

/// The processes whose arguments hold a word, guards among them.
fn processes(word: &str) -> Vec<u32> {
    let pids =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let own = std::process::id();
    pids.filter(|pid: &u32| *pid != own && command_line(*pid).is_some_and(|line| line.contains(word)))
        .collect()
}

fn command_line(pid: u32) -> Option<String> {
    let bytes = fs::read(Path::new("/proc").join(pid.to_string()).join("cmdline")).ok()?;
    Some(String::from_utf8_lossy(&bytes).replace('\0', " "))
}

#[track_caller]
fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what} never came to be");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_program_becomes_a_source_and_is_called() {
    let daemon = daemon();
    let key = daemon.home().join("key");
    fs::write(&key, "canary-key-7f\n").unwrap();
    let from = format!("KEY=@{}", key.display());
    let options = ["--name", "local", "--trusted", "--env", &from, "--directory", "/tmp"];
    let added = add(&daemon, &options, &["--mark", "a-b", "--shuffle"]).json();
    let source = &added["source"];
    assert_eq!((&source["kind"], &source["title"]), (&json!("lines"), &json!("Emulator")), "{added}");
    assert_eq!(source["connection_names"], json!(["default"]));
    assert_eq!(source["command"]["environment"], json!(["KEY"]));
    assert!(!added.to_string().contains("canary"), "{added}");

    let about = call(&daemon, "local.about", &json!({}));
    assert_eq!(about["environment"]["KEY"], "[redacted]", "it was there");
    assert_eq!(about["directory"], "/tmp");
    let names = about["environment"].as_object().unwrap();
    assert!(names.contains_key("HOME") && names["TERM"] == "dumb", "{about}");
    assert!(!names.contains_key("GITHUB_TOKEN") && !names.contains_key("EXECUTOR_HOME"), "{about}");

    let shown = daemon.run(&["sources", "show", "local"]).ok();
    assert!(shown.contains("stdio-emulator --mark a-b --shuffle") && shown.contains("/tmp"), "{shown}");
    let audit = daemon.run(&["audit", "search", "--json", "--what", "source.add"]).ok();
    assert!(
        audit.contains("stdio-emulator") && audit.contains("KEY") && !audit.contains("canary"),
        "{audit}"
    );

    let code =
        "const asked = Array.from({ length: 1000 }, (_, n) => tools.local.echo({ text: `call ${n}` }));
        const answers = await Promise.all(asked);
        return { wrong: answers.filter((answer, n) => answer.text !== `call ${n}`).length,
            pids: [...new Set(answers.map(answer => answer.pid))].length }";
    let (exit, view) = daemon.execute(code);
    assert_eq!(exit, 0, "{view}");
    assert_eq!(view["result"], json!({ "wrong": 0, "pids": 1 }));

    let refreshed = daemon.run(&["sources", "refresh", "local", "--json"]).json();
    assert_eq!(refreshed["added"], json!([]), "{refreshed}");
    call(&daemon, "local.change", &json!({}));
    let refreshed = daemon.run(&["sources", "refresh", "local", "--json"]).json();
    assert_eq!(refreshed["source"]["tool_count"], json!(11), "{refreshed}");
}

#[test]
fn each_connection_has_a_process_of_its_own_and_ends_with_it() {
    let daemon = daemon();
    let daemon = daemon.with("FIRST", "value-of-the-first").with("SECOND", "value-of-the-second");
    let mark = format!("separate-{}", std::process::id());
    add(&daemon, &["--name", "local", "--trusted", "--env", "KEY=env:FIRST"], &["--mark", &mark]).json();
    let added = daemon.run(&["connections", "add", "local", "--name", "second", "--set", "KEY=env:SECOND"]);
    assert!(added.stderr.contains("given to the program"), "{added:?}");
    added.ok();
    let pid = |connection: &str| {
        let code = format!("return (await tools.local.about({{}}, {{ connection: '{connection}' }})).pid");
        let (exit, view) = daemon.execute(&code);
        assert_eq!(exit, 0, "{view}");
        view["result"].as_u64().unwrap()
    };
    let (first, second) = (pid("default"), pid("second"));
    assert_ne!(first, second);
    assert_eq!((pid("default"), pid("second")), (first, second), "they stay");
    let there = |pid: u64| Path::new(&format!("/proc/{pid}")).exists();
    daemon.run(&["connections", "remove", "local", "second"]).ok();
    until("the end of the removed connection's process", || !there(second));
    assert!(there(first));
    daemon.run(&["connections", "remove", "local"]).ok();
    let (exit, view) = daemon.execute("return await tools.local.about({})");
    assert_eq!(exit, 1, "{view}");
    assert!(
        view["error"]["message"].as_str().unwrap().contains("connections add local --set KEY=-"),
        "{view}"
    );
    daemon.run(&["sources", "remove", "local"]).ok();
    until("the end of a removed source's processes", || processes(&mark).is_empty());
}

#[test]
fn nothing_of_a_program_outlives_a_daemon_that_is_killed() {
    let mut daemon = daemon();
    let mark = format!("killed-{}", std::process::id());
    add(&daemon, &["--name", "local", "--trusted"], &["--stubborn", "--mark", &mark]).json();
    call(&daemon, "local.spawn", &json!({}));
    until("the guard, the program and three below it", || processes(&mark).len() >= 5);
    daemon.kill();
    until("the end of all that the daemon ran", || processes(&mark).is_empty());

    daemon.serve();
    let answer = call(&daemon, "local.echo", &json!({ "text": "again" }));
    assert_eq!(answer["text"], "again", "the next daemon starts it anew");
    call(&daemon, "local.spawn", &json!({}));
    until("all of them again", || processes(&mark).len() >= 5);
    assert!(daemon.stop().success());
    assert_eq!(processes(&mark), Vec::<u32>::new(), "a daemon that ends in order waits for them");
}

#[test]
fn a_write_asks_first_and_shows_its_arguments() {
    let daemon = daemon();
    add(&daemon, &["--name", "local"], &[]).json();
    let dry = daemon.run(&["call", "local.echo", "--dry-run", "--json"]).json();
    assert_eq!(dry["decision"]["action"], "approve", "an untrusted program's hints do not count: {dry}");
    let (exit, waiting) = daemon.execute("return (await tools.local.echo({ text: 'careful' })).text");
    assert_eq!(exit, 3, "{waiting}");
    let asked = &waiting["interactions"][0];
    assert_eq!(asked["arguments"], json!({ "text": "careful" }), "{waiting}");
    let id = waiting["id"].as_str().unwrap();
    let done = daemon.run(&["resume", id, "--accept", "--yes", "--json"]).json();
    assert_eq!(done["result"], "careful", "{done}");
}

#[test]
fn what_can_not_be_a_program_is_said_before_anything_is_added() {
    let daemon = daemon();
    let refused = |arguments: &[&str], code: i32| {
        daemon.run(&[&["sources", "add", "--name", "local"], arguments].concat()).fails(code)
    };
    let said = refused(&["https://example.com/x", "--", "server"], 2);
    assert!(said.contains("cannot be used with"), "{said}");
    let said = refused(&["https://example.com/x", "--env", "A=-"], 2);
    assert!(said.contains("for a program after `--`"), "{said}");
    let said = refused(&["--env", "KEY=canary-value", "--", "server"], 2);
    assert!(said.contains("--env KEY=-") && !said.contains("canary"), "{said}");
    let said = refused(&["--", "no-such-program-here"], 1);
    assert!(
        said.contains("there is no program no-such-program-here") && said.contains("process-failed"),
        "{said}"
    );
    let said = refused(&["--kind", "openapi", "--", "server"], 1);
    assert!(
        said.contains("no kind of source that a local program can be") && said.contains("lines"),
        "{said}"
    );
    let said = refused(&["--allow-host", "localhost:1", "--", "server"], 1);
    assert!(said.contains("opens its own connections"), "{said}");
    let emulator = program::path("stdio-emulator");
    let said = refused(&["--", emulator.to_str().unwrap(), "--die"], 1);
    assert!(said.contains("status 3") && said.contains("the emulator has no key"), "{said}");
    let list = daemon.run(&["sources", "list", "--json"]).json();
    assert_eq!(list["items"], json!([]), "{list}");
    let page = daemon.run(&["explain", "process-failed"]).ok();
    assert!(page.contains("terminal"), "{page}");
}

#[test]
fn only_whoever_runs_the_installation_names_programs() {
    let daemon = daemon();
    let path = "/v1/workspaces/default/sources";
    let body = json!({ "command": { "program": "sh", "args": ["-c", "true"] }, "name": "local" });
    let owner = Wire::owner(&daemon);
    let given = json!({ "name": "helper", "capabilities": ["manage", "call", "read", "approve"] });
    let token = owner.post("/v1/tokens", &given).json();
    let helper = Wire::with(&daemon, token["secret"].as_str());
    assert_eq!(helper.post(path, &body).refused(403), "not-allowed", "a token would give itself everything");
    let bob = Person::join(&daemon, "personal", "bob", "admin");
    assert_eq!(bob.post(path, &body).refused(403), "not-allowed", "an admin runs no installation");
    let sources = daemon.run(&["sources", "list", "--json"]).json();
    assert_eq!(sources["items"], json!([]), "{sources}");
}

#[test]
fn a_program_that_is_silent_holds_up_nothing_else() {
    let daemon = daemon();
    add(&daemon, &["--name", "lively", "--trusted"], &[]).json();
    call(&daemon, "lively.echo", &json!({ "text": "the components are ready" }));
    let patience = ["--set", "patience_ms=15000"];
    let adding: Vec<_> = ["silent1", "silent2", "silent3"]
        .map(|name| {
            let emulator = program::path("stdio-emulator");
            let begin = ["sources", "add", "--kind", "lines", "--name", name];
            let command = ["--", emulator.to_str().unwrap(), "--silent"];
            daemon.run_beside(&[&begin[..], &patience, &command].concat())
        })
        .into();
    let begun = Instant::now();
    let answer = call(&daemon, "lively.echo", &json!({ "text": "a" }));
    assert_eq!(answer["text"], "a");
    daemon.run(&["sources", "refresh", "lively"]).ok();
    add(&daemon, &["--name", "other"], &[]).json();
    assert!(begun.elapsed() < Duration::from_secs(12), "{:?}", begun.elapsed());
    for added in adding {
        let output = added.join().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("did not answer"), "{said}");
    }
}

fn tools(daemon: &Daemon) -> Vec<String> {
    let found = daemon.run(&["tools", "list", "--source", "local", "--json"]).json();
    let items = found["items"].as_array().unwrap().clone();
    items.iter().map(|item| item["path"].as_str().unwrap().to_owned()).collect()
}

fn refreshes(daemon: &Daemon) -> usize {
    let records = daemon.run(&["audit", "search", "--json", "--what", "source.refresh"]).json();
    records["items"].as_array().unwrap().len()
}

#[test]
fn a_program_that_says_that_it_changed_is_indexed_once_for_all_it_said() {
    let daemon = daemon();
    let (_, mut events) = Wire::owner(&daemon).events("/v1/events");
    add(&daemon, &["--name", "local", "--trusted"], &[]).json();
    let before = tools(&daemon);
    assert!(!before.contains(&"local.third".to_owned()), "{before:?}");
    // Three at once; those that no watch heard yet are told again.
    until("a watch that hears", || {
        call(&daemon, "local.change", &json!({ "times": 3 }));
        tools(&daemon).contains(&"local.third".to_owned())
    });
    let after = tools(&daemon);
    assert_eq!(after.len(), before.len() + 3, "{after:?}");
    assert_eq!(refreshes(&daemon), 1, "what was told together is one");
    loop {
        let (kind, event) = next_event(&mut events);
        if kind == "source.refresh" {
            assert_eq!(event["about"]["added"], 3, "{event}");
            break;
        }
    }
    call(&daemon, "local.change", &json!({ "times": 50 }));
    std::thread::sleep(Duration::from_millis(1_000));
    assert_eq!(refreshes(&daemon), 1, "what is the same as before is no change");
    let echo = call(&daemon, "local.echo", &json!({ "text": "still there" }));
    assert_eq!(echo["text"], "still there");
}

#[test]
fn a_watch_keeps_no_program_and_one_that_floods_keeps_nobody() {
    let mut daemon = Daemon::stopped();
    fs::write(daemon.home().join("config.toml"), "[limits]\nprocess_idle_seconds = 2\n").unwrap();
    daemon.serve();
    daemon.run(&["component", "add", &guest("adapter_stdio"), "--yes"]).ok();
    let mark = format!("watched-{}", std::process::id());
    add(&daemon, &["--name", "local", "--trusted"], &["--mark", &mark]).json();
    call(&daemon, "local.echo", &json!({}));
    assert!(!processes(&mark).is_empty());
    until("the end of a program that is only listened to", || processes(&mark).is_empty());
    std::thread::sleep(Duration::from_millis(1_500));
    assert_eq!(processes(&mark), Vec::<u32>::new(), "nobody starts it again to listen");

    add(&daemon, &["--name", "flood", "--trusted", "--set", "watch=flood"], &[]).json();
    let begun = Instant::now();
    for _ in 0..5 {
        call(&daemon, "flood.echo", &json!({}));
    }
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    daemon.run(&["sources", "remove", "flood"]).ok();
}
