//! Whether a measurement met a fault at all: a cap that no test reached, or a cliff behind one that took everything, cannot
//! be found. It must not know what a diagnosis says.

use std::collections::BTreeSet;

use weir_link::{Counters, DirectionSpec};
use weir_measure::survey::{Step, StepSummary};
use weir_stats::{Counters as _, LinkDrops};

use super::hosts::{lost_on_hosts, was_late};
use crate::flows::RouteUse;
use crate::networks::Fault;
use crate::observed::Observed;
use crate::path::StepTruth;

/// A limit that took less of every test is no limit for this media.
const LIMITED: f64 = 0.02;
/// Quantities that differ by this factor are not held alike.
const APART: f64 = 1.05;
/// A test of which limits took less shows what else there is.
const FREE: f64 = 0.005;
/// Packets that a cause has to take of a test to be seen there.
const SEEN: u64 = 20;
/// Least share of its rate that a cap passes.
const PASSES: f64 = 0.95;
/// Numbers of flows that show a growth with them.
const SWEPT: usize = 3;
/// Header bytes before a payload.
const HEADERS: u32 = 28;

/// A forward flow test as it was.
struct Made {
    seconds: f64,
    flows: u16,
    payload: u32,
    offered: u64,
    dropped: LinkDrops,
    on_hosts: u64,
    /// Runs of lost packets, and packets that others of their flow overtook.
    bursts: u64,
    reversals: u64,
}

impl Made {
    fn share(&self, packets: u64) -> f64 {
        packets as f64 / self.offered.max(1) as f64
    }

    /// Share that limits took.
    fn limited(&self) -> f64 {
        self.share(self.dropped.flow_rate + self.dropped.packet_rate + self.dropped.queue)
    }

    /// Packets that the link let through; the tests of a survey are equally long.
    fn packets(&self) -> f64 {
        self.offered.saturating_sub(self.dropped.total()) as f64
    }

    fn bytes(&self) -> f64 {
        self.packets() * f64::from(self.payload)
    }

    fn bytes_of_flow(&self) -> f64 {
        self.bytes() / f64::from(self.flows)
    }

    /// Packets that passed the caps, which come before routes and their losses.
    fn packets_of_caps(&self) -> f64 {
        let dropped = &self.dropped;
        let before = dropped.too_big + dropped.long_packet + dropped.flow_rate + dropped.packet_rate;
        self.offered.saturating_sub(before) as f64
    }

    /// Length of its IP packets, bits.
    fn bits(&self) -> f64 {
        8.0 * f64::from(self.payload + HEADERS)
    }

    fn is_free(&self) -> bool {
        self.limited() < FREE
    }
}

/// Whether some test met the fault, and no other fault hid it there.
pub(super) fn is_visible(fault: &Fault, observed: &Observed) -> bool {
    let made = made(observed);
    let free = || made.iter().filter(|test| test.is_free());
    let bursts = |other: &Fault| matches!(other, Fault::SendLoss { .. });
    match *fault {
        Fault::FlowRateCap { .. } => {
            is_told_apart(&made, |drops| drops.flow_rate, [Made::packets, Made::bytes])
        }
        Fault::PacketRateCap { .. } => is_told_apart(
            &made,
            |drops| drops.packet_rate,
            [Made::bytes_of_flow, Made::bytes],
        ),
        Fault::PayloadCliff { above, .. } => {
            free().any(|test| test.dropped.long_packet >= SEEN)
                && free().any(|test| test.payload + HEADERS <= above)
        }
        // Trains that the sender drops are bursts among which single losses hide.
        Fault::IndependentLoss { .. } => {
            free().any(|test| test.dropped.loss >= SEEN && test.dropped.long_packet == 0)
                && !observed.network.faults().any(bursts)
        }
        Fault::RouteLoss { .. } => {
            free().any(|test| test.dropped.loss >= SEEN && test.dropped.loss >= test.on_hosts)
        }
        Fault::FiveTupleIgnored { .. } => {
            let mut flows: Vec<u16> = free().map(|test| test.flows).collect();
            flows.sort_unstable();
            flows.dedup();
            flows.len() >= SWEPT && !observed.network.faults().any(bursts)
        }
        _ => true,
    }
}

