//! The one bridge between a guest program and the host: `executor:sandbox/bridge`.
//!
//! Calls run concurrently and are delivered one at a time. What a program
//! could learn from outside (the order of deliveries, time, randomness) comes
//! through here, so a program that is run again against the history of its
//! first run takes the same path: that is how an execution waits without
//! staying in memory.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use executor_bindings::sandbox::executor::sandbox::bridge::{self, Level, Outcome};
use executor_telemetry::Place;
use futures::future::{AbortHandle, BoxFuture};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::calls::Calls;
use crate::fault::{Ended, FaultKind};
use crate::guest::Guest;
use crate::limits::Limits;
use crate::stopwatch::Stopwatch;

/// Bytes of randomness that one run may draw.
const RANDOM_BYTES: usize = 1024 * 1024;

/// Bytes of arguments of calls that have no outcome yet.
const ARGUMENT_BYTES: usize = 64 * 1024 * 1024;

/// What a line or value costs beside its bytes, and a draw of randomness.
const OUTPUT_OVERHEAD_BYTES: usize = 64;

/// The longest delay of one timer, in milliseconds.
const TIMER_MS: u64 = 10 * 60 * 1000;

/// One call that a program made.
#[derive(Debug, Clone)]
pub struct Call {
    /// The step or block it was made in; 0 outside any.
    pub scope: u64,
    /// Its number within the scope, from 0.
    pub ordinal: u64,
    /// The first word: `tools`.
    pub root: String,
    /// The words after it.
    pub path: Vec<String>,
    /// Its arguments, JSON.
    pub args: String,
    /// Its options, JSON: `connection`, `raw`.
    pub options: Option<String>,
    /// Whether an earlier run of this execution made this same call and got
    /// no outcome delivered.
    pub recorded: bool,
}

/// How a call ended, for now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// Its result, JSON.
    Ok(String),
    /// Its error, JSON.
    Failed(String),
    /// A person must answer first; the run can't go on past it.
    Waiting,
}

/// A line of a program's log, or a value that it emitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Its number within the execution, from 0.
    pub sequence: u64,
    /// `debug`, `info`, `warn` or `error` for a log line; none for a value.
    pub level: Option<&'static str>,
    /// The text, or JSON.
    pub body: String,
}

/// What the host does for a running program.
pub trait BridgeHost: Send + Sync + 'static {
    /// Runs one call to its outcome. Dropping the future cancels it.
    fn call(&self, call: Call) -> BoxFuture<'static, Settled>;

    /// The program is about to see this outcome. `delivery` counts from 0.
    fn delivered(&self, call: &Call, settled: &Settled, delivery: u64);

    /// A new line or value; never called for one that an earlier run wrote.
    fn output(&self, output: Output);

    /// What to wait for before the program may write or call more, where the
    /// host can't keep up with writing it down; none otherwise.
    fn room(&self) -> Option<BoxFuture<'static, ()>> {
        None
    }

    /// The clock of the run where it may stand still; one of its own by
    /// default.
    fn clock(&self) -> Option<Stopwatch> {
        None
    }

    /// Where the run's spans go; nowhere by default.
    fn trace(&self) -> Place {
        Place::default()
    }
}

/// What an earlier run of the same program saw, in its order.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// The calls it made, by scope and ordinal.
    pub calls: HashMap<(u64, u64), RecordedCall>,
    /// Deliveries in their order, by scope and ordinal.
    pub deliveries: VecDeque<(u64, u64)>,
    /// What the clock and the random source gave.
    pub inputs: Inputs,
    /// How many outputs it wrote.
    pub outputs: u64,
}

/// One call of an earlier run.
#[derive(Debug, Clone)]
pub struct RecordedCall {
    /// `root.path`, to notice a program that went another way.
    pub path: String,
    /// Its arguments.
    pub args: String,
    /// Its options.
    pub options: Option<String>,
    /// Its outcome, if it is known.
    pub outcome: Option<Settled>,
}

/// Time and randomness as a program saw them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inputs {
    /// The clock's readings in milliseconds since the epoch; only those that
    /// differ from the one before, with the number of the reading.
    pub clock: Vec<(u64, u64)>,
    /// How often the clock was read.
    pub clock_readings: u64,
    /// Each draw of random bytes.
    pub random: Vec<Vec<u8>>,
}

