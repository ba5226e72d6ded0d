//! Loss that begins above some payload length although the path MTU is larger.

use weir_results::RunId;
use weir_stats::{Counted, mann_whitney, median, total};
use weir_units::format_percent;

use super::severity_of_loss;
use crate::analysis::{CHANCE, Early, Step, Steps};
use crate::finding::{Confidence, Evidence, Finding, FindingName};
use crate::measured::Measured;
use crate::words::{loss, rows_of_runs, way};

/// Longer payloads have to lose this many times as much.
const TIMES: f64 = 5.0;
/// Less loss than this is no cliff.
const LEAST_LOSS: f64 = 2e-5;
/// The first half of what is sent back to back loses this multiple of what all of it does, at least: a length takes packets wherever they
/// stand, a bucket or queue that is shorter takes the last.
const ANYWHERE: f64 = 0.5;

/// Flows on each side that are compared: every flow is compared with every other.
const MOST_FLOWS: usize = 2_048;

/// Lengths below and above a cliff.
pub(crate) struct Cliff<'s, 'a> {
    below: Vec<&'s Step<'a>>,
    above: Vec<&'s Step<'a>>,
    p_value: f64,
    test: &'static str,
}

impl Cliff<'_, '_> {
    /// The longest payload that was tested without the loss of longer ones.
    pub fn longest_good(&self) -> u32 {
        self.below.iter().map(|step| step.test.payload).max().unwrap_or(0)
    }

    fn shortest_bad(&self) -> u32 {
        self.above.iter().map(|step| step.test.payload).min().unwrap_or(0)
    }
}

/// Finds the length at which loss changes: that of the inference from all tests together, or the one at which it changes
/// most, if flows above lose clearly more than flows below.
pub(crate) fn cliff<'s, 'a>(steps: &'s Steps<'a>) -> Option<Cliff<'s, 'a>> {
    inferred(steps).or_else(|| clearest(steps))
}

fn inferred<'s, 'a>(steps: &'s Steps<'a>) -> Option<Cliff<'s, 'a>> {
    let long = steps.long?;
    let is_short = |step: &&Step| step.test.payload <= long.longest_good;
    // Slower tests tell what packets lose where others met a limit, and of lengths between those of the others.
    let tests = steps.unlimited().chain(steps.below_limit());
    let (mut below, above): (Vec<&Step>, Vec<&Step>) = tests.partition(is_short);
    if below.is_empty() {
        below = steps.steps.iter().chain(&steps.eased).filter(is_short).collect();
    }
    // Tests of short packets that lose more do so for a reason that no cause explains.
    let usual = median(above.iter().map(|step| step.network_loss().rate()).collect());
    below.retain(|step| step.network_loss().rate() < usual);
    let lose_more = pooled(&above).rate() > pooled(&below).rate();
    (!below.is_empty() && lose_more).then_some(Cliff {
        below,
        above,
        p_value: (-long.gain).exp(),
        test: "likelihood of the losses of all tests with it and with the best causes without it",
    })
}

/// Flows are what is compared, not packets: a route that loses makes some flows of every length lose, but not all flows of
/// some.
fn clearest<'s, 'a>(steps: &'s Steps<'a>) -> Option<Cliff<'s, 'a>> {
    let chosen: Vec<&Step> = steps.plain().collect();
    let mut lengths: Vec<u32> = chosen.iter().map(|step| step.test.payload).collect();
    lengths.sort_unstable();
    lengths.dedup();
    let cuts = lengths.len().saturating_sub(1) as f64;
    lengths
        .windows(2)
        .filter_map(|pair| {
            let (below, above): (Vec<&Step>, Vec<&Step>) = chosen
                .iter()
                .copied()
                .partition(|step| step.test.payload <= pair[0]);
            let p_value = difference(&below, &above)? * cuts;
            Some(Cliff {
                below,
                above,
                p_value,
                test: "Mann-Whitney test of the loss of single flows below and above (Bonferroni over the lengths)",
            })
        })
        .filter(|cliff| cliff.p_value < CHANCE)
        .min_by(|a, b| a.p_value.total_cmp(&b.p_value))
}

/// p-value of equal loss below and above; none where flows above do not lose more, or not much more, or where a single
/// length above does not.
fn difference(below: &[&Step], above: &[&Step]) -> Option<f64> {
    let low = pooled(below);
    let jumps = |step: &&Step| {
        let here = step.loss().rate();
        let is_anywhere = Early::of(step).is_none_or(|early| early.least() >= ANYWHERE * here);
        here >= LEAST_LOSS && here >= TIMES * low.rate() && is_anywhere
    };
    if !above.iter().all(jumps) {
        return None;
    }
    let rates = |steps: &[&Step]| -> Vec<f64> {
        let flows: usize = steps.iter().map(|step| step.flow_count()).sum();
        steps
            .iter()
            .flat_map(|step| step.flow_loss.iter().map(|flow| flow.rate()))
            .step_by(flows.div_ceil(MOST_FLOWS).max(1))
            .collect()
    };
    let test = mann_whitney(&rates(below), &rates(above))?;
    (test.shift > 0.0).then_some(test.p_value)
}

/// What the network lost.
fn pooled(steps: &[&Step]) -> Counted {
    total(&steps.iter().map(|step| step.network_loss()).collect::<Vec<_>>())
}

/// The finding.
pub(crate) fn find(cliff: &Cliff, measured: &Measured) -> Finding {
    let (low, high) = (pooled(&cliff.below), pooled(&cliff.above));
    let direction = cliff.above[0].test.direction;
    let (good, bad) = (cliff.longest_good(), cliff.shortest_bad());
    let mtu = measured.mtu.as_ref().and_then(|(_, mtu)| mtu.smallest());
    let though = mtu.map_or(String::new(), |mtu| {
        format!(" although the path MTU is {mtu} bytes")
    });
    let steps: Vec<&Step> = cliff.below.iter().chain(&cliff.above).copied().collect();
    let runs: Vec<RunId> = steps.iter().map(|step| step.test.run).collect();
    let mut by_run = steps.clone();
    by_run.sort_by_key(|step| step.test.run);
    Finding {
        name: FindingName::PayloadCliff,
        severity: severity_of_loss(high.rate()),
        direction: Some(direction),
        brief: format!(
            "payloads of {bad} bytes and more lose {}{}, shorter ones {}",
            format_percent(high.rate()),
            way(direction),
            format_percent(low.rate())
        ),
        sentence: format!(
            "long packets are lost{}{though}: payloads of {bad} bytes and more lose {}, those of {good} and less {}.",
            way(direction),
            format_percent(high.rate()),
            format_percent(low.rate())
        ),
        evidence: vec![
            Evidence::in_unit("longest payload without that loss", good, "bytes"),
            Evidence::in_unit("shortest payload with it", bad, "bytes"),
            Evidence::of("loss below", loss(low)),
            Evidence::of("loss above", loss(high)),
            Evidence::in_unit(
                "payload",
                by_run.iter().map(|step| step.test.payload).collect::<Vec<_>>(),
                "bytes",
            ),
            Evidence::of(
                "packets lost",
                by_run.iter().map(|step| step.test.lost).collect::<Vec<_>>(),
            ),
        ],
        query: format!(
            "SELECT run_id, sum(lost) AS \"packets lost\" FROM flow_seconds\nWHERE {} GROUP BY run_id ORDER BY run_id",
            rows_of_runs(&runs, direction)
        ),
        confidence: Confidence::by_test(cliff.test, cliff.p_value),
        action: format!("Use payloads of {good} bytes; test longer ones with 'weir flows --length'."),
    }
}
