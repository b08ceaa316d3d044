//! The sandbox without a daemon around it. These rows have no peer: the reach
//! is what a probe of the same engine showed to be possible.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use executor_runtime::limits::Limits;
use executor_runtime::{
    BridgeHost, Call, History, Identity, Module, Output, RunEnd, RunRequest, Runtime, Sandbox, Settled, Share,
};
use executor_store::Digest;
use executor_telemetry::Place;
use futures::future::BoxFuture;
use tokio::runtime::Handle;

use crate::Context;
use crate::figures::{Row, reach};
use crate::rounds::{action, alternate, timed};

const READY: &str = "engine made ready, empty cache";
const FRESH: &str = "fresh sandbox + `1+1`, in process";
const BRIDGE: &str = "one bridge call, in process";
const LOOP: &str = "1e6 loop turns, in process";
const HOG: &str = "memory hog ended, in process";
const BOUND: &str = "guest ended past its bound of 50 ms";
const SHORT: &str = "TypeScript of 20 lines compiled";
const LONG: &str = "TypeScript of 5,000 lines compiled";

/// Bridge calls of one run: the run's own cost is taken off, and divided by
/// so many.
const CALLS: u32 = 50;
const WALL: Duration = Duration::from_millis(50);

/// A bridge that answers at once.
struct Echo;

impl BridgeHost for Echo {
    fn call(&self, call: Call) -> BoxFuture<'static, Settled> {
        Box::pin(async move { Settled::Ok(call.args) })
    }
    fn delivered(&self, _: &Call, _: &Settled, _: u64) {}
    fn output(&self, _: Output) {}
}

struct Bench {
    handle: Handle,
    sandbox: Sandbox,
    share: Share,
}

impl Bench {
    fn run(&self, body: &str, limits: Limits) -> (RunEnd, Duration) {
        let module = Module {
            specifier: "main.ts".into(),
            source: format!("export default async (input) => {{ {body} }}"),
            source_map: None,
        };
        let request = RunRequest { module, input: "null".into(), history: History::default(), limits };
        let begun = Instant::now();
        let run = self.handle.block_on(self.sandbox.run(&self.share, request, Arc::new(Echo)));
        (run.end, begun.elapsed())
    }

    fn completed(&self, body: &str) -> Result<Duration> {
        match self.run(body, Limits::sandbox()) {
            (RunEnd::Completed(_), took) => Ok(took),
            (end, _) => bail!("{end:?}"),
        }
    }

    /// How long a program that must not complete took.
    fn ended(&self, body: &str, limits: Limits) -> Result<Duration> {
        let (end, took) = self.run(body, limits);
        ensure!(!matches!(end, RunEnd::Completed(_)), "it completed");
        Ok(took)
    }
}

fn identity(bundled: executor_bundle::Bundled) -> Identity {
    Identity { name: bundled.name.into(), digest: Digest::of(bundled.bytes).hex() }
}

pub(crate) fn measure(context: &mut Context<'_>) -> Result<()> {
    if !context.figures.begins("in process", &[READY, FRESH, BRIDGE, LOOP, HOG, BOUND, SHORT, LONG]) {
        return Ok(());
    }
    let (options, handle) = (context.options, context.handle.clone());
    let figures = &mut context.figures;
    let runtime = Runtime::new(&context.homes.directory().join("in-process"), None)?;
    let quickjs = executor_bundle::QUICKJS;
    let (ready, sandbox) =
        timed(|| Ok(handle.block_on(runtime.sandbox(identity(quickjs), quickjs.bytes.into()))?))?;
    figures.add(Row::new(READY, "s", ready.as_secs_f64()).reach(reach(2.0)));
    let bench = Bench { handle: handle.clone(), sandbox, share: Share::default() };

    if figures.wants(FRESH) || figures.wants(BRIDGE) {
        let [trivial, calls] = alternate(
            options.plan(600, 0.8),
            [
                action(|number| bench.completed(&format!("return {number} + 1"))),
                action(|number| {
                    bench.completed(&format!(
                        "for (let i = 0; i < {CALLS}; i++) await tools.x.echo({{ i, n: {number} }}); return 1"
                    ))
                }),
            ],
        );
        let each = match (&trivial, &calls) {
            (Ok(trivial), Ok(calls)) => Some((calls.at_ms(0.5) - trivial.at_ms(0.5)) / f64::from(CALLS)),
            _ => None,
        };
        figures.add(Row::new(FRESH, "ms", trivial).reach(reach(0.020)));
        if let Some(each) = each {
            let row = Row::new(BRIDGE, "ms", each).reach(reach(0.012));
            figures.add(row.more(format!("a run with {CALLS} of them, less one without")));
        }
    }
    if figures.wants(LOOP) {
        let [times] = alternate(
            options.plan(4, 1.0),
            [action(|number| {
                bench.completed(&format!("let s = {number}; for (let i = 0; i < 1e6; i++) s += i; return s"))
            })],
        );
        figures.add(Row::new(LOOP, "ms", times).reach(reach(65.0)));
    }
    if figures.wants(HOG) {
        let [times] = alternate(
            options.plan(2, 1.0),
            [action(|number| {
                let body = format!("const a = [{number}]; while (true) a.push(new Array(1e5).fill(1.5))");
                bench.ended(&body, Limits::sandbox())
            })],
        );
        figures.add(Row::new(HOG, "ms", times).reach(reach(200.0)));
    }
    if figures.wants(BOUND) {
        let [times] = alternate(
            options.plan(4, 1.0),
            [action(|number| {
                let limits = Limits { wall: WALL, ..Limits::sandbox() };
                let took = bench.ended(&format!("let i = {number}; while (true) i++"), limits)?;
                Ok(took.saturating_sub(WALL))
            })],
        );
        figures.add(Row::new(BOUND, "ms", times).reach(reach(10.0)).more("time past the bound"));
    }
    if figures.wants(SHORT) || figures.wants(LONG) {
        let typescript = executor_bundle::TYPESCRIPT;
        let compiler = handle.block_on(runtime.compiler(identity(typescript), typescript.bytes.into()))?;
        let compile = |lines: usize, number: usize| -> Result<Duration> {
            let source: String = (0..lines)
                .map(|line| format!("const v{line}: number = {line} + {number} as number;\n"))
                .collect();
            let (took, ()) = timed(|| {
                handle.block_on(compiler.compile_loose(
                    &bench.share,
                    &Place::default(),
                    "main.ts",
                    &source,
                ))?;
                Ok(())
            })?;
            Ok(took)
        };
        let [short] = alternate(options.plan(60, 0.5), [action(|number| compile(20, number))]);
        let [long] = alternate(options.plan(4, 0.5), [action(|number| compile(5_000, number))]);
        figures.add(Row::new(SHORT, "ms", short).reach(reach(0.2)));
        figures.add(Row::new(LONG, "ms", long).reach(reach(16.0)));
    }
    Ok(())
}
