//! A population of households as text.

use crate::units::{format_count, format_percent};
use weir_population::{Change, FigureRow, Summary, VariantFigure};

use super::{pacing_figure, table, titled};
use weir_units::count_of;

const NOTHING: &str = "-";

/// A row per figure and variant; with `inputs` the distributions that the households were drawn from.
pub fn population(summary: &Summary, inputs: bool) -> String {
    let mut shown = table(&[
        "figure",
        "variant",
        "households",
        "mean",
        "P10",
        "P50",
        "P90",
        "change of the mean",
        "95 % interval",
        "published",
    ]);
    // Nothing happened in any household: no mark where no queue marks.
    let is_empty = |row: &&FigureRow| row.variants.iter().all(|variant| variant.spread.mean == 0.0);
    for row in summary.figures.iter().filter(|row| !is_empty(row)) {
        for (place, variant) in row.variants.iter().enumerate() {
            shown.add_row(cells(row, variant, place == 0));
        }
    }
    let title = format!(
        "{}, {}",
        summary.population,
        count_of(summary.households, "household")
    );
    let mut text = titled(&title, &shown);
    if inputs {
        text.push_str(&format!("\ninputs\n{}\n", summary.inputs.trim_end()));
    } else {
        text.push_str("The result holds for its inputs: --verbose prints them.\n");
    }
    text
}

fn cells(row: &FigureRow, variant: &VariantFigure, is_first: bool) -> Vec<String> {
    let figure = |value: f64| pacing_figure(&row.figure, value);
    let spread = &variant.spread;
    let mut cells = vec![
        if is_first {
            row.figure.clone()
        } else {
            String::new()
        },
        variant.variant.clone(),
        format_count(spread.households),
    ];
    cells.extend([spread.mean, spread.p10, spread.p50, spread.p90].map(figure));
    let change = variant.change.as_ref();
    cells.push(
        change
            .and_then(|change| change.mean)
            .map_or(NOTHING.to_owned(), signed),
    );
    cells.push(interval(change));
    let published = row.published.as_ref().filter(|_| !is_first);
    cells.push(published.map_or(NOTHING.to_owned(), |published| {
        let (from, to) = published.change;
        format!("{} to {}", signed(from), signed(to))
    }));
    cells
}

fn interval(change: Option<&Change>) -> String {
    let interval = change.and_then(|change| change.mean_interval);
    interval.map_or(NOTHING.to_owned(), |(low, high)| {
        format!("{} to {}", signed(low), signed(high))
    })
}

/// A relative change, with its sign.
pub(super) fn signed(change: f64) -> String {
    let sign = if change < 0.0 { "-" } else { "+" };
    format!("{sign}{}", format_percent(change.abs()))
}
