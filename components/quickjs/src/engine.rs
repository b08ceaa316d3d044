//! The export `executor:sandbox/engine`, over any bridge.

use std::rc::Rc;

use rquickjs::module::Evaluated;
use rquickjs::object::Filter;
use rquickjs::{Context, Ctx, Module as JsModule, Object, Promise, Runtime, Value};
use serde_json::json;

use crate::bindings::{Failure, Level, Module, Program};
use crate::bridge::Bridge;
use crate::drive;
use crate::failure::{Stop, caught, plain};
use crate::internals;
use crate::kind;
use crate::limits::{GC_THRESHOLD_BYTES, RESULT_BYTES, STACK_BYTES};
use crate::modules::{SetLoader, SetResolver};
use crate::state::{Phase, State};
use crate::{inspect, json as values};

/// One QuickJS runtime and context, with the prelude in it. Programs that run
/// in the same engine one after the other share their globals: a host that
/// keeps them apart gives each an engine of its own.
pub struct Engine {
    context: Context,
    runtime: Runtime,
    state: Rc<State>,
}

impl Engine {
    /// A context with the prelude in it. Makes no call over the bridge.
    ///
    /// # Errors
    /// Where there is not enough memory for it.
    pub fn new(bridge: Box<dyn Bridge>) -> Result<Self, Failure> {
        let broken = |error: rquickjs::Error| plain("engine", error.to_string());
        let state = Rc::new(State::new(bridge));
        let runtime = Runtime::new().map_err(broken)?;
        runtime.set_max_stack_size(STACK_BYTES);
        runtime.set_gc_threshold(GC_THRESHOLD_BYTES);
        runtime.set_loader(SetResolver(state.clone()), SetLoader(state.clone()));
        let context = Context::full(&runtime).map_err(broken)?;
        context.with(|ctx| {
            internals::install(&ctx, &state).map_err(|error| caught(&ctx, error).into_failure(&ctx, &state))
        })?;
        track_rejections(&runtime, &state);
        runtime.run_gc();
        Ok(Self { context, runtime, state })
    }

    /// Evaluates a program's modules and keeps them for [`Engine::invoke`].
    /// The program may be empty. No module may use the bridge while it loads,
    /// so that the engine can be snapshot afterwards. Gives
    /// `{"modules": [specifier], "exports": [name], "logs": [[level, line]]}`,
    /// the exports being the entry's.
    ///
    /// # Errors
    /// Whatever a module's top level throws, and modules that don't link.
    pub fn load(&self, program: &Program) -> Result<String, Failure> {
        self.state.phase.set(Phase::Loading);
        let order = self.take_modules(program)?;
        let exports = self.context.with(|ctx| {
            let mut exports = Vec::new();
            for specifier in &order {
                let is_entry = *specifier == program.entry;
                let namespace = import(&ctx, &self.state, specifier, is_entry)
                    .map_err(|stop| stop.into_failure(&ctx, &self.state))?;
                if is_entry {
                    exports = names(&namespace);
                }
            }
            Ok::<_, Failure>(exports)
        })?;
        self.runtime.run_gc();
        let logs: Vec<_> = self.state.load_log.take();
        let logs: Vec<_> = logs.iter().map(|(level, line)| json!([level_name(*level), line])).collect();
        Ok(json!({ "modules": order, "exports": exports, "logs": logs }).to_string())
    }

    /// Calls a function of a loaded module with parsed JSON and gives its
    /// result as JSON. `handler` is the name of an export of the entry, or
    /// `specifier#name` for one of another module.
    ///
    /// # Errors
    /// `not-found` where there is no such function; whatever it throws.
    pub fn invoke(&self, handler: &str, args: &str) -> Result<String, Failure> {
        self.enter(|ctx| {
            let function = self.handler(ctx, handler)?;
            self.call(ctx, function, args)
        })
    }

    /// Evaluates a module and, where its default export is a function, calls
    /// that with the parsed `input`. Gives the result as JSON.
    ///
    /// # Errors
    /// What the program throws, with the author's lines; `syntax` where it
    /// does not compile; `never-settles` where it waits for nothing; `cycle`,
    /// `too-deep`, `too-large`, `promise`, `function` or `symbol` where the
    /// result has no JSON; `input` where that is none.
    pub fn run(&self, code: &Module, input: &str) -> Result<String, Failure> {
        self.state.keep_map(code);
        self.enter(|ctx| {
            let namespace = evaluate(ctx, &self.state, code)?;
            let exported = namespace.get::<_, Value<'_>>("default").map_err(|error| caught(ctx, error))?;
            self.call(ctx, exported, input)
        })
    }

