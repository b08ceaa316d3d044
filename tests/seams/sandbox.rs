//! The sandbox seam, against the engine that comes with the daemon.

use std::sync::Arc;
use std::time::{Duration, Instant};

use executor_runtime::limits::Limits;
use executor_runtime::{
    CallError, FaultKind, History, Inputs, Module, RecordedCall, Run, RunEnd, RunRequest, Settled, Share,
};

use crate::fixture::{Script, sandbox};

/// Runs the body of a program.
async fn run_with(body: &str, history: History, limits: Limits, script: &Arc<Script>) -> Run {
    let module = Module {
        specifier: "main.ts".into(),
        source: format!("export default async (input) => {{ {body}\n}}"),
        source_map: None,
    };
    let request = RunRequest { module, input: "{\"n\":3}".into(), history, limits };
    sandbox().await.run(&Share::default(), request, script.clone()).await
}

async fn run(body: &str) -> (RunEnd, Arc<Script>) {
    let script = Arc::new(Script::default());
    (run_with(body, History::default(), Limits::sandbox(), &script).await.end, script)
}

async fn completes(body: &str, expect: &str) {
    match run(body).await.0 {
        RunEnd::Completed(json) => assert_eq!(json, expect, "{body}"),
        other => panic!("{body}: {other:?}"),
    }
}

async fn breaks(body: &str, limits: Limits, expect: FaultKind) -> Duration {
    let script = Arc::new(Script::default());
    sandbox().await;
    let begun = Instant::now();
    let run = run_with(body, History::default(), limits, &script).await;
    match run.end {
        RunEnd::Broken(CallError::Guest(fault)) => {
            assert_eq!(fault.kind, expect, "{body}: {fault}")
        }
        other => panic!("{body}: {other:?}"),
    }
    begun.elapsed()
}

