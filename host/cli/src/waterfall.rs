//! What an execution did when, as bars on one line of time.

use serde_json::Value;

use crate::style::Style;
use crate::text;
use crate::view::{field, list, number};

/// What is shown where nobody says how wide the terminal is.
pub(crate) const USUAL_WIDTH: usize = 100;
/// Narrower than this there is no room for bars.
const BAR_WIDTH: usize = 10;
const NAME_WIDTH: usize = 44;
const TIME_WIDTH: usize = 10;

/// One line.
struct Row {
    name: String,
    start_us: u64,
    duration_us: Option<u64>,
    error: String,
}

/// The width of the terminal on stdout, where there is one; else what the
/// environment says.
pub(crate) fn width(columns: Option<usize>) -> usize {
    let terminal = rustix::termios::tcgetwinsize(std::io::stdout()).ok().map(|size| usize::from(size.ws_col));
    terminal.filter(|width| *width > 0).or(columns).unwrap_or(USUAL_WIDTH).clamp(30, 400)
}

/// At most `limit` spans of a trace, in lines of at most `width` characters;
/// nothing where it has none.
pub(crate) fn render(trace: &Value, limit: usize, width: usize, style: Style) -> String {
    let spans = list(trace, "spans");
    let rows: Vec<Row> = spans.iter().take(limit).map(|span| row(span, spans)).collect();
    let end = spans.iter().map(|span| number(span, "start_us") + number(span, "duration_us")).max();
    let end = end.unwrap_or(0).max(1);
    let longest = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    let names = longest.min(NAME_WIDTH).min(width.saturating_sub(2 * TIME_WIDTH + 4)).max(4);
    let bars = width.saturating_sub(names + 2 * TIME_WIDTH + 6);
    let mut rendered = String::new();
    for (index, row) in rows.iter().enumerate() {
        if index == 0 {
            let heading = format!("{:<names$}  {:>TIME_WIDTH$}  {:>TIME_WIDTH$}", "SPAN", "AT", "TOOK");
            rendered.push_str(&style.dim(&heading));
            rendered.push('\n');
        }
        rendered.push_str(&line(row, names, bars, end, style));
        rendered.push('\n');
    }
    let more = (spans.len() - rows.len()) as u64 + number(trace, "spans_cut");
    if more > 0 {
        rendered.push_str(&style.dim(&format!("spans that are not shown: {}", text::count(more))));
        rendered.push('\n');
    }
    rendered
}

fn row(span: &Value, all: &[Value]) -> Row {
    let mut depth = 0;
    let mut parent = number(span, "parent");
    // A parent began before its parts, so that this comes to an end.
    while let Some(above) = usize::try_from(parent).ok().and_then(|number| all.get(number.checked_sub(1)?)) {
        depth += 1;
        let next = number(above, "parent");
        if next >= parent {
            break;
        }
        parent = next;
    }
    Row {
        name: format!("{}{}", "  ".repeat(depth.min(8)), label(span)),
        start_us: number(span, "start_us"),
        duration_us: span["duration_us"].as_u64(),
        error: field(span, "error"),
    }
}

/// A span by what tells it from others of its name.
fn label(span: &Value) -> String {
    let fields = &span["fields"];
    let name = field(span, "name");
    let more = match name.as_str() {
        "tool.call" => {
            return Some(field(fields, "gen_ai.tool.name")).filter(|tool| !tool.is_empty()).unwrap_or(name);
        }
        "instantiate" => field(fields, "executor.component"),
        _ => [field(fields, "http.request.method"), field(fields, "server.address")]
            .join(" ")
            .trim()
            .to_owned(),
    };
    if more.is_empty() { name } else { format!("{name} {more}") }
}

