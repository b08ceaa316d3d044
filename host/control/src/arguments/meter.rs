//! A bound on steps and stack inside the schema library, which has none.
//!
//! A keyword of our own stands before every schema that has others within.
//! It counts, and where the budget is spent it unwinds out of the check by
//! `resume_unwind`, which runs no panic hook; [`metered`] catches that. The
//! library keeps no lock and no state between calls that this could harm.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use jsonschema::{Keyword, ValidationError, paths::Location};
use serde_json::{Map, Value};

const _: () = assert!(cfg!(panic = "unwind"), "a spent budget leaves the schema library by unwinding");

/// The keyword's name; a schema from outside never keeps one of this name.
pub(super) const KEYWORD: &str = "x-executor-steps";
/// In the message of a compilation that was stopped.
pub(super) const TOO_DEEP: &str = "nests deeper than is compiled";

/// Steps of one check, about 10 ms; a large honest request takes a tenth.
pub(super) const CHECK_STEPS: u64 = 2_000_000;
/// Steps of gathering what is wrong, each of which may keep an error.
pub(super) const EXPLAIN_STEPS: u64 = 100_000;
/// Stack that a check may take of its caller's, of which a tokio worker has
/// 2 MiB.
const CHECK_STACK_BYTES: usize = 384 * 1024;
/// Stack for compiling in place, and on a thread of its own.
const COMPILE_STACK_BYTES: usize = 512 * 1024;
const ROOMY_STACK_BYTES: usize = 16 * 1024 * 1024;
/// More definitions than this are compiled on a thread of their own.
const FEW_DEFINITIONS: usize = 12;

#[derive(Clone, Copy)]
struct Budget {
    steps: u64,
    /// The address near which the stack was when the work began.
    top: usize,
    stack_bytes: usize,
}

thread_local! {
    static BUDGET: Cell<Option<Budget>> = const { Cell::new(None) };
}

/// What is thrown when a budget is spent.
struct Spent;

/// Runs `work` within so many steps; none if they did not suffice.
pub(super) fn metered<T>(steps: u64, work: impl FnOnce() -> T) -> Option<T> {
    let before = BUDGET.replace(Some(Budget::of(steps, CHECK_STACK_BYTES)));
    let done = catch_unwind(AssertUnwindSafe(work));
    BUDGET.set(before);
    match done {
        Ok(value) => Some(value),
        Err(thrown) if thrown.is::<Spent>() => None,
        Err(thrown) => resume_unwind(thrown),
    }
}

/// Runs a compilation with the stack that `definitions` of them may need.
pub(super) fn roomy<T: Send>(definitions: usize, work: impl FnOnce() -> T + Send) -> T {
    let within = |stack_bytes: usize, work: Box<dyn FnOnce() -> T + Send + '_>| {
        let before = BUDGET.replace(Some(Budget::of(u64::MAX, stack_bytes)));
        let done = work();
        BUDGET.set(before);
        done
    };
    if definitions <= FEW_DEFINITIONS {
        return within(COMPILE_STACK_BYTES, Box::new(work));
    }
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name("schema".to_owned()).stack_size(ROOMY_STACK_BYTES);
        let worker = builder
            .spawn_scoped(scope, move || within(ROOMY_STACK_BYTES / 2, Box::new(work)))
            .expect("a process that can't start a thread can't go on");
        worker.join().unwrap_or_else(|thrown| resume_unwind(thrown))
    })
}

fn stack_address() -> usize {
    let here = 0u8;
    std::ptr::from_ref(std::hint::black_box(&here)).addr()
}

impl Budget {
    fn of(steps: u64, stack_bytes: usize) -> Self {
        Self { steps, top: stack_address(), stack_bytes }
    }

    fn is_too_deep(&self) -> bool {
        self.top.abs_diff(stack_address()) > self.stack_bytes
    }
}

/// The compiled keyword: what passing it costs.
struct Steps(u64);

impl Steps {
    fn pass(&self, instance: &Value) {
        let Some(mut budget) = BUDGET.get() else {
            return;
        };
        let size = match instance {
            Value::String(text) => text.len() / 64,
            Value::Array(items) => items.len() / 4,
            Value::Object(members) => members.len() / 4,
            _ => 0,
        };
        budget.steps = budget.steps.saturating_sub(self.0 + size as u64);
        BUDGET.set(Some(budget));
        if budget.steps == 0 || budget.is_too_deep() {
            resume_unwind(Box::new(Spent));
        }
    }
}

impl<'i> Keyword<'i> for Steps {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        self.pass(instance);
        Ok(())
    }

    fn is_valid(&self, instance: &'i Value) -> bool {
        self.pass(instance);
        true
    }
}

/// Compiles the keyword, and stops a compilation that has come too deep.
pub(super) fn keyword<'a>(
    _schema: &'a Map<String, Value>,
    value: &'a Value,
    _path: Location,
) -> Result<Box<dyn for<'i> Keyword<'i>>, ValidationError<'a>> {
    if BUDGET.get().is_some_and(|budget| budget.is_too_deep()) {
        return Err(ValidationError::custom(TOO_DEEP));
    }
    Ok(Box::new(Steps(value.as_u64().unwrap_or(1))))
}
