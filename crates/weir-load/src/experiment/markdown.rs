//! The result of an experiment as a page for people to keep (Markdown). It must not know where it is written.

use std::fmt::Write;

use weir_units::{format_count, format_duration, format_percent, format_rate};

use super::file::{Experiment, Published, Storage, Titles};
use super::model::Model;
use super::outcome::{Compared, Group, Spread};
use super::reading::reading;

/// Where and how an experiment was made.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    /// The machine: cores, processor, system.
    pub description: String,
    /// The day, as 2026-11-22.
    pub day: String,
    /// Weir's version.
    pub version: String,
    /// The command that made it.
    pub command: String,
    /// Where origin, generator and storage ran.
    pub cores: String,
    /// First byte of a read from the storage, measured before the runs, nanoseconds.
    pub storage_first_byte_ns: Option<u64>,
}

/// The page. Lines of tables are long; others are wrapped by whoever reads them.
pub fn markdown(
    experiment: &Experiment,
    groups: &[Group],
    compared: &[Compared],
    model: Option<&Model>,
    machine: &Machine,
) -> String {
    let mut page = format!("# {}\n\n", experiment.name);
    if !experiment.description.is_empty() {
        paragraph(&mut page, &experiment.description);
    }
    circumstances(&mut page, experiment, groups, machine);
    for part in &experiment.parts {
        let of_part: Vec<&Group> = groups
            .iter()
            .filter(|group| group.cell.part == part.name)
            .collect();
        if !of_part.is_empty() {
            table(&mut page, &part.name, &of_part);
        }
    }
    if let Some(published) = &experiment.published
        && compared.iter().any(|row| row.out_bps.is_some())
    {
        beside(&mut page, published, compared, groups);
    }
    if let Some(model) = model {
        fitted(&mut page, model);
    }
    let mut page = page.trim_end().to_owned();
    page.push('\n');
    page
}

fn paragraph(page: &mut String, text: &str) {
    // Writing to a string cannot fail, here and below.
    let _ = write!(page, "{}\n\n", text.trim());
}

fn circumstances(page: &mut String, experiment: &Experiment, groups: &[Group], machine: &Machine) {
    let runs: usize = groups.iter().map(|group| group.count).sum();
    let wanted = experiment.cells().len();
    let made = if runs == wanted {
        format!("{runs} runs")
    } else {
        format!("{runs} of {wanted} runs")
    };
    paragraph(
        page,
        &format!(
            "Made on {} with Weir {} on one machine ({}) by\n\n```\n{}\n```",
            machine.day, machine.version, machine.description, machine.command
        ),
    );
    let times = match experiment.repeats {
        1 => String::new(),
        repeats => format!(", {repeats} of each combination"),
    };
    let storage = match &experiment.storage {
        Storage::Served { delay, .. } => {
            let first = machine.storage_first_byte_ns.map_or(String::new(), |ns| {
                format!(" (first byte of a read measured: {})", format_duration(ns))
            });
            format!("a server on this machine, {delay} away{first}")
        }
        Storage::Place(place) => format!("`{place}`"),
    };
    let titles = match &experiment.titles {
        Titles::Made { duration, audio } => format!("made by ffmpeg, {duration} long, with sound of {audio}"),
        Titles::Given(_) => "those that the file names".to_owned(),
    };
    paragraph(
        page,
        &format!(
            "{made}{times}, in an order shuffled by seed {}. Titles: {titles}. Storage: {storage}. {}. Where there \
             are several repeats, tables show their mean, and the smallest and the largest in parentheses.",
            experiment.seed, machine.cores
        ),
    );
}

fn spread(spread: Option<Spread>, show: impl Fn(f64) -> String) -> String {
    match spread {
        None => "-".to_owned(),
        Some(spread) if spread.low == spread.high => show(spread.mean),
        Some(spread) => format!(
            "{} ({} to {})",
            show(spread.mean),
            show(spread.low),
            show(spread.high)
        ),
    }
}

fn rate(bps: f64) -> String {
    format_rate(bps.max(0.0).round() as u64)
}

pub(super) fn time(ns: f64) -> String {
    format_duration(ns.max(0.0).round() as u64)
}

