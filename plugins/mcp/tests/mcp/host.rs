//! A host that writes down what it is asked, with a clock of its own.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use executor_mcp::seam::{Failure, HttpRequest, HttpResponse, Process, Question, Reply, World};
use serde_json::{Value, json};

use crate::support::{Piece, Posted, Said};

type Server = Box<dyn FnMut(&Posted) -> Said + Send>;
type Timed = Box<dyn FnOnce(&mut Output) + Send>;
type Program = Box<dyn FnMut(&Value, &mut Output) + Send>;

/// What a process writes.
#[derive(Default)]
pub(crate) struct Output {
    pub(crate) lines: Vec<String>,
    pub(crate) dies: bool,
}

impl Output {
    pub(crate) fn say(&mut self, message: &Value) {
        self.lines.push(message.to_string());
    }

    pub(crate) fn result(&mut self, request: &Value, result: Value) {
        self.say(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
    }

    pub(crate) fn error(&mut self, request: &Value, code: i64) {
        let error = json!({"code": code, "message": "no"});
        self.say(&json!({"jsonrpc": "2.0", "id": request["id"], "error": error}));
    }
}

#[derive(Default)]
struct Running {
    lines: Vec<String>,
    written: Vec<String>,
    claimed: Vec<String>,
    generation: u64,
    dead: bool,
    /// What it says by itself, and when.
    timed: Vec<(u64, Timed)>,
}

#[derive(Default)]
struct State {
    clock: u64,
    drawn: u64,
    posted: Vec<Posted>,
    session: BTreeMap<String, Vec<u8>>,
    files: Vec<(Option<String>, Vec<u8>)>,
    progress: Vec<(f64, Option<f64>, Option<String>)>,
    asked: Vec<Question>,
    replies: Vec<Reply>,
    changed: Vec<String>,
    ends_at: Option<u64>,
    forgetful: bool,
    /// What the host says where the adapter does not return.
    farewell: Option<HttpRequest>,
    /// The last line of those that were left for a process.
    last_line: Option<String>,
    farewells: usize,
}

/// The host.
#[derive(Clone)]
pub(crate) struct Host {
    state: Arc<Mutex<State>>,
    server: Arc<Mutex<Server>>,
    program: Arc<Mutex<Program>>,
    running: Arc<Mutex<Running>>,
    real: Option<Instant>,
}

impl Host {
    /// In front of a server of HTTP.
    pub(crate) fn serving(server: impl FnMut(&Posted) -> Said + Send + 'static) -> Self {
        Self::new(Box::new(server), Box::new(|_, _| panic!("there is no process")))
    }

    /// With a process.
    pub(crate) fn running(program: impl FnMut(&Value, &mut Output) + Send + 'static) -> Self {
        Self::new(Box::new(|_| panic!("there is no server")), Box::new(program))
    }

    fn new(server: Server, program: Program) -> Self {
        Self {
            state: Arc::default(),
            server: Arc::new(Mutex::new(server)),
            program: Arc::new(Mutex::new(program)),
            running: Arc::default(),
            real: None,
        }
    }

    /// With the clock of the machine, for calls at the same time.
    pub(crate) fn in_real_time(mut self) -> Self {
        self.real = Some(Instant::now());
        self
    }

    /// Keeps nothing in its session.
    pub(crate) fn forgetful(self) -> Self {
        self.state().forgetful = true;
        self
    }

    /// Ends a watch once so much time has passed.
    pub(crate) fn ending_at(self, ms: u64) -> Self {
        self.state().ends_at = Some(ms);
        self
    }

    /// Has the process say something by itself once so much time has passed.
    pub(crate) fn saying_at(self, ms: u64, says: impl FnOnce(&mut Output) + Send + 'static) -> Self {
        self.process().timed.push((ms, Box::new(says)));
        self
    }

