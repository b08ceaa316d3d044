//! The peer: npm `executor`, pinned and fetched by `packages.txt` beside this
//! crate, driven through its own HTTP API.
//!
//! npm's `executor` is a Node script that starts a native program of another
//! package; that program is started directly, which spares the peer a Node
//! process.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use crate::client::Client;
use crate::daemon::{Cli, Daemon};
use crate::processes::Process;

/// The version that is pinned.
pub(crate) const VERSION: &str = "1.5.9";

/// Asked for until it answers: this version has no health route.
const FIRST: &str = "/api/integrations";
const PATIENCE: Duration = Duration::from_secs(30);

/// The installed program.
#[derive(Clone)]
pub(crate) struct Peer {
    program: PathBuf,
}

impl Peer {
    /// Finds it among the fixtures; the error says why it is not available.
    pub(crate) fn find(fixtures: &Path) -> Result<Self, String> {
        let program = fixtures.join("executor-peer/bin/executor");
        match program.try_exists() {
            Ok(true) => Ok(Self { program }),
            Ok(false) => {
                Err("not available: it was not fetched; run `make bench` with the network there".into())
            }
            Err(error) => Err(format!("not available: {}: {error}", program.display())),
        }
    }

    /// Starts it on a home and a free port; says how long it took to the
    /// first answer.
    pub(crate) fn start(&self, home: &Path) -> Result<(Daemon, Duration)> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port().to_string();
        let environment = vec![
            ("EXECUTOR_DATA_DIR", home.join("data")),
            ("EXECUTOR_SCOPE_DIR", home.to_owned()),
            ("XDG_DATA_HOME", home.join("share")),
            // It would ask the network about updates and presets.
            ("EXECUTOR_DISABLE_UPDATE_CHECK", "1".into()),
            ("EXECUTOR_DISABLE_INTEGRATIONS_FETCH", "1".into()),
        ];
        let cli = Cli { program: self.program.clone(), home: home.into(), environment };
        let begun = Instant::now();
        let mut process = Process::start(
            cli.command()
                .args(["daemon", "run", "--foreground", "--hostname", "127.0.0.1", "--port", &port])
                .stdout(Stdio::null())
                .stderr(Stdio::null()),
        )?;
        let address = format!("127.0.0.1:{port}");
        let answered = || Client::new(&address, None)?.get(FIRST);
        while answered().is_err() {
            if let Some(status) = process.child().try_wait()? {
                bail!("npm executor ended before it answered: {status}");
            }
            ensure!(begun.elapsed() < PATIENCE, "npm executor did not answer within {PATIENCE:?}");
            std::thread::sleep(Duration::from_millis(1));
        }
        let took = begun.elapsed();
        Ok((Daemon { address, token: None, executions: "/api/executions", cli, process }, took))
    }

    /// The bytes of what a user of this platform gets.
    pub(crate) fn bytes(&self) -> Result<u64> {
        let directory = self.program.parent().context("a program in a directory")?;
        fs::read_dir(directory)?.map(|entry| Ok(entry?.metadata()?.len())).sum()
    }
}

/// Adds an OpenAPI document and a connection without a credential, which is
/// what makes its tools callable.
pub(crate) fn add(client: &mut Client, url: &str, name: &str, base: &str) -> Result<Value> {
    let request = json!({
        "spec": { "kind": "url", "url": url }, "slug": name, "name": name, "baseUrl": base,
    });
    let added: Value = serde_json::from_str(&client.post("/api/openapi/specs", &request.to_string())?)?;
    let connection = json!({
        "owner": "org", "integration": name, "name": "main", "template": "none", "value": "none",
    });
    client.post("/api/connections", &connection.to_string())?;
    Ok(added)
}

/// Takes it away again.
pub(crate) fn remove(client: &mut Client, name: &str) -> Result<()> {
    client.delete(&format!("/api/integrations/{name}")).map(drop)
}

/// Lets a source's writes run without asking.
pub(crate) fn allow(client: &mut Client, pattern: &str) -> Result<()> {
    let policy = json!({ "owner": "org", "pattern": pattern, "action": "approve" });
    client.post("/api/policies", &policy.to_string()).map(drop)
}
