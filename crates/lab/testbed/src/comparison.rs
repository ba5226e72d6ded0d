//! Several runs beside each other, and beside what somebody else published, as a page in Markdown. It must not know where runs
//! are kept.

use serde::Deserialize;
use std::fmt::Write;
use std::path::Path;
use weir_units::{Rate, format_duration, format_rate};

use crate::error::TestbedError;
use crate::function::read_file;
use crate::model::Model;
use crate::response::Responses;
use crate::result::Summary;

/// What somebody else found.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Where it stands.
    pub source: String,
    /// What is different there, a sentence each.
    #[serde(default)]
    pub differs: Vec<String>,
    /// A row per workflow.
    #[serde(rename = "row")]
    pub rows: Vec<PublishedRow>,
}

/// A published row.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedRow {
    /// Identifier of the workflow that it is compared with.
    pub workflow: String,
    /// From the storage, as text with a unit.
    #[serde(rename = "in")]
    pub taken: String,
    /// To viewers, as text with a unit.
    #[serde(rename = "out")]
    pub given: String,
    /// OUT / IN.
    pub efficiency: f64,
}

impl Published {
    /// Reads a file (TOML).
    ///
    /// # Errors
    /// What is wrong with it, in a line.
    pub fn read(path: &Path) -> Result<Self, TestbedError> {
        let text = read_file(path)?;
        let published: Published =
            toml::from_str(&text).map_err(|error| TestbedError::of_toml(&text, &error))?;
        for row in &published.rows {
            for text in [&row.taken, &row.given] {
                text.parse::<Rate>().map_err(|error| {
                    TestbedError::Document(format!("{}: row {}: {error}", path.display(), row.workflow))
                })?;
            }
        }
        Ok(published)
    }

    fn row(&self, workflow: &str) -> Option<&PublishedRow> {
        self.rows.iter().find(|row| row.workflow == workflow)
    }
}

const HEADER: [&str; 9] = [
    "workflow",
    "IN",
    "OUT",
    "OUT/IN",
    "requests/s",
    "mean",
    "P99",
    "capacity",
    "limit",
];
const PUBLISHED: [&str; 3] = ["published IN", "published OUT", "published OUT/IN"];
/// Of the tasks that are the limit.
const COST: &str = "USD/h per Gbit/s";

/// Cells of the table: the header, and a row per run.
pub fn rows(summaries: &[Summary], published: Option<&Published>) -> Vec<Vec<String>> {
    let has_machines = has_machines(summaries);
    let mut header: Vec<&str> = HEADER.to_vec();
    header.extend(has_machines.then_some(COST));
    header.extend(published.iter().flat_map(|_| PUBLISHED));
    let mut rows = vec![header.into_iter().map(str::to_owned).collect()];
    rows.extend(summaries.iter().map(|summary| {
        let mut row = row(summary);
        row.extend(has_machines.then(|| cost(summary)));
        if let Some(published) = published {
            match published.row(&summary.workflow) {
                Some(found) => row.extend([
                    found.taken.clone(),
                    found.given.clone(),
                    found.efficiency.to_string(),
                ]),
                None => row.extend(["-"; 3].map(str::to_owned)),
            }
        }
        row
    }));
    rows
}

fn row(summary: &Summary) -> Vec<String> {
    let rate = |bps: f64| format_rate(bps.round() as u64);
    let sinks = || summary.tasks.iter().filter_map(|task| task.sink);
    let requests = sinks()
        .map(|sink| sink.requests_per_second)
        .reduce(|sum, more| sum + more);
    let capacities = summary.tasks.iter().filter_map(|task| task.capacity);
    let capacities: Vec<String> = capacities
        .map(|found| format!("{} viewers", found.viewers))
        .collect();
    let longest = |time: fn(&crate::result::SinkResult) -> f64| {
        let times = sinks().map(|sink| time(&sink));
        times
            .reduce(f64::max)
            .map_or("-".to_owned(), |ns| format_duration(ns as u64))
    };
    let limits = summary.tasks.iter().filter(|task| task.limit);
    let limits: Vec<String> = limits.map(|task| task.task.clone()).collect();
    vec![
        summary.setting(),
        rate(summary.storage_bps),
        rate(summary.viewers_bps),
        summary
            .efficiency
            .map_or("-".to_owned(), |ratio| format!("{ratio:.3}")),
        requests.map_or("-".to_owned(), |requests| format!("{requests:.1}")),
        longest(|sink| sink.mean_ns),
        longest(|sink| sink.p99_ns),
        joined(&capacities, "-"),
        joined(&limits, "none"),
    ]
}

/// Whether any task ran on a machine that was launched for it.
fn has_machines(summaries: &[Summary]) -> bool {
    let mut tasks = summaries.iter().flat_map(|summary| &summary.tasks);
    tasks.any(|task| task.machine.is_some())
}

/// What an hour of the limit's machine costs for each Gbit/s.
fn cost(summary: &Summary) -> String {
    let limits = summary.tasks.iter().filter(|task| task.limit);
    let costs = limits.filter_map(|task| task.machine.as_ref()?.usd_per_gbit_hour);
    let costs: Vec<String> = costs.map(|usd| format!("{usd:.4}")).collect();
    joined(&costs, "-")
}

/// All of them in a cell; `none` where there is none.
fn joined(all: &[String], none: &str) -> String {
    match all {
        [] => none.to_owned(),
        all => all.join(", "),
    }
}

