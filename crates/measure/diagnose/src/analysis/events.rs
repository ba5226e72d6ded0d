//! Loss outside of outages, and loss events: what happened once may take several packets, and several bursts.

use weir_results::FlowBurst;
use weir_stats::Counted;

use super::outages::Outage;
use crate::measured::FlowTest;

/// Bursts of a flow with at most so many received packets between them may be one event.
const MOST_REACH: f64 = 50.0;
/// At most this share of independent losses may be taken for one event with the loss before.
const MERGED: f64 = 0.2;

/// Packets that each flow lost outside of its outages, of those sent then.
pub(super) fn loss_outside(test: &FlowTest, outages: &[Outage]) -> Vec<Counted> {
    let dark = |flow: usize| -> u64 {
        let parts = outages.iter().flat_map(|outage| &outage.parts);
        parts
            .filter(|part| usize::from(part.flow) == flow)
            .map(|part| part.lost)
            .sum()
    };
    let flows = test.flows.iter().enumerate();
    flows
        .map(|(index, flow)| {
            let dark = dark(index).min(flow.counts.lost);
            Counted {
                events: flow.counts.lost - dark,
                trials: flow.sent.max(flow.counts.received + flow.counts.lost) - dark,
            }
        })
        .collect()
}

/// Loss events of each flow in each slot of time; the trials are packets.
pub(super) fn loss_events(test: &FlowTest, outages: &[Outage]) -> Vec<Vec<Counted>> {
    let slots = test
        .slots
        .iter()
        .map(|slot| slot.slot as usize + 1)
        .max()
        .unwrap_or(1);
    let mut events = vec![vec![Counted::default(); slots]; test.flows.len()];
    for slot in &test.slots {
        let entry = &mut events[usize::from(slot.flow)][slot.slot as usize];
        entry.trials += slot.received + slot.lost;
        if !test.bursts_complete {
            entry.events += slot.bursts;
        }
    }
    if test.bursts_complete {
        place_bursts(test, outages, &mut events);
    }
    for entry in events.iter_mut().flatten() {
        entry.trials = entry.trials.max(entry.events);
    }
    events
}

fn place_bursts(test: &FlowTest, outages: &[Outage], events: &mut [Vec<Counted>]) {
    let bursts_per_packet = test.flow_bursts.len() as f64 / test.sent.max(1) as f64;
    let reach = (MERGED / bursts_per_packet.max(1e-12)).min(MOST_REACH) as u64;
    let slot_ns = u64::from(test.slot_seconds.max(1)) * 1_000_000_000;
    let mut before: Vec<Option<u64>> = vec![None; test.flows.len()];
    for burst in &test.flow_bursts {
        let flow = usize::from(burst.flow);
        if flow >= events.len() || in_outage(burst, outages) {
            continue;
        }
        let follows = before[flow].is_some_and(|end| burst.first_sequence.saturating_sub(end) <= reach);
        before[flow] = Some(burst.first_sequence + burst.length);
        if !follows {
            let slot = burst.unix_ns.saturating_sub(test.started_unix_ns) / slot_ns;
            let last = events[flow].len() - 1;
            events[flow][(slot as usize).min(last)].events += 1;
        }
    }
}

fn in_outage(burst: &FlowBurst, outages: &[Outage]) -> bool {
    outages
        .iter()
        .flat_map(|outage| &outage.parts)
        .any(|part| part.flow == burst.flow && part.first_sequence == burst.first_sequence)
}
