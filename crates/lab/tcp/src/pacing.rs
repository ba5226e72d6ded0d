//! When packets may leave by a pace: in bursts of about a millisecond, as Linux paces, or shorter ones. It must not know
//! windows.

/// A burst is what the pace carries in a fraction of a second, and at least a number of packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bursts {
    pub per_second: f64,
    pub least_packets: u64,
}

impl Bursts {
    /// 2^-10 s.
    pub const OF_LINUX: Self = Self {
        per_second: 1024.0,
        least_packets: 2,
    };
    /// A quarter of a millisecond: the queue of L4S marks what waits for one (RFC 9331 section 4.3;
    /// draft-briscoe-iccrg-prague-congestion-control-03).
    pub const OF_L4S: Self = Self {
        per_second: 4000.0,
        least_packets: 1,
    };
}

const MOST_BYTES: u64 = 65_536;

/// The pace of a sender.
#[derive(Debug, Default)]
pub(crate) struct Pacing {
    /// When the next burst may leave, nanoseconds.
    next_ns: u64,
    /// Of the present burst: packets that may still leave, and bytes that have left.
    left: u64,
    bytes: u64,
}

impl Pacing {
    /// Whether a packet of `mss` bytes may leave now at this pace, bytes per second, in such bursts of at most `most_packets`.
    pub fn is_due(
        &mut self,
        now_ns: u64,
        rate: f64,
        mss: u32,
        (bursts, most_packets): (Bursts, u64),
    ) -> bool {
        if self.left > 0 {
            return true;
        }
        if now_ns < self.next_ns {
            return false;
        }
        let bytes = (rate / bursts.per_second).min(MOST_BYTES as f64) as u64;
        let usual = (bytes / u64::from(mss)).max(bursts.least_packets);
        self.left = usual.min(most_packets.max(1));
        true
    }

    /// When the next packet may leave, if one waits for its time.
    pub fn next_ns(&self) -> u64 {
        if self.left > 0 { 0 } else { self.next_ns }
    }

    /// Notes a packet that left.
    pub fn sent(&mut self, now_ns: u64, length: u32, rate: f64) {
        self.bytes += u64::from(length);
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            self.end_burst(now_ns, rate);
        }
    }

    /// Ends the burst: what follows waits as long as the burst takes at the pace. Up to half of that is forgiven where it
    /// left later than it was due.
    pub fn end_burst(&mut self, now_ns: u64, rate: f64) {
        if self.bytes == 0 {
            return;
        }
        let takes_ns = (self.bytes as f64 * 1e9 / rate) as u64;
        let late_ns = now_ns.saturating_sub(self.next_ns);
        self.next_ns = now_ns + takes_ns - late_ns.min(takes_ns / 2);
        (self.left, self.bytes) = (0, 0);
    }
}
