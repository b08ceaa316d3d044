//! The rows as bars: how far each side is from what is to be reached.

use std::fmt::Write as _;

use crate::figures::{Row, short};

const ROW_HEIGHT: f64 = 34.0;
const LABELS: f64 = 400.0;
const BARS: f64 = 560.0;
const TOP: f64 = 64.0;
/// A bar ends here at the latest; its number says the rest.
const DECADES: (f64, f64) = (-2.0, 4.0);

/// An SVG. The axis is logarithmic; 1 is the reach, left of it is better. Rows
/// without a reach are drawn against the peer, or, where there is none either,
/// left out.
pub(crate) fn svg(rows: &[Row], title: &str) -> String {
    let drawn: Vec<_> = rows.iter().filter_map(|row| Some((row, unit(row)?))).collect();
    let height = TOP + ROW_HEIGHT * drawn.len() as f64 + 24.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"12\" y=\"22\" font-size=\"13\">{1}</text>\n\
         <text x=\"12\" y=\"40\" fill=\"#666\">times the reach, logarithmic; left is better; green: executor \
         (red where it misses), grey: npm executor 1.5.9</text>\n",
        LABELS + BARS + 120.0,
        escaped(title)
    );
    for decade in DECADES.0 as i32..=DECADES.1 as i32 {
        let (x, bold) = (position(10f64.powi(decade)), decade == 0);
        let _ = writeln!(
            svg,
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{}\" y2=\"{:.1}\" stroke=\"{}\"/>\
             <text x=\"{x:.1}\" y=\"{}\" fill=\"#666\" text-anchor=\"middle\">{}</text>",
            TOP - 4.0,
            height - 20.0,
            if bold { "#000" } else { "#ddd" },
            TOP - 8.0,
            if bold { "reach".into() } else { format!("{}", 10f64.powi(decade)) },
        );
    }
    for (number, (row, unit)) in drawn.into_iter().enumerate() {
        let y = TOP + ROW_HEIGHT * number as f64;
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LABELS - 8.0,
            y + 18.0,
            escaped(&row.what)
        );
        if let Some(ours) = row.ours.p50() {
            let times = 1.0 / row.better(ours, unit);
            let colour = if times > 1.0 && row.reach.p50.is_some() { "#c0392b" } else { "#2e8b57" };
            bar(&mut svg, y + 3.0, times, colour, &format!("{} {}", short(ours), row.unit));
        }
        if let Some(peer) = row.peer.p50() {
            let times = 1.0 / row.better(peer, unit);
            bar(&mut svg, y + 16.0, times, "#999", &format!("{} {}", short(peer), row.unit));
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// What a row is drawn against.
fn unit(row: &Row) -> Option<f64> {
    row.ours.p50()?;
    row.reach.p50.or_else(|| row.peer.p50()).filter(|unit| *unit > 0.0)
}

fn bar(svg: &mut String, y: f64, times: f64, colour: &str, label: &str) {
    let width = position(times) - LABELS;
    let _ = writeln!(
        svg,
        "<rect x=\"{LABELS}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"11\" fill=\"{colour}\"/>\
         <text x=\"{:.1}\" y=\"{:.1}\" font-size=\"11\">{}</text>",
        LABELS + width + 4.0,
        y + 10.0,
        escaped(label)
    );
}

fn position(times: f64) -> f64 {
    let (low, high) = DECADES;
    let share = (times.max(1e-9).log10().clamp(low, high) - low) / (high - low);
    LABELS + BARS * share
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::svg;
    use crate::figures::{Row, reach};

    #[test]
    fn rows_are_drawn_against_their_reach_or_their_peer() {
        let rows = [
            Row::new("a < b", "ms", 0.1).peer(10.0).reach(reach(1.0)),
            Row::new("missed", "/s", 10.0).reach(reach(100.0)),
            Row::new("nothing to hold it against", "ms", 1.0),
        ];
        let drawn = svg(&rows, "title");
        assert!(drawn.contains("a &lt; b") && !drawn.contains("nothing to hold"), "{drawn}");
        let bars = |colour: &str| drawn.matches(&format!("fill=\"{colour}\"")).count();
        assert_eq!((bars("#2e8b57"), bars("#c0392b"), bars("#999")), (1, 1, 1), "{drawn}");
    }
}
