//! Policies and approvals, from the command line.

use crate::daemon::{Daemon, emulator, execution_id};

const CREATE: &str = r#"
    try {
        const made = await tools.github.issues.create({ owner: "octocat", repo: "hello-world", body: { title: "t" } });
        return made.title;
    } catch (error) { return [error.name, error.code]; }"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_no_reaches_the_program_and_nothing_is_sent() {
    let (daemon, emulator) = (Daemon::start(), emulator().await);
    daemon.add_github(&emulator);
    let (code, waiting) = daemon.execute(CREATE);
    assert_eq!((code, &waiting["status"]), (3, &"waiting_for_interaction".into()), "{waiting}");
    let id = execution_id(waiting["id"].as_str().unwrap());
    let done = daemon.run(&["resume", &id, "--decline", "--json"]).json();
    assert_eq!(done["result"], serde_json::json!(["ToolError", "denied"]), "{done}");
    assert!(emulator.ledger.matching("POST", "/repos/octocat/hello-world/issues").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn policies_allow_block_and_hide() {
    let (daemon, emulator) = (Daemon::start(), emulator().await);
    daemon.add_github(&emulator);

    daemon.run(&["policies", "add", "github.issues.create", "allow"]).ok();
    let (code, done) = daemon.execute(CREATE);
    assert_eq!((code, &done["result"]), (0, &"t".into()), "{done}");

    daemon.run(&["policies", "add", "github.issues.*", "block", "--level", "organization"]).ok();
    let (_, done) = daemon.execute(CREATE);
    assert_eq!(
        done["result"],
        serde_json::json!(["ToolError", "denied"]),
        "the outer level can't be weakened: {done}"
    );
    let page = daemon.run(&["tools", "search", "--json", "create an issue"]).json();
    let found = page["items"].to_string();
    assert!(!found.contains("github.issues."), "what is blocked is not found: {found}");
    let tested = daemon.run(&["policies", "test", "github.issues.create", "--json"]).json();
    assert_eq!(tested["action"], "block", "{tested}");
    let refused =
        daemon.run(&["call", "github.issues.listForRepo", r#"{"owner":"octocat","repo":"hello-world"}"#]);
    assert_eq!(refused.code(), 4, "denied by policy has an exit code: {refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn allowed_from_now_on_does_not_ask_again() {
    let (daemon, emulator) = (Daemon::start(), emulator().await);
    daemon.add_github(&emulator);
    let (_, waiting) = daemon.execute(CREATE);
    let id = execution_id(waiting["id"].as_str().unwrap());
    daemon.run(&["resume", &id, "--accept", "--yes", "--remember"]).ok();
    let (code, done) = daemon.execute(CREATE);
    assert_eq!((code, &done["status"]), (0, &"completed".into()), "{done}");
    assert_eq!(emulator.ledger.matching("POST", "/repos/octocat/hello-world/issues").len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_are_checked_before_anybody_is_asked() {
    let (daemon, emulator) = (Daemon::start(), emulator().await);
    daemon.add_github(&emulator);
    let (code, failed) = daemon.execute(
        "await tools.github.issues.create({ owner: 'octocat', repository: 'hello-world', body: { title: 't' } })",
    );
    assert_eq!(code, 1, "{failed}");
    let message = failed["error"]["message"].as_str().unwrap();
    assert!(message.contains("repository") && message.contains("repo"), "{message}");
    let pending = daemon.run(&["executions", "list", "--json"]).ok();
    assert!(!pending.contains("waiting_for_interaction"), "{pending}");
    let (_, failed) = daemon.execute("return await tools.github.issue.create({})");
    assert!(failed["error"]["message"].as_str().unwrap().contains("github.issues.create"), "{failed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_execution_is_over() {
    let (daemon, emulator) = (Daemon::start(), emulator().await);
    daemon.add_github(&emulator);
    let (_, waiting) = daemon.execute(CREATE);
    let id = execution_id(waiting["id"].as_str().unwrap());
    let cancelled = daemon.run(&["resume", &id, "--cancel", "--json"]);
    let view: serde_json::Value = serde_json::from_str(&cancelled.stdout).unwrap();
    assert_eq!(view["status"], "cancelled", "{view}");
    let again = daemon.run(&["executions", "cancel", &id]);
    assert_ne!(again.code(), 0, "{again:?}");
}