/// Why the bridge ended a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BridgeEnd {
    /// Every outstanding call waits for a person.
    Suspended,
    /// The program does not do what its history says.
    Diverged { recorded: String, found: String },
}

/// The state of one run.
pub(crate) struct Bridge {
    pub(crate) ended: Option<BridgeEnd>,
    pub(crate) inputs: Inputs,
    host: Arc<dyn BridgeHost>,
    history: History,
    calls: HashMap<u32, (Call, Option<AbortHandle>)>,
    running: Calls<Finished>,
    permits: Arc<Semaphore>,
    ordinals: HashMap<u64, u64>,
    started: usize,
    deliveries: u64,
    outputs: u64,
    log_bytes: usize,
    emit_bytes: usize,
    argument_bytes: usize,
    random_bytes: usize,
    limits: BridgeLimits,
}

/// A call that has ended. It keeps its place among the running ones until
/// its outcome is delivered, so that outcomes don't pile up.
pub(crate) struct Finished {
    id: u32,
    settled: Settled,
    _place: Option<OwnedSemaphorePermit>,
}

impl Finished {
    fn new(id: u32, settled: Settled) -> Self {
        Self { id, settled, _place: None }
    }
}

struct BridgeLimits {
    total_calls: usize,
    log_bytes: usize,
    emit_bytes: usize,
}

impl Bridge {
    pub(crate) fn new(host: Arc<dyn BridgeHost>, history: History, limits: &Limits) -> Self {
        Self {
            ended: None,
            inputs: Inputs::default(),
            host,
            history,
            calls: HashMap::new(),
            running: Calls::new(),
            permits: Arc::new(Semaphore::new(limits.outstanding_calls)),
            ordinals: HashMap::new(),
            started: 0,
            deliveries: 0,
            outputs: 0,
            log_bytes: 0,
            emit_bytes: 0,
            argument_bytes: 0,
            random_bytes: 0,
            limits: BridgeLimits {
                total_calls: limits.total_calls,
                log_bytes: limits.log_bytes,
                emit_bytes: limits.result_bytes,
            },
        }
    }

    /// Waits until the host can write down more.
    async fn room(&self) {
        if let Some(room) = self.host.room() {
            room.await;
        }
    }

    /// The calls of this run, which somebody has to go on with.
    pub(crate) fn calls(&self) -> Calls<Finished> {
        self.running.clone()
    }

    fn start(&mut self, call: bridge::Call) -> wasmtime::Result<u32> {
        self.started += 1;
        if self.started > self.limits.total_calls {
            return Err(Ended::error(
                FaultKind::Denied,
                format!("it made more than {} calls", self.limits.total_calls),
            ));
        }
        self.argument_bytes += call.args.len();
        if self.argument_bytes > ARGUMENT_BYTES {
            return Err(Ended::error(
                FaultKind::Denied,
                format!("its outstanding calls hold more than {ARGUMENT_BYTES} bytes of arguments"),
            ));
        }
        let id = u32::try_from(self.started).expect("the limit of calls fits");
        let ordinal = self.ordinals.entry(call.scope).or_default();
        let mut call = Call {
            scope: call.scope,
            ordinal: *ordinal,
            root: call.root,
            path: call.path,
            args: call.args,
            options: call.options,
            recorded: false,
        };
        *ordinal += 1;
        let handle = match self.history.calls.remove(&(call.scope, call.ordinal)) {
            Some(recorded) => self.start_again(id, &mut call, recorded)?,
            None => Some(self.run(id, call.clone())),
        };
        self.calls.insert(id, (call, handle));
        Ok(id)
    }

    /// A call that an earlier run made too: its outcome is what was recorded,
    /// and only one without an outcome is given to the host.
    fn start_again(
        &mut self,
        id: u32,
        call: &mut Call,
        recorded: RecordedCall,
    ) -> wasmtime::Result<Option<AbortHandle>> {
        let path = full_path(call);
        if path != recorded.path || call.args != recorded.args || call.options != recorded.options {
            return Err(self.diverge(
                format!("{}({})", recorded.path, excerpt(&recorded.args)),
                format!("{path}({})", excerpt(&call.args)),
            ));
        }
        call.recorded = true;
        let key = (call.scope, call.ordinal);
        match recorded.outcome {
            None => Ok(Some(self.run(id, call.clone()))),
            Some(settled) if self.history.deliveries.contains(&key) => {
                self.history.calls.insert(key, RecordedCall { outcome: Some(settled), ..recorded });
                Ok(None)
            }
            Some(settled) => Ok(Some(self.running.add(async move { Finished::new(id, settled) }))),
        }
    }

