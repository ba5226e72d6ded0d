//! Tables of `weir load experiment`.

use crate::units::{format_count, format_duration, format_percent, format_rate};
use weir_load::experiment::{Cell, Compared, Experiment, Group, Model, Spread};

use super::{or_dash, table, titled};

/// All runs, in order.
pub fn experiment_plan(experiment: &Experiment, cells: &[Cell]) -> String {
    let mut shown = table(&[
        "",
        "part",
        "configuration",
        "segments",
        "video",
        "viewers",
        "caches",
        "repeat",
    ]);
    for (number, cell) in cells.iter().enumerate() {
        shown.add_row([
            (number + 1).to_string(),
            cell.part.clone(),
            cell.configuration.clone(),
            cell.segment.to_string(),
            cell.video.to_string(),
            cell.viewers.clone(),
            cell.cache.name().to_owned(),
            cell.repeat.to_string(),
        ]);
    }
    let takes = format_duration(experiment.takes_ns(cells));
    titled(
        &format!(
            "{}: {} runs, {takes} of measurement",
            experiment.name,
            cells.len()
        ),
        &shown,
    )
}

/// Results of the runs.
pub fn experiment(
    experiment: &Experiment,
    groups: &[Group],
    compared: &[Compared],
    model: Option<&Model>,
) -> String {
    let mut text = String::new();
    for part in &experiment.parts {
        let mut shown = table(&[
            "",
            "segments",
            "video",
            "viewers",
            "caches",
            "IN",
            "OUT",
            "OUT/IN",
            "requests/s",
            "mean",
            "P99",
            "failed",
        ]);
        for group in groups.iter().filter(|group| group.cell.part == part.name) {
            shown.add_row(row(group));
        }
        if shown.row_count() > 0 {
            text.push_str(&titled(&format!("part {}", part.name), &shown));
        }
    }
    if let Some(published) = &experiment.published
        && compared.iter().any(|row| row.out_bps.is_some())
    {
        text.push_str(&titled(
            &format!("compared with {}", published.source),
            &beside(compared),
        ));
    }
    if let Some(model) = model {
        text.push_str(&format!(
            "model OUT = k x R x S x B over {} runs: k {:.4} (95 %: {:.4} to {:.4}), R^2 {:.5}, largest residual {}\n\n",
            model.points.len(),
            model.factor,
            model.factor_low,
            model.factor_high,
            model.r_squared,
            format_percent(model.largest_residual),
        ));
    }
    text
}

fn row(group: &Group) -> Vec<String> {
    let mean =
        |spread: Option<Spread>, show: &dyn Fn(f64) -> String| or_dash(spread, |spread| show(spread.mean));
    vec![
        group.cell.configuration.clone(),
        group.cell.segment.to_string(),
        group.cell.video.to_string(),
        group.cell.viewers.clone(),
        group.cell.cache.name().to_owned(),
        mean(group.in_bps, &rate),
        mean(group.out_bps, &rate),
        mean(group.efficiency, &|value| format!("{value:.3}")),
        mean(group.requests_per_second, &|value| format!("{value:.1}")),
        mean(group.mean_ns, &|value| format_duration(value as u64)),
        mean(group.p99_ns, &|value| format_duration(value as u64)),
        format_count(group.failed),
    ]
}

fn beside(compared: &[Compared]) -> comfy_table::Table {
    let mut shown = table(&[
        "",
        "OUT/IN published",
        "OUT/IN measured",
        "OUT published",
        "OUT measured",
        "relative published",
        "relative measured",
    ]);
    let known = |value: Option<f64>, show: &dyn Fn(f64) -> String| or_dash(value, show);
    for row in compared {
        shown.add_row([
            row.configuration.clone(),
            format!("{:.3}", row.published_efficiency),
            known(row.efficiency, &|value| format!("{value:.3}")),
            rate(row.published_out_bps),
            known(row.out_bps, &rate),
            format!("{:.2}", row.published_relative),
            known(row.relative, &|value| format!("{value:.2}")),
        ]);
    }
    shown
}

fn rate(bps: f64) -> String {
    format_rate(bps as u64)
}
