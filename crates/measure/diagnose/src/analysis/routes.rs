//! Which flows of a test see the same delay. Flows of one second share the error of the clocks and the load of the
//! hosts; so each second is compared within itself, and how much the flows vary from second to second tells how far
//! levels can be trusted.

use std::collections::BTreeMap;

use weir_stats::{clusters, median};

use crate::measured::{FlowTest, SlotDelay};

/// Levels that differ by less are not called different, however steady they are: hosts treat their queues unequally.
const LEAST_GAP_NS: f64 = 10_000.0;
/// Nor are levels that differ by less than a sender takes for its packets of so many flows: it sends the packets of a
/// burst flow after flow, and a flow whose turn never comes first is always that much later.
const TURNS: f64 = 2.0;
/// A longer route delays all packets, and not the luckiest alone: their medians differ by at least this share of the gap.
const OF_MEDIANS: f64 = 0.5;
/// Chance at which noise may open a gap; many tests of a survey are looked at.
const GAP_CHANCE: f64 = 0.0005;
/// The standard deviation of normal values over their median distance from the median.
const NORMAL: f64 = 1.4826;
/// The standard error of a median over that of a mean.
const MEDIAN_ERROR: f64 = 1.2533;

/// Flows by delay.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RouteView {
    /// Flows of each level, the lowest delay first.
    pub members: Vec<Vec<u16>>,
    /// Mean delay of each level above the lowest, nanoseconds.
    pub levels_ns: Vec<f64>,
    /// Standard error of a flow's level, nanoseconds.
    pub error_ns: f64,
    /// Probability that noise alone opens the narrowest of the gaps; none where there is one level.
    pub p_value: Option<f64>,
}

impl RouteView {
    /// Flows see different delays.
    pub fn several(&self) -> bool {
        self.members.len() > 1
    }
}

/// Divides the flows of a test by their smallest delays.
pub(crate) fn by_delay(test: &FlowTest) -> RouteView {
    let relative = relative_delays(test, |delay| delay.min);
    let used: Vec<u16> = relative
        .iter()
        .filter(|(_, values)| !values.is_empty())
        .map(|(flow, _)| *flow)
        .collect();
    let slots = relative.values().map(Vec::len).max().unwrap_or(0);
    let one = RouteView {
        members: vec![(0..test.flows.len() as u16).collect()],
        levels_ns: vec![0.0],
        ..RouteView::default()
    };
    if used.len() < 2 || slots < 2 {
        return one;
    }
    let levels: Vec<f64> = used.iter().map(|flow| median(relative[flow].clone())).collect();
    let (noise, freedom) = noise(&relative, &used, &levels);
    let error = noise * MEDIAN_ERROR / (slots as f64).sqrt();
    let least_gap = LEAST_GAP_NS.max(TURNS * turn_ns(test));
    let found = clusters(&levels, error, freedom, least_gap, GAP_CHANCE);
    let middle = relative_delays(test, |delay| delay.p50);
    let middle: Vec<f64> = used.iter().map(|flow| median(middle[flow].clone())).collect();
    let members = confirmed(found.members, &levels, &middle);
    let lowest = mean(&levels, &members[0]);
    let level = |members: &Vec<usize>| mean(&levels, members) - lowest;
    let flow_of = |members: &Vec<usize>| members.iter().map(|index| used[*index]).collect();
    RouteView {
        members: members.iter().map(flow_of).collect(),
        levels_ns: members.iter().map(level).collect(),
        error_ns: error,
        p_value: found.p_value.filter(|_| members.len() > 1),
    }
}

/// Neighbouring groups of flows, joined unless their medians differ as their smallest delays do: where a card gathers packets
/// for an interrupt, the few that come right before it are early.
fn confirmed(groups: Vec<Vec<usize>>, levels: &[f64], middle: &[f64]) -> Vec<Vec<usize>> {
    let mut confirmed: Vec<Vec<usize>> = Vec::new();
    for group in groups {
        let same = confirmed.last().is_some_and(|last| {
            let gap = mean(levels, &group) - mean(levels, last);
            let of_medians = mean(middle, &group) - mean(middle, last);
            of_medians.abs() < OF_MEDIANS * gap
        });
        match confirmed.last_mut() {
            Some(last) if same => last.extend(group),
            _ => confirmed.push(group),
        }
    }
    confirmed.iter_mut().for_each(|group| group.sort_unstable());
    confirmed
}

fn mean(values: &[f64], of: &[usize]) -> f64 {
    of.iter().map(|index| values[*index]).sum::<f64>() / of.len() as f64
}

/// Time that the packets of one flow in a burst take: from the middle of the delays to the smallest is half of a burst.
fn turn_ns(test: &FlowTest) -> f64 {
    let within = test
        .slots
        .iter()
        .filter_map(|slot| slot.delay)
        .map(|delay| (delay.p50 - delay.min) as f64);
    2.0 * median(within.collect()) / test.flows.len().max(1) as f64
}

/// Of each flow: this of its delays in each slot, less the median of all flows' in the same slot.
fn relative_delays(test: &FlowTest, of: fn(&SlotDelay) -> i64) -> BTreeMap<u16, Vec<f64>> {
    let mut slots: BTreeMap<u32, Vec<(u16, f64, u64)>> = BTreeMap::new();
    for slot in &test.slots {
        if let Some(delay) = &slot.delay {
            slots
                .entry(slot.slot)
                .or_default()
                .push((slot.flow, of(delay) as f64, slot.received));
        }
    }
    let most = slots.values().map(|slot| packets(slot)).max().unwrap_or(0);
    let mut relative: BTreeMap<u16, Vec<f64>> = BTreeMap::new();
    // A second that was cut short has other smallest delays than a full one.
    for slot in slots.values().filter(|slot| packets(slot) * 2 > most) {
        let middle = median(slot.iter().map(|(_, delay, _)| *delay).collect());
        for (flow, delay, _) in slot {
            relative.entry(*flow).or_default().push(delay - middle);
        }
    }
    relative
}

fn packets(slot: &[(u16, f64, u64)]) -> u64 {
    slot.iter().map(|(_, _, received)| received).sum()
}

/// How much a flow's delay varies from slot to slot (standard deviation, estimated so that a few stalls do not count),
/// and the degrees of freedom that it is known from.
fn noise(relative: &BTreeMap<u16, Vec<f64>>, used: &[u16], levels: &[f64]) -> (f64, f64) {
    let mut distances = Vec::new();
    let mut freedom = 0.0;
    for (flow, level) in used.iter().zip(levels) {
        let values = &relative[flow];
        let shrink = (values.len() as f64 / (values.len() as f64 - 1.0).max(1.0)).sqrt();
        distances.extend(values.iter().map(|value| (value - level).abs() * shrink));
        freedom += values.len() as f64 - 1.0;
    }
    // The value in the middle of an odd number of slots is its own median; such zeros say nothing.
    distances.retain(|distance| *distance > 0.0);
    (NORMAL * median(distances), freedom.max(1.0))
}
