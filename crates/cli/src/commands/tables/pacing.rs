//! The comparison of streaming variants as text.

use crate::units::{format_bytes, format_percent, format_rate, format_signed_duration};
use weir_lab::pacing::{Change, Comparison, FigureRow, Spread, Unit, unit_of};

use super::{table, titled};

/// One table per case and congestion control.
pub fn pacing(comparisons: &[Comparison]) -> String {
    comparisons
        .iter()
        .map(|comparison| one(comparison) + "\n")
        .collect()
}

fn one(comparison: &Comparison) -> String {
    let named = |of: fn(&FigureRow) -> Vec<&str>| {
        let mut names: Vec<String> = Vec::new();
        for name in comparison.figures.iter().flat_map(of) {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        names
    };
    let variants = named(|row| row.variants.iter().map(|found| found.variant.as_str()).collect());
    let changed = named(|row| row.changes.iter().map(|change| change.variant.as_str()).collect());
    let has_paper = comparison.figures.iter().any(|row| row.paper_percent.is_some());
    let mut header: Vec<String> = vec!["figure".to_owned(), "alone".to_owned()];
    header.extend(variants.iter().cloned());
    for name in &changed {
        header.extend([
            format!("{name}: change"),
            "95 % interval".to_owned(),
            "as expected".to_owned(),
        ]);
    }
    if has_paper {
        header.push("paper".to_owned());
    }
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let mut shown = table(&header);
    for row in &comparison.figures {
        shown.add_row(cells(row, &variants, &changed, has_paper));
    }
    let title = format!("{}, {}", comparison.case, comparison.congestion);
    titled(&title, &shown)
}

const NOTHING: &str = "-";

fn cells(row: &FigureRow, variants: &[String], changed: &[String], has_paper: bool) -> Vec<String> {
    let spread = |spread: Option<&Spread>| {
        spread.map_or(NOTHING.to_owned(), |spread| {
            pacing_figure(&row.figure, spread.median)
        })
    };
    let mut cells = vec![row.figure.clone(), spread(row.alone.as_ref())];
    for name in variants {
        let found = row.variants.iter().find(|found| found.variant == *name);
        cells.push(spread(found.map(|found| &found.spread)));
    }
    for name in changed {
        match row.changes.iter().find(|change| change.variant == *name) {
            Some(change) => cells.extend(change_cells(&row.figure, change)),
            None => cells.extend([NOTHING; 3].map(str::to_owned)),
        }
    }
    if has_paper {
        cells.push(
            row.paper_percent
                .map_or(NOTHING.to_owned(), |percent| format!("{percent:+} %")),
        );
    }
    cells
}

fn change_cells(figure: &str, change: &Change) -> [String; 3] {
    let relative = change
        .relative
        .map(|relative| format!(" ({:+.1} %)", 100.0 * relative))
        .unwrap_or_default();
    let interval = change.interval.map_or(NOTHING.to_owned(), |(low, high)| {
        format!("{} to {}", signed(figure, low), signed(figure, high))
    });
    let expected = match change.as_expected {
        Some(true) => "yes",
        Some(false) => "no",
        None => NOTHING,
    };
    [
        format!("{}{relative}", signed(figure, change.difference)),
        interval,
        expected.to_owned(),
    ]
}

/// A difference, with its sign.
fn signed(figure: &str, value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "+" };
    format!("{sign}{}", pacing_figure(figure, value.abs()))
}

/// A figure in its unit.
pub fn pacing_figure(figure: &str, value: f64) -> String {
    match unit_of(figure) {
        Unit::Time => format_signed_duration(value.round() as i64),
        Unit::Rate => format_rate(value.max(0.0).round() as u64),
        Unit::Share => format_percent(value),
        Unit::Bytes => format_bytes(value.max(0.0).round() as u64),
        Unit::Number => {
            let text = format!("{value:.2}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_lab::pacing::VariantSpread;

    use super::*;

    #[test]
    fn a_comparison_reads_as_one_table() {
        let spread = |median| Spread {
            values: vec![median],
            median,
            min: median,
            max: median,
        };
        let text = pacing(&[Comparison {
            case: "call".to_owned(),
            congestion: "reno",
            figures: vec![FigureRow {
                figure: "voip.owd.p95".to_owned(),
                alone: Some(spread(10_300_000.0)),
                variants: [("unpaced", 48_000_000.0), ("paced", 12_000_000.0)]
                    .map(|(name, median)| VariantSpread {
                        variant: name.to_owned(),
                        spread: spread(median),
                    })
                    .to_vec(),
                changes: vec![Change {
                    variant: "paced".to_owned(),
                    difference: -36_000_000.0,
                    relative: Some(-0.75),
                    interval: Some((-37_000_000.0, -35_000_000.0)),
                    as_expected: Some(true),
                }],
                expected: Some("lower"),
                paper_percent: Some(-51.0),
            }],
        }]);
        assert!(text.starts_with("call, reno\n"), "{text}");
        for part in [
            "10.3 ms",
            "48.0 ms",
            "12.0 ms",
            "-36.0 ms (-75.0 %)",
            "-37.0 ms to -35.0 ms",
            "yes",
            "-51 %",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn numbers_have_no_needless_zeros() {
        assert_eq!(pacing_figure("voip.voice.mos", 4.4), "4.4");
        assert_eq!(pacing_figure("media.stalls", 0.0), "0");
        assert_eq!(pacing_figure("media.switches", 120.0), "120");
    }
}
