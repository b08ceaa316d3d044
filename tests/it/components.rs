//! Components that strangers wrote.

use std::fs;
use std::path::PathBuf;

use executor_upstreams::plain::{self, Answer, Routes};

use crate::daemon::Daemon;

pub(crate) fn guest(name: &str) -> String {
    let directory = std::env::var_os("EXECUTOR_GUESTS").map_or_else(
        || PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("../wasm32-wasip2/release"),
        PathBuf::from,
    );
    let path = directory.join(format!("{name}.wasm"));
    assert!(path.is_file(), "{} is missing: run `make guests`", path.display());
    path.to_str().unwrap().to_owned()
}

/// What a source of the adapter `plain` calls.
pub(crate) async fn hello() -> plain::Upstream {
    plain::start(Routes::new().on("GET", "/hello", Answer::text(200, "hello")).handler()).await.unwrap()
}

/// Adds a source `mine` of the adapter `plain`.
pub(crate) fn add_plain_source(daemon: &Daemon, workspace: &str, origin: &str) {
    let file = daemon.home().join("nothing.txt");
    fs::write(&file, "plain").unwrap();
    let (file, base) = (file.to_str().unwrap(), format!("base_url={origin}"));
    let host = origin.trim_start_matches("http://");
    let source = ["--workspace", workspace, "sources", "add", file, "--kind", "plain", "--name", "mine"];
    daemon.run(&[&source[..], &["--set", &base, "--allow-host", host]].concat()).ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_adapter_from_a_plain_cargo_build_serves_a_source() {
    let daemon = Daemon::start();
    let upstream = hello().await;

    let before = daemon.run(&["component", "list", "--json"]).json();
    let names: Vec<&str> =
        before["items"].as_array().unwrap().iter().filter_map(|item| item["name"].as_str()).collect();
    assert_eq!(names, ["mcp", "openapi", "quickjs", "typescript"], "ours come in by the same door");

    let added = daemon.run(&["component", "add", &guest("adapter_plain"), "--yes", "--json"]).json();
    assert_eq!((&added["world"], &added["kind"]), (&"source-adapter".into(), &"plain".into()), "{added}");
    add_plain_source(&daemon, "default", upstream.origin());
    let (code, view) = daemon
        .execute("return [await tools.mine.echo({ text: 'a' }), await tools.mine.fetch({ path: '/hello' })]");
    assert_eq!(code, 0, "{view}");
    assert!(view["result"].to_string().contains("hello"), "{view}");

    let said = daemon.run(&["component", "remove", "plain"]).fails(1);
    assert!(said.contains("mine"), "it names the sources that need it: {said}");
    daemon.run(&["sources", "remove", "mine"]).ok();
    daemon.run(&["component", "remove", "plain"]).ok();
    let said = daemon.run(&["component", "remove", "quickjs"]).fails(1);
    assert!(said.contains("comes with"), "{said}");
}

#[test]
fn files_that_are_no_components_are_named() {
    let daemon = Daemon::start();
    let add = |name: &str, bytes: &[u8]| {
        let path = daemon.home().join(name);
        fs::write(&path, bytes).unwrap();
        daemon.run(&["component", "add", path.to_str().unwrap(), "--yes"]).fails(1)
    };
    assert!(add("page.wasm", b"<!doctype html>").contains("not WebAssembly"));
    assert!(add("module.wasm", b"\0asm\x01\0\0\0").contains("core WebAssembly module"));
    assert!(add("empty.wasm", b"\0asm\x0d\0\x01\0").contains("no world that is known"));
    let mut cut = fs::read(guest("adapter_plain")).unwrap();
    cut.truncate(cut.len() / 2);
    assert!(add("cut.wasm", &cut).contains("damaged"));
    let list = daemon.run(&["component", "list", "--json"]).json();
    assert_eq!(list["items"].as_array().unwrap().len(), 4, "none of them was added");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_workspace_removes_another_keeps() {
    let daemon = Daemon::start();
    daemon.run(&["organizations", "add", "team"]).ok();
    daemon.run(&["workspaces", "add", "team-work", "--organization", "team"]).ok();
    let theirs = ["--workspace", "team-work"];
    let in_theirs = |arguments: &[&str]| daemon.run(&[&theirs, arguments].concat());
    let names = |answer: serde_json::Value| -> Vec<String> {
        let items = answer["items"].as_array().unwrap().clone();
        items.iter().filter_map(|item| item["name"].as_str().map(str::to_owned)).collect()
    };
    let ours = ["mcp", "openapi", "quickjs", "typescript"];

    let added = daemon.run(&["component", "add", &guest("adapter_plain"), "--yes", "--json"]).json();
    let digest = added["digest"].as_str().unwrap().trim_start_matches("sha256:").to_owned();
    let kept = daemon.home().join("components").join(format!("{digest}.wasm"));
    assert!(kept.is_file(), "{}", kept.display());
    assert_eq!(
        names(in_theirs(&["component", "list", "--json"]).json()),
        ours,
        "it is pinned in one workspace"
    );

    in_theirs(&["component", "add", &guest("adapter_plain"), "--name", "other", "--yes"]).ok();
    daemon.run(&["component", "remove", "plain"]).ok();
    assert!(kept.is_file(), "the other workspace has it pinned still");
    assert_eq!(
        names(in_theirs(&["component", "list", "--json"]).json()),
        ["mcp", "openapi", "other", "quickjs", "typescript"]
    );
    add_plain_source(&daemon, "team-work", "http://127.0.0.1:9");
    let ran = in_theirs(&["run", "-e", "return await tools.mine.echo({ text: 'here' })"]).ok();
    assert!(ran.contains("here"), "{ran}");
    in_theirs(&["sources", "remove", "mine"]).ok();
    in_theirs(&["component", "remove", "other"]).ok();
    assert!(!kept.exists(), "nobody needs its bytes any more");
}
