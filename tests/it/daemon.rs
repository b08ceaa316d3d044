//! A daemon of a test's own, and the command line against it.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use executor_upstreams::github::{self, Config, Emulator};
use serde_json::Value;

/// The longest that a daemon may take to answer: compiling its components
/// with an empty cache, in a test build, is most of it.
const PATIENCE: Duration = Duration::from_secs(180);

/// The token that the emulator takes.
pub(crate) const TOKEN: &str = "canary-token-5f2a9c";

/// A home and the daemon that owns it.
pub(crate) struct Daemon {
    home: tempfile::TempDir,
    process: Option<Child>,
    variables: Vec<(&'static str, String)>,
}

/// What a command printed, and how it ended.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) status: ExitStatus,
}

impl Answer {
    pub(crate) fn code(&self) -> i32 {
        self.status.code().unwrap_or(-1)
    }

    /// The data, where the command went well.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code(), 0, "{self:?}");
        self.stdout
    }

    #[track_caller]
    pub(crate) fn json(self) -> Value {
        let text = self.ok();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// The talk, where the command ended with `code`.
    #[track_caller]
    pub(crate) fn fails(self, code: i32) -> String {
        assert_eq!(self.code(), code, "{self:?}");
        self.stderr
    }
}

impl Daemon {
    /// Starts one on a fresh home.
    pub(crate) fn start() -> Self {
        let mut daemon = Self::stopped();
        daemon.serve();
        daemon
    }

    /// A fresh home without a daemon. Compiled components are shared by all
    /// tests, as by all daemons of one machine's user.
    pub(crate) fn stopped() -> Self {
        let home = tempfile::Builder::new().prefix("executor-it-").tempdir().unwrap();
        let shared = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("compiled");
        std::fs::create_dir_all(&shared).unwrap();
        std::fs::create_dir_all(home.path().join("cache")).unwrap();
        std::os::unix::fs::symlink(shared, home.path().join("cache/components")).unwrap();
        Self { home, process: None, variables: Vec::new() }
    }

    /// With one more variable in its environment.
    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.variables.push((name, value.to_owned()));
        self
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// Starts the daemon and waits until it listens.
    pub(crate) fn serve(&mut self) {
        let mut process = self
            .command(&["serve", "--port", "auto"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap());
        let begun = Instant::now();
        loop {
            let mut line = String::new();
            let read = lines.read_line(&mut line).unwrap();
            assert!(read > 0 && begun.elapsed() < PATIENCE, "the daemon ended before it listened: {line}");
            if line.contains("listening on") {
                break;
            }
        }
        std::thread::spawn(move || {
            let mut rest = String::new();
            lines.read_to_string(&mut rest).ok();
            eprint!("{rest}");
        });
        self.process = Some(process);
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        let mut process = self.process.take().unwrap();
        process.kill().unwrap();
        process.wait().unwrap();
    }

    /// Asks it to end, and waits.
    pub(crate) fn stop(&mut self) -> ExitStatus {
        let mut process = self.process.take().unwrap();
        self.run(&["down"]);
        process.wait().unwrap()
    }

    /// A command on this home, with nothing of the test's own environment.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_executor"));
        command
            .args(arguments)
            .env_clear()
            .env("EXECUTOR_HOME", self.home.path())
            .env("HOME", self.home.path())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("NO_COLOR", "1")
            .env("GITHUB_TOKEN", TOKEN)
            .env("RUST_BACKTRACE", "0")
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs one command.
    pub(crate) fn run(&self, arguments: &[&str]) -> Answer {
        let output = self.command(arguments).stdin(Stdio::null()).output().unwrap();
        Answer {
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            status: output.status,
        }
    }

    /// Starts a command that speaks on its stdin and stdout. A daemon that it
    /// starts finds a port of its own.
    pub(crate) fn spawn_piped(&self, arguments: &[&str]) -> Child {
        let mut command = self.command(arguments);
        command.env("EXECUTOR_PORT", "auto").stdin(Stdio::piped()).stdout(Stdio::piped());
        command.spawn().unwrap()
    }

    /// Waits until something is so.
    #[track_caller]
    pub(crate) fn until(&self, is_so: impl Fn(&Self) -> bool) {
        let begun = Instant::now();
        while !is_so(self) {
            assert!(begun.elapsed() < PATIENCE, "it never came to be");
        }
    }

    /// Runs one command beside the test.
    pub(crate) fn run_beside(&self, arguments: &[&str]) -> JoinHandle<Output> {
        let mut command = self.command(arguments);
        command.stdin(Stdio::null());
        std::thread::spawn(move || command.output().unwrap())
    }

    /// Runs TypeScript and gives what the API says of it.
    pub(crate) fn execute(&self, code: &str) -> (i32, Value) {
        let answer = self.run(&["run", "--json", "-e", code]);
        let view = serde_json::from_str(&answer.stdout).unwrap_or_else(|error| panic!("{error}: {answer:?}"));
        (answer.code(), view)
    }

    /// Adds the emulator as the source `github`, with a connection.
    pub(crate) fn add_github(&self, emulator: &Emulator) {
        let origin = emulator.origin();
        let host = origin.trim_start_matches("http://");
        let document = format!("{origin}/openapi.json");
        let base = format!("base_url={origin}");
        self.run(&["sources", "add", &document, "--name", "github", "--set", &base, "--allow-host", host])
            .ok();
        self.run(&["connections", "add", "github", "--set", "token=env:GITHUB_TOKEN"]).ok();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().ok();
            process.wait().ok();
        }
    }
}

/// One of the pinned documents.
pub(crate) fn fixture(path: &str) -> PathBuf {
    let fixtures = std::env::var_os("EXECUTOR_FIXTURES")
        .map_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("../fixtures"), PathBuf::from);
    fixtures.join(path)
}

/// GitHub's real document.
pub(crate) fn github_document() -> Arc<[u8]> {
    let path = fixture("octokit-openapi/generated/api.github.com.json");
    match std::fs::read(&path) {
        Ok(bytes) => bytes.into(),
        Err(error) => panic!("{} can't be read ({error}): run `make fixtures`", path.display()),
    }
}

/// A GitHub of a test's own, with GitHub's own document.
pub(crate) async fn emulator() -> Emulator {
    let config = Config {
        document: Some(github_document().to_vec().into()),
        tokens: vec![(TOKEN.to_owned(), "octocat".to_owned())],
        ..Config::default()
    };
    github::start(config).await.unwrap()
}

/// The id of an execution in what a command printed.
pub(crate) fn execution_id(text: &str) -> String {
    let start = text.find("exe_").unwrap_or_else(|| panic!("no execution is named in {text}"));
    text[start..]
        .chars()
        .take_while(|character| character.is_ascii_alphanumeric() || *character == '_')
        .collect()
}
