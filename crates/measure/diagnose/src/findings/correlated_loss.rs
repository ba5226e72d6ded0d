//! Several flows that lose packets in the same short windows of time: what they share loses them.

use std::collections::BTreeMap;

use weir_stats::{Coincidence, coincidence};
use weir_units::format_count;

use crate::analysis::{CHANCE, Step, Steps};
use crate::finding::{Confidence, Evidence, Finding, FindingName, Severity};
use crate::words::{rows_of, way};

/// Coincidences have to be this many times as many as with independent loss.
const TIMES: f64 = 1.2;
/// Windows in a block, and in the last one of a test at least: with the usual 100 ms, a second.
const BLOCK: usize = 10;
const LEAST_BLOCK: usize = 4;
/// Windows that are looked at.
const MOST_WINDOWS: usize = 100_000;

/// The finding, from the test that shows it most clearly.
pub(crate) fn find(steps: &Steps) -> Option<Finding> {
    let tested: Vec<(&Step, Coincidence)> = steps
        .plain()
        .filter(|step| step.flow_count() > 1 && !mostly_late(step))
        .filter_map(|step| Some((step, coincidence(&blocks(step))?)))
        .collect();
    let count = tested.len() as f64;
    // Of tests that are as clear, the one in which chance explains least.
    let clearest = |a: &Coincidence, b: &Coincidence| {
        let as_clear = a.p_value.total_cmp(&b.p_value);
        as_clear.then(times_chance(b).total_cmp(&times_chance(a)))
    };
    let (step, found) = tested.into_iter().min_by(|a, b| clearest(&a.1, &b.1))?;
    let p_value = (found.p_value * count).min(1.0);
    (p_value < CHANCE && times_chance(&found) >= TIMES).then(|| describe(step, &found, p_value))
}

fn times_chance(found: &Coincidence) -> f64 {
    found.pairs as f64 / found.expected.max(f64::MIN_POSITIVE)
}

/// Most of what the windows count came after all, too late: no flow lost it.
fn mostly_late(step: &Step) -> bool {
    let lost: u64 = step.test.flows.iter().map(|flow| flow.counts.lost).sum();
    let counted: u64 = step.test.loss_windows.iter().map(|window| window.lost).sum();
    2 * lost < counted
}

/// The windows of the test in blocks, those of outages and of the cut-off ends left out.
fn blocks(step: &Step) -> Vec<Vec<Vec<u16>>> {
    let test = step.test;
    let Some(window_ns) = test.loss_windows.first().map(|window| window.duration_ns.max(1)) else {
        return Vec::new();
    };
    // Windows keep the rhythm of the clock that cut them; the first full one after the start begins the blocks.
    let phase = test.loss_windows[0].unix_ns % window_ns;
    let start = test.started_unix_ns + (phase + window_ns - test.started_unix_ns % window_ns) % window_ns;
    let full = test.active_ns.saturating_sub(window_ns) / window_ns;
    let mut windows: Vec<Vec<u16>> = vec![Vec::new(); usize::try_from(full).unwrap_or(0).min(MOST_WINDOWS)];
    for window in &test.loss_windows {
        let since = (window.unix_ns + window_ns / 2).checked_sub(start);
        if let Some(losing) = since.and_then(|since| windows.get_mut((since / window_ns) as usize)) {
            let lit = |flow: &&u16| !is_dark(step, **flow, window.unix_ns, window_ns);
            *losing = window.flows.iter().filter(lit).copied().collect();
        }
    }
    windows
        .chunks(BLOCK)
        .filter(|block| block.len() >= LEAST_BLOCK)
        .map(<[_]>::to_vec)
        .collect()
}

fn is_dark(step: &Step, flow: u16, from: u64, length: u64) -> bool {
    let parts = step.outages.iter().flat_map(|outage| &outage.parts);
    let margin = step.test.plan.reorder_ns + length;
    parts.filter(|part| part.flow == flow).any(|part| {
        from + length >= part.from_unix_ns && from <= part.from_unix_ns + part.duration_ns + margin
    })
}

fn describe(step: &Step, found: &Coincidence, p_value: f64) -> Finding {
    let test = step.test;
    let several = test
        .loss_windows
        .iter()
        .filter(|window| window.flows_losing > 1)
        .count() as u64;
    let all = test
        .loss_windows
        .iter()
        .filter(|window| window.flows.len() == test.flows.len())
        .count() as u64;
    let within_route = step.routes.several() && pairs_within_routes(step) > 0.95;
    let (short, cause, action) = if within_route {
        (
            "one route loses in bursts",
            "they are flows of the same route each time: that route loses in bursts.",
            "Spread the media over flows of all routes; FEC has to cover a burst of one route.",
        )
    } else if step.queueing.stands() {
        (
            "a shared queue is full",
            "a shared queue is full at those times: it has too little room, or its link too low a rate.",
            "Send shorter bursts (compare with 'weir flows --burst 4') or a lower rate.",
        )
    } else {
        (
            "a shared part of the path loses them",
            "a shared part of the path loses them: a link that does not tell flows apart (such as one between \
             buildings), a host, or the only route.",
            "Look at both hosts, then at the placement: more flows do not reduce such loss.",
        )
    };
    Finding {
        name: FindingName::CorrelatedLoss,
        severity: Severity::Notice,
        direction: Some(test.direction),
        brief: format!("flows lose at the same times{}: {short}", way(test.direction)),
        sentence: format!(
            "flows lose at the same times{}: {} pairs of flows lost in the same 100 ms, {:.1} expected; {cause}",
            way(test.direction),
            format_count(found.pairs),
            found.expected
        ),
        evidence: vec![
            Evidence::of("windows in which several flows lost", several),
            Evidence::of("windows in which all flows lost", all),
            Evidence::of("pairs of flows in the same window", found.pairs),
            Evidence::of("pairs expected with independent loss", found.expected),
        ],
        query: format!(
            "SELECT sum(flows_losing > 1) AS \"windows in which several flows lost\",\n       sum(flows_losing = {}) AS \
             \"windows in which all flows lost\" FROM loss_windows\nWHERE {}",
            test.flows.len(),
            rows_of(test.run, test.direction)
        ),
        confidence: Confidence::by_test(
            "permutation test of coincidences within seconds (Bonferroni over the tests)",
            p_value,
        ),
        action: action.to_owned(),
    }
}

/// Share of the coinciding pairs of flows that are on the same route.
fn pairs_within_routes(step: &Step) -> f64 {
    let route = |flow: u16| {
        step.routes
            .members
            .iter()
            .position(|members| members.contains(&flow))
    };
    let routes: Vec<Option<usize>> = (0..step.flow_count() as u16).map(route).collect();
    let pairs = |flows: u64| flows * flows.saturating_sub(1) / 2;
    let (mut same, mut all) = (0_u64, 0_u64);
    for window in &step.test.loss_windows {
        let mut flows_on: BTreeMap<Option<usize>, u64> = BTreeMap::new();
        for flow in &window.flows {
            let route = routes.get(usize::from(*flow)).copied().flatten();
            *flows_on.entry(route).or_default() += 1;
        }
        all += pairs(window.flows.len() as u64);
        same += flows_on.into_values().map(pairs).sum::<u64>();
    }
    same as f64 / all.max(1) as f64
}
