//! Relative transit times of packets: the delay above that of the fastest recent packet. It must not
//! know how late packets are handled.

use weir_wire::UnixNanos;

/// Minimum time over which the fastest packet is remembered, nanoseconds. Clocks may drift: one that is 100 ppm
/// slow is 0.4 ms behind after twice this time.
const MEMORY_NS: u64 = 2_000_000_000;
/// If every packet is later than the budget for this long, the path has become longer, or the sender's clock was set
/// back.
const LATER_NS: u64 = 50_000_000;
/// A transit time this much longer means that the sender's clock was set back.
const STEP_NS: i64 = 1_000_000_000;
/// Maximum wait for a packet that others of its flow have overtaken.
const LONGEST_PATIENCE_NS: u64 = 5_000_000;

/// The difference of two clocks plus the shortest transit time, and the extent of reordering within a flow.
#[derive(Clone, Copy, Debug)]
pub struct Transit {
    budget_ns: i64,
    /// Smallest difference in the running period and in the one before it.
    running: Option<i64>,
    before: Option<i64>,
    began_ns: u64,
    /// Smallest difference in the running short period.
    recent: Option<i64>,
    recent_began_ns: u64,
    overtaking_ns: u64,
}

impl Transit {
    /// The state before the first packet; packets `budget_ns` slower than the fastest are too late.
    pub fn new(budget_ns: u64) -> Self {
        Transit {
            budget_ns: i64::try_from(budget_ns).unwrap_or(i64::MAX),
            running: None,
            before: None,
            began_ns: 0,
            recent: None,
            recent_began_ns: 0,
            overtaking_ns: 0,
        }
    }

    /// Notes a packet that arrived at `now_ns` and was `sent` by the sender's clock.
    pub fn sample(&mut self, now_ns: u64, sent: UnixNanos) {
        let difference = (now_ns as i64).wrapping_sub(sent.0 as i64);
        if self
            .least()
            .is_some_and(|least| difference.saturating_sub(least) > STEP_NS)
        {
            self.begin(now_ns, difference);
        }
        if now_ns.saturating_sub(self.began_ns) > MEMORY_NS {
            self.before = self.running.take();
            self.began_ns = now_ns;
        }
        self.running = Some(self.running.map_or(difference, |least| least.min(difference)));
        self.follow(now_ns, difference);
    }

    /// Forgets the fastest packet if all recent ones were later than the budget: otherwise no packet would be in time.
    fn follow(&mut self, now_ns: u64, difference: i64) {
        self.recent = Some(self.recent.map_or(difference, |least| least.min(difference)));
        if now_ns.saturating_sub(self.recent_began_ns) < LATER_NS {
            return;
        }
        if let (Some(recent), Some(least)) = (self.recent.take(), self.least())
            && recent.saturating_sub(least) > self.budget_ns
        {
            self.begin(now_ns, recent);
        }
        self.recent_began_ns = now_ns;
    }

    fn begin(&mut self, now_ns: u64, difference: i64) {
        (self.running, self.before) = (Some(difference), None);
        (self.recent, self.recent_began_ns) = (None, now_ns);
        self.began_ns = now_ns;
    }

    fn least(&self) -> Option<i64> {
        [self.running, self.before].into_iter().flatten().min()
    }

    /// Arrival time of a packet `sent` then, had it been as fast as the fastest; none before the first packet.
    pub fn on_this_clock(&self, sent: UnixNanos) -> Option<u64> {
        Some((sent.0 as i64).wrapping_add(self.least()?) as u64)
    }

    /// Notes a packet that arrived `late_ns` after it was declared lost.
    pub fn overtaken(&mut self, late_ns: u64) {
        self.overtaking_ns = self
            .overtaking_ns
            .max(late_ns + late_ns / 4)
            .min(LONGEST_PATIENCE_NS);
    }

    /// How long to wait for a packet that others of its flow have overtaken.
    pub fn overtaking_ns(&self) -> u64 {
        self.overtaking_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_packet_of_late_sets_the_clock() {
        let mut transit = Transit::new(1_000);
        assert_eq!(transit.on_this_clock(UnixNanos(5)), None);
        let (sender, own) = (1_700_000_000_000_000_000, 3_000_000);
        for (at, under_way) in [(0, 500), (1_000, 300), (2_000, 900)] {
            transit.sample(own + at + under_way, UnixNanos(sender + at));
        }
        assert_eq!(
            transit.on_this_clock(UnixNanos(sender + 5_000)),
            Some(own + 5_300)
        );
        // The path has become longer: after two periods the old one is forgotten.
        for second in 1..=5 {
            let at = second * 1_000_000_000;
            transit.sample(own + at + 700, UnixNanos(sender + at));
        }
        assert_eq!(transit.on_this_clock(UnixNanos(sender)), Some(own + 700));
    }
}