/// Whether some test lost, delayed or reordered enough packets by the fault that there is something to find.
pub(super) fn is_met(fault: &Fault, observed: &Observed) -> bool {
    let made = made(observed);
    let takes = |dropped: fn(&LinkDrops) -> u64| made.iter().any(|test| dropped(&test.dropped) >= SEEN);
    let free = || made.iter().filter(|test| test.is_free());
    let used = |of: fn(&StepTruth) -> &RouteUse| {
        let tests = observed.survey.steps.iter();
        tests.map(of).any(|used| {
            let routes: BTreeSet<&u16> = used.flows.iter().flat_map(|flow| flow.keys()).collect();
            routes.len() > 1
        })
    };
    match *fault {
        // A card that waits for longer than routes differ hides which is which.
        Fault::Routes => {
            let network = &observed.network;
            used(|step| &step.forward_routes)
                && used(|step| &step.reverse_routes)
                && least_gap(&network.link.forward) > network.far.coalesce_ns
                && least_gap(&network.link.reverse) > network.near.coalesce_ns
        }
        Fault::Outage { .. } => takes(|dropped| dropped.dark),
        Fault::BurstLoss { .. } => {
            free().any(|test| test.dropped.loss >= (2 * SEEN).max(test.on_hosts) && test.bursts >= SEEN / 4)
        }
        Fault::FlowRateCap { rate } => passes(&made, |test| {
            test.packets_of_caps() * test.bits() / f64::from(test.flows) / rate as f64
        }),
        Fault::PacketRateCap { rate } => passes(&made, |test| test.packets_of_caps() / rate as f64),
        // Behind a queue that is shorter than the sender's bursts, the transmitter idles between them.
        Fault::Congestion { rate, .. } => made.iter().any(|test| {
            let passed = test.packets() * test.bits() / rate as f64;
            test.share(test.dropped.queue) >= LIMITED && passed >= PASSES * test.seconds
        }),
        Fault::FiveTupleIgnored { .. } => free().any(|test| test.dropped.extra_flow >= SEEN),
        Fault::PerPacketRoutes => made.iter().any(|test| test.reversals >= SEEN),
        Fault::ReceiveQueues { .. } => made.iter().any(|test| test.reversals >= SEEN / 4),
        Fault::SocketLoss | Fault::BacklogLoss { .. } | Fault::SendLoss { .. } => {
            lost_on_hosts(observed) >= SEEN
        }
        Fault::LateSender => was_late(observed),
        _ => true,
    }
}

/// Whether every test that a cap limited passed the cap's rate; `passed` is what it passed, as seconds of that rate. A bucket
/// that is smaller than the sender's bursts passes less, and no test then shows what the cap is about.
fn passes(made: &[Made], passed: impl Fn(&Made) -> f64) -> bool {
    // Nothing passes in a dark time.
    let is_capped = |test: &&Made| test.dropped.dark == 0 && test.limited() >= LIMITED;
    let mut capped = made.iter().filter(is_capped);
    capped.all(|test| passed(test) >= PASSES * test.seconds)
}

/// Smallest difference of two routes' delays, nanoseconds.
fn least_gap(direction: &DirectionSpec) -> u64 {
    let mut delays: Vec<u64> = direction.routes.iter().map(|route| route.delay_ns).collect();
    delays.sort_unstable();
    let gaps = delays.windows(2).map(|pair| pair[1] - pair[0]);
    gaps.min().unwrap_or(0)
}

/// Whether a cap was met, and no cap on one of the other quantities would have done the same: some test passed more of each
/// than those that met it, or these differ in it.
fn is_told_apart(made: &[Made], dropped: fn(&LinkDrops) -> u64, others: [fn(&Made) -> f64; 2]) -> bool {
    // What passes beside a dark time is no cap's.
    let is_capped = |test: &&Made| test.dropped.dark == 0 && test.share(dropped(&test.dropped)) >= LIMITED;
    let is_another = |of: &fn(&Made) -> f64| {
        let capped = || made.iter().filter(is_capped).map(of);
        let (least, most) = (capped().fold(f64::MAX, f64::min), capped().fold(0.0, f64::max));
        most > APART * least || made.iter().map(of).any(|passed| passed > APART * most)
    };
    made.iter().any(|test| is_capped(&test)) && others.iter().all(is_another)
}

fn made(observed: &Observed) -> Vec<Made> {
    let steps = observed.survey.steps.iter();
    steps
        .filter_map(|step| match (&step.step, &step.summary) {
            (Step::Flows(plan), StepSummary::Flows(found)) if plan.ways.forward() => {
                let receiver = found.forward.as_ref().map(|forward| &forward.receiver);
                Some(Made {
                    seconds: plan.duration_ns as f64 / 1e9,
                    flows: plan.flows,
                    payload: plan.length,
                    offered: (step.forward.1.offered - step.forward.0.offered).max(1),
                    dropped: dropped(&step.forward),
                    on_hosts: step.forward_host_losses,
                    bursts: receiver.map_or(0, |receiver| receiver.bursts),
                    reversals: receiver.map_or(0, |receiver| {
                        receiver.per_flow.iter().map(|flow| flow.counts.reversals).sum()
                    }),
                })
            }
            _ => None,
        })
        .collect()
}

fn dropped((before, after): &(Counters, Counters)) -> LinkDrops {
    after.dropped.since(&before.dropped)
}
