//! Small histograms in plain characters, for servers without a browser. They must not know what was measured.

use std::collections::BTreeMap;

use crate::units::{format_count, format_duration};
use comfy_table::Table;

/// Approximate number of rows of a histogram of times.
const ROWS: usize = 10;
/// Bins per decade in which times are counted before they are grouped into rows.
const STEPS: f64 = 80.0;
/// Columns where the terminal's width is unknown.
const USUAL_WIDTH: usize = 80;
/// Minimum and maximum length of the longest bar, in columns.
const BARS: std::ops::RangeInclusive<usize> = 10..=60;

/// Columns of the terminal, or the default.
pub fn width() -> usize {
    Table::new().width().map_or(USUAL_WIDTH, usize::from)
}

/// Times, counted for rows of equal width on a logarithmic scale.
#[derive(Default)]
pub struct Times {
    counts: BTreeMap<usize, u64>,
}

impl Times {
    /// Counts one time, nanoseconds.
    pub fn add(&mut self, ns: u64) {
        let step = ((ns.max(1) as f64).log10() * STEPS) as usize;
        *self.counts.entry(step).or_default() += 1;
    }

    /// The histogram as text; empty without times.
    pub fn text(&self, title: &str, width: usize) -> String {
        let ends = (self.counts.first_key_value(), self.counts.last_key_value());
        let (Some((first, _)), Some((last, _))) = ends else {
            return String::new();
        };
        let steps = (last - first + 1).div_ceil(ROWS);
        let edge = |row: usize| {
            let step = (first + row * steps) as f64;
            format_duration(10f64.powf(step / STEPS).round() as u64)
        };
        let rows: Vec<(String, u64)> = (0..=(last - first) / steps)
            .map(|row| {
                let from = first + row * steps;
                let count = self
                    .counts
                    .range(from..from + steps)
                    .map(|(_, count)| count)
                    .sum();
                (format!("{} to {}", edge(row), edge(row + 1)), count)
            })
            .collect();
        text(title, &rows, width)
    }
}

/// Burst lengths in rows that double; empty without bursts.
pub fn bursts(title: &str, lengths: &BTreeMap<u64, u64>, width: usize) -> String {
    let row_of = |length: u64| length.max(1).next_power_of_two().trailing_zeros();
    let Some((longest, _)) = lengths.last_key_value() else {
        return String::new();
    };
    let rows: Vec<(String, u64)> = (0..=row_of(*longest))
        .map(|row| {
            let count = lengths
                .iter()
                .filter(|(length, _)| row_of(**length) == row)
                .map(|(_, count)| count)
                .sum();
            let to = 1u64.checked_shl(row).unwrap_or(u64::MAX);
            let label = match to {
                1 => "1 packet".to_owned(),
                2 => "2 packets".to_owned(),
                _ => format!("{}..{} packets", format_count(to / 2 + 1), format_count(to)),
            };
            (label, count)
        })
        .collect();
    text(title, &rows, width)
}

/// A title and a line for each row: label, bar, count. The longest bar is the largest count, and every count above 0
/// has a bar.
fn text(title: &str, rows: &[(String, u64)], width: usize) -> String {
    let labels = rows
        .iter()
        .map(|(label, _)| label.chars().count())
        .max()
        .unwrap_or(0);
    let counts = rows
        .iter()
        .map(|(_, count)| format_count(*count).len())
        .max()
        .unwrap_or(0);
    let most = rows.iter().map(|(_, count)| *count).max().unwrap_or(0).max(1);
    let room = width
        .saturating_sub(labels + counts + 6)
        .clamp(*BARS.start(), *BARS.end());
    let mut text = format!("{title}\n");
    for (label, count) in rows {
        let exact = u128::from(*count) * room as u128;
        let rounded = (exact + u128::from(most) / 2) / u128::from(most);
        let length = usize::try_from(rounded)
            .unwrap_or(room)
            .max(usize::from(*count > 0));
        let bar = "#".repeat(length);
        let count = format_count(*count);
        text.push_str(&format!("  {label:>labels$}  {bar:<room$}  {count:>counts$}\n"));
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_in_proportion_and_what_is_there_is_seen() {
        let rows = [
            ("one".to_owned(), 1_000),
            ("a".to_owned(), 500),
            ("none".to_owned(), 0),
            ("few".to_owned(), 1),
        ];
        assert_eq!(
            text("title", &rows, 25),
            "title\n\
             \x20  one  ##########  1,000\n\
             \x20    a  #####         500\n\
             \x20 none                  0\n\
             \x20  few  #               1\n\n"
        );
        let longest = |width| text("t", &rows, width).lines().map(str::len).max();
        assert_eq!(longest(40), Some(40));
        assert_eq!(longest(200), Some(60 + 4 + 5 + 6), "bars end somewhere");
        assert_eq!(longest(0), Some(25), "and begin somewhere");
    }

    #[test]
    fn bursts_are_counted_in_rows_that_double() {
        let lengths = BTreeMap::from([(1, 4), (2, 2), (3, 1), (4, 1), (9, 4), (16, 1)]);
        assert_eq!(
            bursts("bursts", &lengths, 0),
            "bursts\n\
             \x20      1 packet  ########    4\n\
             \x20     2 packets  ####        2\n\
             \x20  3..4 packets  ####        2\n\
             \x20  5..8 packets              0\n\
             \x20 9..16 packets  ##########  5\n\n"
        );
        assert_eq!(bursts("bursts", &BTreeMap::new(), 80), "");
    }

    #[test]
    fn times_are_counted_in_about_ten_rows_that_grow_by_a_factor() {
        let mut times = Times::default();
        assert_eq!(times.text("t", 80), "");
        // A thousand times of 100 us and one of 10 ms: two decades, 161 steps, rows of 17.
        (0..1_000).for_each(|_| times.add(100_000));
        times.add(10_000_000);
        let shown = times.text("RTT", 80);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines.len(), 12, "title, ten rows, an empty line: {shown}");
        // 10^(17/80) is 1.631.
        assert!(
            lines[1].contains("100 us to 163 us  ####") && lines[1].ends_with(" 1,000"),
            "{shown}"
        );
        assert!(
            lines[10].trim_start().starts_with("8.") && lines[10].ends_with(" 1"),
            "{shown}"
        );
        assert_eq!(
            lines[2..10].iter().filter(|line| line.ends_with(" 0")).count(),
            8,
            "{shown}"
        );

        let mut same = Times::default();
        same.add(0);
        same.add(u64::MAX);
        assert!(same.text("t", 80).lines().count() <= 12);
    }
}
