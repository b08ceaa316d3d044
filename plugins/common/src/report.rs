//! Warnings, bounded: a hostile document or server may give cause for millions.

use std::collections::HashSet;

use crate::seam::{Sink, Warning};
use crate::text::line;

const MAX_WARNINGS: usize = 200;
const MAX_MESSAGE_CHARS: usize = 400;

/// Hands each different warning to the host once, up to a bound.
#[derive(Debug, Default)]
pub struct Report {
    seen: HashSet<(Option<String>, String)>,
    left_out: usize,
}

impl Report {
    /// A warning about a tool, or about the source.
    #[inline]
    pub fn warn(&mut self, sink: &mut dyn Sink, tool: Option<&str>, code: &str, message: &str) {
        let message = line(message, MAX_MESSAGE_CHARS);
        if self.seen.len() >= MAX_WARNINGS {
            self.left_out += 1;
            return;
        }
        let tool = tool.map(str::to_owned);
        if self.seen.insert((tool.clone(), message.clone())) {
            sink.warn(Warning { tool, code: code.to_owned(), message });
        }
    }

    /// Says how many warnings were not shown.
    #[inline]
    pub fn close(&self, sink: &mut dyn Sink) {
        if self.left_out > 0 {
            let message = format!("{} more warnings are not shown", self.left_out);
            sink.warn(Warning { tool: None, code: "more-warnings".to_owned(), message });
        }
    }
}