    /// Runs a part of the program with the bridge open, and ends what it
    /// leaves behind.
    fn enter<F>(&self, part: F) -> Result<String, Failure>
    where
        F: for<'js> FnOnce(&Ctx<'js>) -> Result<String, Stop<'js>>,
    {
        self.state.phase.set(Phase::Running);
        self.context.with(|ctx| {
            let outcome = part(&ctx).map_err(|stop| stop.into_failure(&ctx, &self.state));
            drive::clean_up(&ctx, &self.state);
            outcome
        })
    }

    /// Calls a function, or takes a value as it is; its result as JSON.
    fn call<'js>(&self, ctx: &Ctx<'js>, target: Value<'js>, input: &str) -> Result<String, Stop<'js>> {
        let input = drive::parse(ctx, input).map_err(|_| {
            ctx.catch();
            Stop::Failed(plain("input", "the input is not JSON"))
        })?;
        let returned = match target.as_function() {
            Some(function) => function.call((input,)).map_err(|error| caught(ctx, error))?,
            None => target,
        };
        let result = drive::settle(ctx, &self.state, returned)?;
        values::write(ctx, &result, "the result", RESULT_BYTES).map_err(|error| Stop::of_json(ctx, error))
    }

    /// Takes over the sources, and says in which order to evaluate them.
    fn take_modules(&self, program: &Program) -> Result<Vec<String>, Failure> {
        let mut order = Vec::new();
        let mut sources = self.state.sources.borrow_mut();
        sources.clear();
        for module in &program.modules {
            self.state.keep_map(module);
            if sources.insert(module.specifier.clone(), module.source.clone()).is_some() {
                let message = format!("two modules are called \"{}\"", module.specifier);
                return Err(plain("program", message));
            }
            order.push(module.specifier.clone());
        }
        if program.entry.is_empty() {
            return Ok(order);
        }
        let Some(entry) = order.iter().position(|name| *name == program.entry) else {
            let message = format!("the entry \"{}\" is not among the modules", program.entry);
            return Err(plain("program", message));
        };
        order[..=entry].rotate_right(1);
        Ok(order)
    }

    fn handler<'js>(&self, ctx: &Ctx<'js>, handler: &str) -> Result<Value<'js>, Stop<'js>> {
        let (specifier, name) = handler.rsplit_once('#').unwrap_or(("", handler));
        let kept: Value<'js> = internals::call(ctx, |internals| &internals.kept, (specifier,))
            .map_err(|error| caught(ctx, error))?;
        let Some(namespace) = kept.into_object() else {
            let sources = self.state.sources.borrow();
            let known: Vec<_> = sources.keys().take(20).cloned().collect();
            let message = format!(
                "there is no module \"{specifier}\" to take \"{name}\" from; loaded: {}",
                listed(&known)
            );
            return Err(Stop::Failed(plain("not-found", message)));
        };
        let found: Value<'js> = namespace.get(name).map_err(|error| caught(ctx, error))?;
        if found.is_function() {
            return Ok(found);
        }
        let message =
            format!("there is no function \"{name}\" to call; exported: {}", listed(&names(&namespace)));
        Err(Stop::Failed(plain("not-found", message)))
    }
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}

fn names(namespace: &Object<'_>) -> Vec<String> {
    namespace.own_keys::<String>(Filter::default()).flatten().collect()
}

fn level_name(level: Level) -> &'static str {
    match level {
        Level::Debug => "debug",
        Level::Info => "info",
        Level::Warn => "warn",
        Level::Error => "error",
    }
}

/// Compiles, links and evaluates a program; its namespace.
fn evaluate<'js>(ctx: &Ctx<'js>, state: &State, code: &Module) -> Result<Object<'js>, Stop<'js>> {
    state.linking.set(true);
    let declared = JsModule::declare(ctx.clone(), code.specifier.as_str(), code.source.as_str());
    state.linking.set(false);
    let (module, promise): (JsModule<'js, Evaluated>, Promise<'js>) =
        declared.and_then(JsModule::eval).map_err(|error| caught(ctx, error))?;
    drive::settle(ctx, state, promise.into_value())?;
    module.namespace().map_err(|error| caught(ctx, error))
}

/// Evaluates a module of the set, unless one before it has; its namespace,
/// which is kept for `invoke`. The entry is also kept under the empty name.
fn import<'js>(
    ctx: &Ctx<'js>,
    state: &State,
    specifier: &str,
    is_entry: bool,
) -> Result<Object<'js>, Stop<'js>> {
    state.linking.set(true);
    let imported = JsModule::import(ctx, specifier);
    state.linking.set(false);
    let promise = imported.map_err(|error| caught(ctx, error))?;
    let namespace = drive::settle(ctx, state, promise.into_value())?;
    let aliases = if is_entry { &[specifier, ""][..] } else { &[specifier][..] };
    for alias in aliases {
        let kept = (*alias, namespace.clone());
        internals::call::<_, ()>(ctx, |internals| &internals.keep, kept)
            .map_err(|error| caught(ctx, error))?;
    }
    namespace.into_object().ok_or_else(|| Stop::Failed(plain("engine", "a module has no namespace")))
}

/// Keeps what was rejected with nobody looking, until somebody does.
fn track_rejections(runtime: &Runtime, state: &Rc<State>) {
    let state = state.clone();
    runtime.set_host_promise_rejection_tracker(Some(Box::new(
        move |ctx: Ctx<'_>, promise: Value<'_>, reason: Value<'_>, handled: bool| {
            let address = kind::address(&promise);
            if handled {
                state.forget_rejection(address);
            } else if state.rejections.borrow().len() < 100 {
                let message = match reason.as_object().filter(|_| reason.is_error()) {
                    Some(error) => crate::failure::headline(&ctx, error),
                    None => inspect::value(&ctx, &state, &reason),
                };
                state.rejections.borrow_mut().push((address, message));
            }
        },
    )));
}
