//! Starting an entry's command as its client would, and speaking MCP with it
//! (revision 2025-06-18, stdio: a JSON-RPC message a line).

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::entry::Launch;
use crate::text;

/// How long it may take in all: the daemon may have to start first.
const TIMEOUT: Duration = Duration::from_secs(60);
/// How long it may take to end once its input has.
const END_TIMEOUT: Duration = Duration::from_secs(3);
/// Longest line that is read.
const LINE_LIMIT_BYTES: u64 = 16 * 1024 * 1024;
/// As much of what it says on stderr is kept.
const PRINTED_LIMIT_BYTES: usize = 16 * 1024;
/// Pages of tools that are asked for.
const PAGE_LIMIT: usize = 1_000;
const REVISION: &str = "2025-06-18";

/// What a server said.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Greeting {
    pub(crate) server: String,
    pub(crate) version: String,
    pub(crate) tools: usize,
    pub(crate) milliseconds: u64,
}

/// Why there was no handshake, and what the command printed.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) why: String,
    pub(crate) printed: String,
}

/// What a program that was started outside a shell has of the environment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Surroundings {
    pub(crate) home: Option<OsString>,
    pub(crate) path: Option<OsString>,
}

/// Starts the command, greets it and counts its tools.
///
/// # Errors
/// It can't be started, ends, is silent for too long, or says no.
pub(crate) fn shake(launch: &Launch, surroundings: &Surroundings) -> Result<Greeting, Broken> {
    shake_within(launch, surroundings, TIMEOUT)
}

fn shake_within(launch: &Launch, surroundings: &Surroundings, timeout: Duration) -> Result<Greeting, Broken> {
    let begun = Instant::now();
    let mut command = Command::new(&launch.command);
    command.args(&launch.args).env_clear().current_dir("/");
    command.envs(surroundings.home.as_ref().map(|home| ("HOME", home)));
    command.envs(surroundings.path.as_ref().map(|path| ("PATH", path)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command
        .spawn()
        .map_err(|error| Broken { why: format!("it can't be started: {error}"), printed: String::new() })?;
    let mut session = Session::new(child, begun + timeout);
    let greeted = session.greet();
    let (status, printed) = session.end();
    let milliseconds = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    match greeted {
        Ok((server, version, tools)) => Ok(Greeting { server, version, tools, milliseconds }),
        Err(why) => {
            let ending =
                status.filter(|_| why == ENDED).map_or_else(String::new, |status| format!(": {status}"));
            Err(Broken { why: format!("{why}{ending}"), printed })
        }
    }
}

const ENDED: &str = "it ended before it answered";

/// A child that is spoken with; its output is read beside.
struct Session {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    errors: JoinHandle<String>,
    deadline: Instant,
}

impl Session {
    fn new(mut child: Child, deadline: Instant) -> Self {
        let (sender, lines) = sync_channel(16);
        if let Some(stdout) = child.stdout.take() {
            let mut reader = BufReader::new(stdout);
            // It ends with the child's output, or when nobody listens.
            thread::spawn(move || {
                loop {
                    let mut line = Vec::new();
                    let read = reader.by_ref().take(LINE_LIMIT_BYTES).read_until(b'\n', &mut line);
                    if !matches!(read, Ok(count) if count > 0) || sender.send(line).is_err() {
                        return;
                    }
                }
            });
        }
        let stderr = child.stderr.take();
        let errors = thread::spawn(move || stderr.map(printed).unwrap_or_default());
        Self { input: child.stdin.take(), child, lines, errors, deadline }
    }

    fn greet(&mut self) -> Result<(String, String, usize), String> {
        let client = json!({ "name": "executor connect", "version": env!("CARGO_PKG_VERSION") });
        let hello = json!({ "protocolVersion": REVISION, "capabilities": {}, "clientInfo": client });
        let hello = self.ask(1, "initialize", hello)?;
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        let mut tools = 0;
        let mut cursor = Value::Null;
        for page in 0..PAGE_LIMIT {
            let parameters = if cursor.is_null() { json!({}) } else { json!({ "cursor": cursor }) };
            let mut answer = self.ask(2 + page, "tools/list", parameters)?;
            tools += answer["tools"].as_array().ok_or("it answered `tools/list` without tools")?.len();
            cursor = answer["nextCursor"].take();
            if cursor.is_null() {
                break;
            }
        }
        let said = |name: &str| text::line(hello["serverInfo"][name].as_str().unwrap_or(""), 80);
        Ok((said("name"), said("version"), tools))
    }

    fn ask(&mut self, id: usize, method: &str, parameters: Value) -> Result<Value, String> {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters }))?;
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left).map_err(|error| match error {
                RecvTimeoutError::Timeout => format!("it did not answer `{method}` in time"),
                RecvTimeoutError::Disconnected => ENDED.to_owned(),
            })?;
            let mut message: Value = serde_json::from_slice(&line).map_err(|_| {
                let shown = text::line(&String::from_utf8_lossy(&line), 80);
                format!("it printed what is no message of MCP: {shown}")
            })?;
            // Others are notifications, or requests that may wait.
            if message["id"] != id {
                continue;
            }
            if let Some(error) = message.get("error") {
                let said = text::line(error["message"].as_str().unwrap_or("without saying why"), 300);
                return Err(format!("it refused `{method}`: {said}"));
            }
            return Ok(message["result"].take());
        }
    }

    fn send(&mut self, message: &Value) -> Result<(), String> {
        let input = self.input.as_mut().ok_or(ENDED)?;
        let sent = input.write_all(format!("{message}\n").as_bytes()).and_then(|()| input.flush());
        sent.map_err(|_| ENDED.to_owned())
    }

    /// Lets it end, and ends it where it does not. What it printed.
    fn end(mut self) -> (Option<ExitStatus>, String) {
        self.input = None;
        let begun = Instant::now();
        let mut status = None;
        while status.is_none() && begun.elapsed() < END_TIMEOUT {
            status = self.child.try_wait().unwrap_or(None);
            if status.is_none() {
                // A server that still writes is not kept waiting.
                while self.lines.try_recv().is_ok() {}
                thread::sleep(Duration::from_millis(5));
            }
        }
        if status.is_none() {
            // It may have ended by itself just now.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        // What it started may hold its stderr open for long.
        let waited = Instant::now();
        while !self.errors.is_finished() && waited.elapsed() < Duration::from_millis(200) {
            thread::sleep(Duration::from_millis(5));
        }
        let printed =
            if self.errors.is_finished() { self.errors.join().unwrap_or_default() } else { String::new() };
        (status, printed)
    }
}

