//! A path beside its twin as text.

use comfy_table::Table;

use crate::units::{format_duration, format_percent, format_rate};
use weir_diagnose::{ComparedDelay, ComparedTest, Comparison, Interval};
use weir_results::RunId;

use super::{table, titled};

/// How many tests agree, then each of them.
pub fn comparison(run: RunId, comparison: &Comparison) -> String {
    let agree = comparison.tests.iter().filter(|test| test.agrees).count();
    let delays = if comparison.rtt.is_empty() {
        "; round trips were not compared"
    } else if comparison.rtt.iter().all(|delay| delay.agrees) {
        "; round trips within 20 %"
    } else {
        "; round trips differ by more than 20 %"
    };
    let title = format!(
        "twin of run {run}: {agree} of {} tests lose as much as the path{delays}\n",
        comparison.tests.len()
    );
    let mut text = titled(&title, &tests(&comparison.tests));
    if !comparison.rtt.is_empty() {
        text.push_str(&titled("round trip", &delays_of(&comparison.rtt)));
    }
    if !comparison.left_out.is_empty() {
        let runs: Vec<String> = comparison.left_out.iter().map(ToString::to_string).collect();
        text.push_str(&format!(
            "not compared, since a host did not keep up: run {}\n",
            runs.join(", ")
        ));
    }
    text
}

fn tests(tests: &[ComparedTest]) -> Table {
    let mut table = table(&[
        "run",
        "direction",
        "flows",
        "payload",
        "rate",
        "loss on the path",
        "loss on the twin",
        "",
    ]);
    for test in tests {
        table.add_row([
            test.run.to_string(),
            test.direction.as_str().to_owned(),
            test.flows.to_string(),
            test.payload.to_string(),
            test.rate.map_or("-".to_owned(), format_rate),
            loss(&test.path),
            loss(&test.twin),
            if test.agrees { "" } else { "differs" }.to_owned(),
        ]);
    }
    table
}

fn loss(loss: &Interval) -> String {
    let (low, high) = loss.bounds;
    format!(
        "{} ({} to {})",
        format_percent(rounded(loss.value)),
        format_percent(rounded(low)),
        format_percent(rounded(high))
    )
}

/// What is beyond these digits is chance.
fn rounded(share: f64) -> f64 {
    (share * 1e6).round() / 1e6
}

fn delays_of(delays: &[ComparedDelay]) -> Table {
    let mut table = table(&["quantile", "path", "twin", ""]);
    for delay in delays {
        table.add_row([
            format!("P{:.0}", 100.0 * delay.quantile),
            format_duration(delay.path_ns),
            format_duration(delay.twin_ns),
            if delay.agrees { "" } else { "differs" }.to_owned(),
        ]);
    }
    table
}
