//! The engine over a bridge of the tests' own.

mod blobs;
mod drive;
mod errors;
mod globals;
mod hostile;
mod log;
mod modules;
mod tools;
mod values;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use serde_json::{Value, json};

use crate::bindings::{Call, Failure, Level, Module, Outcome};
use crate::bridge::Bridge;
use crate::engine::Engine;

/// What a host answers a call with; None leaves it outstanding for good.
type Answer = Box<dyn Fn(&Call) -> Option<Outcome>>;

/// A host that keeps what it was asked.
#[derive(Clone)]
struct Host(Rc<HostState>);

struct HostState {
    answer: Answer,
    newest_first: bool,
    record: RefCell<Record>,
}

#[derive(Default)]
struct Record {
    calls: Vec<Call>,
    ready: VecDeque<(u32, Outcome)>,
    cancelled: Vec<u32>,
    lines: Vec<(Level, String)>,
    emitted: Vec<Value>,
    random_calls: u32,
    now_ms: u64,
}

impl Host {
    fn new(answer: impl Fn(&Call) -> Option<Outcome> + 'static) -> Self {
        Self::ordered(false, answer)
    }

    fn ordered(newest_first: bool, answer: impl Fn(&Call) -> Option<Outcome> + 'static) -> Self {
        Self(Rc::new(HostState { answer: Box::new(answer), newest_first, record: RefCell::default() }))
    }

    /// Answers every tool call with what it was called with.
    fn echo() -> Self {
        Self::new(|call| {
            let args: Value = serde_json::from_str(&call.args).unwrap();
            let answer = json!({ "path": call.path.join("."), "args": args });
            Some(Outcome::Ok(answer.to_string()))
        })
    }

    fn silent() -> Self {
        Self::new(|_| None)
    }

    fn engine(&self) -> Engine {
        Engine::new(Box::new(self.clone())).unwrap()
    }

    fn calls(&self) -> Vec<String> {
        let record = self.0.record.borrow();
        let shown = record.calls.iter().map(|call| {
            let options = call.options.clone().unwrap_or_default();
            format!("{}:{} {} {}", call.root, call.path.join("."), call.args, options)
        });
        shown.map(|line| line.trim_end().to_owned()).collect()
    }

    fn lines(&self) -> Vec<String> {
        let record = self.0.record.borrow();
        record.lines.iter().map(|(_, line)| line.clone()).collect()
    }

    fn warnings(&self) -> Vec<String> {
        let record = self.0.record.borrow();
        let warnings = record.lines.iter().filter(|(level, _)| *level == Level::Warn);
        warnings.map(|(_, line)| line.clone()).collect()
    }
}

impl Bridge for Host {
    fn start(&self, call: &Call) -> u32 {
        let mut record = self.0.record.borrow_mut();
        record.calls.push(call.clone());
        let id = u32::try_from(record.calls.len()).unwrap();
        if let Some(outcome) = (self.0.answer)(call) {
            record.ready.push_back((id, outcome));
        }
        id
    }

    fn next(&self) -> Option<(u32, Outcome)> {
        let mut record = self.0.record.borrow_mut();
        if self.0.newest_first { record.ready.pop_back() } else { record.ready.pop_front() }
    }

    fn cancel(&self, id: u32) {
        let mut record = self.0.record.borrow_mut();
        record.ready.retain(|(ready, _)| *ready != id);
        record.cancelled.push(id);
    }

    fn log(&self, level: Level, message: &str) {
        self.0.record.borrow_mut().lines.push((level, message.to_owned()));
    }

    fn emit(&self, content: &str) {
        let value = serde_json::from_str(content).unwrap();
        self.0.record.borrow_mut().emitted.push(value);
    }

    fn now(&self) -> u64 {
        let mut record = self.0.record.borrow_mut();
        record.now_ms += 5;
        1_700_000_000_000 + record.now_ms
    }

    fn random(&self, len: u32) -> Vec<u8> {
        let mut record = self.0.record.borrow_mut();
        record.random_calls += 1;
        (0..len).map(|index| (index * 37 + 11) as u8).collect()
    }
}

fn module(specifier: &str, source: &str) -> Module {
    Module { specifier: specifier.to_owned(), source: source.to_owned(), source_map: None }
}

/// Runs the body of an async function in a fresh engine.
fn run_with(host: &Host, body: &str) -> Result<Value, Failure> {
    let source = format!("export default async (input) => {{ {body}\n}}");
    let result = host.engine().run(&module("main.ts", &source), "{}");
    result.map(|text| serde_json::from_str(&text).unwrap())
}

fn run(body: &str) -> Result<Value, Failure> {
    run_with(&Host::echo(), body)
}

#[track_caller]
fn check(body: &str, expect: Value) {
    match run(body) {
        Ok(value) => assert_eq!(value, expect, "{body}"),
        Err(failure) => panic!("{body}: {failure:?}"),
    }
}

#[track_caller]
fn check_failure(body: &str, code: &str, message: &str) -> Failure {
    let failure = run(body).expect_err(body);
    assert_eq!((failure.code.as_str(), failure.message.as_str()), (code, message), "{body}");
    failure
}
