//! Which regular expressions are asserted.

use std::collections::HashSet;

use serde_json::json;

/// Longest pattern that is compiled.
const MAX_BYTES: usize = 512;
/// Patterns of one schema that are compiled.
pub(super) const MAX_PATTERNS: usize = 64;

/// Patterns that turned out not to compile.
#[derive(Default)]
pub(super) struct Verdicts {
    unusable: HashSet<String>,
}

impl Verdicts {
    /// Whether a pattern may be part of the compiled schema.
    pub(super) fn may_use(&self, pattern: &str) -> bool {
        pattern.len() <= MAX_BYTES && !self.unusable.contains(pattern) && !looks_around(pattern)
    }
}

/// Lookaround and references back to groups have no linear engine.
fn looks_around(pattern: &str) -> bool {
    if ["(?=", "(?!", "(?<=", "(?<!", "\\k<"].iter().any(|sign| pattern.contains(sign)) {
        return true;
    }
    let mut bytes = pattern.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'\\' && bytes.next().is_some_and(|next| matches!(next, b'1'..=b'9')) {
            return true;
        }
    }
    false
}

/// Compiles each by itself.
pub(super) fn judge(patterns: &HashSet<String>) -> Verdicts {
    let compiles = |pattern: &String| {
        jsonschema::options()
            .with_draft(jsonschema::Draft::Draft202012)
            .with_pattern_options(super::pattern_options())
            .build(&json!({ "pattern": pattern }))
            .is_ok()
    };
    Verdicts { unusable: patterns.iter().filter(|pattern| !compiles(pattern)).cloned().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_backtracking_is_left_out() {
        let verdicts = Verdicts::default();
        for pattern in ["^a+$", "\\d{3}", "(?:x)", "[^/]+", "\\\\1"] {
            assert!(verdicts.may_use(pattern), "{pattern}");
        }
        for pattern in ["(?!x)", "(?<=a)b", "(a)\\1", "\\k<n>", &"a".repeat(1000)] {
            assert!(!verdicts.may_use(pattern), "{pattern}");
        }
    }
}
