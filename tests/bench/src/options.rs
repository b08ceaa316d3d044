//! The command line of the bench.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::rounds::Plan;

pub(crate) const USAGE: &str = "usage: executor-bench --executor BINARY [--only PATTERN] [--quick]
       executor-bench compare BEFORE.json AFTER.json

--only measures the sections and rows whose names contain PATTERN; --quick
takes fewer and shorter rounds.";

/// What is asked for.
pub(crate) enum Asked {
    Measure(Options),
    Compare(PathBuf, PathBuf),
    Help,
}

/// How it is measured.
pub(crate) struct Options {
    pub(crate) executor: PathBuf,
    pub(crate) only: Option<String>,
    pub(crate) quick: bool,
}

impl Options {
    /// At most `calls` calls or `seconds` a round and side.
    pub(crate) fn plan(&self, calls: usize, seconds: f64) -> Plan {
        let warm = calls / 5 + 1;
        match self.quick {
            false => Plan { rounds: 5, calls, within: Duration::from_secs_f64(seconds), warm },
            true => {
                let within = Duration::from_secs_f64(seconds / 4.0);
                Plan { rounds: 3, calls: calls.div_ceil(4), within, warm: warm.div_ceil(4) }
            }
        }
    }
}

pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Asked> {
    let mut arguments = arguments.into_iter();
    let (mut executor, mut only, mut quick) = (None, None, false);
    while let Some(argument) = arguments.next() {
        let mut value = |what: &str| arguments.next().with_context(|| format!("{what}\n{USAGE}"));
        match argument.to_str() {
            Some("--executor") => executor = Some(value("--executor names the binary to measure")?.into()),
            Some("--only") => {
                let pattern = value("--only takes a part of a name")?;
                only = Some(pattern.into_string().ok().context("--only takes UTF-8")?);
            }
            Some("--quick") => quick = true,
            Some("--help" | "-h") => return Ok(Asked::Help),
            Some("compare") => {
                let before = value("compare takes two files")?;
                return Ok(Asked::Compare(before.into(), value("compare takes two files")?.into()));
            }
            _ => bail!("unknown argument {}\n{USAGE}", argument.display()),
        }
    }
    let executor = executor.with_context(|| format!("--executor names the binary to measure\n{USAGE}"))?;
    Ok(Asked::Measure(Options { executor, only, quick }))
}
