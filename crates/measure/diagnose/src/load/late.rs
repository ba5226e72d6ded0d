//! Packets that the stream had given up when they came. Those of one flow that leave long after those of another, since the sender
//! stood still within a burst, are missing in the stream for a while, but never in their flow: the network lost none of them. It
//! must not know what is made of a test.

use weir_results::{FlowBurst, StreamBurst};
use weir_wire::Spread;

use crate::measured::FlowTest;

/// Of tests with more packets than this, bursts are not looked at one by one.
const MOST_PACKETS: u64 = 20_000_000;

/// Counts the lost packets of each flow, and keeps of the stream's bursts what is missing in a flow, too.
pub(super) fn leave_out(test: &mut FlowTest) {
    let lost: u64 = test.flows.iter().map(|flow| flow.counts.lost).sum();
    if lost >= test.lost {
        return;
    }
    test.received += test.lost - lost;
    test.lost = lost;
    test.bursts_complete &= test.received + lost <= MOST_PACKETS;
    if test.bursts_complete {
        test.stream_bursts = missing_in_flows(test);
    }
}

fn missing_in_flows(test: &FlowTest) -> Vec<StreamBurst> {
    let first = u64::from(test.plan.first_sequence);
    let mut spread = Spread::new(test.plan.spread, test.flows.len() as u16, test.plan.seed);
    let mut flows = vec![
        Place {
            next: first,
            burst: 0
        };
        test.flows.len()
    ];
    let bursts = of_each_flow(test);
    let (mut kept, mut sequence): (Vec<StreamBurst>, u64) = (Vec::new(), first);
    let mut in_order: Vec<&StreamBurst> = test.stream_bursts.iter().collect();
    in_order.sort_by_key(|burst| burst.first_sequence);
    // Rows may claim anything.
    let end = first.saturating_add(MOST_PACKETS);
    for burst in in_order {
        while sequence < burst.first_sequence.min(end) {
            flows[usize::from(spread.flow(sequence).0)].next += 1;
            sequence += 1;
        }
        while sequence < burst.first_sequence.saturating_add(burst.length).min(end) {
            let flow = usize::from(spread.flow(sequence).0);
            if flows[flow].pass(&bursts[flow]) {
                match kept.last_mut() {
                    Some(last) if last.first_sequence + last.length == sequence => last.length += 1,
                    _ => kept.push(StreamBurst {
                        first_sequence: sequence,
                        length: 1,
                        ..*burst
                    }),
                }
            }
            sequence += 1;
        }
    }
    kept.sort_by_key(|burst| burst.unix_ns);
    kept
}

/// Bursts of each flow, in the order of its packets.
fn of_each_flow(test: &FlowTest) -> Vec<Vec<&FlowBurst>> {
    let mut bursts = vec![Vec::new(); test.flows.len()];
    for burst in &test.flow_bursts {
        if let Some(flow) = bursts.get_mut(usize::from(burst.flow)) {
            flow.push(burst);
        }
    }
    for flow in &mut bursts {
        flow.sort_by_key(|burst| burst.first_sequence);
    }
    bursts
}

/// How far a flow has been walked.
#[derive(Clone, Copy)]
struct Place {
    next: u64,
    burst: usize,
}

impl Place {
    /// Goes on by a packet; returns whether it was lost.
    fn pass(&mut self, bursts: &[&FlowBurst]) -> bool {
        let ended = |burst: &&&FlowBurst| burst.first_sequence.saturating_add(burst.length) <= self.next;
        self.burst += bursts[self.burst..]
            .iter()
            .take_while(|burst| ended(burst))
            .count();
        let is_lost = bursts
            .get(self.burst)
            .is_some_and(|burst| burst.first_sequence <= self.next);
        self.next += 1;
        is_lost
    }
}
