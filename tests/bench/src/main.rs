//! Measures executor beside npm `executor`, in turns in one run, and writes a
//! table, JSON and a chart. Inputs vary, so that no cache of answers helps.
//! docs/bench.md says how to read what comes out.

mod authenticating;
mod calling;
mod catalogue;
mod chart;
mod client;
mod compare;
mod daemon;
mod disk;
mod executing;
mod figures;
mod giants;
mod growth;
mod in_process;
mod machine;
mod mcp;
mod mcp_sources;
mod neighbours;
mod options;
mod peer;
mod processes;
mod rounds;
mod starting;
mod table;
mod waiting;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, ensure};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use daemon::{Homes, Pair};
use figures::Figures;
use options::{Asked, Options};
use peer::Peer;

/// What a reader of the table needs to know.
const FOOT: &str = "\
Ratios say how many times better ours is than the peer's. Sides take turns (A B A B …); times are medians over all
rounds, p99 in brackets. The clients that make the load run on the same cores as what they measure: rates are below,
and p99 under load above, what either side does alone. Not measured, as it is not there: workflow steps, the shell
and its suite.";

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<()> {
    let options = match options::parse(std::env::args_os().skip(1))? {
        Asked::Measure(options) => options,
        Asked::Compare(before, after) => {
            print!("{}", compare::compare(&before, &after)?);
            return Ok(());
        }
        Asked::Help => {
            println!("{}", options::USAGE);
            return Ok(());
        }
    };
    let output = target().join("bench");
    std::fs::create_dir_all(&output)?;
    let run = tempfile::Builder::new().prefix("run-").tempdir_in(&output)?;
    let directory = run.path().to_owned();
    let work = tokio::task::spawn_blocking(move || measure(&options, &output, &directory));
    let (mut interrupted, mut ended) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    tokio::select! {
        done = work => done?,
        _ = interrupted.recv() => interrupt(run),
        _ = ended.recv() => interrupt(run),
    }
}

/// Ends what was started and removes what was written, without waiting for
/// the thread that measures.
fn interrupt(run: tempfile::TempDir) -> ! {
    processes::end_all();
    run.close().ok();
    eprintln!("interrupted; what was started has been ended");
    std::process::exit(130)
}

fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from)
}

/// Where the documents and the peer are, which `make bench` fetches.
pub(crate) fn fixtures() -> PathBuf {
    std::env::var_os("EXECUTOR_FIXTURES").map_or_else(|| target().join("fixtures"), PathBuf::from)
}

/// What every section gets.
pub(crate) struct Context<'a> {
    pub(crate) options: &'a Options,
    pub(crate) homes: Homes,
    pub(crate) peer: Result<Peer, String>,
    pub(crate) figures: Figures,
    /// For what is asynchronous: the upstreams, the sandbox in process.
    pub(crate) handle: tokio::runtime::Handle,
}

impl Context<'_> {
    /// Both daemons on fresh homes, warm: one program has run on each.
    pub(crate) fn pair(&mut self) -> Result<Pair> {
        let home = self.homes.ours()?;
        let (ours, _) = self.homes.start(&home)?;
        ours.execute(&mut ours.client()?, "return 'warm'")?;
        let home = self.homes.fresh()?;
        let peer = self.peer.as_ref().map_err(String::clone).and_then(|peer| {
            let started = peer.start(&home).and_then(|(peer, _)| {
                peer.execute(&mut peer.client()?, "return 'warm'")?;
                Ok(peer)
            });
            started.map_err(|error| format!("not available: {error:#}"))
        });
        Ok(Pair { ours, peer })
    }
}

fn measure(options: &Options, output: &Path, directory: &Path) -> Result<()> {
    let begun = std::time::Instant::now();
    let executor = std::path::absolute(&options.executor)?;
    ensure!(
        executor.is_file(),
        "{} is not there: --executor names the binary to measure",
        executor.display()
    );
    let machine = machine::describe(&executor)?;
    let mut context = Context {
        options,
        homes: Homes::new(&executor, directory)?,
        peer: Peer::find(&std::path::absolute(fixtures())?),
        figures: Figures::new(options.only.clone()),
        handle: tokio::runtime::Handle::current(),
    };
    in_process::measure(&mut context)?;
    starting::measure(&mut context)?;
    executing::measure(&mut context)?;
    neighbours::measure(&mut context)?;
    calling::measure(&mut context)?;
    authenticating::measure(&mut context)?;
    mcp_sources::measure(&mut context)?;
    waiting::measure(&mut context)?;
    catalogue::measure(&mut context)?;
    giants::measure(&mut context)?;
    growth::measure(&mut context)?;

    let figures = &context.figures;
    let line = machine::line(&machine);
    println!("{}\n{FOOT}\n\n{line}", table::table(figures.rows()));
    let whole = json!({
        "machine": machine, "quick": options.quick, "only": options.only, "seconds": begun.elapsed().as_secs(),
        "note": FOOT, "rows": figures.json(),
    });
    let (data, picture) = (output.join("bench.json"), output.join("bench.svg"));
    std::fs::write(&data, serde_json::to_string_pretty(&whole)?)?;
    std::fs::write(&picture, chart::svg(figures.rows(), &line))?;
    println!("{}\n{}\n{} s", data.display(), picture.display(), begun.elapsed().as_secs());
    Ok(())
}
