//! An MCP client on the stdin and stdout of `executor mcp`.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ExitStatus};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::daemon::Daemon;

/// The last revision with sessions.
pub(crate) const LEGACY: &str = "2025-11-25";
/// The longest that an answer may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// Ends the daemon of a home that a command started.
pub(crate) struct Down<'d>(pub(crate) &'d Daemon);

impl Drop for Down<'_> {
    fn drop(&mut self) {
        self.0.run(&["down"]);
    }
}

/// What goes with each request of the newest revision.
pub(crate) fn meta(client: &str, capabilities: &Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": client, "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

/// A client, and what it was told.
pub(crate) struct Client {
    process: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    next_id: u64,
    answers: VecDeque<Value>,
    asked: Vec<Value>,
    notifications: Vec<Value>,
    settled: Vec<Value>,
}

impl Client {
    /// Starts the bridge.
    pub(crate) fn start(daemon: &Daemon, arguments: &[&str]) -> Self {
        let mut process = daemon.spawn_piped(&[&["mcp"], arguments].concat());
        let stdin = process.stdin.take();
        let stdout = process.stdout.take().unwrap();
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                let line = line.unwrap();
                let value = serde_json::from_str(&line)
                    .unwrap_or_else(|error| panic!("stdout carries nothing but MCP: {error}: {line}"));
                if sender.send(value).is_err() {
                    return;
                }
            }
        });
        Self {
            process,
            stdin,
            lines,
            next_id: 0,
            answers: VecDeque::new(),
            asked: Vec::new(),
            notifications: Vec::new(),
            settled: Vec::new(),
        }
    }

    /// The handshake of the older revisions.
    pub(crate) fn initialize(&mut self, capabilities: &Value) -> Value {
        let params = json!({ "protocolVersion": LEGACY, "capabilities": capabilities,
            "clientInfo": { "name": "test client", "version": "1" } });
        let result = self.ok("initialize", &params);
        self.notify("notifications/initialized", &json!({}));
        result
    }

    /// What the client's user says to the questions that come, in order.
    pub(crate) fn answers(&mut self, answers: &[Value]) {
        self.answers.extend(answers.iter().cloned());
    }

    /// The questions that came.
    pub(crate) fn asked(&self) -> &[Value] {
        &self.asked
    }

    /// The notifications of a method that came.
    pub(crate) fn notified(&self, method: &str) -> Vec<&Value> {
        self.notifications.iter().filter(|told| told["method"] == method).collect()
    }

    /// Sends a request and gives its result.
    #[track_caller]
    pub(crate) fn ok(&mut self, method: &str, params: &Value) -> Value {
        let answer = self.request(method, params);
        match answer.get("result") {
            Some(result) => result.clone(),
            None => panic!("{method} failed: {answer}"),
        }
    }

    /// Sends a request and gives the whole answer.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send(method, params);
        self.answer_to(id)
    }

    /// Sends a request; gives its id.
    pub(crate) fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.next_id += 1;
        let id = self.next_id;
        self.line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Sends a notification.
    pub(crate) fn notify(&mut self, method: &str, params: &Value) {
        self.line(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Waits for the answer to a request; what comes before it is kept, and
    /// questions are answered.
    pub(crate) fn answer_to(&mut self, id: u64) -> Value {
        loop {
            if let Some(place) = self.settled.iter().position(|answer| answer["id"] == id) {
                return self.settled.swap_remove(place);
            }
            let message = self.next();
            match (message.get("method"), message.get("id")) {
                (Some(_), Some(asking)) => {
                    let answer = self.answers.pop_front().unwrap_or_else(|| json!({ "action": "cancel" }));
                    let answer = json!({ "jsonrpc": "2.0", "id": asking, "result": answer });
                    self.asked.push(message);
                    self.line(&answer);
                }
                (Some(_), None) => self.notifications.push(message),
                (None, _) => self.settled.push(message),
            }
        }
    }

    /// The next message.
    pub(crate) fn next(&mut self) -> Value {
        self.lines.recv_timeout(PATIENCE).expect("an answer comes")
    }

    fn line(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    /// Writes bytes as they are.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(bytes).unwrap();
        stdin.flush().unwrap();
    }

    /// Closes stdin, and nothing else.
    pub(crate) fn end_of_input(&mut self) {
        self.stdin = None;
    }

    /// Waits until the bridge has ended.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        self.process.wait().unwrap()
    }

    /// Ends as clients end their servers.
    pub(crate) fn close(mut self) {
        self.end_of_input();
        assert!(self.ended().success(), "a bridge ends well");
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}