    fn run(&mut self, id: u32, call: Call) -> AbortHandle {
        if call.root == "timer" {
            let milliseconds = timer_ms(&call.args);
            return self.running.add(async move {
                tokio::time::sleep(Duration::from_millis(milliseconds)).await;
                Finished::new(id, Settled::Ok("null".into()))
            });
        }
        let (host, permits) = (self.host.clone(), self.permits.clone());
        self.running.add(async move {
            let place = permits.acquire_owned().await.expect("the semaphore is never closed");
            let settled = host.call(call).await;
            Finished { id, settled, _place: Some(place) }
        })
    }

    async fn next(&mut self) -> wasmtime::Result<Option<(u32, Outcome)>> {
        if let Some(key) = self.history.deliveries.pop_front() {
            return self.deliver_recorded(key).map(Some);
        }
        loop {
            if self.calls.is_empty() {
                return Ok(None);
            }
            let Some(finished) = self.running.next().await else {
                self.ended = Some(BridgeEnd::Suspended);
                return Err(Ended::error(FaultKind::Cancelled, "it waits for a person"));
            };
            let Finished { id, settled, .. } = finished.map_err(wasmtime::Error::new)?;
            if !matches!(settled, Settled::Waiting)
                && let Some(call) = self.forget(id)
            {
                return Ok(Some((id, self.deliver(&call, settled))));
            }
        }
    }

    fn deliver_recorded(&mut self, key: (u64, u64)) -> wasmtime::Result<(u32, Outcome)> {
        let id =
            self.calls.iter().find(|(_, (call, _))| (call.scope, call.ordinal) == key).map(|(id, _)| *id);
        let recorded = self.history.calls.remove(&key).and_then(|call| Some((call.path, call.outcome?)));
        let (Some(id), Some((path, settled))) = (id, recorded) else {
            return Err(self.diverge(
                format!("the outcome of call {} of scope {}", key.1, key.0),
                "a program that has not made this call".into(),
            ));
        };
        tracing::trace!(path, delivery = self.deliveries, "delivered again");
        self.forget(id);
        self.deliveries += 1;
        Ok((id, outcome(settled)))
    }

    fn deliver(&mut self, call: &Call, settled: Settled) -> Outcome {
        self.host.delivered(call, &settled, self.deliveries);
        self.deliveries += 1;
        outcome(settled)
    }

    fn cancel(&mut self, id: u32) {
        let handle = self.calls.get_mut(&id).and_then(|(_, handle)| handle.take());
        if let Some(handle) = handle {
            handle.abort();
        }
        self.forget(id);
    }

    /// A call that is over: its arguments count no longer.
    fn forget(&mut self, id: u32) -> Option<Call> {
        let (call, _) = self.calls.remove(&id)?;
        self.argument_bytes -= call.args.len();
        Some(call)
    }

    /// Keeps a line or a value. A log that is full says so once and loses
    /// what comes after; a program that emits too much is ended.
    fn output(&mut self, level: Option<&'static str>, body: String) -> wasmtime::Result<()> {
        let cost = body.len() + OUTPUT_OVERHEAD_BYTES;
        if level.is_none() {
            self.emit_bytes += cost;
            if self.emit_bytes > self.limits.emit_bytes {
                let message = format!("it emitted more than {} bytes", self.limits.emit_bytes);
                return Err(Ended::error(FaultKind::Denied, message));
            }
            self.write(None, body);
        } else if self.log_bytes + cost <= self.limits.log_bytes {
            self.log_bytes += cost;
            self.write(level, body);
        } else if self.log_bytes <= self.limits.log_bytes {
            self.log_bytes = self.limits.log_bytes + 1;
            self.write(Some("warn"), format!("the log is full: {} bytes are kept", self.limits.log_bytes));
        }
        Ok(())
    }

