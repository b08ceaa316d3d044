//! The sandbox without a daemon around it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use executor_runtime::limits::Limits;
use executor_runtime::{
    BridgeHost, Call, History, Identity, Module, Output, RunEnd, RunRequest, Runtime, Sandbox, Settled, Share,
};
use executor_store::Digest;
use executor_telemetry::Place;
use futures::future::BoxFuture;

use crate::figures::Figures;

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
    sandbox: Sandbox,
    share: Share,
}

impl Bench {
    async fn run(&self, body: &str) -> Result<(RunEnd, Duration)> {
        let module = Module {
            specifier: "main.ts".into(),
            source: format!("export default async (input) => {{ {body} }}"),
            source_map: None,
        };
        let request = RunRequest {
            module,
            input: "null".into(),
            history: History::default(),
            limits: Limits::sandbox(),
        };
        let begun = Instant::now();
        let run = self.sandbox.run(&self.share, request, Arc::new(Echo)).await;
        Ok((run.end, begun.elapsed()))
    }

    async fn times(&self, count: usize, body: impl Fn(usize) -> String) -> Result<Vec<Duration>> {
        let mut times = Vec::with_capacity(count);
        for number in 0..count + count / 10 {
            let (end, took) = self.run(&body(number)).await?;
            let RunEnd::Completed(_) = end else { bail!("{end:?}") };
            times.push(took);
        }
        Ok(times.split_off(count / 10))
    }
}

fn identity(bundled: executor_bundle::Bundled) -> Identity {
    Identity { name: bundled.name.into(), digest: Digest::of(bundled.bytes).hex() }
}

pub(crate) async fn measure(figures: &mut Figures) -> Result<()> {
    eprintln!("in process");
    let cache = tempfile::tempdir()?;
    let runtime = Runtime::new(cache.path())?;
    let begun = Instant::now();
    let quickjs = executor_bundle::QUICKJS;
    let sandbox = runtime.sandbox(identity(quickjs), quickjs.bytes.into()).await?;
    figures.add(
        "engine made ready, empty cache",
        begun.elapsed().as_secs_f64(),
        "s",
        (2.0, "reach"),
        String::new(),
    );
    let bench = Bench { sandbox, share: Share::default() };

    let trivial = bench.times(3_000, |number| format!("return {number} + 1")).await?;
    let base = median(&trivial);
    figures.add_times("fresh sandbox + `1+1`", trivial, (0.020, "reach"));
    let calls = bench
        .times(500, |number| {
            format!("for (let i = 0; i < 50; i++) await tools.x.echo({{ i, n: {number} }}); return 1")
        })
        .await?;
    let each = (median(&calls).saturating_sub(base)).as_secs_f64() * 1e3 / 50.0;
    figures.add("one bridge call", each, "ms", (0.012, "reach"), "median of 50 in a run".into());
    let loops = bench
        .times(10, |number| format!("let s = {number}; for (let i = 0; i < 1e6; i++) s += i; return s"))
        .await?;
    figures.add_times("1e6 loop turns", loops, (65.0, "reach"));

    let begun = Instant::now();
    let (end, _) = bench.run("const a = []; while (true) a.push(new Array(1e5).fill(1.5))").await?;
    if matches!(end, RunEnd::Completed(_)) {
        bail!("the memory hog completed");
    }
    figures.add(
        "memory hog ended",
        begun.elapsed().as_secs_f64() * 1e3,
        "ms",
        (200.0, "reach"),
        String::new(),
    );

    let typescript = executor_bundle::TYPESCRIPT;
    let compiler = runtime.compiler(identity(typescript), typescript.bytes.into()).await?;
    for (lines, count, reach) in [(20, 200, 0.2), (5_000, 10, 16.0)] {
        let mut times = Vec::new();
        for number in 0..count {
            let source: String = (0..lines)
                .map(|line| format!("const v{line}: number = {line} + {number} as number;\n"))
                .collect();
            let begun = Instant::now();
            compiler.compile_loose(&bench.share, &Place::default(), "main.ts", &source).await?;
            times.push(begun.elapsed());
        }
        figures.add_times(&format!("TypeScript of {lines} lines compiled"), times, (reach, "reach"));
    }
    Ok(())
}

fn median(times: &[Duration]) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}
