//! What is asked on a terminal: one of a test's own, made by `script`, which
//! shows whatever the terminal would show.

use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use executor_upstreams::graphql::{self, Config, TOKEN};
use executor_upstreams::oauth::{CONFIDENTIAL_CLIENT, CONFIDENTIAL_SECRET, Script};
use serde_json::json;

use crate::daemon::Daemon;
use crate::oauth::{call, start};

const PATIENCE: Duration = Duration::from_secs(60);

/// A command on a terminal that echoes what is typed, as terminals do.
struct Terminal {
    process: Child,
    keys: ChildStdin,
    bytes: Receiver<Vec<u8>>,
    seen: String,
}

impl Terminal {
    fn run(daemon: &Daemon, arguments: &[&str]) -> Self {
        let own = daemon.command(arguments);
        let quoted = |word: &str| format!("'{}'", word.replace('\'', r"'\''"));
        let words = std::iter::once(own.get_program()).chain(own.get_args());
        let line: Vec<String> = words.map(|word| quoted(word.to_str().unwrap())).collect();
        let mut command = Command::new("script");
        command.args(["--quiet", "--flush", "--return", "--echo", "always", "--command", &line.join(" ")]);
        command.arg("/dev/null").env_clear();
        command.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (keys, mut screen) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let (told, bytes) = channel();
        std::thread::spawn(move || {
            let mut part = [0; 1024];
            while let Ok(count @ 1..) = screen.read(&mut part) {
                told.send(part[..count].to_vec()).ok();
            }
        });
        Self { process, keys, bytes, seen: String::new() }
    }

    /// Waits until the screen ends with `question`, and types.
    #[track_caller]
    fn answer(&mut self, question: &str, typed: &str) {
        let begun = Instant::now();
        while !self.seen.ends_with(question) {
            let part = self.bytes.recv_timeout(PATIENCE);
            let part = part.unwrap_or_else(|error| panic!("{error}: {question:?} is not in {}", self.seen));
            self.seen.push_str(&String::from_utf8_lossy(&part));
            assert!(begun.elapsed() < PATIENCE, "{question:?} is not in {}", self.seen);
        }
        self.keys.write_all(format!("{typed}\n").as_bytes()).unwrap();
    }

    /// All that the screen showed, and how the command ended.
    fn end(mut self) -> (String, i32) {
        while let Ok(part) = self.bytes.recv_timeout(PATIENCE) {
            self.seen.push_str(&String::from_utf8_lossy(&part));
        }
        let status = self.process.wait().unwrap();
        (self.seen, status.code().unwrap_or(-1))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dash_asks_on_a_terminal_and_shows_nothing_of_the_answer() {
    let (daemon, emulator) = start(Script::default()).await;
    let bearer = executor_upstreams::oauth::Credentials::default().bearer;
    let add = ["connections", "add", "api", "--auth", "bearer", "--set", "token=-"];
    let mut terminal = Terminal::run(&daemon, &add);
    terminal.answer("token (not shown): ", &bearer);
    let (seen, code) = terminal.end();
    assert!(code == 0 && seen.contains("added api/default: bearer"), "{seen}");
    assert!(!seen.contains(&bearer), "{seen}");
    call(&daemon, "api.auth.bearer", &json!({})).ok();

    let client = ["--client-id", CONFIDENTIAL_CLIENT, "--client-secret", "-"];
    let add = [&["connections", "add", "api", "--name", "m", "--auth", "machine"][..], &client].concat();
    let mut terminal = Terminal::run(&daemon, &add);
    terminal.answer("client_secret (not shown): ", CONFIDENTIAL_SECRET);
    let (seen, code) = terminal.end();
    assert!(code == 0 && seen.contains("added api/m: machine"), "{seen}");
    assert!(!seen.contains(CONFIDENTIAL_SECRET), "{seen}");
    assert_eq!(emulator.ledger.matching("POST", "/token").len(), 1);

    let silent = ["--no-input", "connections", "set", "api", "--set", "token=-"];
    let (seen, code) = Terminal::run(&daemon, &silent).end();
    assert!(code == 2 && seen.contains("--no-input"), "{seen}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_usual_way_to_authenticate_is_one_key_away() {
    let daemon = Daemon::start();
    let emulator = graphql::start(Config { require_token: true, ..Config::default() }).await.unwrap();
    let host = emulator.origin().trim_start_matches("http://");
    daemon.run(&["sources", "add", &emulator.endpoint(), "--name", "shop", "--allow-host", host]).ok();
    let mut terminal = Terminal::run(&daemon, &["connections", "add", "shop"]);
    terminal.answer("1 to 2 [1]: ", "");
    terminal.answer("Bearer token (not shown): ", TOKEN);
    let (seen, code) = terminal.end();
    assert!(code == 0 && seen.contains("added shop/default: bearer"), "{seen}");
    assert!(!seen.contains(TOKEN), "{seen}");
}
