//! The exposition formats of Prometheus.

use std::fmt::Write as _;

use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;

/// OpenMetrics 1.0.
pub(super) fn open_metrics(registry: &Registry) -> String {
    let mut written = String::new();
    text::encode(&mut written, registry).expect("a String takes what is written to it");
    written
}

/// Version 0.0.4, which every scraper reads. It differs in that a counter is
/// described under the name that its samples have, and in that nothing marks
/// the end.
pub(super) fn plain(registry: &Registry) -> String {
    let mut open = String::new();
    text::encode_registry(&mut open, registry).expect("a String takes what is written to it");
    let mut plain = String::with_capacity(open.len() + 1024);
    let mut lines = open.lines().peekable();
    while let Some(line) = lines.next() {
        let help = line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' '));
        let counter = match (help, lines.peek()) {
            (Some((name, _)), Some(next)) => {
                next.strip_prefix("# TYPE ").and_then(|rest| rest.strip_prefix(name)) == Some(" counter")
            }
            _ => false,
        };
        match help {
            Some((name, help)) if counter => {
                lines.next();
                let _ = writeln!(plain, "# HELP {name}_total {help}\n# TYPE {name}_total counter");
            }
            _ => {
                plain.push_str(line);
                plain.push('\n');
            }
        }
    }
    plain
}
