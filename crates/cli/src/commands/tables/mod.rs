//! Results as tables for people.

mod carry;
mod diagnosis;
mod doctor;
mod flows;
mod grid;
mod histogram;
mod lab;
mod load;
mod mesh;
mod mesh_machines;
mod neighbour;
mod pacing;
mod population;
mod rtt;
mod runs;
mod survey;
mod tcp;
mod testbed;
mod trap;
mod tune;
mod twin;
mod watch;

use crate::units::{format_count, format_percent, format_signed_duration};
use comfy_table::{CellAlignment, Table, presets};
use weir_stats::Quantiles;

pub use carry::{live, received, sent};
pub use diagnosis::{answer_and_findings, evidence};
pub use doctor::checks;
pub use flows::{burst_histograms, flows, flows_notes};
pub use grid::grid;
pub use histogram::{Times, width};
pub use lab::{account, profiles, where_to_attach};
pub use load::{capacity, load, load_live, trial};
pub use mesh::{mesh_plan, mesh_prices, mesh_regions, mesh_report, mesh_result};
pub use mesh_machines::{mesh_machines, mesh_tagged};
pub use neighbour::neighbour;
pub use pacing::{pacing, pacing_figure};
pub use population::population;
pub use rtt::rtt;
pub use runs::{run, runs};
pub use survey::{limited_line, step_line, survey};
pub use tcp::tcp;
pub use testbed::{
    testbed, testbed_audience, testbed_cleaned, testbed_comparison, testbed_functions, testbed_states,
    testbed_workflow,
};
pub use trap::trap;
pub use tune::{tune, tune_check};
pub use twin::comparison;
pub use watch::{watch_history, watch_plan, watch_rates, watch_start};

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(header.to_vec());
    for index in 1..header.len() {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// A table with a title, without trailing space.
fn titled(title: &str, table: &Table) -> String {
    let lines: Vec<String> = table
        .lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect();
    format!("{title}\n{}\n", lines.concat())
}

/// Counts above zero, each with what it counts.
fn counted<const N: usize>(counts: [(u64, &str); N]) -> impl Iterator<Item = String> {
    let above_zero = counts.into_iter().filter(|(count, _)| *count > 0);
    above_zero.map(|(count, of)| format!("{} {of}", format_count(count)))
}

/// A value as text; a dash for one that is not known.
fn or_dash<T>(value: Option<T>, text: impl FnOnce(T) -> String) -> String {
    value.map_or("-".to_owned(), text)
}

fn quantile_row(name: &str, values: &Quantiles) -> Vec<String> {
    let mut row = vec![name.to_owned()];
    if values.count == 0 {
        row.extend(std::iter::repeat_n("-".to_owned(), 6));
        return row;
    }
    let shown = [
        values.min,
        values.p50,
        values.p90,
        values.p99,
        values.p999,
        values.max,
    ];
    row.extend(shown.map(format_signed_duration));
    row
}

fn quantile_table(rows: &[(&str, &Quantiles)]) -> Table {
    let mut shown = table(&["", "min", "P50", "P90", "P99", "P99.9", "max"]);
    for (name, values) in rows {
        shown.add_row(quantile_row(name, values));
    }
    shown
}

/// Loss rate with its bounds, so that no loss in a short test is not taken for a loss rate of zero.
fn loss(lost: u64, loss: f64, bounds: (f64, f64)) -> String {
    format!(
        "{} ({}, 95 % interval {} to {})",
        format_count(lost),
        format_percent(loss),
        format_percent(bounds.0),
        format_percent(bounds.1)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_measured_is_a_dash_and_not_zero() {
        let row = quantile_row("x", &Quantiles::default());
        assert_eq!(row[1..], ["-"; 6]);
    }
}