/// The beginning of what a command prints; the rest is read and dropped, so
/// that it is not held up.
fn printed(mut stream: impl Read) -> String {
    let mut kept = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count) = stream.read(&mut buffer) {
        if count == 0 {
            break;
        }
        let room = PRINTED_LIMIT_BYTES.saturating_sub(kept.len());
        kept.extend_from_slice(&buffer[..count.min(room)]);
    }
    text::clean(&String::from_utf8_lossy(&kept)).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Result<Greeting, Broken> {
        let launch = Launch { command: "/bin/sh".into(), args: vec!["-c".into(), script.into()] };
        let surroundings = Surroundings { home: Some("/h o'me".into()), path: Some("/usr/bin:/bin".into()) };
        shake_within(&launch, &surroundings, Duration::from_secs(5))
    }

    const HELLO: &str = r#"read line; echo '{"jsonrpc":"2.0","method":"notifications/message"}'
        echo '{"jsonrpc":"2.0","id":1,"result":{"serverInfo":{"name":"fake","version":"1"}}}'; read line;"#;

    #[test]
    fn tools_of_all_pages_are_counted() {
        let greeting = shell(&format!(
            r#"{HELLO} read line; echo '{{"jsonrpc":"2.0","id":2,"result":{{"tools":[{{}},{{}}],"nextCursor":"x"}}}}'
            read line; case "$line" in *cursor*) echo '{{"jsonrpc":"2.0","id":3,"result":{{"tools":[{{}}]}}}}';; esac"#
        ))
        .unwrap();
        assert_eq!((greeting.server.as_str(), greeting.version.as_str(), greeting.tools), ("fake", "1", 3));
    }

    #[track_caller]
    fn broken(script: &str, why: &str, printed: &str) {
        let broken = shell(script).unwrap_err();
        assert!(broken.why.contains(why), "{broken:?}");
        assert_eq!(broken.printed, printed);
    }

    #[test]
    fn what_went_wrong_is_told() {
        broken(
            "echo 'no \u{1b}[31msuch file' >&2; exit 7",
            "it ended before it answered: exit status: 7",
            "no such file",
        );
        broken("read line; echo hello there", "no message of MCP: hello there", "");
        broken(
            r#"read line; echo '{"jsonrpc":"2.0","id":1,"error":{"message":"no such token"}}'"#,
            "refused `initialize`: no such token",
            "",
        );
        broken(
            &format!(r#"{HELLO} read line; echo '{{"jsonrpc":"2.0","id":2,"result":{{}}}}'"#),
            "without tools",
            "",
        );
        let launch = Launch { command: "/nonexistent/executor".into(), args: Vec::new() };
        let broken = shake(&launch, &Surroundings::default()).unwrap_err();
        assert!(broken.why.contains("can't be started"), "{broken:?}");
    }

    #[test]
    fn nothing_of_this_environment_reaches_it() {
        broken(
            "/usr/bin/env | sort | grep -v -e ^PWD= -e ^SHLVL= -e ^_= >&2",
            ENDED,
            "HOME=/h o'me\nPATH=/usr/bin:/bin",
        );
    }

    #[test]
    fn one_that_is_silent_is_not_waited_for() {
        let launch = Launch { command: "/bin/sleep".into(), args: vec!["60".into()] };
        let begun = Instant::now();
        let broken = shake_within(&launch, &Surroundings::default(), Duration::from_millis(100)).unwrap_err();
        assert!(broken.why.contains("in time"), "{broken:?}");
        assert!(begun.elapsed() < Duration::from_secs(20));
    }
}
