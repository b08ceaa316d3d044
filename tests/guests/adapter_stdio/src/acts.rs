//! What an adapter should not do to a program, by name, and what came of it.

use serde_json::{Value, json};

use crate::executor::adapter::source_events;
use crate::executor::adapter::stdio::Process;
use crate::executor::adapter::types::Failure;
use crate::failure;
use crate::server::Server;

pub(crate) fn act(arguments: &Value) -> Result<Value, Failure> {
    let text = |key: &str| arguments[key].as_str().unwrap_or_default().to_owned();
    match text("behaviour").as_str() {
        "attach_flood" => attach_flood(),
        "claim_flood" => claim_flood(),
        "claim" => Ok(json!({ "first": Process::attach()?.claim(&text("key")) })),
        "never_read" => never_read(),
        "farewell" => farewell(&text("line"), &text("then")),
        "write" => {
            Process::attach()?.write_line(&text("line"))?;
            Ok(json!({}))
        }
        "change" => {
            source_events::changed("tools");
            Ok(json!({}))
        }
        other => Err(failure("invalid-arguments", format!("there is no behaviour {other:?}"))),
    }
}

pub(crate) fn watch(behaviour: &str) -> Result<(), Failure> {
    match behaviour {
        "flood" => loop {
            source_events::changed("tools");
        },
        "spin" => {
            let mut number = 0_u64;
            loop {
                number = std::hint::black_box(number.wrapping_add(1));
            }
        }
        "panic" => panic!("a watch that breaks"),
        other => Err(failure("watch-failed", format!("the watch {other:?} fails at once"))),
    }
}

/// Leaves a line with the host, and ends or does not.
fn farewell(line: &str, then: &str) -> Result<Value, Failure> {
    let process = Process::attach()?;
    process.farewell(Some(line))?;
    match then {
        "return" => Ok(json!({})),
        "panic" => panic!("an adapter that breaks"),
        "spin" => loop {
            std::hint::black_box(then);
        },
        "replace" => {
            process.farewell(Some(&line.replace("bye", "later")))?;
            process.read_line(60_000).map(|_| json!({}))
        }
        "take back" => {
            process.farewell(None)?;
            process.read_line(60_000).map(|_| json!({}))
        }
        "let go" => {
            drop(process);
            Process::attach()?.read_line(60_000).map(|_| json!({}))
        }
        _ => process.read_line(60_000).map(|_| json!({})),
    }
}

/// Takes handles until it gets no more.
fn attach_flood() -> Result<Value, Failure> {
    let mut held = Vec::new();
    for _ in 0..10_000 {
        match Process::attach() {
            Ok(process) => held.push(process),
            Err(error) => {
                let first = held.len();
                drop(held);
                let again = Process::attach().is_ok();
                return Ok(json!({ "held": first, "code": error.code, "again": again }));
            }
        }
    }
    Ok(json!({ "held": held.len() }))
}

/// Claims more than is remembered, and then what it claimed last.
fn claim_flood() -> Result<Value, Failure> {
    let process = Process::attach()?;
    let claimed = (0..50_000).filter(|number| process.claim(&format!("flood-{number}"))).count();
    let twice = process.claim("flood-49999");
    let long = process.claim(&"x".repeat(100_000));
    Ok(json!({ "claimed": claimed, "twice": twice, "long": long }))
}

/// Has the program write 96 MiB before it reads the first line.
fn never_read() -> Result<Value, Failure> {
    let lazy = Process::attach()?;
    let busy = Server::attach()?;
    for _ in 0..6 {
        busy.ask(&json!({ "do": "line", "bytes": 16 << 20 }), 60_000)?;
    }
    let mut codes = Vec::new();
    let mut lines = 0;
    loop {
        match lazy.read_line(0) {
            Ok(Some(_)) => lines += 1,
            Ok(None) => return Ok(json!({ "codes": codes, "lines": lines })),
            Err(error) => codes.push(error.code),
        }
    }
}
