//! The functions that the prelude is given: the bridge, and what JavaScript
//! would do slowly or could be talked out of.

use std::rc::Rc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rquickjs::function::{IntoJsFunc, Opt};
use rquickjs::{Array, Ctx, Function, Object, Result, String as JsString, TypedArray, Value};

use crate::bindings::{Call, Level};
use crate::internals::{text_of, throw_type};
use crate::json::{self, JsonError};
use crate::kind::{self, Kind};
use crate::limits::{ARGUMENTS_BYTES, RANDOM_BYTES, RESULT_BYTES};
use crate::state::{Phase, State};
use crate::{inspect, urls};

/// The object that the prelude's function takes.
pub(crate) fn functions<'js>(ctx: &Ctx<'js>, state: &Rc<State>) -> Result<Object<'js>> {
    let host = Object::new(ctx.clone())?;
    bridge_functions(&host, state)?;
    random_functions(&host, state)?;
    add(
        &host,
        "kind",
        |value: Value<'js>| {
            if value.is_object() { Kind::of(&value).name() } else { "primitive" }
        },
    )?;
    add(&host, "encode", |ctx: Ctx<'js>, text: Value<'js>| {
        TypedArray::<u8>::new(ctx.clone(), text_of(&ctx, &text)?.into_bytes())
    })?;
    add(&host, "decode", decode)?;
    add(&host, "bytes", |ctx: Ctx<'js>, encoded: String| match STANDARD.decode(&encoded) {
        Ok(bytes) => TypedArray::<u8>::new(ctx, bytes),
        Err(_) => Err(throw_type(&ctx, "the host answered with what are no bytes")),
    })?;
    urls::functions(&host)?;
    Ok(host)
}

/// Names a Rust function in `host`.
pub(crate) fn add<'js, P, F>(host: &Object<'js>, name: &str, function: F) -> Result<()>
where
    F: IntoJsFunc<'js, P> + 'js,
{
    host.set(name, Function::new(host.ctx().clone(), function)?.with_name(name)?)
}

fn bridge_functions<'js>(host: &Object<'js>, state: &Rc<State>) -> Result<()> {
    let shared = state.clone();
    add(
        host,
        "start",
        move |ctx: Ctx<'js>,
              root: String,
              path: String,
              args: Value<'js>,
              options: Value<'js>,
              scope: f64| start(&ctx, &shared, root, &path, &args, &options, scope),
    )?;
    let shared = state.clone();
    add(host, "cancel", move |id: u32| shared.bridge.cancel(id))?;
    let shared = state.clone();
    add(host, "log", move |ctx: Ctx<'js>, level: u8, items: Array<'js>| {
        shared.log(level_of(level), &inspect::line(&ctx, &shared, &items));
    })?;
    let shared = state.clone();
    add(host, "emit", move |ctx: Ctx<'js>, value: Value<'js>| {
        need_bridge(&ctx, &shared, "emit")?;
        let content = to_json(&ctx, &value, "the emitted value", RESULT_BYTES)?;
        shared.bridge.emit(&content);
        Ok::<_, rquickjs::Error>(())
    })?;
    let shared = state.clone();
    add(host, "now", move |ctx: Ctx<'js>| {
        need_bridge(&ctx, &shared, "the clock")?;
        #[expect(clippy::cast_precision_loss, reason = "milliseconds stay below 2^53")]
        let now = shared.bridge.now() as f64;
        Ok::<_, rquickjs::Error>(now)
    })
}

fn start<'js>(
    ctx: &Ctx<'js>,
    state: &State,
    root: String,
    path: &str,
    args: &Value<'js>,
    options: &Value<'js>,
    scope: f64,
) -> Result<u32> {
    let what = if root == "timer" { "setTimeout".to_owned() } else { format!("{root}.{path}") };
    need_bridge(ctx, state, &what)?;
    let args = to_json(ctx, args, &format!("the arguments of {what}"), ARGUMENTS_BYTES)?;
    let options = if options.is_undefined() {
        None
    } else {
        Some(to_json(ctx, options, &format!("the options of {what}"), ARGUMENTS_BYTES)?)
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the prelude counts scopes up from 0"
    )]
    let scope = scope as u64;
    state.called.set(true);
    let path = path.split('.').filter(|part| !part.is_empty());
    Ok(state.bridge.start(&Call { root, path: path.map(str::to_owned).collect(), args, options, scope }))
}

