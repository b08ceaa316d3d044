//! `executor connect`: the entry in a client's configuration works as it is
//! written there, and is gone without a trace.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::daemon::Daemon;

const CURSOR: &str = "{\n  // mine\n  \"mcpServers\": {\n    \"own\": { \"command\": \"own\" },\n  },\n}\n";

const CLIENTS: [&str; 10] = [
    "claude-code",
    "claude-desktop",
    "cursor",
    "vscode",
    "vscode-insiders",
    "vscodium",
    "codex",
    "opencode",
    "zed",
    "windsurf",
];

fn cursor(daemon: &Daemon) -> PathBuf {
    let path = daemon.home().join(".cursor/mcp.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, CURSOR).unwrap();
    path
}

fn one(daemon: &Daemon, arguments: &[&str]) -> Value {
    let mut whole = vec!["connect", "--json", "--yes"];
    whole.extend(arguments);
    let mut answer = daemon.run(&whole).json();
    answer["items"][0].take()
}

fn token(daemon: &Daemon, label: &str) -> PathBuf {
    daemon.home().join(format!("clients/{label}.token"))
}

#[test]
fn a_client_is_connected_and_disconnected() {
    let daemon = Daemon::start();
    let path = cursor(&daemon);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();

    let connected = one(&daemon, &["cursor"]);
    assert_eq!(connected["status"], "connected", "{connected}");
    assert!(connected["handshake"]["tools"].as_u64().is_some_and(|tools| tools >= 2), "{connected}");
    let secret = fs::read_to_string(token(&daemon, "cursor")).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&token(&daemon, "cursor")), 0o600);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("// mine") && text.contains("\"own\""), "{text}");
    assert!(!text.contains(secret.trim()) && !connected.to_string().contains(secret.trim()));
    let backup = PathBuf::from(connected["backup"].as_str().unwrap());
    assert_eq!((fs::read_to_string(&backup).unwrap().as_str(), mode(&backup)), (CURSOR, 0o600));

    let again = one(&daemon, &["cursor"]);
    assert_eq!(
        (again["status"].as_str(), again["rotated"].as_bool()),
        (Some("already-connected"), Some(false))
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    let rotated = one(&daemon, &["cursor", "--rotate"]);
    assert!(rotated["handshake"].is_object(), "{rotated}");
    assert_ne!(fs::read_to_string(token(&daemon, "cursor")).unwrap(), secret);

    let removed = one(&daemon, &["cursor", "--remove"]);
    assert_eq!(removed["status"], "removed", "{removed}");
    assert_eq!(fs::read_to_string(&path).unwrap(), CURSOR);
    assert!(!token(&daemon, "cursor").exists());
    assert_eq!(one(&daemon, &["cursor", "--remove"])["status"], "not-connected");
}

#[test]
fn each_client_starts_what_its_file_says() {
    let daemon = Daemon::start();
    let mut arguments = vec!["connect", "--json", "--yes"];
    arguments.extend(CLIENTS);
    let answer = daemon.run(&arguments).json();
    let items = answer["items"].as_array().unwrap();
    assert_eq!(items.len(), CLIENTS.len());
    for item in items {
        assert_eq!(item["status"], "connected", "{item}");
        assert!(item["handshake"]["tools"].as_u64().is_some_and(|tools| tools >= 2), "{item}");
    }
    let listed = daemon.run(&["connect", "--json"]).json();
    for item in listed["items"].as_array().unwrap() {
        assert_eq!(item["connected"], "yes", "{item}");
    }
    arguments.push("--remove");
    daemon.run(&arguments).ok();
    let left: Vec<_> = fs::read_dir(daemon.home().join("clients")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn what_does_not_work_is_said_with_a_way_back() {
    let daemon = Daemon::start();
    let path = cursor(&daemon);
    one(&daemon, &["cursor"]);
    // Whoever has the file of a revoked token gets nowhere.
    fs::write(token(&daemon, "cursor"), "no-such-secret\n").unwrap();
    let said = daemon.run(&["connect", "cursor", "--yes"]).fails(1);
    assert!(said.contains("its command does not work"), "{said}");
    assert!(fs::read_to_string(&path).unwrap().contains("\"executor\""));
    assert!(one(&daemon, &["cursor", "--rotate"])["handshake"].is_object());
}

#[test]
fn nothing_changes_without_a_yes() {
    let daemon = Daemon::start();
    let path = cursor(&daemon);
    let said = daemon.run(&["connect", "cursor"]).fails(2);
    assert!(said.contains("+    \"executor\": {") && said.contains("--yes"), "{said}");
    let printed = daemon.run(&["connect", "--print", "codex"]).ok();
    assert!(printed.contains("[mcp_servers.executor]"), "{printed}");
    daemon.run(&["connect", "--print", "some-editor"]).ok();
    daemon.run(&["connect"]).ok();
    assert_eq!(fs::read_to_string(&path).unwrap(), CURSOR);
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    assert!(!daemon.home().join("clients").exists());
}

#[test]
fn a_project_has_an_entry_and_a_token_of_its_own() {
    let daemon = Daemon::start();
    let project = daemon.home().join("my project");
    fs::create_dir(&project).unwrap();
    let connect = |more: &[&str]| {
        let mut arguments = vec!["connect", "--json", "--yes", "--project", "claude-code"];
        arguments.extend(more);
        let output = daemon.command(&arguments).current_dir(&project).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        answer["items"][0].clone()
    };
    let connected = connect(&[]);
    assert!(connected["handshake"].is_object(), "{connected}");
    assert!(fs::read_to_string(project.join(".mcp.json")).unwrap().contains("\"mcpServers\""));
    let label = connected["token"].as_str().unwrap().to_owned();
    one(&daemon, &["claude-code"]);
    assert!(token(&daemon, &label).exists() && token(&daemon, "claude-code").exists());
    connect(&["--remove"]);
    assert!(!token(&daemon, &label).exists() && token(&daemon, "claude-code").exists());
}

/// As on a disk that is full: no file may grow beyond a kilobyte.
#[test]
fn a_write_that_fails_costs_nothing() {
    let daemon = Daemon::start();
    let path = cursor(&daemon);
    let large = format!("{{\n  \"filler\": \"{}\"\n}}\n", "x".repeat(3_000));
    fs::write(&path, &large).unwrap();
    let connect = daemon.command(&["connect", "cursor", "--yes"]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\""]);
    shell.arg(connect.get_program()).args(connect.get_args()).env_clear();
    shell.envs(connect.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = shell.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("nothing was changed"), "{said}");
    assert_eq!(fs::read_to_string(&path).unwrap(), large);
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    assert!(!token(&daemon, "cursor").exists());
}