    fn write(&mut self, level: Option<&'static str>, body: String) {
        let sequence = self.outputs;
        self.outputs += 1;
        if sequence >= self.history.outputs {
            self.host.output(Output { sequence, level, body });
        }
    }

    fn now(&mut self) -> u64 {
        let reading = self.inputs.clock_readings;
        self.inputs.clock_readings += 1;
        let value = if reading < self.history.inputs.clock_readings {
            let clock = &self.history.inputs.clock;
            let after = clock.partition_point(|(number, _)| *number <= reading);
            after.checked_sub(1).map_or(0, |index| clock[index].1)
        } else {
            now_ms().max(self.inputs.clock.last().map_or(0, |(_, value)| *value))
        };
        if self.inputs.clock.last().is_none_or(|(_, last)| *last != value) {
            self.inputs.clock.push((reading, value));
        }
        value
    }

    fn random(&mut self, len: u32) -> wasmtime::Result<Vec<u8>> {
        let len = len as usize;
        self.random_bytes = self.random_bytes.saturating_add(len).saturating_add(OUTPUT_OVERHEAD_BYTES);
        if self.random_bytes > RANDOM_BYTES {
            return Err(Ended::error(
                FaultKind::Denied,
                format!("it drew more than {RANDOM_BYTES} random bytes"),
            ));
        }
        let bytes = match self.history.inputs.random.get(self.inputs.random.len()) {
            Some(recorded) if recorded.len() == len => recorded.clone(),
            Some(recorded) => {
                return Err(
                    self.diverge(format!("{} random bytes", recorded.len()), format!("{len} random bytes"))
                );
            }
            None => {
                let mut bytes = vec![0; len];
                getrandom::fill(&mut bytes).map_err(|error| wasmtime::Error::msg(error.to_string()))?;
                bytes
            }
        };
        self.inputs.random.push(bytes.clone());
        Ok(bytes)
    }

    fn diverge(&mut self, recorded: String, found: String) -> wasmtime::Error {
        self.ended = Some(BridgeEnd::Diverged { recorded, found });
        Ended::error(FaultKind::Cancelled, "the program does not do what its journal says")
    }
}

impl bridge::Host for Guest<Bridge> {
    async fn start(&mut self, call: bridge::Call) -> wasmtime::Result<u32> {
        self.seam.room().await;
        self.seam.start(call)
    }

    async fn next(&mut self) -> wasmtime::Result<Option<(u32, Outcome)>> {
        self.seam.next().await
    }

    async fn cancel(&mut self, id: u32) -> wasmtime::Result<()> {
        self.seam.cancel(id);
        Ok(())
    }

    async fn log(&mut self, level: Level, message: String) -> wasmtime::Result<()> {
        let level = match level {
            Level::Debug => "debug",
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        };
        self.seam.room().await;
        self.seam.output(Some(level), message)
    }

    async fn emit(&mut self, content: String) -> wasmtime::Result<()> {
        self.seam.room().await;
        self.seam.output(None, content)
    }

    async fn now(&mut self) -> wasmtime::Result<u64> {
        Ok(self.seam.now())
    }

    async fn random(&mut self, len: u32) -> wasmtime::Result<Vec<u8>> {
        self.seam.random(len)
    }
}

/// `root.path` of a call, as the journal keeps it.
pub fn full_path(call: &Call) -> String {
    let mut path = call.root.clone();
    for segment in &call.path {
        path.push('.');
        path.push_str(segment);
    }
    path
}

fn outcome(settled: Settled) -> Outcome {
    match settled {
        Settled::Ok(json) => Outcome::Ok(json),
        Settled::Failed(json) => Outcome::Failed(json),
        Settled::Waiting => unreachable!("a waiting call is not delivered"),
    }
}

fn timer_ms(args: &str) -> u64 {
    serde_json::from_str::<serde_json::Value>(args)
        .ok()
        .and_then(|args| args.get("ms").and_then(serde_json::Value::as_f64))
        .map_or(0, |milliseconds| milliseconds.clamp(0.0, TIMER_MS as f64) as u64)
}

fn excerpt(text: &str) -> String {
    match text.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn now_ms() -> u64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}
