//! Words for sentences: flows, times and lists as people write them. It must not know findings.

use weir_results::{Direction, RunId};
use weir_stats::Counted;
use weir_units::{format_count, format_duration, format_percent};

use crate::measured::FlowTest;

/// `flow 3 (port 4772)`, or `flows 1, 3 and 4 (ports 4770, 4772 and 4773)`.
pub(crate) fn flows_with_ports(test: &FlowTest, flows: &[u16]) -> String {
    let ports: Vec<u16> = flows
        .iter()
        .filter_map(|flow| test.flows.get(usize::from(*flow)))
        .map(|flow| flow.port)
        .collect();
    let plural = if flows.len() == 1 { "" } else { "s" };
    format!("flow{plural} {} (port{plural} {})", list(flows), list(&ports))
}

/// `1, 3 and 4`.
pub(crate) fn list<T: ToString>(items: &[T]) -> String {
    let words: Vec<String> = items.iter().map(ToString::to_string).collect();
    match words.split_last() {
        None => "none".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}

/// A time that was computed, rounded for reading.
pub(crate) fn time(nanoseconds: f64) -> String {
    format_duration(nanoseconds.round().max(0.0) as u64)
}

/// A time in a line for lists, where nanoseconds are more than a reader wants: `0.34 us`.
pub(crate) fn brief_time(nanoseconds: f64) -> String {
    if (0.0..1_000.0).contains(&nanoseconds) {
        format!("{:.2} us", nanoseconds / 1_000.0)
    } else {
        time(nanoseconds)
    }
}

/// The condition that picks the rows of a direction of a test.
pub(crate) fn rows_of(run: RunId, direction: Direction) -> String {
    format!("run_id = {run} AND direction = '{}'", direction.as_str())
}

/// The direction in words, where sentences have to name it.
pub(crate) fn way(direction: Direction) -> &'static str {
    match direction {
        Direction::Forward => "",
        Direction::Reverse => " in the reverse direction",
    }
}

/// A share in per cent; small ones as powers of ten, since nobody counts the zeros of 0.0000001 %.
pub(crate) fn share(value: f64) -> String {
    if value > 0.0 && value < 1e-7 {
        format!("{value:.1e}")
    } else {
        format_percent(value)
    }
}

/// `A`, `B`, and so on; numbers after `Z`.
pub(crate) fn letter(index: usize) -> String {
    match u8::try_from(index) {
        Ok(index) if index < 26 => char::from(b'A' + index).to_string(),
        _ => (index + 1).to_string(),
    }
}

/// A loss in per cent with the counts that it comes from: `0.0012 % (14 of 1,164,000)`.
pub(crate) fn loss(count: Counted) -> String {
    format!(
        "{} ({} of {})",
        format_percent(count.rate()),
        format_count(count.events),
        format_count(count.trials)
    )
}

/// A condition that picks the rows of several runs of one direction.
pub(crate) fn rows_of_runs(runs: &[RunId], direction: Direction) -> String {
    let mut runs: Vec<i64> = runs.iter().map(|run| run.0).collect();
    runs.sort_unstable();
    runs.dedup();
    let listed: Vec<String> = runs.iter().map(ToString::to_string).collect();
    format!(
        "run_id IN ({}) AND direction = '{}'",
        listed.join(", "),
        direction.as_str()
    )
}
