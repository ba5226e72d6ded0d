//! Assigns packets to flows, and suspends flows that the receiver reports as silent or losing. It
//! must not know what is in a packet.
//!
//! All live flows carry one packet each in every round, in a new random order: a flow that goes dark then
//! costs exactly one packet per round, which a sliding-window code repairs most easily. (A flow drawn for each
//! packet independently causes occasional runs of losses, and those determine the overhead needed.)

use std::collections::VecDeque;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use weir_wire::{FlowId, FlowStatus, Sequence};

use crate::adaptive::Observed;

/// A flow is silent if no packet arrived over it for this long while others delivered.
const SILENT_NS: u64 = 2_000_000;
/// A flow that has never delivered is waited for this many round trips: its route may be longer than those of the others.
const FIRST_ROUNDS: u64 = 3;
/// After this long without a packet, none was expected on a flow.
const PAUSE_NS: u64 = 50_000_000;
/// Factor by which another flow must be less silent.
const CONTRAST: u64 = 2;
/// Distance of the packets whose send time is kept, and their maximum number.
const MARK_NS: u64 = 500_000;
const MOST_MARKS: usize = 512;
/// Packets after which a flow's loss counts are halved, so that they reflect the recent past.
const REMEMBERED: u64 = 4_096;
/// Minimum number of losses for a decision.
const LEAST_LOST: u64 = 8;
/// Loss rate at which a flow is suspended, and its minimum ratio to that of the others.
const LOSING: f64 = 0.01;
const TIMES_OTHERS: f64 = 4.0;
/// First and maximum duration of a suspension.
const FIRST_ABSENCE_NS: u64 = 100_000_000;
const LONGEST_ABSENCE_NS: u64 = 4_000_000_000;
/// Copies sent to probe a suspended flow, and how long to wait for their result.
const TRIAL_PACKETS: u64 = 16;
const TRIAL_NS: u64 = 200_000_000;

/// Use of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowState {
    /// Carries its share.
    Live,
    /// Suspended: carries no packets.
    Left,
    /// Carries copies, as a probe.
    Tried,
}

/// Why a flow changed its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowChange {
    /// Silent while others delivered.
    Silent,
    /// Lost much more than the others.
    Losing,
    /// The probe failed.
    StillBad,
    /// The probe succeeded: it carries its share again.
    Back,
}

#[derive(Clone, Debug)]
enum Use {
    Live {
        since_ns: u64,
    },
    Left {
        until_ns: u64,
    },
    Tried {
        first: u64,
        sent: u64,
        began_ns: u64,
        /// The receiver's loss count if the probe loses nothing.
        lost: u32,
    },
}

#[derive(Clone, Debug)]
struct Flow {
    usage: Use,
    absence_ns: u64,
    next_sequence: u64,
    /// As last reported: one above the highest sequence that arrived, and losses.
    arrived_end: u64,
    /// Some packets that have not arrived, by sequence, and when they were sent, nanoseconds.
    unarrived: VecDeque<(u64, u64)>,
    /// Smoothed time from sending a packet over it to the report that it has arrived, without the time that the receiver held the report.
    round_ns: Option<u64>,
    lost: u32,
    reported: bool,
    /// Silent in the last report, while others delivered.
    dark: bool,
    /// Counts of the recent past.
    recent_packets: u64,
    recent_lost: u64,
}

/// The flows of a sender.
#[derive(Clone, Debug)]
pub struct Flowlets {
    flows: Vec<Flow>,
    live: Vec<u16>,
    /// The rest of the round, the next one last.
    round: Vec<u16>,
    /// Flows of the preceding packets.
    before: VecDeque<u16>,
    now_ns: u64,
    random: Xoshiro256PlusPlus,
}