fn line(row: &Row, names: usize, bars: usize, end: u64, style: Style) -> String {
    let name = text::shorten(&row.name, names);
    let took = row.duration_us.map_or_else(|| "…".to_owned(), duration);
    let padding = " ".repeat(names - name.chars().count());
    let mut line = format!("{name}{padding}  {:>TIME_WIDTH$}  {took:>TIME_WIDTH$}", duration(row.start_us));
    if bars >= BAR_WIDTH {
        let (space, blocks) = bar(row.start_us, row.duration_us.unwrap_or(0), end, bars);
        let room = bars - space.chars().count() - blocks.chars().count();
        let blocks = if row.error.is_empty() { blocks } else { style.red(&blocks) };
        line.push_str(&format!("  {space}{blocks}"));
        if !row.error.is_empty() && room > row.error.chars().count() {
            line.push_str(&format!(" {}", row.error));
        }
    }
    line
}

/// Dots where it had not begun, blocks while it ran; together no wider than
/// `columns`.
fn bar(start: u64, length: u64, end: u64, columns: usize) -> (String, String) {
    let column = |at: u64| {
        let share = u128::from(at) * columns as u128 / u128::from(end);
        usize::try_from(share).unwrap_or(columns).min(columns)
    };
    let first = column(start).min(columns - 1);
    let last = column(start.saturating_add(length)).max(first + 1);
    ("·".repeat(first), "█".repeat(last - first))
}

/// `85 µs`, `3.2 ms`, `1.2 s`.
pub(crate) fn duration(microseconds: u64) -> String {
    match microseconds {
        0..1_000 => format!("{microseconds} µs"),
        1_000..10_000 => format!("{}.{} ms", microseconds / 1_000, microseconds % 1_000 / 100),
        _ => text::duration(microseconds / 1_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn trace() -> Value {
        let send = json!({ "http.request.method": "GET", "server.address": "api.test" });
        json!({ "spans_cut": 3, "spans": [
            { "id": 1, "parent": 0, "name": "execution", "start_us": 0, "duration_us": 40_000 },
            { "id": 2, "parent": 1, "name": "executor:sandbox/engine.run", "start_us": 300, "duration_us": 39_000 },
            { "id": 3, "parent": 1, "name": "tool.call", "start_us": 10_000, "duration_us": 20_000,
              "error": "denied", "fields": { "gen_ai.tool.name": "github.issues.create" } },
            { "id": 4, "parent": 3, "name": "executor:adapter/http.send", "start_us": 20_000, "duration_us": 5_500, "fields": send },
            { "id": 5, "parent": 3, "name": "odd\u{1b}[31m", "start_us": 39_999 },
        ]})
    }

    #[test]
    fn bars_stand_on_one_line_of_time() {
        insta::assert_snapshot!(render(&trace(), 10, 110, Style::default()), @r"
        SPAN                                                 AT        TOOK
        execution                                          0 µs       40 ms  █████████████████████████████████████████
          executor:sandbox/engine.run                    300 µs       39 ms  ████████████████████████████████████████
          github.issues.create                            10 ms       20 ms  ··········████████████████████ denied
            executor:adapter/http.send GET api.test       20 ms      5.5 ms  ····················██████
            odd                                           39 ms           …  ········································█
        spans that are not shown: 3
        ");
        assert!(render(&trace(), 2, 110, Style::default()).ends_with("spans that are not shown: 6\n"));
        assert_eq!(render(&json!({}), 10, 110, Style::default()), "");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for width in 30..200 {
            for line in render(&trace(), 4, width, Style::default()).lines().take(5) {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
        assert!(!render(&trace(), 10, 60, Style::default()).contains('█'));
    }

    #[test]
    fn bars_stay_within_their_columns() {
        for (start, length, end) in
            [(0, 0, 1), (u64::MAX / 2, 1, u64::MAX), (5, 5, 10), (10, 10, 10), (10, u64::MAX, 10)]
        {
            let (space, blocks) = bar(start, length, end, 32);
            assert!(space.chars().count() + blocks.chars().count() <= 32, "{start} {length} {end}");
            assert!(!blocks.is_empty());
        }
    }
}
