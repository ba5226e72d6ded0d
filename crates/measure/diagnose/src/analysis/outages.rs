//! Flows that delivered nothing for a while although packets were sent on them: one flow, several, or all.

use weir_results::{FlowBurst, Silence};
use weir_stats::loss_interval;

use crate::measured::FlowTest;

/// Consecutive losses that take less time are bursts, not outages.
const LEAST_NS: u64 = 100_000_000;
/// Packets that have to be missing at least: on a slow flow a few make a long time.
const LEAST_PACKETS: u64 = 20;
/// A sender sends bursts; what takes no more than so many of them may be a queue that overflows.
const LEAST_BURSTS: u64 = 3;
/// The flows take turns to be last of a burst: one that is cut short each time loses so often, each time for less than a round of turns.
const LEAST_TURNS: usize = 3;
/// Two outages are one if they share this much of the shorter one's time.
const SHARED: f64 = 0.5;
/// A run of random losses this likely is no outage.
const CHANCE: f64 = 1e-4;

/// So long is no rhythm of a sender.
const LONG_NS: u64 = 200_000_000;
/// Dark times of all flows of a test together: with more the shortest of each flow are left out, and count as bursts.
const MOST_DARK: usize = 4_096;
/// Outages that a flow may still join: later ones began before it.
const RECENT: usize = 16;

/// A time in which a flow lost every packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DarkFlow {
    /// The flow.
    pub flow: u16,
    /// Last packet before it, Unix nanoseconds; estimated where the flow's silence was too short to be noted.
    pub from_unix_ns: u64,
    /// How long, nanoseconds.
    pub duration_ns: u64,
    /// When the loss was noticed, Unix nanoseconds.
    pub noticed_unix_ns: u64,
    /// Flow sequence of the first lost packet.
    pub first_sequence: u64,
    /// Packets lost.
    pub lost: u64,
    /// Probability of such a run of losses by the loss of the rest of the flow.
    pub chance: f64,
}

/// Flows that were dark at the same time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outage {
    /// Ascending.
    pub flows: Vec<u16>,
    /// One for each flow.
    pub parts: Vec<DarkFlow>,
}

impl Outage {
    /// It lasted longer than any sender's rhythm.
    pub fn is_long(&self) -> bool {
        self.parts.iter().any(|part| part.duration_ns >= LONG_NS)
    }

    /// Packets of all its flows that were lost.
    pub fn lost(&self) -> u64 {
        self.parts.iter().map(|part| part.lost).sum()
    }
}

/// Outages of a test, in order of time.
pub(super) fn outages(test: &FlowTest) -> Vec<Outage> {
    let mut dark: Vec<DarkFlow> = (0..test.flows.len())
        .flat_map(|flow| dark_times(test, flow as u16))
        .collect();
    dark.sort_by_key(|part| (part.from_unix_ns, part.flow));
    let mut outages: Vec<Outage> = Vec::new();
    for part in dark {
        let joins = |outage: &&mut Outage| {
            !outage.flows.contains(&part.flow) && outage.parts.iter().any(|other| overlap(other, &part))
        };
        match outages.iter_mut().rev().take(RECENT).find(joins) {
            Some(outage) => {
                let place = outage.flows.partition_point(|flow| *flow < part.flow);
                outage.flows.insert(place, part.flow);
                outage.parts.insert(place, part);
            }
            None => outages.push(Outage {
                flows: vec![part.flow],
                parts: vec![part],
            }),
        }
    }
    // No route breaks so often: what cuts the ends of bursts meets one flow after the other.
    let burst = u64::from(test.plan.burst_packets());
    let is_cut = |outage: &Outage| !outage.is_long() && outage.parts.iter().all(|part| part.lost < burst);
    if outages.iter().filter(|outage| is_cut(outage)).count() >= LEAST_TURNS {
        outages.retain(|outage| !is_cut(outage));
    }
    outages
}

fn overlap(a: &DarkFlow, b: &DarkFlow) -> bool {
    let end = |part: &DarkFlow| part.from_unix_ns + part.duration_ns;
    let shared = end(a)
        .min(end(b))
        .saturating_sub(a.from_unix_ns.max(b.from_unix_ns));
    shared as f64 >= SHARED * a.duration_ns.min(b.duration_ns) as f64
}

fn dark_times(test: &FlowTest, flow: u16) -> Vec<DarkFlow> {
    let Some(measured) = test.flows.get(usize::from(flow)) else {
        return Vec::new();
    };
    if measured.sent == 0 {
        return Vec::new();
    }
    let gap_ns = test.active_ns as f64 / measured.sent as f64;
    let of_bursts = LEAST_BURSTS * u64::from(test.plan.burst_packets()) / test.flows.len() as u64;
    let long = |burst: &&FlowBurst| {
        burst.flow == flow
            && burst.length >= LEAST_PACKETS.max(of_bursts)
            && burst.length as f64 * gap_ns >= LEAST_NS as f64
    };
    let mut bursts: Vec<&FlowBurst> = test.flow_bursts.iter().filter(long).collect();
    let most = (MOST_DARK / test.flows.len()).max(1);
    if bursts.len() > most {
        bursts.sort_by_key(|burst| std::cmp::Reverse(burst.length));
        bursts.truncate(most);
        bursts.sort_by_key(|burst| burst.unix_ns);
    }
    let is_short = |burst: &&FlowBurst| burst.length < u64::from(test.plan.burst_packets());
    if bursts.len() >= LEAST_TURNS && bursts.iter().all(is_short) {
        return Vec::new();
    }
    let dark_lost: u64 = bursts.iter().map(|burst| burst.length).sum();
    let others = (
        measured.counts.lost.saturating_sub(dark_lost),
        measured.sent.saturating_sub(dark_lost),
    );
    let (_, likely_loss) = loss_interval(others.0, others.1.max(1));
    bursts
        .into_iter()
        .map(|burst| dark_time(test, burst, gap_ns, likely_loss, measured.sent))
        .filter(|part| part.chance < CHANCE)
        .collect()
}

fn dark_time(test: &FlowTest, burst: &FlowBurst, gap_ns: f64, loss: f64, sent: u64) -> DarkFlow {
    // A row may claim more packets than the flow had; its time was no longer than the test.
    let lost_ns = ((burst.length as f64 * gap_ns) as u64).min(test.active_ns);
    // The flow's next packet came at most the reordering time before the gap was given up.
    let ended = burst.unix_ns.saturating_sub(test.plan.reorder_ns);
    let estimate = (ended.saturating_sub(lost_ns), lost_ns);
    let fits = |silence: &&Silence| {
        silence.flow == burst.flow
            && silence.unix_ns <= burst.unix_ns
            && silence.unix_ns + silence.duration_ns + lost_ns / 2 >= estimate.0
            && silence.duration_ns >= lost_ns / 2
    };
    let seen = test.silences.iter().rfind(fits);
    let (from_unix_ns, duration_ns) = seen.map_or(estimate, |silence| (silence.unix_ns, silence.duration_ns));
    DarkFlow {
        flow: burst.flow,
        from_unix_ns,
        duration_ns,
        noticed_unix_ns: burst.unix_ns,
        first_sequence: burst.first_sequence,
        lost: burst.length,
        chance: (sent as f64 * (burst.length as f64 * loss.ln()).exp()).min(1.0),
    }
}
