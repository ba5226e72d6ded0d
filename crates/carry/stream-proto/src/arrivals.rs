//! Arrivals per flow: detects replays, counts losses, measures silence, and knows up to which symbol all packets must
//! have arrived. It must not know what is in a packet.
//!
//! The packets of a flow arrive in the order in which they were sent. So once every live flow has delivered a
//! symbol beyond some point, all missing symbols before it are lost: no timeout is needed.

use weir_protect::{REPLAY_WINDOW, ReplayWindow};
use weir_wire::{FlowStatus, Sequence};

/// A flow that is silent for this long, and for several of its usual gaps, is not waited for.
const SILENT_NS: u64 = 2_000_000;
const SILENT_GAPS: u64 = 4;

#[derive(Clone, Debug)]
struct FlowArrivals {
    /// Sequences that have arrived.
    window: ReplayWindow,
    came: u64,
    /// Sequences before the first arrival do not count as missing.
    first: u64,
    last_ns: Option<u64>,
    /// One above the highest symbol first sent over it, and its arrival time.
    horizon: u64,
    fresh_ns: Option<u64>,
    /// Smoothed time between groups of packets, and when there was such a gap.
    gap_ns: u64,
    gap_at_ns: u64,
}

/// All flows of a stream.
#[derive(Clone, Debug)]
pub struct Arrivals {
    flows: Vec<FlowArrivals>,
    /// Arrival time of the first packet, or of the first one after a pause of all flows.
    began_ns: Option<u64>,
    /// Arrival time of the last packet that was not a copy.
    fresh_ns: u64,
    /// One above the highest symbol of which a copy arrived.
    copied: u64,
}

impl Arrivals {
    /// The state of `count` flows without packets.
    pub fn new(count: u16) -> Self {
        let flow = FlowArrivals {
            window: ReplayWindow::starting_at(0),
            came: 0,
            first: 0,
            last_ns: None,
            horizon: 0,
            fresh_ns: None,
            gap_ns: 0,
            gap_at_ns: 0,
        };
        Arrivals {
            flows: vec![flow; usize::from(count)],
            began_ns: None,
            fresh_ns: 0,
            copied: 0,
        }
    }

    /// Whether a packet of a flow is new: there is such a flow, and it is no duplicate. Nothing changes.
    pub fn is_new(&self, flow: u16, sequence: Sequence) -> bool {
        self.flows.get(usize::from(flow)).is_some_and(|flow| {
            let sequence = flow.extend(sequence);
            flow.last_ns.is_none() || (sequence >= flow.first && flow.window.is_new(sequence))
        })
    }

    /// Notes an authentic packet of a flow; false if there is no such flow, or the packet is a duplicate.
    pub fn come(&mut self, flow: u16, sequence: Sequence, now_ns: u64) -> bool {
        let Some(flow) = self.flows.get_mut(usize::from(flow)) else {
            return false;
        };
        let sequence = flow.extend(sequence);
        if flow.last_ns.is_none() {
            flow.first = if sequence < REPLAY_WINDOW { 0 } else { sequence };
            flow.window = ReplayWindow::starting_at(flow.first);
        }
        if sequence < flow.first || !flow.window.accept(sequence) {
            return false;
        }
        flow.came += 1;
        flow.last_ns = Some(now_ns);
        true
    }

    /// Notes that a packet of a flow was sent for the first time, when all symbols before `horizon` were sent.
    pub fn reached(&mut self, flow: u16, horizon: u64, now_ns: u64) {
        let Some(flow) = self.flows.get_mut(usize::from(flow)) else {
            return;
        };
        let pause_ns = now_ns.saturating_sub(self.fresh_ns);
        if self.began_ns.is_none() || pause_ns >= SILENT_NS.max(SILENT_GAPS * flow.gap_ns) {
            self.began_ns = Some(now_ns);
        }
        self.fresh_ns = now_ns;
        flow.horizon = flow.horizon.max(horizon);
        if let Some(before) = flow.fresh_ns.replace(now_ns) {
            // Packets of a burst arrive together.
            // A time of silence says nothing about its usual gap, either.
            let gap = now_ns
                .saturating_sub(before)
                .min(2 * SILENT_NS.max(SILENT_GAPS * flow.gap_ns));
            if gap > flow.gap_ns / 4 {
                flow.gap_ns = flow.gap_ns - flow.gap_ns / 8 + gap / 8;
                flow.gap_at_ns = now_ns;
            } else if now_ns.saturating_sub(flow.gap_at_ns) > flow.gap_ns {
                // There is no such gap any more: a time of silence made it long.
                flow.gap_ns /= 2;
                flow.gap_at_ns = now_ns;
            }
        }
    }

    /// Notes a copy of the symbol before `horizon`: it does not show that its flow is in use.
    pub fn copied(&mut self, horizon: u64) {
        self.copied = self.copied.max(horizon);
    }

    /// All symbols before this one must have arrived. Where every flow is silent: all before the highest.
    pub fn horizon(&self, now_ns: u64) -> u64 {
        let alive = self.silences().filter(|(_, from)| *from > now_ns);
        let reached = alive.map(|(flow, _)| flow.horizon).min();
        reached.unwrap_or_else(|| {
            let highest = self.flows.iter().map(|flow| flow.horizon).max();
            highest.unwrap_or(0).max(self.copied)
        })
    }

    /// When the next live flow becomes silent if no packet arrives.
    pub fn next_silence_ns(&self, now_ns: u64) -> Option<u64> {
        self.silences()
            .map(|(_, from)| from)
            .filter(|from| *from > now_ns)
            .min()
    }

