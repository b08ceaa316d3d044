//! A daemon that is measured, ours or the peer's, on a home of its own.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::client::{Client, beginning};
use crate::mcp::Mcp;
use crate::processes::Process;

/// The token that ours sends to upstreams which take one.
pub(crate) const UPSTREAM_TOKEN: &str = "emulator-token";

/// A running daemon.
pub(crate) struct Daemon {
    pub(crate) address: String,
    pub(crate) token: Option<String>,
    /// Where TypeScript is posted to.
    pub(crate) executions: &'static str,
    /// A command of its command line, against this daemon.
    pub(crate) cli: Cli,
    pub(crate) process: Process,
}

/// How its command line is started.
#[derive(Clone)]
pub(crate) struct Cli {
    pub(crate) program: PathBuf,
    pub(crate) home: PathBuf,
    pub(crate) environment: Vec<(&'static str, PathBuf)>,
}

impl Cli {
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .current_dir(&self.home)
            .env("HOME", &self.home)
            // Nothing of a benchmark goes into the keyring of whoever runs it.
            .env("DBUS_SESSION_BUS_ADDRESS", "disabled:")
            .env("BENCH_TOKEN", UPSTREAM_TOKEN)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Result<String> {
        let output = self.command().args(arguments).output()?;
        ensure!(
            output.status.success(),
            "{arguments:?}: {}",
            beginning(&String::from_utf8_lossy(&output.stderr))
        );
        Ok(String::from_utf8(output.stdout)?)
    }
}

/// Where our homes are: on the disk of the target directory, all with one
/// cache of compiled components.
pub(crate) struct Homes {
    executor: PathBuf,
    directory: PathBuf,
    number: usize,
}

impl Homes {
    pub(crate) fn new(executor: &Path, directory: &Path) -> Result<Self> {
        fs::create_dir_all(directory.join("compiled"))?;
        Ok(Self { executor: executor.into(), directory: directory.into(), number: 0 })
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// An empty directory.
    pub(crate) fn fresh(&mut self) -> Result<PathBuf> {
        self.number += 1;
        let home = self.directory.join(format!("home-{}", self.number));
        fs::create_dir_all(&home)?;
        Ok(home)
    }

    /// A fresh home of ours.
    pub(crate) fn ours(&mut self) -> Result<PathBuf> {
        let home = self.fresh()?;
        fs::create_dir_all(home.join("cache"))?;
        std::os::unix::fs::symlink(self.directory.join("compiled"), home.join("cache/components"))?;
        Ok(home)
    }

    /// Our daemon on a home; says how long it took to the first answer.
    pub(crate) fn start(&self, home: &Path) -> Result<(Daemon, Duration)> {
        let environment = vec![("EXECUTOR_HOME", home.to_owned()), ("EXECUTOR_LOG", "warn".into())];
        let cli = Cli { program: self.executor.clone(), home: home.into(), environment };
        let begun = Instant::now();
        let mut process = Process::start(
            cli.command().args(["serve", "--port", "auto"]).stdout(Stdio::null()).stderr(Stdio::piped()),
        )?;
        let mut lines = BufReader::new(process.child().stderr.take().context("stderr is piped")?);
        let mut said = String::new();
        let address = loop {
            let mut line = String::new();
            ensure!(lines.read_line(&mut line)? > 0, "executor serve ended: {said}");
            if let Some(at) = line.find("http://") {
                break line[at + 7..].split_whitespace().next().context("an address")?.to_owned();
            }
            said.push_str(&line);
        };
        Client::new(&address, None)?.get("/v1/health")?;
        let took = begun.elapsed();
        std::thread::spawn(move || lines.lines().for_each(drop));
        let token = Some(fs::read_to_string(home.join("token"))?.trim().to_owned());
        let executions = "/v1/workspaces/default/executions";
        Ok((Daemon { address, token, executions, cli, process }, took))
    }
}

impl Daemon {
    pub(crate) fn client(&self) -> Result<Client> {
        Client::new(&self.address, self.token.as_deref())
    }

    pub(crate) fn mcp(&self) -> Result<Mcp> {
        Mcp::start(self.client()?)
    }

    /// Runs TypeScript; how long it took, and its result.
    pub(crate) fn execute(&self, client: &mut Client, code: &str) -> Result<(Duration, Value)> {
        self.post(client, &json!({ "code": code }))
    }

    /// The same, with all that is posted.
    pub(crate) fn post(&self, client: &mut Client, request: &Value) -> Result<(Duration, Value)> {
        let request = request.to_string();
        let begun = Instant::now();
        let answer = client.post(self.executions, &request)?;
        let took = begun.elapsed();
        ensure!(answer.contains("\"status\":\"completed\""), "{}", beginning(&answer));
        let mut answer: Value = serde_json::from_str(&answer)?;
        // The peer wraps what ours gives as it is.
        let result = answer.pointer("/structured/result").cloned();
        Ok((took, result.unwrap_or_else(|| answer["result"].take())))
    }

    /// Resident memory, in MB.
    pub(crate) fn memory_mb(&self) -> Result<f64> {
        self.status_mb("VmRSS:")
    }

    /// The most that it ever was, in MB.
    pub(crate) fn peak_memory_mb(&self) -> Result<f64> {
        self.status_mb("VmHWM:")
    }

    fn status_mb(&self, name: &'static str) -> Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = status.lines().find(|line| line.starts_with(name)).context(name)?;
        Ok(line.split_whitespace().nth(1).context("a number")?.parse::<f64>()? / 1024.0)
    }
}

/// The two, where both are there.
pub(crate) struct Pair {
    pub(crate) ours: Daemon,
    /// Or why there is none.
    pub(crate) peer: Result<Daemon, String>,
}

impl Pair {
    /// The peer as something to be measured with `make`.
    pub(crate) fn peer<'a, T>(&'a self, make: impl FnOnce(&'a Daemon) -> Result<T>) -> Result<T, String> {
        self.peer
            .as_ref()
            .map_err(String::clone)
            .and_then(|peer| make(peer).map_err(|error| format!("{error:#}")))
    }
}
