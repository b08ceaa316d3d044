//! Behaviours that would use everything up.

use std::hint::black_box;
use std::io::Write as _;
use std::time::Duration;

use serde_json::Value;

use crate::context::{CONTROLS, Context, attempt, reason};
use crate::executor::adapter::blobs::Blob;
use crate::executor::adapter::http::{Exchange, send};
use crate::executor::adapter::types::Failure;
use crate::executor::adapter::{interaction, session};
use crate::requests;

const MIB: usize = 1024 * 1024;

pub(crate) fn loop_forever(_: &Context) -> Vec<Value> {
    let mut turns = 0_u64;
    loop {
        turns = black_box(turns.wrapping_add(1));
    }
}

pub(crate) fn sleep_forever(_: &Context) -> Vec<Value> {
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}

pub(crate) fn eat_memory(_: &Context) -> Vec<Value> {
    let mut held = Vec::new();
    loop {
        held.push(black_box(vec![1_u8; MIB]));
    }
}

pub(crate) fn recurse(_: &Context) -> Vec<Value> {
    vec![Value::from(deeper(black_box(1)))]
}

#[expect(unconditional_recursion, reason = "the stack's end is what is tried")]
fn deeper(depth: u64) -> u64 {
    let frame = black_box([depth; 64]);
    deeper(depth + 1).wrapping_add(frame[(depth % 64) as usize])
}

pub(crate) fn flood_stdout(context: &Context) -> Vec<Value> {
    flood(context, std::io::stdout().lock())
}

pub(crate) fn flood_stderr(context: &Context) -> Vec<Value> {
    flood(context, std::io::stderr().lock())
}

fn flood(context: &Context, mut stream: impl std::io::Write) -> Vec<Value> {
    let line = format!("{CONTROLS}{}\n", "flood ".repeat(1000));
    for number in 0..context.count(1_000_000_000) {
        if let Err(error) = stream.write_all(line.as_bytes()).and_then(|()| stream.flush()) {
            return vec![attempt::<Value>(format!("line {number}"), Err(error.to_string()))];
        }
    }
    Vec::new()
}

pub(crate) fn panic(_: &Context) -> Vec<Value> {
    panic!("it was asked to: {CONTROLS}")
}

pub(crate) fn abort(_: &Context) -> Vec<Value> {
    std::process::abort()
}

pub(crate) fn exit_success(_: &Context) -> Vec<Value> {
    let _ = std::io::stdout().flush();
    std::process::exit(0)
}

pub(crate) fn exit_failure(_: &Context) -> Vec<Value> {
    std::process::exit(1)
}

pub(crate) fn hold_blobs(context: &Context) -> Vec<Value> {
    hold(context, || Blob::create(None, None))
}

pub(crate) fn hold_exchanges(context: &Context) -> Vec<Value> {
    hold(context, || Exchange::start(requests::request("GET", &context.url())))
}

pub(crate) fn hold_responses(context: &Context) -> Vec<Value> {
    hold(context, || send(requests::request("GET", &context.url())))
}

/// Keeps what `make` gives until it gives no more.
fn hold<T>(context: &Context, make: impl Fn() -> Result<T, Failure>) -> Vec<Value> {
    let mut held = Vec::new();
    for number in 0..context.count(1_000_000) {
        match make() {
            Ok(one) => held.push(one),
            Err(failure) => {
                return vec![attempt::<Value>(format!("number {number}"), Err(reason(&failure)))];
            }
        }
    }
    vec![attempt("all of them", Ok(held.len()))]
}

pub(crate) fn grow_blob(context: &Context) -> Vec<Value> {
    let piece = vec![b'x'; MIB];
    let blob = match Blob::create(Some("grown"), Some("application/octet-stream")) {
        Ok(blob) => blob,
        Err(failure) => return vec![attempt::<Value>("creating", Err(reason(&failure)))],
    };
    for number in 0..context.count(100_000) {
        if let Err(failure) = blob.append(&piece) {
            return vec![attempt::<Value>(format!("MiB {number}"), Err(reason(&failure)))];
        }
    }
    vec![attempt("all of it", Ok(blob.reference()))]
}

pub(crate) fn keep_answers(context: &Context) -> Vec<Value> {
    let url = context.url();
    hold(context, || send(requests::request("GET", &url))?.into_blob(None, None))
}

pub(crate) fn session_keys(context: &Context) -> Vec<Value> {
    let value = vec![b'x'; 1024];
    let count = context.count(1_000_000);
    let stored =
        (0..count).filter(|number| session::swap(&format!("key-{number}"), None, Some(&value))).count();
    // What was taken is not what is kept.
    let kept = (0..count).filter(|number| session::get(&format!("key-{number}")).is_some()).count();
    vec![attempt("stored", Ok(stored)), attempt("kept", Ok(kept))]
}

pub(crate) fn session_value(context: &Context) -> Vec<Value> {
    let value = vec![b'x'; context.count(100_000_000)];
    vec![attempt("stored", Ok(session::swap("value", None, Some(&value))))]
}

pub(crate) fn session_key_long(context: &Context) -> Vec<Value> {
    let key = "k".repeat(context.count(10_000_000));
    vec![attempt("stored", Ok(session::swap(&key, None, Some(b"x"))))]
}

pub(crate) fn progress_flood(context: &Context) -> Vec<Value> {
    for number in 0..context.count(10_000_000) {
        let (done, total) = match number % 4 {
            0 => (f64::NAN, Some(f64::INFINITY)),
            1 => (-1.0, Some(0.0)),
            2 => (f64::MAX, None),
            _ => (number as f64, Some(1e9)),
        };
        interaction::progress(done, total, Some(CONTROLS));
    }
    Vec::new()
}
