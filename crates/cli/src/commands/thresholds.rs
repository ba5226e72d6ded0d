//! `--fail-if`: values of a finished test, and the thresholds that they cross.

use std::collections::BTreeMap;

use crate::fail_if::{FailIf, Metric};
use weir_load::measure::{KindAccount, Quality};
use weir_measure::flows::{DirectionSummary, FlowsSummary};
use weir_measure::rtt::RttSummary;
use weir_measure::survey::SurveySummary;
use weir_measure::tcp_sweep::SweepSummary;

use super::{Failure, Status};

/// Values by metric, in base units; NaN where nothing was measured.
pub type Values = BTreeMap<&'static str, f64>;

/// A value that was measured `count` times.
fn measured(count: u64, value: f64) -> f64 {
    if count == 0 { f64::NAN } else { value }
}

fn share(count: u64, of: u64) -> f64 {
    measured(of, count as f64 / of as f64)
}

/// Values of an RTT test.
pub fn of_rtt(summary: &RttSummary) -> Values {
    let delay = |value: i64| measured(summary.rtt.count, value as f64);
    [
        (Metric::Loss, share(summary.lost, summary.sent)),
        (Metric::Late, share(summary.late, summary.sent)),
        (Metric::Duplicates, summary.duplicates as f64),
        (Metric::Min, delay(summary.rtt.min)),
        (Metric::P50, delay(summary.rtt.p50)),
        (Metric::P90, delay(summary.rtt.p90)),
        (Metric::P99, delay(summary.rtt.p99)),
        (Metric::P999, delay(summary.rtt.p999)),
        (Metric::Max, delay(summary.rtt.max)),
        (Metric::Jitter, measured(summary.rtt.count, summary.jitter_ns)),
    ]
    .into_iter()
    .map(|(metric, value)| (metric.name(), value))
    .collect()
}

/// Values of a survey: those of its RTT test, and loss and rate of the best settings.
pub fn of_survey(summary: &SurveySummary) -> Values {
    let mut values = of_rtt(summary.rtt.as_ref().unwrap_or(&RttSummary::default()));
    values.retain(|name, _| ![Metric::Late.name(), Metric::Duplicates.name()].contains(name));
    values.insert(
        Metric::Loss.name(),
        summary.best.map_or(f64::NAN, |best| best.loss),
    );
    values.insert(
        Metric::Rate.name(),
        summary.best.map_or(f64::NAN, |best| best.rate.0 as f64),
    );
    values
}

/// Values of TCP tests: the highest rate of all.
pub fn of_tcp(summary: &SweepSummary) -> Values {
    let rates = summary.tests.iter().map(|row| row.test.goodput.0);
    let highest = rates.max().map_or(f64::NAN, |rate| rate as f64);
    Values::from([(Metric::Rate.name(), highest)])
}

/// Values of a multi-flow test: the worse of both directions.
pub fn of_flows(summary: &FlowsSummary) -> Values {
    let mut worst = Values::new();
    for direction in summary.forward.iter().chain(&summary.reverse) {
        for (name, value) in of_direction(direction) {
            let lower_is_worse = name == Metric::Rate.name();
            worst
                .entry(name)
                .and_modify(|held: &mut f64| {
                    // A value that was not measured counts as the worst.
                    if value.is_nan() || !held.is_nan() && (value < *held) == lower_is_worse {
                        *held = value;
                    }
                })
                .or_insert(value);
        }
    }
    worst
}

fn of_direction(direction: &DirectionSummary) -> Values {
    let fields = &direction.receiver;
    let owd = |value: i64| measured(fields.owd.count, value as f64);
    let silence = fields
        .per_flow
        .iter()
        .map(|flow| flow.longest_silence_ns)
        .chain([fields.longest_stream_silence_ns])
        .max()
        .unwrap_or(0);
    Metric::ALL
        .into_iter()
        .filter_map(|metric| {
            let value = match metric {
                Metric::Loss => share(direction.lost, direction.sent),
                Metric::Late => share(fields.late, direction.sent),
                Metric::Duplicates => fields.duplicates as f64,
                Metric::Min => owd(fields.owd.min),
                Metric::P50 => owd(fields.owd.p50),
                Metric::P90 => owd(fields.owd.p90),
                Metric::P99 => owd(fields.owd.p99),
                Metric::P999 => owd(fields.owd.p999),
                Metric::Max => owd(fields.owd.max),
                Metric::Rate => direction.rate.0 as f64,
                Metric::Bursts => fields.bursts as f64,
                Metric::LongestBurst => fields.longest_burst as f64,
                Metric::Silence => silence as f64,
                Metric::Jitter | Metric::Failures | Metric::Rebuffer => return None,
            };
            Some((metric.name(), value))
        })
        .collect()
}

/// Values of load on an origin over `seconds`: times to last byte, failures and rebuffering.
pub fn of_load(all: &KindAccount, quality: &Quality, seconds: f64) -> Values {
    let time = |q: f64| all.last_byte.quantile(q).map_or(f64::NAN, |ns| ns as f64);
    let rebuffer = quality.rebuffer_ratio().unwrap_or(f64::NAN);
    [
        (Metric::Min, time(0.0)),
        (Metric::P50, time(0.5)),
        (Metric::P90, time(0.9)),
        (Metric::P99, time(0.99)),
        (Metric::P999, time(0.999)),
        (Metric::Max, time(1.0)),
        (Metric::Rate, all.all_bytes as f64 * 8.0 / seconds),
        (Metric::Failures, share(all.failed(), all.requests)),
        (Metric::Rebuffer, rebuffer),
    ]
    .into_iter()
    .map(|(metric, value)| (metric.name(), value))
    .collect()
}

/// Values of a multi-flow test that did not run.
pub fn possible_of_flows() -> Values {
    let of_flows = |metric: &Metric| !matches!(metric, Metric::Jitter | Metric::Failures | Metric::Rebuffer);
    let metrics = Metric::ALL.into_iter().filter(of_flows);
    metrics.map(|metric| (metric.name(), f64::NAN)).collect()
}

/// Values of a survey that did not run.
pub fn possible_of_survey() -> Values {
    of_survey(&SurveySummary::default())
}

/// Rejects, before anything is sent, thresholds of an option on metrics that this kind of test does not measure.
pub fn check(option: &str, conditions: &[FailIf], measured: &Values, kind: &str) -> Result<(), Failure> {
    for condition in conditions {
        let name = condition.metric().name();
        if !measured.contains_key(name) {
            let known: Vec<&str> = measured.keys().copied().collect();
            return Err(Failure::usage(format!(
                "{option}: 'weir {kind}' does not measure {name}; it measures {}",
                known.join(", ")
            )));
        }
    }
    Ok(())
}

/// Compares a finished test with its thresholds.
pub fn judge(conditions: &[FailIf], measured: &Values) -> Result<(), Failure> {
    let said: Vec<String> = conditions
        .iter()
        .filter_map(|condition| {
            let value = measured
                .get(condition.metric().name())
                .copied()
                .unwrap_or(f64::NAN);
            condition.crossed(value).then(|| condition.describe(value))
        })
        .collect();
    if said.is_empty() {
        return Ok(());
    }
    Err(Failure {
        status: Status::Crossed,
        message: said.join("; "),
    })
}
