//! Turns the engine's stack traces into the author's.

use crate::limits::STACK_FRAMES;
use crate::state::State;

/// The name that the prelude's own frames carry.
pub(crate) const PRELUDE_NAME: &str = "executor:prelude";

/// A place in the author's text, line and column counted from 1.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Place {
    pub(crate) path: String,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// A trace in the author's own lines: `at f (main.ts:3:10)`, one a line.
pub(crate) struct Trace {
    pub(crate) text: String,
    /// The innermost place that is the author's.
    pub(crate) place: Option<Place>,
}

/// Maps each frame through its module's source map, and leaves out the
/// engine's and the prelude's.
pub(crate) fn trace(raw: &str, state: &State) -> Trace {
    let mut text = String::new();
    let mut place = None;
    for frame in raw.lines().filter_map(parse_frame).take(STACK_FRAMES) {
        let Some(found) = frame.place(state) else {
            continue;
        };
        if !text.is_empty() {
            text.push('\n');
        }
        let Place { path, line, column } = &found;
        match frame.function {
            "" | "<anonymous>" | "default" => text.push_str(&format!("    at {path}:{line}:{column}")),
            function => text.push_str(&format!("    at {function} ({path}:{line}:{column})")),
        }
        place.get_or_insert(found);
    }
    Trace { text, place }
}

struct Frame<'a> {
    function: &'a str,
    file: &'a str,
    line: u32,
    column: u32,
}

impl Frame<'_> {
    fn place(&self, state: &State) -> Option<Place> {
        if self.file == PRELUDE_NAME {
            return None;
        }
        let (path, line, column) = state
            .original(self.file, self.line, self.column)
            .unwrap_or_else(|| (self.file.to_owned(), self.line, self.column));
        Some(Place { path, line, column })
    }
}

/// `at f (main.ts:3:10)` or `at main.ts:3:10`; None for native frames.
fn parse_frame(line: &str) -> Option<Frame<'_>> {
    let line = line.trim_start().strip_prefix("at ")?;
    let (function, position) = match line.strip_suffix(')') {
        Some(rest) => rest.rsplit_once(" (").unwrap_or(("", rest)),
        None => ("", line),
    };
    let (rest, column) = position.rsplit_once(':')?;
    let (file, line) = rest.rsplit_once(':')?;
    Some(Frame { function, file, line: line.parse().ok()?, column: column.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_every_form_are_read() {
        let frame = parse_frame("    at f (a b/main.ts:3:10)").expect("a frame");
        assert_eq!((frame.function, frame.file, frame.line, frame.column), ("f", "a b/main.ts", 3, 10));
        let frame = parse_frame("    at main.ts:1:2").expect("a frame");
        assert_eq!((frame.function, frame.file), ("", "main.ts"));
        assert!(parse_frame("    at map (native)").is_none());
        assert!(parse_frame("not a frame").is_none());
    }
}