fn random_functions<'js>(host: &Object<'js>, state: &Rc<State>) -> Result<()> {
    let shared = state.clone();
    add(host, "random", move |ctx: Ctx<'js>, length: u32| {
        need_bridge(&ctx, &shared, "randomness")?;
        let length = length.min(u32::try_from(RANDOM_BYTES).unwrap_or(u32::MAX));
        TypedArray::<u8>::new(ctx, shared.bridge.random(length))
    })?;
    let shared = state.clone();
    add(host, "uuid", move |ctx: Ctx<'js>| {
        need_bridge(&ctx, &shared, "randomness")?;
        Ok::<_, rquickjs::Error>(uuid(&shared.bridge.random(16)))
    })?;
    let shared = state.clone();
    add(host, "fraction", move |ctx: Ctx<'js>| {
        need_bridge(&ctx, &shared, "Math.random")?;
        Ok::<_, rquickjs::Error>(fraction(&shared))
    })
}

/// The bridge is closed while modules load: what came through it would be the
/// same in every instance of the snapshot.
fn need_bridge(ctx: &Ctx<'_>, state: &State, what: &str) -> Result<()> {
    if state.phase.get() == Phase::Running {
        return Ok(());
    }
    let message = format!(
        "{what} is not available while modules are loaded: use it inside a function that is called later"
    );
    Err(throw_type(ctx, &message))
}

/// A value's JSON; what can't be written is a `TypeError` to the program.
fn to_json<'js>(ctx: &Ctx<'js>, value: &Value<'js>, what: &str, limit_bytes: usize) -> Result<String> {
    json::write(ctx, value, what, limit_bytes).map_err(|error| match error {
        JsonError::Engine(error) => error,
        JsonError::Refused { message, .. } => throw_type(ctx, &message),
    })
}

fn level_of(level: u8) -> Level {
    match level {
        0 => Level::Debug,
        1 => Level::Info,
        2 => Level::Warn,
        _ => Level::Error,
    }
}

/// A random (version 4) UUID of 16 random bytes.
fn uuid(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(36);
    for index in 0..16 {
        let byte = bytes.get(index).copied().unwrap_or(0);
        let byte = match index {
            6 => (byte & 0x0f) | 0x40,
            8 => (byte & 0x3f) | 0x80,
            _ => byte,
        };
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

/// `Math.random`: xorshift128+ (Vigna, "Further scramblings of Marsaglia's
/// xorshift generators"), seeded from the host at its first use in an
/// instance, since a seed in the snapshot would be everyone's.
fn fraction(state: &State) -> f64 {
    let [mut first, second] = state.generator.get().unwrap_or_else(|| seed(state));
    first ^= first << 23;
    first ^= first >> 17;
    first ^= second ^ (second >> 26);
    state.generator.set(Some([second, first]));
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit exactly")]
    let bits = (second.wrapping_add(first) >> 11) as f64;
    bits / 9_007_199_254_740_992.0
}

fn seed(state: &State) -> [u64; 2] {
    let bytes = state.bridge.random(16);
    let half = |from: usize| {
        let part = bytes.iter().skip(from).take(8);
        part.fold(0_u64, |word, byte| word << 8 | u64::from(*byte))
    };
    [half(0), half(8) | 1]
}

/// UTF-8 to text, as `TextDecoder` does it.
fn decode<'js>(
    ctx: Ctx<'js>,
    value: Value<'js>,
    fatal: Opt<bool>,
    keep_bom: Opt<bool>,
) -> Result<JsString<'js>> {
    let kind = if value.is_object() { Kind::of(&value) } else { Kind::Object };
    let Some(bytes) = kind::bytes(&value, kind) else {
        return Err(throw_type(&ctx, "TextDecoder.decode takes a buffer or a typed array"));
    };
    let bytes = match bytes.strip_prefix(b"\xef\xbb\xbf") {
        Some(rest) if !keep_bom.0.unwrap_or(false) => rest,
        _ => &bytes[..],
    };
    match std::str::from_utf8(bytes) {
        Ok(text) => JsString::from_str(ctx, text),
        Err(_) if fatal.0.unwrap_or(false) => Err(throw_type(&ctx, "the bytes are not UTF-8")),
        Err(_) => JsString::from_str(ctx, &String::from_utf8_lossy(bytes)),
    }
}