    pub(crate) fn replying(self, replies: &[Reply]) -> Self {
        self.state().replies = replies.to_vec();
        self
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn process(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap()
    }

    /// What reached the server since this was asked last.
    pub(crate) fn posted(&self) -> Vec<Posted> {
        std::mem::take(&mut self.state().posted)
    }

    pub(crate) fn methods(&self) -> Vec<String> {
        self.posted().iter().map(|posted| posted.method().to_owned()).collect()
    }

    pub(crate) fn files(&self) -> Vec<(Option<String>, Vec<u8>)> {
        self.state().files.clone()
    }

    pub(crate) fn told(&self) -> Vec<(f64, Option<f64>, Option<String>)> {
        self.state().progress.clone()
    }

    pub(crate) fn asked(&self) -> Vec<Question> {
        self.state().asked.clone()
    }

    pub(crate) fn changes(&self) -> Vec<String> {
        std::mem::take(&mut self.state().changed)
    }

    pub(crate) fn elapsed_ms(&self) -> u64 {
        self.state().clock
    }

    /// What was written to the process since this was asked last.
    pub(crate) fn written(&self) -> Vec<Value> {
        let lines = std::mem::take(&mut self.process().written);
        lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub(crate) fn written_methods(&self) -> Vec<String> {
        let name = |line: &Value| line["method"].as_str().unwrap_or("answer").to_owned();
        self.written().iter().map(name).collect()
    }

    /// What would be said if the adapter were ended now, and how often something was left to say.
    pub(crate) fn farewell(&self) -> (Option<Value>, usize) {
        let state = self.state();
        let line = state.last_line.as_ref().map(|line| serde_json::from_str(line).unwrap());
        let request = state.farewell.as_ref().map(|request| serde_json::from_slice(&request.body).unwrap());
        (line.or(request), state.farewells)
    }

    /// The process is started again.
    pub(crate) fn restart(&self) {
        let mut running = self.process();
        running.generation += 1;
        running.claimed.clear();
        running.dead = false;
    }

    /// Drops what calls agreed on.
    pub(crate) fn lose_session(&self) {
        self.state().session.clear();
    }

    pub(crate) fn session(&self) -> Vec<(String, Value)> {
        let state = self.state();
        let entry = |(key, value): (&String, &Vec<u8>)| {
            (key.clone(), serde_json::from_slice(value).unwrap_or_default())
        };
        state.session.iter().map(entry).collect()
    }

    fn pass(&self, ms: u64) {
        let mut state = self.state();
        state.clock += ms;
        let (clock, over) = (state.clock, state.ends_at.is_some_and(|end| state.clock >= end));
        drop(state);
        let mut running = self.process();
        while let Some(at) = running.timed.iter().position(|(due, _)| *due <= clock) {
            let mut output = Output::default();
            (running.timed.remove(at).1)(&mut output);
            running.lines.extend(output.lines);
        }
        drop(running);
        if over {
            std::panic::panic_any(Ended);
        }
    }
}

/// How a host ends a watch: it drops the instance.
pub(crate) struct Ended;

struct Body {
    host: Host,
    status: u16,
    headers: Vec<(String, Vec<u8>)>,
    pieces: VecDeque<Piece>,
}

impl HttpResponse for Body {
    fn status(&self) -> u16 {
        self.status
    }

    fn headers(&self) -> Vec<(String, Vec<u8>)> {
        self.headers.clone()
    }

    fn read(&mut self, _len: u32, timeout_ms: u32) -> Result<Option<Vec<u8>>, Failure> {
        match self.pieces.pop_front() {
            None => Ok(Some(Vec::new())),
            Some(Piece::Text(text)) => Ok(Some(text.into_bytes())),
            Some(Piece::Forever(text)) => {
                self.pieces.push_front(Piece::Forever(text.clone()));
                self.host.pass(1);
                Ok(Some(text.into_bytes()))
            }
            Some(Piece::Broken) => Err(Failure::new("upstream-truncated", "the body ended early")),
            Some(Piece::Silence(ms)) => {
                let waited = ms.min(u64::from(timeout_ms));
                if ms > waited {
                    self.pieces.push_front(Piece::Silence(ms - waited));
                }
                self.host.pass(waited);
                Ok(None)
            }
        }
    }
}

struct Handle {
    host: Host,
    read: usize,
    generation: u64,
}

impl Process for Handle {
    fn write_line(&mut self, line: &str) -> Result<(), Failure> {
        assert!(!line.contains(['\n', '\r']), "a line is one line");
        let message: Value = serde_json::from_str(line).unwrap();
        if self.host.process().dead {
            return Err(Failure::new("process-failed", "the process has ended"));
        }
        self.host.process().written.push(line.to_owned());
        let mut output = Output::default();
        (self.host.program.lock().unwrap())(&message, &mut output);
        let mut running = self.host.process();
        running.lines.extend(output.lines);
        running.dead |= output.dies;
        Ok(())
    }

    fn farewell(&mut self, line: Option<&str>) -> Result<(), Failure> {
        let mut state = self.host.state();
        state.farewells += usize::from(line.is_some());
        state.last_line = line.map(str::to_owned);
        Ok(())
    }

    fn read_line(&mut self, timeout_ms: u32) -> Result<Option<String>, Failure> {
        let running = self.host.process();
        if let Some(line) = running.lines.get(self.read) {
            self.read += 1;
            return Ok(Some(line.clone()));
        }
        if running.dead || running.generation != self.generation {
            return Err(Failure::new("process-failed", "the process has ended (exit status 1)"));
        }
        drop(running);
        if self.host.real.is_some() {
            std::thread::sleep(Duration::from_millis(1));
        } else {
            self.host.pass(u64::from(timeout_ms));
        }
        Ok(None)
    }

    fn claim(&mut self, key: &str) -> bool {
        let mut running = self.host.process();
        let free = !running.claimed.iter().any(|held| held == key);
        if free {
            running.claimed.push(key.to_owned());
        }
        free
    }

    fn generation(&self) -> u64 {
        self.generation
    }
}

impl World for Host {
    fn send(&self, request: HttpRequest, within_ms: u32) -> Result<Option<Box<dyn HttpResponse>>, Failure> {
        let body = serde_json::from_slice(&request.body).unwrap_or_default();
        let posted = Posted { verb: request.method, url: request.url, headers: request.headers, body };
        self.state().posted.push(posted.clone());
        let said = (self.server.lock().unwrap())(&posted);
        match said {
            Said::Failed(failure) => Err(failure),
            Said::Hangs => {
                self.pass(u64::from(within_ms));
                Ok(None)
            }
            Said::Http { status, headers, body } => {
                let headers = headers.into_iter().map(|(name, value)| (name, value.into_bytes())).collect();
                Ok(Some(Box::new(Body { host: self.clone(), status, headers, pieces: body.into() })))
            }
        }
    }

    fn farewell(&self, request: Option<HttpRequest>) -> Result<(), Failure> {
        let mut state = self.state();
        state.farewells += usize::from(request.is_some());
        state.farewell = request;
        Ok(())
    }

    fn keep(&self, media_type: Option<&str>, bytes: &[u8]) -> Result<String, Failure> {
        let mut state = self.state();
        state.files.push((media_type.map(str::to_owned), bytes.to_vec()));
        Ok(format!("blob:{}", state.files.len()))
    }

    fn attach(&self) -> Result<Box<dyn Process>, Failure> {
        if self.process().dead {
            self.restart();
        }
        let running = self.process();
        let handle = Handle { host: self.clone(), read: running.lines.len(), generation: running.generation };
        Ok(Box::new(handle))
    }

    fn recall(&self, key: &str) -> Option<Vec<u8>> {
        self.state().session.get(key).cloned()
    }

    fn swap(&self, key: &str, expected: Option<&[u8]>, value: Option<&[u8]>) -> bool {
        let mut state = self.state();
        if state.forgetful || state.session.get(key).map(Vec::as_slice) != expected {
            return false;
        }
        match value {
            Some(value) => drop(state.session.insert(key.to_owned(), value.to_vec())),
            None => drop(state.session.remove(key)),
        }
        true
    }

    fn ask(&self, question: Question) -> Result<Reply, Failure> {
        let mut state = self.state();
        state.asked.push(question);
        Ok(if state.replies.is_empty() { Reply::Cancelled } else { state.replies.remove(0) })
    }

    fn progress(&self, done: f64, total: Option<f64>, message: Option<&str>) {
        self.state().progress.push((done, total, message.map(str::to_owned)));
    }

    fn changed(&self, what: &str) {
        self.state().changed.push(what.to_owned());
    }

    fn now_ms(&self) -> u64 {
        1_700_000_000_000 + self.ticks_ms()
    }

    fn ticks_ms(&self) -> u64 {
        match self.real {
            Some(begun) => u64::try_from(begun.elapsed().as_millis()).unwrap(),
            None => self.state().clock,
        }
    }

    fn sleep_ms(&self, ms: u64) {
        if self.real.is_some() {
            std::thread::sleep(Duration::from_millis(ms.min(20)));
        } else {
            self.pass(ms);
        }
    }

    fn random(&self) -> u64 {
        let mut state = self.state();
        state.drawn += 1;
        state.drawn.wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }
}
