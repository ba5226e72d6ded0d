//! What was published read against what was measured, point by point, in sentences. It must not know where they stand.

use weir_units::{format_duration, format_percent};

use super::file::Published;
use super::outcome::{Compared, Group};

/// The two tables beside each other.
pub(super) fn reading(published: &Published, compared: &[Compared], groups: &[Group]) -> Vec<String> {
    let mut sentences = vec![
        order("OUT", compared, |row| (row.published_out_bps, row.out_bps)),
        order("IN", compared, |row| (row.published_in_bps, row.in_bps)),
    ];
    sentences.extend(compared.iter().filter_map(one));
    sentences.extend(best_two(compared));
    sentences.extend(saved(compared));
    sentences.extend(fastest(published, groups));
    sentences
}

/// Ranks what was published and what was measured, by the two figures of a row that `both` picks.
fn order(what: &str, compared: &[Compared], both: impl Fn(&Compared) -> (f64, Option<f64>)) -> String {
    let ranked = |of: &dyn Fn(&Compared) -> Option<f64>| {
        let mut ranked: Vec<(&str, f64)> = compared
            .iter()
            .filter_map(|row| Some((row.configuration.as_str(), of(row)?)))
            .collect();
        ranked.sort_by(|one, other| other.1.total_cmp(&one.1));
        let names: Vec<&str> = ranked.iter().map(|(name, _)| *name).collect();
        if names.is_empty() {
            "not known".to_owned()
        } else {
            names.join(", ")
        }
    };
    format!(
        "By {what}, highest first: {} (published); {} (measured).",
        ranked(&|row| Some(both(row).0)),
        ranked(&|row| both(row).1)
    )
}

fn one(row: &Compared) -> Option<String> {
    let (efficiency, relative) = (row.efficiency?, row.relative?);
    let of_reads = format!(
        "{}: OUT/IN {efficiency:.3} (measured), {:.3} (published), ratio {:.2}",
        row.configuration,
        row.published_efficiency,
        efficiency / row.published_efficiency,
    );
    if (relative, row.published_relative) == (1.0, 1.0) {
        return Some(format!(
            "{of_reads}. The other configurations are compared with it."
        ));
    }
    Some(format!(
        "{of_reads}. It sends {} the first configuration (measured), {} it (published).",
        beyond(relative),
        beyond(row.published_relative),
    ))
}

/// Which of the two most efficient configurations sends more, which decides between them.
fn best_two(compared: &[Compared]) -> Option<String> {
    let mut ranked: Vec<&Compared> = compared.iter().collect();
    ranked.sort_by(|one, other| {
        let by_efficiency = other.published_efficiency.total_cmp(&one.published_efficiency);
        by_efficiency.then(other.published_out_bps.total_cmp(&one.published_out_bps))
    });
    let [best, second, ..] = ranked[..] else {
        return None;
    };
    Some(format!(
        "{} sends {} {} (published), {} it (measured).",
        best.configuration,
        beyond(best.published_out_bps / second.published_out_bps),
        second.configuration,
        beyond(best.out_bps? / second.out_bps?),
    ))
}

/// Bytes that the most efficient configuration reads from the storage per byte sent, compared with the least efficient.
fn saved(compared: &[Compared]) -> Option<String> {
    let by_efficiency =
        |one: &&Compared, other: &&Compared| one.published_efficiency.total_cmp(&other.published_efficiency);
    // Of several that are alike, the last: the table's own order is from the plain to the elaborate.
    let best = compared.iter().max_by(by_efficiency)?;
    let worst = compared.iter().min_by(by_efficiency)?;
    if best.configuration == worst.configuration {
        return None;
    }
    Some(format!(
        "Per byte sent, {} reads {} {} from the storage (published), {} it (measured).",
        best.configuration,
        beyond(worst.published_efficiency / best.published_efficiency),
        worst.configuration,
        beyond(worst.efficiency? / best.efficiency?),
    ))
}

/// Ranks configurations by mean time to last byte.
fn fastest(published: &Published, groups: &[Group]) -> Option<String> {
    let mut times: Vec<(&str, f64)> = groups
        .iter()
        .filter(|group| group.cell.part == published.part)
        .filter_map(|group| Some((group.cell.configuration.as_str(), group.mean_ns?.mean)))
        .collect();
    times.sort_by(|one, other| one.1.total_cmp(&other.1));
    if times.is_empty() {
        return None;
    }
    let here: Vec<String> = times
        .iter()
        .map(|(name, mean)| format!("{name} ({})", time(*mean)))
        .collect();
    let there = match &published.fastest[..] {
        [] => String::new(),
        names => format!(" Published as fastest: {}.", names.join(" and ")),
    };
    Some(format!(
        "By mean time to last byte, fastest first: {} (measured).{there}",
        here.join(", ")
    ))
}

/// Nanoseconds as text.
pub(super) fn time(ns: f64) -> String {
    format_duration(ns.max(0.0).round() as u64)
}

/// A ratio as text, as in `20 % more than`.
fn beyond(ratio: f64) -> String {
    if (ratio - 1.0).abs() < 0.0005 {
        "as much as".to_owned()
    } else if ratio >= 2.0 {
        format!("{ratio:.1} times as much as")
    } else if ratio > 1.0 {
        format!("{} more than", format_percent(ratio - 1.0))
    } else {
        format!("{} less than", format_percent(1.0 - ratio))
    }
}
