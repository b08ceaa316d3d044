//! The component: the engine over the imported bridge.

use std::cell::{Cell, RefCell};

use crate::bindings::executor::sandbox::bridge as imported;
use crate::bindings::exports::executor::sandbox::engine::Guest;
use crate::bindings::{Call, Failure, Level, Module, Outcome, Program};
use crate::bridge::Bridge;
use crate::engine::Engine;

struct Component;

crate::bindings::export!(Component with_types_in crate::bindings);

thread_local! {
    /// The engine of this instance. `load` makes it, so that a snapshot taken
    /// after `load` holds it; `run` makes it where nothing was loaded.
    static ENGINE: RefCell<Option<Engine>> = const { RefCell::new(None) };
    /// Whether the clock may be asked: not while a snapshot may be taken.
    static RUNNING: Cell<bool> = const { Cell::new(false) };
}

impl Guest for Component {
    fn load(program: Program) -> Result<String, Failure> {
        with_engine(false, |engine| engine.load(&program))
    }

    fn invoke(handler: String, args: String) -> Result<String, Failure> {
        with_engine(true, |engine| engine.invoke(&handler, &args))
    }

    fn run(code: Module, input: String) -> Result<String, Failure> {
        with_engine(true, |engine| engine.run(&code, &input))
    }
}

fn with_engine<F>(running: bool, call: F) -> Result<String, Failure>
where
    F: FnOnce(&Engine) -> Result<String, Failure>,
{
    ENGINE.with_borrow_mut(|slot| {
        RUNNING.set(false);
        let engine = match slot.take() {
            Some(engine) => engine,
            None => Engine::new(Box::new(Imported))?,
        };
        RUNNING.set(running);
        let outcome = call(&engine);
        RUNNING.set(false);
        *slot = Some(engine);
        outcome
    })
}

struct Imported;

impl Bridge for Imported {
    fn start(&self, call: &Call) -> u32 {
        imported::start(call)
    }

    fn next(&self) -> Option<(u32, Outcome)> {
        imported::next()
    }

    fn cancel(&self, id: u32) {
        imported::cancel(id);
    }

    fn log(&self, level: Level, message: &str) {
        imported::log(level, message);
    }

    fn emit(&self, content: &str) {
        imported::emit(content);
    }

    fn now(&self) -> u64 {
        imported::now()
    }

    fn random(&self, len: u32) -> Vec<u8> {
        imported::random(len)
    }
}

/// QuickJS's clock, in microseconds: what `Date` reads. The epoch's start
/// while modules load, so that no time enters a snapshot.
#[unsafe(no_mangle)]
extern "C" fn __rquickjs_host_now_us() -> f64 {
    if !RUNNING.get() {
        return 0.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "microseconds stay below 2^53")]
    let now = (imported::now() as f64) * 1000.0;
    now
}
