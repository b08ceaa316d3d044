//! Sources as people add them at the command line: what is told next, and what
//! is said of what they forgot.

use std::fs::File;

use executor_upstreams::graphql::{self, Config};
use serde_json::json;

use crate::daemon::Daemon;

const MIB: u64 = 1024 * 1024;

fn host(origin: &str) -> &str {
    origin.trim_start_matches("http://")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_is_no_step_where_anybody_may_call() {
    let (daemon, emulator) = (Daemon::start(), graphql::start(Config::default()).await.unwrap());
    let add = ["sources", "add", &emulator.endpoint(), "--name", "shop"];
    let added = daemon.run(&[&add[..], &["--allow-host", host(emulator.origin()), "--json"]].concat()).json();
    let next = json!(["executor tools search --source shop WORDS", "executor connections add shop"]);
    assert_eq!(added["next"], next, "{added}");
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_that_have_to_be_allowed_are_named_at_once() {
    let daemon = Daemon::start();
    let first = graphql::start(Config::default()).await.unwrap();
    let second = graphql::start(Config::default()).await.unwrap();
    let (one, other) = (host(first.origin()), host(second.origin()));
    let base = format!("base_url={}", second.endpoint());
    let said = daemon.run(&["sources", "add", &first.endpoint(), "--set", &base]).fails(4);
    assert!(said.contains(one) && said.contains(other), "{said}");

    let file = daemon.home().join("schema.graphql");
    std::fs::write(&file, "type Query { book(id: ID!): String }").unwrap();
    let added = daemon.run(&["sources", "add", file.to_str().unwrap(), "--name", "filed", "--set", &base]);
    assert_eq!(added.code(), 0, "{added:?}");
    assert!(added.stderr.contains(&format!("sources set filed --allow-host {other}")), "{added:?}");
}

#[test]
fn a_path_that_a_program_is_given_is_looked_for_where_it_starts() {
    let daemon = Daemon::start();
    let said = daemon.run(&["sources", "add", "--name", "near", "--", "sh", "Cargo.toml"]).fails(1);
    assert!(said.contains("where Cargo.toml is looked for") && said.contains("--directory ."), "{said}");
}

#[test]
fn a_file_may_be_as_large_as_the_setting_says() {
    let mut daemon = Daemon::start();
    let file = daemon.home().join("large.json");
    File::create(&file).unwrap().set_len(75 * MIB).unwrap();
    let add = ["sources", "add", file.to_str().unwrap()];
    let said = daemon.run(&add).fails(1);
    assert!(said.contains("64.0 MiB") && said.contains("limits.document_mib"), "{said}");
    daemon.run(&["config", "set", "limits.document_mib", "80"]).ok();
    let said = daemon.run(&add).fails(2);
    assert!(said.contains("limits.document_mib"), "the daemon has not heard of it: {said}");
    daemon.stop();
    daemon.serve();
    let said = daemon.run(&add).fails(1);
    assert!(said.contains("no adapter knows what large.json is"), "{said}");
}

#[test]
fn a_daemon_that_runs_elsewhere_stays_there() {
    let daemon = Daemon::start();
    let up = daemon.run(&["up", "--port", "1"]);
    assert_eq!(up.code(), 0, "{up:?}");
    assert!(up.stderr.contains("it runs on another port than 1"), "{up:?}");
    assert!(up.stderr.contains("`executor down`, then `executor up --port 1`"), "{up:?}");
    assert!(daemon.run(&["up"]).stderr.is_empty());
}
