//! Lines over time as SVG: what a page shows without scripts.

use std::fmt::Write;

use weir_results::WatchCell;
use weir_units::{format_duration, format_percent, format_utc};

use crate::facts::Facts;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 280.0;
/// Space for labels: left, right, top and bottom.
const MARGIN: [f64; 4] = [84.0, 16.0, 24.0, 36.0];
/// The axis of shares ends no lower.
const LEAST_SHARE: f64 = 0.001;
/// Marks of the axis of values.
const TICKS: u32 = 4;

/// A line: name, colour, and its points, Unix seconds and value; none where nothing is known.
struct Line {
    name: &'static str,
    colour: &'static str,
    points: Vec<(u64, Option<f64>)>,
}

pub(crate) fn rtt(facts: &Facts<'_>) -> String {
    let line = |name, colour, q: f64| Line {
        name,
        colour,
        points: points(facts, |cell| cell.rtt.quantile(q).map(|value| value as f64)),
    };
    let lines = [line("P90", "#b45309", 0.9), line("P50", "#1d4ed8", 0.5)];
    // Changes of some per cent are to be seen: the axis does not begin at zero.
    draw(facts, &lines, false, |value| {
        format_duration(value.max(0.0) as u64)
    })
}

pub(crate) fn loss(facts: &Facts<'_>) -> String {
    let share = |cell: &WatchCell| (cell.sent > 0).then(|| cell.lost as f64 / cell.sent as f64);
    let line = Line {
        name: "loss",
        colour: "#b91c1c",
        points: points(facts, share),
    };
    draw(facts, &[line], true, format_percent)
}

fn points(facts: &Facts<'_>, value: impl Fn(&WatchCell) -> Option<f64>) -> Vec<(u64, Option<f64>)> {
    let cells = facts.over_time.iter();
    cells.map(|cell| (cell.start_s, value(cell))).collect()
}

fn draw(facts: &Facts<'_>, lines: &[Line], from_zero: bool, words: impl Fn(f64) -> String) -> String {
    let [left, right, top, bottom] = MARGIN;
    let values = || {
        lines
            .iter()
            .flat_map(|line| &line.points)
            .filter_map(|(_, value)| *value)
    };
    let most = values().fold(0.0, f64::max);
    let least = if from_zero {
        0.0
    } else {
        values().fold(most, f64::min)
    };
    // A line that is flat needs a height, too.
    let least_room = if from_zero { LEAST_SHARE } else { 1.0 };
    let room = ((most - least) * 0.08).max(most * 0.01).max(least_room);
    let low = if from_zero { 0.0 } else { (least - room).max(0.0) };
    let high = most + room;
    let (begin_s, end_s) = (
        facts.request.since_ns / 1_000_000_000,
        facts.request.until_ns / 1_000_000_000,
    );
    let length_s = end_s.saturating_sub(begin_s).max(1) as f64;
    let x = |at_s: u64| left + (WIDTH - left - right) * at_s.saturating_sub(begin_s) as f64 / length_s;
    let y = |value: f64| HEIGHT - bottom - (HEIGHT - top - bottom) * (value - low) / (high - low);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n"
    );
    // Writing to a string does not fail, here and below.
    for tick in 0..=TICKS {
        let value = low + (high - low) * f64::from(tick) / f64::from(TICKS);
        let at = y(value);
        let _ = writeln!(
            svg,
            "<path d=\"M{left} {at:.1}H{:.1}\" stroke=\"#ddd\"/><text x=\"{:.1}\" y=\"{:.1}\" \
             text-anchor=\"end\">{}</text>",
            WIDTH - right,
            left - 6.0,
            at + 4.0,
            words(value)
        );
    }
    for (at_s, anchor) in [
        (begin_s, "start"),
        (begin_s + (length_s / 2.0) as u64, "middle"),
        (end_s, "end"),
    ] {
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{} UTC</text>",
            x(at_s),
            HEIGHT - 12.0,
            format_utc(at_s * 1_000_000_000)
        );
    }
    for change in &facts.changes {
        let at = x(change.since_unix_ns / 1_000_000_000);
        let _ = writeln!(
            svg,
            "<path d=\"M{at:.1} {top}V{:.1}\" stroke=\"#555\" stroke-dasharray=\"4 3\"/>",
            HEIGHT - bottom
        );
    }
    for (place, line) in lines.iter().enumerate() {
        let _ = writeln!(
            svg,
            "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/><text x=\"{:.1}\" y=\"16\" \
             fill=\"{}\">{}</text>",
            path(line, facts, &x, &y),
            line.colour,
            left + 60.0 * place as f64,
            line.colour,
            line.name
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// A line with a gap where nothing was measured.
fn path(line: &Line, facts: &Facts<'_>, x: &dyn Fn(u64) -> f64, y: &dyn Fn(f64) -> f64) -> String {
    let gaps = facts
        .over_time
        .windows(2)
        .map(|two| two[1].start_s - two[0].start_s);
    let step_s = gaps.min().unwrap_or(1);
    let (mut path, mut last_s) = (String::new(), None);
    for (at_s, value) in &line.points {
        let Some(value) = value else {
            last_s = None;
            continue;
        };
        let goes_on = last_s.is_some_and(|last_s| at_s - last_s <= 2 * step_s);
        let verb = if goes_on { 'L' } else { 'M' };
        // A point of its own is a short line.
        let dot = if goes_on { "" } else { "h0.5" };
        let _ = write!(path, "{verb}{:.1} {:.1}{dot}", x(*at_s), y(*value));
        last_s = Some(*at_s);
    }
    path
}
