//! A daemon on a home of its own, and the command line against it.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

/// Ends when dropped.
pub(crate) struct Daemon {
    home: tempfile::TempDir,
    process: Child,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Outcome {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Outcome {
    pub(crate) fn ok(self) -> Result<String> {
        ensure!(self.code == 0, "exit code {}: {}", self.code, self.stderr);
        Ok(self.stdout)
    }

    pub(crate) fn json(self) -> Result<Value> {
        Ok(serde_json::from_str(&self.ok()?)?)
    }

    /// What was printed, whatever the exit code says.
    pub(crate) fn value(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_default()
    }

    /// The host that would have to be granted.
    pub(crate) fn wanted_host(&self) -> Option<String> {
        let (_, after) = self.stderr.split_once("--allow-host ")?;
        let ends = |character: char| character.is_whitespace() || character == '`';
        let host: String = after.chars().take_while(|character| !ends(*character)).collect();
        (self.code != 0).then_some(host)
    }
}

/// No session bus: nothing of a test goes into the keyring of whoever runs it.
const NO_BUS: &str = "disabled:";

fn executor() -> Result<String> {
    std::env::var("EXECUTOR").context("EXECUTOR names the binary")
}

impl Daemon {
    pub(crate) fn start() -> Result<Self> {
        let home = tempfile::Builder::new().prefix("executor-conformance-").tempdir()?;
        // Compiled components are shared by all scenarios.
        let compiled = std::env::temp_dir().join("executor-conformance-compiled");
        std::fs::create_dir_all(&compiled)?;
        std::fs::create_dir_all(home.path().join("cache"))?;
        std::os::unix::fs::symlink(compiled, home.path().join("cache/components"))?;
        let mut process = Command::new(executor()?)
            .args(["serve", "--port", "auto"])
            .env("EXECUTOR_HOME", home.path())
            .env("DBUS_SESSION_BUS_ADDRESS", NO_BUS)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut lines = BufReader::new(process.stderr.take().context("stderr")?);
        loop {
            let mut line = String::new();
            ensure!(lines.read_line(&mut line)? > 0, "the daemon ended before it listened");
            if line.contains("listening on") {
                break;
            }
        }
        std::thread::spawn(move || {
            let mut rest = String::new();
            lines.read_to_string(&mut rest).ok();
            eprint!("{rest}");
        });
        Ok(Self { home, process })
    }

    fn command(&self, words: &[&str]) -> Result<Command> {
        let mut command = Command::new(executor()?);
        command
            .args(words)
            .env("EXECUTOR_HOME", self.home.path())
            .env("DBUS_SESSION_BUS_ADDRESS", NO_BUS)
            .env("NO_COLOR", "1")
            .stdin(Stdio::null());
        Ok(command)
    }

    pub(crate) fn run(&self, words: &[&str]) -> Result<Outcome> {
        let output = self.command(words)?.output()?;
        Ok(Outcome {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// Runs a command that shows a page, which `open` visits.
    pub(crate) fn run_with_page(
        &self,
        words: &[&str],
        secret: Option<&str>,
        open: impl Fn(&str) -> Result<()>,
    ) -> Result<Outcome> {
        let mut command = self.command(words)?;
        command
            .env("CLIENT_SECRET", secret.unwrap_or_default())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut process = command.spawn()?;
        let mut lines = BufReader::new(process.stderr.take().context("stderr")?);
        let mut told = String::new();
        loop {
            let mut line = String::new();
            if lines.read_line(&mut line)? == 0 {
                break;
            }
            let url = line.trim();
            if url.starts_with("http") && url.contains("code_challenge=") {
                // What the page says of it, the command says too.
                if let Err(error) = open(url) {
                    process.kill().ok();
                    bail!("the page {url}: {error:#}; {told}");
                }
            }
            told.push_str(&line);
        }
        let output = process.wait_with_output()?;
        Ok(Outcome {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: told,
        })
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}