    /// The flows, and from when on each is silent if no packet arrives. A flow without packets is waited
    /// for from the first packet of all flows on, or from the first one after a pause of all.
    fn silences(&self) -> impl Iterator<Item = (&FlowArrivals, u64)> {
        let began_ns = self.began_ns.unwrap_or(0);
        self.flows.iter().map(move |flow| {
            let patience_ns = SILENT_NS.max(SILENT_GAPS * flow.gap_ns);
            (
                flow,
                flow.fresh_ns.unwrap_or(began_ns).max(began_ns) + patience_ns,
            )
        })
    }

    /// Packets of each flow that have arrived and that are missing, in the order of the flows.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.flows.iter().map(|flow| (flow.came, flow.lost()))
    }

    /// When the last packet arrived.
    pub fn heard_ns(&self) -> Option<u64> {
        self.flows.iter().filter_map(|flow| flow.last_ns).max()
    }

    /// The report of the flows, in their order.
    pub fn status(&self, now_ns: u64) -> impl Iterator<Item = FlowStatus> + '_ {
        self.flows.iter().map(move |flow| FlowStatus {
            newest: Sequence::from(flow.window.end().wrapping_sub(1)),
            lost: flow.lost() as u32,
            silent_us: flow.last_ns.map_or(u32::MAX, |last| {
                u32::try_from(now_ns.saturating_sub(last) / 1_000).unwrap_or(u32::MAX)
            }),
        })
    }
}

impl FlowArrivals {
    fn extend(&self, sequence: Sequence) -> u64 {
        sequence.extend(self.window.end().saturating_sub(1))
    }

    fn lost(&self) -> u64 {
        (self.window.end() - self.first).saturating_sub(self.came)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replays_are_found_and_what_overtakes_is_not_one() {
        let mut arrivals = Arrivals::new(1);
        let mut come = |sequence: u64| {
            let sequence = Sequence::from(sequence);
            let new = arrivals.is_new(0, sequence);
            assert_eq!(arrivals.come(0, sequence, 5), new);
            new
        };
        assert!(come(3) && come(0) && come(2));
        assert!(!come(3) && !come(0));
        assert!(come(1_026), "the window has moved by one: 2 is its first");
        assert!(!come(2) && !come(1), "too old to know");
        assert!(come(5_000) && come(4_999) && !come(5_000));
        assert_eq!(arrivals.status(5).next().unwrap().lost, 5_001 - 6);
        assert!(
            !arrivals.is_new(1, Sequence(0)) && !arrivals.come(1, Sequence(0), 5),
            "no such flow"
        );
    }

    #[test]
    fn the_horizon_is_that_of_the_flow_which_is_furthest_behind_unless_it_is_silent() {
        let mut arrivals = Arrivals::new(3);
        assert_eq!(arrivals.horizon(0), 0);
        for (flow, horizon) in [(0, 10), (1, 7)] {
            arrivals.reached(flow, horizon, 1_000);
        }
        assert_eq!(arrivals.horizon(1_000), 0, "one flow has yet to come");
        arrivals.reached(2, 12, 1_000);

        assert_eq!(arrivals.horizon(1_000), 7);
        arrivals.reached(0, 20, 1_500_000);
        arrivals.reached(2, 19, 1_500_000);
        assert_eq!(arrivals.horizon(2_000_999), 7);
        assert_eq!(arrivals.next_silence_ns(1_500_000), Some(2_001_000));
        assert_eq!(arrivals.horizon(2_001_000), 19);
        assert_eq!(arrivals.horizon(90_000_000), 20, "all are silent");
        // A copy of the last packet, whose original did not arrive.
        arrivals.copied(23);
        assert_eq!(arrivals.horizon(90_000_000), 23);
        // After a pause of all, each is waited for again.
        arrivals.reached(1, 30, 90_000_000);
        assert_eq!(arrivals.horizon(90_000_000), 19);
        arrivals.reached(1, 40, 91_999_999);
        assert_eq!(arrivals.horizon(91_999_999), 19);
        assert_eq!(arrivals.horizon(92_000_000), 40);
    }

    #[test]
    fn times_of_silence_do_not_make_a_flow_waited_for_any_longer() {
        const MS: u64 = 1_000_000;
        let mut arrivals = Arrivals::new(2);
        // It is used for a few milliseconds, ten times, then for 200 ms, then no more; the other one all the time.
        let is_used = |at: u64| match at {
            0..1_000 => at % 100 < 6,
            1_000..1_200 => true,
            _ => false,
        };
        for at in 0..1_210 {
            arrivals.reached(0, 2 * at + 1, at * MS);
            if is_used(at) {
                arrivals.reached(1, 2 * at + 2, at * MS);
            }
        }
        assert_eq!(arrivals.horizon(1_210 * MS), 2 * 1_209 + 1);
    }

    #[test]
    fn status_tells_losses_and_silence() {
        let mut arrivals = Arrivals::new(2);
        for sequence in [0, 1, 4] {
            arrivals.come(1, Sequence(sequence), 1_000_000);
        }
        let status: Vec<FlowStatus> = arrivals.status(3_500_000).collect();
        assert_eq!(status[0].silent_us, u32::MAX);
        assert_eq!(
            (status[1].newest, status[1].lost, status[1].silent_us),
            (Sequence(4), 2, 2_500)
        );
        assert_eq!(arrivals.counts().collect::<Vec<_>>(), [(0, 0), (3, 2)]);
        assert_eq!(arrivals.heard_ns(), Some(1_000_000));
    }
}
