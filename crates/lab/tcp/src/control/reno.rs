//! NewReno (RFC 5681, RFC 6582): a packet more for each window that arrives, half of the window after a loss.

use super::hystart::{SlowStart, Start};
use super::{Acked, Repair, Window};

#[derive(Debug)]
pub(crate) struct Reno {
    start: Start,
    increase: Increase,
}

impl Reno {
    pub fn new(slow_start: SlowStart) -> Self {
        Self {
            start: Start::new(slow_start),
            increase: Increase::default(),
        }
    }

    pub fn acknowledged(&mut self, window: &mut Window, acked: &Acked) {
        if acked.repair == Repair::Reducing || !acked.is_limited {
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
}

/// Counts packets until the window grows by one.
#[derive(Debug, Default)]
pub(super) struct Increase {
    counted: u64,
}

impl Increase {
    /// A packet more for each `count` packets.
    pub fn by_each(&mut self, window: &mut Window, count: u64, packets: u64) {
        let count = count.max(1);
        // A count that has become smaller takes effect once, and not for all that was counted.
        if self.counted >= count {
            self.counted = 0;
            window.packets += 1;
        }
        self.counted += packets;
        window.packets += self.counted / count;
        self.counted %= count;
    }
}
