//! Other people's programs against the daemon: the MCP SDKs, the inspector,
//! schemathesis, and a hostile page in Chromium. They are not ours to build:
//! `make outside` fetches them, and `run.sh` beside this file drives them.
#![expect(clippy::unwrap_used, reason = "a test ends where something it needs is not there")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use executor_upstreams::github::{self, Config};

/// The token that the emulator takes, as `lib/daemon.mjs` has it.
const TOKEN: &str = "canary-token-9d41c7";

/// Runs the cases whose names contain `only`.
async fn run(only: &'static str) {
    let beside = |variable: &str, name: &str| {
        std::env::var_os(variable)
            .map_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("..").join(name), PathBuf::from)
    };
    let programs = beside("EXECUTOR_OUTSIDE", "outside");
    assert!(
        programs.join("npm/node").exists() && programs.join("python").exists(),
        "{} holds none of the programs that this tests with: run `make outside`",
        programs.display()
    );
    let document =
        beside("EXECUTOR_FIXTURES", "fixtures").join("octokit-openapi/generated/api.github.com.json");
    let Ok(document) = std::fs::read(&document) else {
        panic!("{} can't be read: run `make fixtures`", document.display());
    };
    let config = Config {
        document: Some(document.into()),
        tokens: vec![(TOKEN.to_owned(), "octocat".to_owned())],
        ..Config::default()
    };
    let emulator = github::start(config).await.unwrap();
    let origin = emulator.origin().to_owned();
    let output = tokio::task::spawn_blocking(move || {
        Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/outside/run.sh"))
            .args([env!("CARGO_BIN_EXE_executor"), &origin])
            .arg(programs)
            .arg(only)
            .stdin(Stdio::null())
            .output()
            .unwrap()
    })
    .await
    .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    println!("{told}{}", String::from_utf8_lossy(&output.stderr));
    let failed: Vec<&str> = told.lines().filter(|line| line.starts_with("FAIL")).collect();
    assert!(output.status.success(), "run.sh ended with {}\n{}", output.status, failed.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_page_gets_nothing() {
    run("browser").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mcp_clients_are_served() {
    run("clients").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_api_is_as_it_is_described() {
    run("openapi").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mcp_servers_answer_as_they_do_directly() {
    run("sources").await;
}
