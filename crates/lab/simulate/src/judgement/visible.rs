//! Whether a measurement met a fault at all: a cap that no test reached, or a cliff behind one that took everything, cannot
//! be found. It must not know what a diagnosis says.

use weir_link::Counters;
use weir_measure::survey::Step;
use weir_stats::{Counters as _, LinkDrops};

use crate::networks::Fault;
use crate::observed::Observed;

/// A limit that took less of every test is no limit for this media.
const LIMITED: f64 = 0.02;
/// Quantities that differ by this factor are not held alike.
const APART: f64 = 1.05;
/// A test of which limits took less shows what else there is.
const FREE: f64 = 0.005;
/// Packets that a cause has to take of a test to be seen there.
const SEEN: u64 = 20;
/// Numbers of flows that show a growth with them.
const SWEPT: usize = 3;
/// Header bytes before a payload.
const HEADERS: u32 = 28;

/// A forward flow test as it was.
struct Made {
    flows: u16,
    payload: u32,
    offered: u64,
    dropped: LinkDrops,
    on_hosts: u64,
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
        .filter_map(|step| match &step.step {
            Step::Flows(plan) if plan.ways.forward() => Some(Made {
                flows: plan.flows,
                payload: plan.length,
                offered: (step.forward.1.offered - step.forward.0.offered).max(1),
                dropped: dropped(&step.forward),
                on_hosts: step.forward_host_losses,
            }),
            _ => None,
        })
        .collect()
}

fn dropped((before, after): &(Counters, Counters)) -> LinkDrops {
    after.dropped.since(&before.dropped)
}