/// The page. `about` describes machine and time.
pub fn page(summaries: &[Summary], published: Option<&Published>, about: &str) -> String {
    let mut text = format!("# Testbed\n\n{about}\n\n");
    for (number, row) in rows(summaries, published).iter().enumerate() {
        // Writing into a String cannot fail.
        let _ = writeln!(text, "| {} |", row.join(" | "));
        if number == 0 {
            let _ = writeln!(text, "|{}", " --- |".repeat(row.len()));
        }
    }
    text.push_str(
        "\nIN is the TCP payload that leaves the storage, OUT what reaches viewers, by the kernel's counters, over the whole run. The \
         limit is the task that used all of the CPU time that it has for itself; where there is none, rates are those of the workload \
         and of round trips.\n",
    );
    if has_machines(summaries) {
        text.push_str(
            "\nUSD/h per Gbit/s is what an hour of the limit's machine costs by list prices for each Gbit/s of its OUT, without traffic.\n",
        );
    }
    text.push_str(&response_times(summaries));
    for model in Model::of(summaries) {
        text.push_str(&predictions(&model));
    }
    if let Some(published) = published {
        let _ = writeln!(text, "\nPublished: {}.\n", published.source);
        for sentence in &published.differs {
            let _ = writeln!(text, "- {sentence}");
        }
    }
    text
}

/// Figure 1 of the published comparison, as tables: for each run its points.
fn response_times(summaries: &[Summary]) -> String {
    let mut text = String::new();
    for summary in summaries {
        let points: Vec<&Responses> = summary.tasks.iter().flat_map(|task| &task.responses).collect();
        if points.is_empty() {
            continue;
        }
        if text.is_empty() {
            text.push_str("\n## Response time over viewers\n\nMean time to the last byte, at mean numbers of viewers.\n\n");
        }
        let points: Vec<String> = points
            .iter()
            .map(|point| format!("{:.0}: {}", point.viewers, format_duration(point.mean_ns as u64)))
            .collect();
        let _ = writeln!(text, "- {}: {}", summary.setting(), points.join(", "));
    }
    text
}

/// What a workflow does with other settings, and how far off that is.
fn predictions(model: &Model) -> String {
    let off = |(measured, foreseen): (f64, f64)| 100.0 * (foreseen / measured - 1.0);
    let rate = |bps: f64| format_rate(bps.round() as u64);
    let largest = model
        .predicted
        .iter()
        .map(|one| off(one.out_bps).abs())
        .fold(0.0, f64::max);
    let mut text = format!(
        "\n## Prediction of {}\n\nA response to one of {:.0} viewers takes {} and its bytes at {}. Each setting is predicted from the \
         others; the largest deviation is {largest:.1} %.\n\n\
         | setting | requests/s | predicted | OUT | predicted | deviation |\n| --- | --- | --- | --- | --- | --- |\n",
        model.workflow,
        model.viewers,
        format_duration(model.response_ns.max(0.0) as u64),
        rate(model.body_bps),
    );
    for one in &model.predicted {
        let ((measured, foreseen), (out, foreseen_out)) = (one.requests_per_second, one.out_bps);
        // Writing into a String cannot fail.
        let _ = writeln!(
            text,
            "| {} | {measured:.1} | {foreseen:.1} | {} | {} | {:+.1} % |",
            one.label,
            rate(out),
            rate(foreseen_out),
            off(one.out_bps)
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::{CapacityResult, TaskResult};

    #[test]
    fn runs_stand_beside_what_was_published() {
        let published = Published {
            source: "somebody".to_owned(),
            differs: vec!["All of it.".to_owned()],
            rows: vec![PublishedRow {
                workflow: "a".to_owned(),
                taken: "3Gbit/s".to_owned(),
                given: "1Gbit/s".to_owned(),
                efficiency: 0.294,
            }],
        };
        let summaries = ["a", "b"].map(|workflow| Summary {
            workflow: workflow.to_owned(),
            storage_bps: 2e9,
            viewers_bps: 5e8,
            efficiency: Some(0.25),
            tasks: vec![TaskResult {
                capacity: Some(CapacityResult {
                    viewers: 12,
                    ..CapacityResult::default()
                }),
                ..TaskResult::default()
            }],
            ..Summary::default()
        });
        let page = page(&summaries, Some(&published), "A machine.");
        assert!(
            page.contains("| 0.250 | - | - | - | 12 viewers | none |")
                && page.contains("| 3Gbit/s | 1Gbit/s | 0.294 |"),
            "{page}"
        );
        assert!(
            page.contains("| - | - | - |") && page.contains("- All of it."),
            "{page}"
        );
        assert_eq!(rows(&summaries, None)[1].len(), HEADER.len());
    }

    #[test]
    fn a_machine_costs_by_what_the_limit_on_it_gives() {
        let task = |name: &str, limit| TaskResult {
            task: name.to_owned(),
            host: Some(name.to_owned()),
            out_bps: 2.5e9,
            limit,
            ..TaskResult::default()
        };
        let mut launched = Summary {
            tasks: vec![task("storage", false), task("origin", true)],
            ..Summary::default()
        };
        let machines = [(
            "origin".to_owned(),
            ("c5.large@aws:eu-west-1".to_owned(), Some(0.085)),
        )];
        launched.ran_on(&machines.into());
        assert_eq!(launched.tasks[0].machine, None);
        let here = Summary::default();
        let rows = rows(&[launched, here], None);
        let last = |row: usize| rows[row].last().map(String::as_str);
        // 0.085 USD for 2.5 Gbit/s.
        assert_eq!(
            (last(0), last(1), last(2)),
            (Some(COST), Some("0.0340"), Some("-"))
        );
    }
}