fn table(page: &mut String, name: &str, groups: &[&Group]) {
    let _ = write!(page, "## Part {name}\n\n");
    let heads = [
        "configuration",
        "segments",
        "pictures",
        "viewers",
        "caches",
        "IN",
        "OUT",
        "OUT/IN",
        "requests/s",
        "mean time",
        "P99",
        "CPU/request",
        "cores of the origin",
        "reads/request",
        "failed",
    ];
    let rows: Vec<[String; 15]> = groups.iter().map(|group| row(group)).collect();
    row_of(page, &heads.map(str::to_owned));
    row_of(page, &heads.map(|_| "---".to_owned()));
    for cells in &rows {
        row_of(page, cells);
    }
    page.push('\n');
    let limited: usize = groups.iter().map(|group| group.generator_limited).sum();
    if limited > 0 {
        paragraph(
            page,
            &format!(
                "In {limited} of these runs the generator, not the origin, was the limit; their times are partly its own."
            ),
        );
    }
}

fn row(group: &Group) -> [String; 15] {
    let cell = &group.cell;
    [
        cell.configuration.clone(),
        cell.segment.to_string(),
        cell.video.to_string(),
        cell.viewers.clone(),
        cell.cache.name().to_owned(),
        spread(group.in_bps, rate),
        spread(group.out_bps, rate),
        spread(group.efficiency, |value| format!("{value:.3}")),
        spread(group.requests_per_second, |value| format!("{value:.1}")),
        spread(group.mean_ns, time),
        spread(group.p99_ns, time),
        spread(group.origin_cpu_each_ns, time),
        spread(group.origin_cores, |value| format!("{value:.2}")),
        spread(group.storage_requests_each, |value| format!("{value:.2}")),
        format_count(group.failed),
    ]
}

fn row_of(page: &mut String, cells: &[String]) {
    let _ = writeln!(page, "| {} |", cells.join(" | "));
}

fn beside(page: &mut String, published: &Published, compared: &[Compared], groups: &[Group]) {
    let source = &published.source;
    let _ = write!(
        page,
        "## Beside what was published\n\nPublished: {source}. Absolute rates are those of other machines; \
        OUT/IN, and OUT as a multiple of the first configuration's, can be held beside each other.\n\n"
    );
    let heads = [
        "configuration",
        "IN there",
        "IN here",
        "OUT there",
        "OUT here",
        "OUT/IN there",
        "OUT/IN here",
        "OUT there, relative",
        "OUT here, relative",
    ];
    row_of(page, &heads.map(str::to_owned));
    row_of(page, &heads.map(|_| "---".to_owned()));
    let shown = |value: Option<f64>, show: &dyn Fn(f64) -> String| value.map_or("-".to_owned(), show);
    for row in compared {
        let cells = [
            row.configuration.clone(),
            rate(row.published_in_bps),
            shown(row.in_bps, &rate),
            rate(row.published_out_bps),
            shown(row.out_bps, &rate),
            format!("{:.3}", row.published_efficiency),
            shown(row.efficiency, &|value| format!("{value:.3}")),
            format!("{:.2}", row.published_relative),
            shown(row.relative, &|value| format!("{value:.2}")),
        ];
        row_of(page, &cells);
    }
    page.push('\n');
    for sentence in reading(published, compared, groups) {
        let _ = writeln!(page, "- {sentence}");
    }
    page.push('\n');
}

fn fitted(page: &mut String, model: &Model) {
    let _ = write!(
        page,
        "## The model OUT = k x R x S x B\n\nR is the rate of requests for segments, S their duration, B the mean bit rate of \
         sound and pictures. By least squares over {} runs, k = {:.4} (95 %: {:.4} to {:.4}), R² = {:.5}, standard deviation of a \
         run from the line {}, largest residual {} of what was sent.",
        model.points.len(),
        model.factor,
        model.factor_low,
        model.factor_high,
        model.r_squared,
        rate(model.deviation_bps),
        format_percent(model.largest_residual),
    );
    if let (Some(intercept), Some(slope)) = (model.free_intercept_bps, model.free_slope) {
        let sign = if intercept < 0.0 { "-" } else { "" };
        let _ = write!(
            page,
            " A line that need not go through 0 has the slope {slope:.4} and {sign}{} at 0.",
            rate(intercept.abs())
        );
    }
    page.push_str("\n\n");
    row_of(
        page,
        &["run", "R", "S", "B", "R x S x B", "OUT", "residual"].map(str::to_owned),
    );
    row_of(page, &["---"; 7].map(str::to_owned));
    for point in &model.points {
        let sign = if point.residual_bps < 0.0 { "-" } else { "" };
        let cells = [
            point.key.clone(),
            format!("{:.1}/s", point.media_per_second),
            format!("{} s", point.segment_s),
            rate(point.media_bps),
            rate(point.product_bps),
            rate(point.out_bps),
            format!("{sign}{}", rate(point.residual_bps.abs())),
        ];
        row_of(page, &cells);
    }
    page.push('\n');
}
