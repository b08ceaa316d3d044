//! The daemon that is measured, on a home of its own.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::client::Client;

pub(crate) struct Daemon {
    pub(crate) address: String,
    pub(crate) token: String,
    executor: PathBuf,
    home: PathBuf,
    process: Child,
}

impl Daemon {
    /// Starts it; says how long it took to the first answer.
    pub(crate) fn start(executor: &Path, home: &Path) -> Result<(Self, Duration)> {
        let begun = Instant::now();
        let mut process = Command::new(executor)
            .args(["serve", "--port", "auto"])
            .env("EXECUTOR_HOME", home)
            .env("EXECUTOR_LOG", "warn")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut lines = BufReader::new(process.stderr.take().context("stderr is piped")?);
        let address = loop {
            let mut line = String::new();
            anyhow::ensure!(lines.read_line(&mut line)? > 0, "the daemon ended");
            if let Some(at) = line.find("http://") {
                break line[at + 7..].split_whitespace().next().context("an address")?.to_owned();
            }
        };
        Client::new(&address, None)?.get("/v1/health")?;
        let took = begun.elapsed();
        std::thread::spawn(move || lines.lines().for_each(drop));
        let token = std::fs::read_to_string(home.join("token"))?.trim().to_owned();
        Ok((Self { address, token, executor: executor.into(), home: home.into(), process }, took))
    }

    pub(crate) fn client(&self) -> Result<Client> {
        Client::new(&self.address, Some(&self.token))
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Result<String> {
        let output = Command::new(&self.executor)
            .args(arguments)
            .env("EXECUTOR_HOME", &self.home)
            .env("BENCH_TOKEN", "emulator-token")
            .stdin(Stdio::null())
            .output()?;
        anyhow::ensure!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Resident memory, in MB.
    pub(crate) fn memory_mb(&self) -> Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("VmRSS")?;
        Ok(line.split_whitespace().nth(1).context("a number")?.parse::<f64>()? / 1024.0)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}
