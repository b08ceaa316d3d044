//! Programs of every form, and waiting.

use serde_json::json;

use super::{Host, check, module, run, run_with};
use crate::bindings::Outcome;

fn program(source: &str, input: &str) -> String {
    Host::echo().engine().run(&module("main.ts", source), input).unwrap()
}

#[test]
fn a_default_export_is_called_or_taken() {
    assert_eq!(program("export default (input) => input.a + 1", r#"{"a":1}"#), "2");
    assert_eq!(program("export default async function (input) { return input }", "[1]"), "[1]");
    assert_eq!(program("export default { a: 1 }", "null"), r#"{"a":1}"#);
    assert_eq!(program("export default tools.a.b({})", "null"), r#"{"path":"a.b","args":{}}"#);
    assert_eq!(program("const x = await tools.a.b(); export default () => x.path", "null"), r#""a.b""#);
    assert_eq!(program("export const a = 1", "null"), "null");
}

#[test]
fn waiting_for_nothing_ends() {
    let failure = run("await new Promise(() => {})").unwrap_err();
    assert_eq!(failure.code, "never-settles");
    let failure = Host::silent()
        .engine()
        .run(&module("main.ts", "await new Promise(() => {}); export default 1"), "null")
        .unwrap_err();
    assert_eq!(failure.code, "never-settles");
}

#[test]
fn a_call_that_is_never_answered_ends_with_the_host() {
    let host = Host::silent();
    let failure = run_with(&host, "await tools.a.b()").unwrap_err();
    assert_eq!(failure.code, "never-settles");
    assert_eq!(host.0.record.borrow().cancelled, [1]);
}

#[test]
fn timers_run_in_the_order_that_the_host_says() {
    let host = Host::echo();
    let body = "
        const order = [];
        setTimeout((a, b) => order.push(a + b), 5, 'x', 'y');
        const cleared = setTimeout(() => order.push('never'), 1);
        clearTimeout(cleared);
        await new Promise((go) => setTimeout(go, 10.7));
        return order";
    assert_eq!(run_with(&host, body), Ok(json!(["xy"])));
    assert_eq!(host.calls(), [r#"timer: {"ms":5}"#, r#"timer: {"ms":1}"#, r#"timer: {"ms":10}"#]);
    assert_eq!(host.0.record.borrow().cancelled, [2]);
}

#[test]
fn odd_delays_become_sensible_ones() {
    let host = Host::echo();
    run_with(&host, "for (const ms of [-1, NaN, undefined, 'x', '7', Infinity]) await new Promise((go) => setTimeout(go, ms))").unwrap();
    let expect: Vec<_> =
        [0_u32, 0, 0, 0, 7, i32::MAX as u32].iter().map(|ms| format!("timer: {{\"ms\":{ms}}}")).collect();
    assert_eq!(host.calls(), expect);
}

#[test]
fn what_a_timer_throws_is_logged() {
    let host = Host::echo();
    let body = "setTimeout(() => { throw new Error('late') }, 0); await tools.a(); return 1";
    assert_eq!(run_with(&host, body), Ok(json!(1)));
    assert!(
        host.lines()[0].starts_with("uncaught in a setTimeout callback: Error: late"),
        "{:?}",
        host.lines()
    );
}

#[test]
fn a_second_program_runs_in_the_same_engine() {
    let host = Host::echo();
    let engine = host.engine();
    let source = "globalThis.n = (globalThis.n ?? 0) + 1; export default globalThis.n";
    assert_eq!(engine.run(&module("main.ts", source), "null").unwrap(), "1");
    assert_eq!(engine.run(&module("main.ts", source), "null").unwrap(), "2");
    engine.run(&module("main.ts", "export default () => { throw 1 }"), "null").unwrap_err();
    assert_eq!(engine.run(&module("main.ts", source), "null").unwrap(), "3");
}

#[test]
fn outcomes_nobody_asked_for_are_ignored() {
    let host = Host::echo();
    host.0.record.borrow_mut().ready.push_back((77, Outcome::Ok("1".into())));
    assert_eq!(run_with(&host, "return (await tools.a.b()).path"), Ok(json!("a.b")));
}

#[test]
fn microtasks_run_before_the_host_is_asked() {
    check("const o = []; queueMicrotask(() => o.push(1)); await null; o.push(2); return o", json!([1, 2]));
}
