//! Indexes documents one after the other and says how long each took, and how
//! much memory the process had at most.
//!
//! ```text
//! cargo run --release -p executor-openapi --example measure -- FILE…
//! ```

#![expect(clippy::unwrap_used, reason = "a tool for tests says what is wrong by failing")]

#[expect(dead_code, reason = "of the tests' means a part is used")]
#[path = "../tests/openapi/support.rs"]
mod support;

use std::time::{Duration, Instant};

use serde_json::json;

fn main() {
    let (mut count, mut spent) = (0_u32, Duration::ZERO);
    for path in std::env::args().skip(1) {
        let bytes = std::fs::read(&path).unwrap();
        let start = Instant::now();
        let catalog = support::try_index(&bytes, Some("https://files.example/document"), &json!({})).unwrap();
        let took = start.elapsed();
        spent += took;
        count += 1;
        let size = bytes.len() as f64 / 1e6;
        let tools = catalog.tools.len();
        println!("{path}: {size:.1} MB, {tools} tools, {took:.1?}, at most {} so far", peak());
    }
    println!("{count} documents in {spent:.1?}, {:.0} a second", f64::from(count) / spent.as_secs_f64());
}

/// What Linux says of the process's memory; nothing elsewhere.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "?".to_owned(), |text| text.trim().to_owned())
}