impl Flowlets {
    /// `count` live flows (1 to 64), whose packets count from `first_sequence`. Equal seeds give equal orders.
    ///
    /// # Panics
    /// Without flows, or with more than a feedback packet can report.
    pub fn new(count: u16, seed: u64, first_sequence: u64) -> Self {
        assert!((1..=weir_wire::MAX_FEEDBACK_FLOWS as u16).contains(&count));
        let flow = Flow {
            usage: Use::Live { since_ns: 0 },
            absence_ns: FIRST_ABSENCE_NS,
            next_sequence: first_sequence,
            arrived_end: first_sequence,
            unarrived: VecDeque::new(),
            round_ns: None,
            lost: 0,
            reported: false,
            dark: false,
            recent_packets: 0,
            recent_lost: 0,
        };
        Flowlets {
            flows: vec![flow; usize::from(count)],
            live: (0..count).collect(),
            round: Vec::with_capacity(usize::from(count)),
            before: VecDeque::with_capacity(usize::from(count)),
            now_ns: 0,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    /// Sets the send time of the packets that are assigned next.
    pub fn set_time(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
    }

    /// Number of live flows.
    pub fn live(&self) -> usize {
        self.live.len()
    }

    /// The use of a flow.
    pub fn state(&self, flow: FlowId) -> FlowState {
        match self.flows[usize::from(flow.0)].usage {
            Use::Live { .. } => FlowState::Live,
            Use::Left { .. } => FlowState::Left,
            Use::Tried { .. } => FlowState::Tried,
        }
    }

    /// The flow of the next source packet, and its sequence there.
    pub fn for_source(&mut self) -> (FlowId, Sequence) {
        self.begin_round();
        let flow = self.round.pop().unwrap_or(self.live[0]);
        self.take(flow)
    }

    /// The flow of a repair packet over the preceding packets: one that carried none of the last `sources` of them,
    /// if the round has such a flow left.
    pub fn for_repair(&mut self, sources: usize) -> (FlowId, Sequence) {
        self.begin_round();
        let recent = self.before.iter().rev().take(sources);
        let others = |flow: &u16| !recent.clone().any(|one| one == flow);
        let place = self
            .round
            .iter()
            .rposition(others)
            .unwrap_or(self.round.len() - 1);
        let flow = self.round.remove(place);
        self.take(flow)
    }

    /// A flow for a retransmission: of two drawn at random, the one with the lower recent loss. (Always the best
    /// one would get all copies, and would soon not be the best any more.)
    pub fn for_copy(&mut self) -> (FlowId, Sequence) {
        let (one, other) = (self.below(self.live.len()), self.below(self.live.len()));
        let (one, other) = (self.live[one], self.live[other]);
        let loss = |flow: u16| {
            let flow = &self.flows[usize::from(flow)];
            flow.recent_lost as f64 / flow.recent_packets.max(1) as f64
        };
        self.count(if loss(other) < loss(one) { other } else { one })
    }

    /// A flow to probe now with a copy.
    pub fn for_trial(&mut self, now_ns: u64) -> Option<(FlowId, Sequence)> {
        // Called for every packet.
        if self.live.len() == self.flows.len() {
            return None;
        }
        let flow = self.flows.iter().position(|flow| match flow.usage {
            Use::Live { .. } => false,
            Use::Left { until_ns } => until_ns <= now_ns,
            Use::Tried { sent, .. } => sent < TRIAL_PACKETS,
        })?;
        let one = &mut self.flows[flow];
        match &mut one.usage {
            Use::Tried { sent, .. } => *sent += 1,
            usage => {
                // Packets in flight when the flow was suspended count as missing with the first packet that arrives.
                let missing = one.next_sequence - one.arrived_end;
                *usage = Use::Tried {
                    first: one.next_sequence,
                    sent: 1,
                    began_ns: now_ns,
                    lost: one.lost.wrapping_add(missing as u32),
                };
            }
        }
        Some(self.count(flow as u16))
    }

    fn begin_round(&mut self) {
        if !self.round.is_empty() {
            return;
        }
        self.round.extend_from_slice(&self.live);
        for place in (1..self.round.len()).rev() {
            let other = self.below(place + 1);
            self.round.swap(place, other);
        }
    }

    fn below(&mut self, count: usize) -> usize {
        ((u128::from(self.random.next_u64()) * count as u128) >> 64) as usize
    }

    fn take(&mut self, flow: u16) -> (FlowId, Sequence) {
        if self.before.len() == self.flows.len() {
            self.before.pop_front();
        }
        self.before.push_back(flow);
        self.count(flow)
    }

    fn count(&mut self, flow: u16) -> (FlowId, Sequence) {
        let one = &mut self.flows[usize::from(flow)];
        let sequence = Sequence::from(one.next_sequence);
        // Packets sent before a pause say nothing about those sent after it.
        let last_ns = one.unarrived.back().map(|(_, at)| *at);
        if last_ns.is_some_and(|at| self.now_ns >= at + PAUSE_NS) {
            one.unarrived.clear();
        }
        let marked = last_ns.is_some_and(|at| self.now_ns < at + MARK_NS);
        if !marked && one.unarrived.len() < MOST_MARKS {
            one.unarrived.push_back((one.next_sequence, self.now_ns));
        }
        one.next_sequence += 1;
        (FlowId(flow), sequence)
    }

    /// Takes the receiver's report, flow by flow from 0 on, at a distance of `rtt_ns`, and passes each change to
    /// `changed`.
    pub(crate) fn on_report(
        &mut self,
        now_ns: u64,
        rtt_ns: u64,
        report: impl Iterator<Item = FlowStatus>,
        mut changed: impl FnMut(FlowId, FlowChange),
    ) -> Observed {
        let mut silent_ns = [u64::MAX; weir_wire::MAX_FEEDBACK_FLOWS];
        let (mut observed, mut lost_since) = (Observed::default(), 0);
        for ((flow, status), silence) in self.flows.iter_mut().zip(report).zip(&mut silent_ns) {
            let (packets, lost) = flow.take(now_ns, &status);
            // The losses of a dark flow are detected with the first packet that arrives over it again.
            if !flow.dark {
                observed.packets += packets;
                lost_since += lost;
            }
            *silence = match status.silent_us {
                u32::MAX => u64::MAX,
                microseconds => u64::from(microseconds) * 1_000,
            };
        }
        let alive_ns = self.live.iter().map(|flow| silent_ns[usize::from(*flow)]).min();
        let (packets, lost) = self.live.iter().fold((0, 0), |(packets, lost), flow| {
            let flow = &self.flows[usize::from(*flow)];
            (packets + flow.recent_packets, lost + flow.recent_lost)
        });
        observed.lost = u64::try_from(lost_since).unwrap_or(0);
        observed.live = self.live.len();
        for (index, silence) in silent_ns.into_iter().enumerate().take(self.flows.len()) {
            let flow = FlowId(index as u16);
            let is_dark = |silence: u64| {
                silence >= SILENT_NS && alive_ns.is_some_and(|alive| alive < silence / CONTRAST)
            };
            let one = &mut self.flows[index];
            one.dark = is_dark(silence);
            let change = match one.usage {
                Use::Live { since_ns } => {
                    // Packets sent less than a round trip ago cannot have been reported.
                    let sent_ns = one.unarrived.front().map_or(now_ns, |(_, at)| *at);
                    let round_ns = one.round_ns.unwrap_or(FIRST_ROUNDS * rtt_ns);
                    let used_ns = now_ns.saturating_sub(since_ns.max(sent_ns) + rtt_ns.max(round_ns));
                    let dark = is_dark(silence.min(used_ns)) && one.next_sequence > one.arrived_end;
                    observed.dark += usize::from(dark);
                    let may_leave = self.live.len() > self.flows.len().div_ceil(2);
                    self.flows[index].fault(dark, packets, lost).filter(|_| may_leave)
                }
                Use::Tried { .. } => self.flows[index].verdict(now_ns),
                _ => None,
            };
            if let Some(change) = change {
                self.apply(flow, change, now_ns);
                changed(flow, change);
            }
        }
        observed
    }

    fn apply(&mut self, flow: FlowId, change: FlowChange, now_ns: u64) {
        let one = &mut self.flows[usize::from(flow.0)];
        (one.recent_packets, one.recent_lost) = (0, 0);
        if change == FlowChange::Back {
            one.usage = Use::Live { since_ns: now_ns };
            self.live.push(flow.0);
            self.live.sort_unstable();
            return;
        }
        if change == FlowChange::StillBad {
            one.absence_ns = (one.absence_ns * 2).min(LONGEST_ABSENCE_NS);
        }
        one.usage = Use::Left {
            until_ns: now_ns + one.absence_ns,
        };
        self.live.retain(|other| *other != flow.0);
        self.round.retain(|other| *other != flow.0);
    }
}

impl Flow {
    /// Takes a report; returns the packets with a new known outcome, and the lost ones among them.
    fn take(&mut self, now_ns: u64, status: &FlowStatus) -> (u64, i64) {
        let never = status.silent_us == u32::MAX && !self.reported;
        if never {
            return (0, 0);
        }
        self.reported = true;
        // A receiver cannot report packets that were not sent.
        let end = (status.newest.extend(self.next_sequence) + 1).min(self.next_sequence);
        let packets = end.saturating_sub(self.arrived_end);
        self.arrived_end = self.arrived_end.max(end);
        let arrived = self.unarrived.partition_point(|(sequence, _)| *sequence < end);
        let newest = self.unarrived.drain(..arrived).next_back();
        if let Some((_, sent_ns)) = newest {
            let held_ns = u64::from(status.silent_us) * 1_000;
            let round_ns = now_ns.saturating_sub(sent_ns + held_ns);
            let smoothed = |known: u64| known - known / 8 + round_ns / 8;
            self.round_ns = Some(self.round_ns.map_or(round_ns, smoothed));
        }
        // Less than before if an overtaken packet has arrived.
        let lost = i64::from(status.lost.wrapping_sub(self.lost) as i32).min(packets as i64);
        self.lost = status.lost;
        self.recent_packets += packets;
        self.recent_lost = self
            .recent_lost
            .saturating_add_signed(lost)
            .min(self.recent_packets);
        if self.recent_packets > REMEMBERED {
            self.recent_packets /= 2;
            self.recent_lost /= 2;
            // A long time without a fault: the next suspension starts at the first duration.
            self.absence_ns = self.absence_ns.max(2 * FIRST_ABSENCE_NS) / 2;
        }
        (packets, lost)
    }

    /// Why to suspend a live flow; `packets` and `lost` are those of all live flows.
    fn fault(&self, dark: bool, packets: u64, lost: u64) -> Option<FlowChange> {
        if dark {
            return Some(FlowChange::Silent);
        }
        let others = (lost - self.recent_lost) as f64 / (packets - self.recent_packets).max(1) as f64;
        let own = self.recent_lost as f64 / self.recent_packets.max(1) as f64;
        let losing = self.recent_lost >= LEAST_LOST && own > LOSING && own > TIMES_OTHERS * others;
        losing.then_some(FlowChange::Losing)
    }

    /// The result of a probe, if it has ended.
    fn verdict(&self, now_ns: u64) -> Option<FlowChange> {
        let Use::Tried {
            first,
            sent,
            began_ns,
            lost,
        } = self.usage
        else {
            return None;
        };
        let seen = self.arrived_end.saturating_sub(first);
        // A single loss in or at the end of the probe may be random.
        if sent >= TRIAL_PACKETS && seen + 1 >= TRIAL_PACKETS {
            let good = self.lost.wrapping_sub(lost) as i32 <= 1;
            return Some(if good {
                FlowChange::Back
            } else {
                FlowChange::StillBad
            });
        }
        (now_ns > began_ns + TRIAL_NS).then_some(FlowChange::StillBad)
    }
}