#[tokio::test]
async fn results_come_back_as_json() {
    completes("return 1 + 1", "2").await;
    completes("return input.n * 2", "6").await;
    completes("return { a: [1, 'x', null] }", r#"{"a":[1,"x",null]}"#).await;
    completes("", "null").await;
    completes("return await Promise.resolve('later')", "\"later\"").await;
}

#[tokio::test]
async fn calls_go_over_the_bridge_and_back() {
    completes("return await tools.x.echo({ a: 1 })", r#"{"a":1}"#).await;
    completes(
        "try { await tools.x.fail({}) } catch (e) { return [e.name, e.code, e.status] }",
        r#"["ToolError","upstream-not-found",404]"#,
    )
    .await;
}

#[tokio::test]
async fn calls_run_at_the_same_time_and_arrive_as_they_end() {
    let body = "const order = [];
        await Promise.all([60, 5, 30].map(async ms => { await tools.x.slow({ ms, value: ms }); order.push(ms) }));
        return order";
    completes(body, "[5,30,60]").await;
}

#[tokio::test]
async fn a_program_has_no_way_out_of_its_own() {
    completes(
        "return [typeof process, typeof require, typeof Deno, typeof WebAssembly]",
        r#"["undefined","undefined","undefined","undefined"]"#,
    )
    .await;
    let (end, _) = run("await fetch('https://example.com')").await;
    let RunEnd::Failed(failure) = end else { panic!("fetch must throw: {end:?}") };
    assert!(failure.message.contains("tools"), "{}", failure.message);
}

#[tokio::test]
async fn endless_loops_end_by_fuel_or_by_the_clock() {
    let limits = Limits { fuel: 200_000_000, ..Limits::sandbox() };
    breaks("while (true) {}", limits, FaultKind::OutOfFuel).await;
    let limits = Limits { wall: Duration::from_millis(200), ..Limits::sandbox() };
    let took = breaks("while (true) {}", limits, FaultKind::Timeout).await;
    assert!(took < Duration::from_secs(2), "ended after {took:?}");
}

#[tokio::test]
async fn a_call_that_never_ends_is_bounded_by_the_clock() {
    let limits = Limits { wall: Duration::from_millis(200), ..Limits::sandbox() };
    breaks("await tools.x.never({})", limits, FaultKind::Timeout).await;
}

#[tokio::test]
async fn memory_is_bounded() {
    for body in [
        "const a = []; while (true) a.push(new Array(1e5).fill(1.5))",
        "return new Array(1e9).fill(0).length",
    ] {
        let (end, _) = run(body).await;
        match end {
            RunEnd::Failed(failure) => {
                assert_eq!(failure.code, "out-of-memory", "{body}: {failure:?}")
            }
            RunEnd::Broken(CallError::Guest(fault)) => {
                assert_eq!(fault.kind, FaultKind::OutOfMemory, "{body}")
            }
            other => panic!("{body}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn recursion_is_an_error_that_a_program_can_catch() {
    completes("const f = () => f() + 1; try { f() } catch (e) { return e instanceof RangeError }", "true")
        .await;
}

#[tokio::test]
async fn a_promise_that_nothing_settles_ends_at_once() {
    let (end, _) = run("await new Promise(() => {})").await;
    let RunEnd::Failed(failure) = end else { panic!("{end:?}") };
    assert_eq!(failure.code, "never-settles");
}

#[tokio::test]
async fn errors_name_their_class_and_line() {
    let (end, _) = run("\n\n  null.x").await;
    let RunEnd::Failed(failure) = end else { panic!("{end:?}") };
    assert!(failure.message.starts_with("TypeError: "), "{}", failure.message);
    assert!(failure.stack.as_deref().is_some_and(|stack| stack.contains("main.ts:3")), "{failure:?}");
}

#[tokio::test]
async fn logs_and_values_arrive_in_order_and_are_bounded() {
    let (_, script) = run("console.log('a', { b: 1 }); emit({ c: 2 }); console.error('d')").await;
    let outputs = script.outputs.lock().unwrap().clone();
    let seen: Vec<_> =
        outputs.iter().map(|output| (output.sequence, output.level, output.body.as_str())).collect();
    assert_eq!(seen.len(), 3, "{seen:?}");
    assert_eq!(seen[1], (1, None, r#"{"c":2}"#));
    assert_eq!((seen[0].1, seen[2].1), (Some("info"), Some("error")));

    let (end, script) =
        run("const line = 'x'.repeat(60000); for (let i = 0; i < 1000; i++) console.log(line); return 1")
            .await;
    assert!(matches!(end, RunEnd::Completed(_)), "{end:?}");
    let bytes: usize = script.outputs.lock().unwrap().iter().map(|output| output.body.len()).sum();
    assert!(bytes < 1_200_000, "{bytes} bytes were kept");
    let last = script.outputs.lock().unwrap().last().unwrap().body.clone();
    assert!(last.contains("the log is full"), "{last}");
}

#[tokio::test]
async fn a_large_result_is_refused_by_name() {
    let (end, _) = run("return 'x'.repeat(9 * 1024 * 1024)").await;
    let RunEnd::Failed(failure) = end else { panic!("{end:?}") };
    assert_eq!(failure.code, "too-large");
}

#[tokio::test]
async fn calls_left_behind_are_cancelled_and_named() {
    let (end, script) = run("tools.x.never({}); return 1").await;
    assert!(matches!(end, RunEnd::Completed(_)), "{end:?}");
    let outputs = script.outputs.lock().unwrap().clone();
    assert!(outputs.iter().any(|output| output.body.contains("x.never")), "{outputs:?}");
}

#[tokio::test]
async fn randomness_is_fresh_in_every_run() {
    let body = "return [Math.random(), crypto.randomUUID()]";
    let (RunEnd::Completed(first), _) = run(body).await else { panic!("it completes") };
    let (RunEnd::Completed(second), _) = run(body).await else { panic!("it completes") };
    assert_ne!(first, second);
}

/// Runs to the question, answers it, and runs again against the history.
#[tokio::test]
async fn a_waiting_program_is_dropped_and_takes_the_same_path_again() {
    let body = "
        console.log('before');
        const [a, b] = await Promise.all([tools.x.slow({ ms: 30, value: 'slow' }), tools.x.slow({ ms: 5, value: 'quick' })]);
        const at = Date.now(), id = crypto.randomUUID(), chance = Math.random();
        const answer = await tools.x.ask({ a, b, at, id, chance });
        console.log('after');
        return { answer, at, id, chance }";
    let script = Arc::new(Script::default());
    let first = run_with(body, History::default(), Limits::sandbox(), &script).await;
    let RunEnd::Suspended(inputs) = first.end else { panic!("{:?}", first.end) };
    assert_eq!(script.outputs.lock().unwrap().len(), 1, "it stopped at the question");

    let history = history(&script, inputs, Some("\"yes\""));
    let again = Arc::new(Script::default());
    let second = run_with(body, history, Limits::sandbox(), &again).await;
    let RunEnd::Completed(result) = second.end else { panic!("{:?}", second.end) };
    assert!(result.starts_with(r#"{"answer":"yes","#), "{result}");
    assert!(again.calls.lock().unwrap().is_empty(), "nothing that has an outcome is called again");
    let outputs = again.outputs.lock().unwrap().clone();
    assert_eq!(outputs.len(), 1, "what was said before is not said again: {outputs:?}");
    assert_eq!((outputs[0].sequence, outputs[0].body.as_str()), (1, "after"));
}

#[tokio::test]
async fn a_program_that_goes_another_way_is_told_both() {
    let script = Arc::new(Script::default());
    let first = run_with("await tools.x.ask({ a: 1 })", History::default(), Limits::sandbox(), &script).await;
    let RunEnd::Suspended(inputs) = first.end else { panic!("{:?}", first.end) };
    let history = history(&script, inputs, Some("1"));
    let second = run_with("await tools.x.ask({ a: 2 })", history, Limits::sandbox(), &script).await;
    let RunEnd::Diverged { recorded, found } = second.end else { panic!("{:?}", second.end) };
    assert!(recorded.contains(r#"{"a":1}"#) && found.contains(r#"{"a":2}"#), "{recorded} / {found}");
}

#[tokio::test]
async fn a_loop_in_one_program_does_not_hold_up_another() {
    sandbox().await;
    let spin = tokio::spawn(async {
        let limits = Limits { wall: Duration::from_millis(700), ..Limits::sandbox() };
        breaks("while (true) {}", limits, FaultKind::Timeout).await
    });
    tokio::task::yield_now().await;
    let mut slowest = Duration::ZERO;
    for _ in 0..20 {
        let begun = Instant::now();
        completes("return 1", "1").await;
        slowest = slowest.max(begun.elapsed());
    }
    spin.await.unwrap();
    assert!(slowest < Duration::from_millis(400), "one run took {slowest:?} on one thread beside a loop");
}

/// What the first run's bridge saw, as the journal would give it back.
fn history(script: &Script, inputs: Inputs, answer: Option<&str>) -> History {
    let delivered = script.delivered.lock().unwrap();
    let mut history = History {
        deliveries: delivered.iter().map(|(scope, ordinal, _)| (*scope, *ordinal)).collect(),
        inputs,
        outputs: script.outputs.lock().unwrap().len() as u64,
        ..History::default()
    };
    for call in script.calls.lock().unwrap().iter() {
        let key = (call.scope, call.ordinal);
        let settled = delivered.iter().find(|(scope, ordinal, _)| (*scope, *ordinal) == key);
        let outcome = settled.map(|(_, _, settled)| settled.clone());
        let outcome = outcome.or_else(|| answer.map(|answer| Settled::Ok(answer.into())));
        let path = executor_runtime::full_path(call);
        history.calls.insert(
            key,
            RecordedCall { path, args: call.args.clone(), options: call.options.clone(), outcome },
        );
    }
    history
}
