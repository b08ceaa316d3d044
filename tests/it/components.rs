//! Components that strangers wrote.

use std::fs;
use std::path::PathBuf;

use executor_upstreams::plain::{self, Answer, Routes};

use crate::daemon::Daemon;

fn guest(name: &str) -> String {
    let directory = std::env::var_os("EXECUTOR_GUESTS").map_or_else(
        || PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("../wasm32-wasip2/release"),
        PathBuf::from,
    );
    let path = directory.join(format!("{name}.wasm"));
    assert!(path.is_file(), "{} is missing: run `make guests`", path.display());
    path.to_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_adapter_from_a_plain_cargo_build_serves_a_source() {
    let daemon = Daemon::start();
    let upstream =
        plain::start(Routes::new().on("GET", "/hello", Answer::text(200, "hello")).handler()).await.unwrap();
    let host = upstream.origin().trim_start_matches("http://").to_owned();

    let before = daemon.run(&["component", "list", "--json"]).json();
    let names: Vec<&str> =
        before["items"].as_array().unwrap().iter().filter_map(|item| item["name"].as_str()).collect();
    assert_eq!(names, ["graphql", "openapi", "quickjs", "typescript"], "ours come in by the same door");

    let added = daemon.run(&["component", "add", &guest("adapter_plain"), "--yes", "--json"]).json();
    assert_eq!((&added["world"], &added["kind"]), (&"source-adapter".into(), &"plain".into()), "{added}");
    let file = daemon.home().join("nothing.txt");
    fs::write(&file, "plain").unwrap();
    let base = format!("base_url={}", upstream.origin());
    daemon
        .run(&[
            "sources",
            "add",
            file.to_str().unwrap(),
            "--kind",
            "plain",
            "--name",
            "mine",
            "--set",
            &base,
            "--allow-host",
            &host,
        ])
        .ok();
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
    assert_eq!(list["items"].as_array().unwrap().len(), 3, "none of them was added");
}
