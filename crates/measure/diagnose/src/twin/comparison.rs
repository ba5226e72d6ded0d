//! The tests of a run beside the same tests over its twin. It must not know how these were made.

use serde::{Deserialize, Serialize};
use weir_results::{Direction, RunId};
use weir_stats::nearest;

use crate::analysis::expected::Expected;
use crate::analysis::process::{design_effect, interval, process};
use crate::analysis::{Step, Steps};
use crate::measured::{Measured, RttTest};

/// Standard deviations of a 95 % interval.
const DEVIATIONS: f64 = 1.96;
/// Quantiles of the round trip that are compared.
const QUANTILES: [f64; 3] = [0.5, 0.9, 0.99];
/// Delays agree if they differ by at most this share.
const NEAR: f64 = 0.2;

/// A value with its 95 % bounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The value.
    pub value: f64,
    /// Its bounds.
    pub bounds: (f64, f64),
}

/// One direction of a test and the same over the twin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedTest {
    /// The run of the test.
    pub run: RunId,
    /// Which way.
    pub direction: Direction,
    /// Flows.
    pub flows: u16,
    /// UDP payload bytes.
    pub payload: u32,
    /// Rate that was asked for, bits per second of payload; none when unpaced.
    pub rate: Option<u64>,
    /// Share of the packets that the path lost, 0 to 1, without dark times and what hosts dropped; bounds by counting.
    pub path: Interval,
    /// The same of the twin; bounds of what a test of the path may show if the twin is right.
    pub twin: Interval,
    /// The path's is within the twin's bounds.
    pub agrees: bool,
    /// 99 % quantile of the delay above its smallest on the path, nanoseconds.
    pub path_delay_p99_ns: f64,
    /// The same over the twin.
    pub twin_delay_p99_ns: f64,
}

/// A quantile of the round trip: that of the network, of the first packets of windows, by the kernels' timestamps; where
/// these are missing, that between the applications.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedDelay {
    /// 0 to 1.
    pub quantile: f64,
    /// Of the path, nanoseconds.
    pub path_ns: u64,
    /// Of the twin, nanoseconds.
    pub twin_ns: u64,
    /// They differ by at most a fifth, and by what routes differ: which of them a round trip took is not known.
    pub agrees: bool,
}

/// All tests of a run and the same over its twin.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Tests, in the order in which they were made.
    pub tests: Vec<ComparedTest>,
    /// Tests with which a host did not keep up: their rate was another.
    pub left_out: Vec<RunId>,
    /// Round trips.
    pub rtt: Vec<ComparedDelay>,
}

/// Compares a run with what its tests measured over the twin: `twins` holds each of its runs with that of the twin.
pub fn compare(measured: &Measured, twins: &[(RunId, Measured)]) -> Comparison {
    let mut comparison = Comparison::default();
    let mut routes_ns = 0.0;
    for direction in [Direction::Forward, Direction::Reverse] {
        let steps = Steps::new(measured, direction);
        let bursts = bursts(&steps);
        let levels = steps.plain().flat_map(|step| &step.routes.levels_ns);
        routes_ns += levels.copied().fold(0.0, f64::max);
        for (index, step) in steps.steps.iter().enumerate() {
            let run = step.test.run;
            let Some((_, twin)) = twins.iter().find(|(of, _)| *of == run) else {
                continue;
            };
            let twin = Steps::new(twin, direction);
            let Some(over_twin) = twin.steps.first() else {
                continue;
            };
            if step.is_late() {
                comparison.left_out.push(run);
                continue;
            }
            let expected = steps.expected.get(&index).copied().unwrap_or_default();
            comparison.tests.push(test(step, over_twin, expected, bursts));
        }
        let aside = steps.set_aside.iter().map(|step| step.test.run);
        comparison.left_out.extend(aside);
    }
    comparison.tests.sort_by_key(|test| test.run);
    comparison.left_out.sort_unstable();
    comparison.left_out.dedup();
    comparison.rtt = round_trips(measured, twins, routes_ns);
    comparison
}

/// Lost packets over independent events in all tests that meet no limit: one that happened to lose nothing has met the same.
fn bursts(steps: &Steps) -> f64 {
    let plain: Vec<&Step> = steps.plain().collect();
    process(&plain).map_or(1.0, |process| process.packets_per_event)
}

fn test(step: &Step, twin: &Step, expected: Expected, bursts: f64) -> ComparedTest {
    let effect = |step: &Step| design_effect(step).max(bursts);
    let path = Interval {
        value: step.network_loss().rate(),
        bounds: interval(step.network_loss(), effect(step)),
    };
    let counted = twin.network_loss();
    let (low, high) = interval(counted, effect(twin));
    let value = counted.rate();
    // The error of counting on the path, on the twin, and that of the inference; the twin's flows have routes of their own.
    let inferred = DEVIATIONS.powi(2) * (expected.deviation.powi(2) + expected.of_routes);
    let within = |of_twin: f64, of_path: f64| (of_twin.powi(2) + of_path.powi(2) + inferred).sqrt();
    let below = within(value - low, path.bounds.1 - path.value);
    let above = within(high - value, path.value - path.bounds.0);
    let bounds = ((value - below).max(0.0), (value + above).min(1.0));
    ComparedTest {
        run: step.test.run,
        direction: step.test.direction,
        flows: step.flow_count() as u16,
        payload: step.test.payload,
        rate: step.test.asked,
        path,
        twin: Interval { value, bounds },
        agrees: (bounds.0..=bounds.1).contains(&path.value),
        path_delay_p99_ns: step.queueing.p99_ns,
        twin_delay_p99_ns: twin.queueing.p99_ns,
    }
}

fn round_trips(measured: &Measured, twins: &[(RunId, Measured)], routes_ns: f64) -> Vec<ComparedDelay> {
    let Some(path) = &measured.rtt else {
        return Vec::new();
    };
    let over_twin = twins.iter().find(|(run, _)| *run == path.run);
    let Some(twin) = over_twin.and_then(|(_, twin)| twin.rtt.as_ref()) else {
        return Vec::new();
    };
    let both = match (of_network(path), of_network(twin)) {
        (Some(path), Some(twin)) => Some((path, twin)),
        _ => of_applications(path).zip(of_applications(twin)),
    };
    let compared = |(quantile, (path_ns, twin_ns)): (f64, (u64, u64))| ComparedDelay {
        quantile,
        path_ns,
        twin_ns,
        agrees: path_ns.abs_diff(twin_ns) as f64 <= NEAR * path_ns as f64 + routes_ns,
    };
    let pairs = both
        .into_iter()
        .flat_map(|(path, twin)| path.into_iter().zip(twin));
    QUANTILES.into_iter().zip(pairs).map(compared).collect()
}

fn of_network(test: &RttTest) -> Option<[u64; 3]> {
    let packets = test.first_packets.iter();
    let trips: Vec<u64> = packets.filter_map(|packet| packet.network_rtt_ns).collect();
    let of = |quantile| nearest(trips.clone(), quantile);
    let [p50, p90, p99] = QUANTILES.map(of);
    Some([p50?, p90?, p99?])
}

fn of_applications(test: &RttTest) -> Option<[u64; 3]> {
    let rtt = test.rtt?;
    Some([rtt.p50, rtt.p90, rtt.p99].map(i64::unsigned_abs))
}
