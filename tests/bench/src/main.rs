//! Measures executor beside a limit or a peer of the same run, and writes a
//! table and JSON. Inputs vary, so that no cache of answers helps.

mod client;
mod daemon;
mod figures;
mod in_process;
mod over_http;

use std::path::PathBuf;

use anyhow::{Context as _, Result};

use figures::Figures;

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let mut executor = None;
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--executor") => executor = arguments.next().map(PathBuf::from),
            other => anyhow::bail!("unknown argument {other:?}; usage: executor-bench --executor BINARY"),
        }
    }
    let executor = executor.context("--executor names the binary to measure")?;
    let mut figures = Figures::default();
    in_process::measure(&mut figures).await?;
    over_http::measure(&mut figures, &executor).await?;
    println!("{}", figures.table());
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let file = target.join("bench.json");
    std::fs::write(&file, figures.json())?;
    println!("{}", file.display());
    Ok(())
}
