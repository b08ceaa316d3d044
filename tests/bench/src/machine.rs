//! What the figures were measured on.

use std::path::Path;
use std::process::Command;

use anyhow::Result;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::peer;

/// The machine, the versions and the date, for the JSON.
pub(crate) fn describe(executor: &Path) -> Result<Value> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim().to_owned())
    };
    let version = Command::new(executor).arg("--version").output()?;
    Ok(json!({
        "date": OffsetDateTime::now_utc().truncate_to_second().format(&Rfc3339)?,
        "cores": std::thread::available_parallelism()?.get(),
        "cpu": field(&read("/proc/cpuinfo"), "model name"),
        "memory": field(&read("/proc/meminfo"), "MemTotal"),
        "kernel": read("/proc/sys/kernel/osrelease").trim(),
        "load_before": read("/proc/loadavg").split(' ').take(3).collect::<Vec<_>>().join(" "),
        "executor": String::from_utf8_lossy(&version.stdout).trim(),
        "peer": format!("npm executor@{}", peer::VERSION),
    }))
}

/// The same in a line.
pub(crate) fn line(machine: &Value) -> String {
    let text = |name: &str| machine[name].as_str().unwrap_or("?").to_owned();
    format!(
        "{} on {} cores of {}, Linux {}, load before {}, beside {}; {}",
        text("executor"),
        machine["cores"],
        text("cpu"),
        text("kernel"),
        text("load_before"),
        text("peer"),
        text("date"),
    )
}
