//! Runs a program to its end: its jobs, then the host's answers, in turn.

use rquickjs::function::IntoArgs;
use rquickjs::{Ctx, Error, Object, Result, Value};

use crate::bindings::{Level, Outcome};
use crate::failure::{Stop, caught, plain};
use crate::internals;
use crate::kind;
use crate::state::{Phase, State};

/// Gives what a value comes to: itself, or what it is a promise of.
pub(crate) fn settle<'js>(
    ctx: &Ctx<'js>,
    state: &State,
    value: Value<'js>,
) -> std::result::Result<Value<'js>, Stop<'js>> {
    let promise = match value.as_promise() {
        Some(promise) => promise.clone(),
        None if value.is_object() => prelude(ctx, |internals| &internals.adopt, (value,))?,
        None => return Ok(value),
    };
    // Read natively, so that nothing a program did to promises is asked.
    kind::mark_handled(&promise);
    state.forget_rejection(kind::address(&promise));
    loop {
        while ctx.execute_pending_job() {}
        match promise.result::<Value<'js>>() {
            Some(result) => return result.map_err(|error| caught(ctx, error)),
            None => deliver_next(ctx, state)?,
        }
    }
}

/// Waits for one answer of the host and hands it to the promise behind it.
fn deliver_next<'js>(ctx: &Ctx<'js>, state: &State) -> std::result::Result<(), Stop<'js>> {
    if state.phase.get() == Phase::Loading {
        return Err(Stop::Failed(plain(
            "never-settles",
            "a module waits, at its top level, for a promise that nothing will settle",
        )));
    }
    let Some((id, outcome)) = state.bridge.next() else {
        return Err(Stop::Failed(plain(
            "never-settles",
            "the program waits for a promise that nothing will settle: no call is outstanding, and no code is left to run",
        )));
    };
    let (ok, text) = match outcome {
        Outcome::Ok(text) => (true, text),
        Outcome::Failed(text) => (false, text),
    };
    let (ok, value) = match parse(ctx, &text) {
        Ok(value) => (ok, value),
        Err(_) => (false, unreadable(ctx).map_err(|error| caught(ctx, error))?),
    };
    prelude(ctx, |internals| &internals.settle, (id, ok, value))
}

/// JSON text as a value.
pub(crate) fn parse<'js>(ctx: &Ctx<'js>, text: &str) -> Result<Value<'js>> {
    ctx.json_parse(text)
}

/// What a call fails with whose answer is not JSON.
fn unreadable<'js>(ctx: &Ctx<'js>) -> Result<Value<'js>> {
    ctx.catch();
    let failure = Object::new(ctx.clone())?;
    failure.set("code", "unreadable-answer")?;
    failure.set("message", "the host's answer to this call is not JSON")?;
    Ok(failure.into_value())
}

/// Ends what the program left behind: calls that nobody waits for are
/// cancelled and named, rejections that nobody saw are told.
pub(crate) fn clean_up(ctx: &Ctx<'_>, state: &State) {
    const NAMED: usize = 20;
    if !state.called.replace(false) && state.rejections.borrow().is_empty() {
        return;
    }
    match internals::call::<_, Vec<String>>(ctx, |internals| &internals.abandon, ()) {
        Ok(labels) if !labels.is_empty() => {
            let mut names = labels[..labels.len().min(NAMED)].join(", ");
            if labels.len() > NAMED {
                names.push_str(&format!(" and {} more", labels.len() - NAMED));
            }
            let message = format!("abandoned: {names} (not awaited when the program ended, and cancelled)");
            state.log(Level::Warn, &message);
        }
        Ok(_) => {}
        Err(_) => {
            ctx.catch();
        }
    }
    for (_, message) in state.rejections.take().into_iter().take(NAMED) {
        let message = format!("a promise was rejected and nothing looked at it: {message}");
        state.log(Level::Warn, &message);
    }
}

fn prelude<'js, A, R>(
    ctx: &Ctx<'js>,
    select: impl for<'a> FnOnce(&'a internals::Internals<'js>) -> &'a rquickjs::Function<'js>,
    args: A,
) -> std::result::Result<R, Stop<'js>>
where
    A: IntoArgs<'js>,
    R: rquickjs::FromJs<'js>,
{
    internals::call(ctx, select, args).map_err(|error: Error| caught(ctx, error))
}
