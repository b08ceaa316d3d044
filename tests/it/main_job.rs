//! The main job: GitHub's real document, TypeScript, an approval.

use serde_json::json;

use crate::daemon::{Daemon, TOKEN, emulator, execution_id};

/// Queries whose right tool must come first.
const QUERIES: &str = include_str!("../../host/control/src/search/queries_github.txt");

#[tokio::test(flavor = "multi_thread")]
async fn github_becomes_tools_that_are_found_described_and_called() {
    let (daemon, emulator) = (Daemon::start(), emulator().await);
    daemon.add_github(&emulator);

    let source = daemon.run(&["sources", "show", "github", "--json"]).json();
    assert_eq!(source["tool_count"], 1223, "{source}");
    assert_eq!(source["origins"], json!([emulator.origin()]));

    let queries: Vec<(&str, &str)> = QUERIES
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once('\t'))
        .collect();
    assert!(queries.len() >= 20, "{} queries are listed", queries.len());
    for (query, expect) in queries {
        let page = daemon.run(&["tools", "search", "--json", query]).json();
        assert_eq!(page["items"][0]["path"], expect, "{query}: {}", page["items"]);
    }

    let described = daemon.run(&["tools", "describe", "github.issues.create"]).ok();
    assert!(described.contains("tools.github.issues.create("), "{described}");
    assert!(described.contains("title"), "{described}");

    let called = daemon.run(&[
        "call",
        "github",
        "issues",
        "list-for-repo",
        r#"{"owner":"octocat","repo":"hello-world"}"#,
    ]);
    assert!(called.fails(1).contains("github.issues.listForRepo"), "a near miss is pointed at");
    let issues = daemon
        .run(&["call", "github", "issues", "listForRepo", "--owner", "octocat", "--repo", "hello-world"])
        .json();
    assert!(issues.as_array().is_some_and(|issues| !issues.is_empty()), "{issues}");
    let sent = emulator.ledger.matching("GET", "/repos/octocat/hello-world/issues");
    assert_eq!(sent.last().unwrap().header("authorization"), Some(format!("Bearer {TOKEN}").as_str()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_stops_at_a_write_and_goes_on_after_a_yes() {
    let (daemon, emulator) = (Daemon::start(), emulator().await);
    daemon.add_github(&emulator);
    let before = emulator.ledger.matching("POST", "/repos/octocat/hello-world/issues").len();

    let waiting = daemon.run(&["run", "--no-input", "../../tests/demo/triage.ts"]);
    assert_eq!(waiting.code(), 3, "{waiting:?}");
    let text = format!("{}{}", waiting.stdout, waiting.stderr);
    for expect in
        ["github.issues.create", "POST", "/repos/octocat/hello-world/issues", "--accept", "--decline"]
    {
        assert!(text.contains(expect), "{expect} is missing in {text}");
    }
    assert!(!text.contains(TOKEN), "the preview shows no credential");
    let post = || emulator.ledger.matching("POST", "/repos/octocat/hello-world/issues").len() - before;
    assert_eq!(post(), 0, "nothing was sent before the answer");
    let reads = emulator.ledger.matching("GET", "/user").len();

    let id = execution_id(&text);
    let refused = daemon.run(&["resume", &id, "--accept"]);
    assert_eq!(refused.code(), 2, "without a terminal a yes must be said: {refused:?}");
    let done = daemon.run(&["resume", &id, "--accept", "--yes", "--json"]).json();
    assert_eq!(done["status"], "completed", "{done}");
    assert_eq!(done["result"]["seenBy"], "octocat", "{done}");
    assert_eq!(post(), 1);
    assert_eq!(emulator.ledger.matching("GET", "/user").len(), reads, "reads are not sent again on resume");

    let again = daemon.run(&["resume", &id, "--accept", "--yes", "--json"]).json();
    assert_eq!(again["result"], done["result"], "a second yes gets the recorded outcome");
    assert_eq!(post(), 1, "and sends nothing");

    let audit = daemon.run(&["audit", "search", "--json"]).ok();
    for expect in ["approval.ask", "approval.answer", "tool.call", "github.issues.create"] {
        assert!(audit.contains(expect), "{expect} is missing in {audit}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_shows_the_request_and_sends_nothing() {
    let (daemon, emulator) = (Daemon::start(), emulator().await);
    daemon.add_github(&emulator);
    let count = emulator.ledger.count();
    let arguments = r#"{"owner":"octocat","repo":"hello-world","body":{"title":"dry"}}"#;
    let shown = daemon.run(&["call", "github.issues.create", arguments, "--dry-run", "--json"]).json();
    assert_eq!(shown["decision"]["action"], "approve", "{shown}");
    assert_eq!(shown["request"]["method"], "POST", "{shown}");
    assert!(shown["request"]["body"].as_str().is_some_and(|body| body.contains("dry")), "{shown}");
    assert!(!shown.to_string().contains(TOKEN));
    assert_eq!(emulator.ledger.count(), count);
}
