//! The prelude: what it gives a program, and the functions of it that the
//! Rust side calls.

use std::rc::Rc;

use rquickjs::context::EvalOptions;
use rquickjs::function::IntoArgs;
use rquickjs::{Array, Ctx, Error, FromJs, Function, JsLifetime, Object, Result, Value};

use crate::host;
use crate::stack::PRELUDE_NAME;
use crate::state::State;

/// One function body, in the order in which its parts use each other.
const PRELUDE: &str = concat!(
    "(function (host) { 'use strict';\n",
    include_str!("prelude/primordials.js"),
    include_str!("prelude/errors.js"),
    include_str!("prelude/abort.js"),
    include_str!("prelude/calls.js"),
    include_str!("prelude/tools.js"),
    include_str!("prelude/blobs.js"),
    include_str!("prelude/clone.js"),
    include_str!("prelude/text.js"),
    include_str!("prelude/url.js"),
    include_str!("prelude/globals.js"),
    "})"
);

/// The prelude's functions, kept with the runtime.
pub(crate) struct Internals<'js> {
    pub(crate) adopt: Function<'js>,
    pub(crate) settle: Function<'js>,
    pub(crate) abandon: Function<'js>,
    pub(crate) keep: Function<'js>,
    pub(crate) kept: Function<'js>,
    tool_path: Function<'js>,
    entries: Function<'js>,
    items: Function<'js>,
    date_text: Function<'js>,
    reg_exp_text: Function<'js>,
    big_int_text: Function<'js>,
    is_safe_big_int: Function<'js>,
    well_formed: Function<'js>,
    type_error: Function<'js>,
}

// SAFETY: the lifetime of the functions is that of the type, and nothing else
// in it has one.
unsafe impl<'js> JsLifetime<'js> for Internals<'js> {
    type Changed<'to> = Internals<'to>;
}

/// Runs the prelude in a new context.
pub(crate) fn install<'js>(ctx: &Ctx<'js>, state: &Rc<State>) -> Result<()> {
    let mut options = EvalOptions::default();
    options.filename = Some(PRELUDE_NAME.to_owned());
    let prelude: Function<'js> = ctx.eval_with_options(PRELUDE, options)?;
    let parts: Object<'js> = prelude.call((host::functions(ctx, state)?,))?;
    let internals = Internals {
        adopt: parts.get("adopt")?,
        settle: parts.get("settle")?,
        abandon: parts.get("abandon")?,
        keep: parts.get("keep")?,
        kept: parts.get("kept")?,
        tool_path: parts.get("toolPath")?,
        entries: parts.get("entries")?,
        items: parts.get("items")?,
        date_text: parts.get("dateText")?,
        reg_exp_text: parts.get("regExpText")?,
        big_int_text: parts.get("bigIntText")?,
        is_safe_big_int: parts.get("isSafeBigInt")?,
        well_formed: parts.get("wellFormed")?,
        type_error: parts.get("typeError")?,
    };
    ctx.store_userdata(internals).map_err(|_| Error::Unknown)?;
    Ok(())
}

/// Calls one of the prelude's functions.
pub(crate) fn call<'js, A, R>(
    ctx: &Ctx<'js>,
    select: impl for<'a> FnOnce(&'a Internals<'js>) -> &'a Function<'js>,
    args: A,
) -> Result<R>
where
    A: IntoArgs<'js>,
    R: FromJs<'js>,
{
    let function = {
        let internals = ctx.userdata::<Internals<'js>>().ok_or(Error::Unknown)?;
        select(&internals).clone()
    };
    function.call(args)
}

/// The dotted path of a value of `tools`; empty for `tools` itself.
pub(crate) fn tool_path<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> Option<String> {
    if !value.is_function() || !value.is_proxy() {
        return None;
    }
    call(ctx, |internals| &internals.tool_path, (value.clone(),)).ok()
}

/// A map's `[key, value]` pairs.
pub(crate) fn entries<'js>(ctx: &Ctx<'js>, map: &Value<'js>) -> Result<Array<'js>> {
    call(ctx, |internals| &internals.entries, (map.clone(),))
}

/// A set's members.
pub(crate) fn items<'js>(ctx: &Ctx<'js>, set: &Value<'js>) -> Result<Array<'js>> {
    call(ctx, |internals| &internals.items, (set.clone(),))
}

/// A date in ISO 8601; None for an invalid one.
pub(crate) fn date_text<'js>(ctx: &Ctx<'js>, date: &Value<'js>) -> Result<Option<String>> {
    call(ctx, |internals| &internals.date_text, (date.clone(),))
}

/// A regular expression as it is written.
pub(crate) fn reg_exp_text<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> Result<String> {
    let text: Value<'js> = call(ctx, |internals| &internals.reg_exp_text, (value.clone(),))?;
    text_of(ctx, &text)
}

/// A big integer's digits, and whether a JavaScript number holds it exactly.
pub(crate) fn big_int<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> Result<(String, bool)> {
    let text = call(ctx, |internals| &internals.big_int_text, (value.clone(),))?;
    let safe = call(ctx, |internals| &internals.is_safe_big_int, (value.clone(),))?;
    Ok((text, safe))
}

/// A string's text; halves of surrogate pairs become U+FFFD.
pub(crate) fn text_of<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> Result<String> {
    let string = value.as_string().ok_or(Error::Unknown)?;
    match string.to_string() {
        Err(Error::Utf8(_)) => call(ctx, |internals| &internals.well_formed, (value.clone(),)),
        other => other,
    }
}

/// Throws a `TypeError` of any length; the engine's own stops at 256 bytes.
pub(crate) fn throw_type(ctx: &Ctx<'_>, message: &str) -> Error {
    match call::<_, Value<'_>>(ctx, |internals| &internals.type_error, (message,)) {
        Ok(error) => ctx.throw(error),
        Err(error) => error,
    }
}
