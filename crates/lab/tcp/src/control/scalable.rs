//! A scalable control for L4S (RFC 9331 section 4): the window goes down by half of the share of packets that were marked,
//! once a round trip, as in RFC 8257; after a loss by half. Its packets leave by a pace.

use super::hystart::{SlowStart, Start};
use super::reno::Increase;
use super::{Acked, LEAST_WINDOW, Repair, Window};

/// Weight of a round trip in the share (RFC 8257 section 4.2: g).
const WEIGHT: f64 = 1.0 / 16.0;

#[derive(Debug)]
pub(crate) struct Scalable {
    start: Start,
    increase: Increase,
    /// Share of marked packets, smoothed.
    share: f64,
    /// Packets of this round trip, and those of them that were marked.
    packets: u64,
    marked: u64,
    /// Sequence with whose acknowledgement it ends.
    ends: u64,
    /// It has been reduced in this round trip.
    reduced: bool,
    /// What the reductions have left of a packet.
    rest: f64,
}

impl Scalable {
    pub fn new(slow_start: SlowStart) -> Self {
        Self {
            start: Start::new(slow_start),
            increase: Increase::default(),
            share: 1.0,
            packets: 0,
            marked: 0,
            ends: 0,
            reduced: false,
            rest: 0.0,
        }
    }

    pub fn acknowledged(&mut self, window: &mut Window, acked: &Acked) {
        self.packets += acked.packets;
        self.marked += acked.marked;
        if acked.until >= self.ends && self.packets > 0 {
            let share = self.marked as f64 / self.packets as f64;
            self.share += WEIGHT * (share - self.share);
            (self.packets, self.marked, self.reduced) = (0, 0, false);
            self.ends = acked.sent_until;
        }
        if acked.repair == Repair::Reducing {
            return;
        }
        if acked.marked > 0 {
            if !self.reduced {
                self.reduced = true;
                window.threshold = self.threshold(window, false);
                window.packets = window.threshold;
            }
            return;
        }
        // In a round trip with a reduction the window does not grow (RFC 3168 section 6.1.2).
        if !acked.is_limited || self.reduced {
            return;
        }
        let packets = match window.in_slow_start() {
            true => self.start.open(window, acked),
            false => acked.packets,
        };
        if !window.in_slow_start() {
            self.increase.by_each(window, window.packets, packets);
        }
    }

    pub fn threshold(&mut self, window: &Window, is_loss: bool) -> u64 {
        let share = if is_loss { 1.0 } else { self.share };
        let left = (window.packets as f64 + self.rest) * (1.0 - share / 2.0);
        self.rest = left.fract();
        (left as u64).max(LEAST_WINDOW)
    }
}
