//! Round-trip times of a connection, and the retransmission timeout that follows (RFC 6298).

/// Lower bound of the timeout, nanoseconds: what Linux uses in place of the second of RFC 6298.
const LEAST_TIMEOUT_NS: u64 = 200_000_000;
const MOST_TIMEOUT_NS: u64 = 120_000_000_000;
/// Before the first sample (RFC 6298 section 2.1).
const FIRST_TIMEOUT_NS: u64 = 1_000_000_000;
/// How long a minimum counts.
const MINIMUM_LASTS_NS: u64 = 300_000_000_000;

/// Estimates from samples.
#[derive(Clone, Debug, Default)]
pub(crate) struct RoundTrips {
    smoothed_ns: Option<u64>,
    deviation_ns: u64,
    minimum: Option<(u64, u64)>,
}

impl RoundTrips {
    /// Takes that of a handshake, which is no minimum: slow start compares delays of data with it.
    pub fn connected(&mut self, rtt_ns: u64) {
        self.smooth(rtt_ns);
    }

    pub fn sample(&mut self, now_ns: u64, rtt_ns: u64) {
        self.smooth(rtt_ns);
        let is_least = self
            .minimum
            .is_none_or(|(least_ns, at_ns)| rtt_ns <= least_ns || now_ns > at_ns + MINIMUM_LASTS_NS);
        if is_least {
            self.minimum = Some((rtt_ns, now_ns));
        }
    }

    fn smooth(&mut self, rtt_ns: u64) {
        match self.smoothed_ns {
            None => (self.smoothed_ns, self.deviation_ns) = (Some(rtt_ns), rtt_ns / 2),
            Some(smoothed_ns) => {
                let off_ns = smoothed_ns.abs_diff(rtt_ns);
                self.deviation_ns = self.deviation_ns - self.deviation_ns / 4 + off_ns / 4;
                self.smoothed_ns = Some(smoothed_ns - smoothed_ns / 8 + rtt_ns / 8);
            }
        }
    }

    /// Smoothed round-trip time, nanoseconds; none before the first sample.
    pub fn smoothed_ns(&self) -> Option<u64> {
        self.smoothed_ns
    }

    /// Least round-trip time of the last minutes, nanoseconds.
    pub fn minimum_ns(&self) -> Option<u64> {
        self.minimum.map(|(least_ns, _)| least_ns)
    }

    /// Retransmission timeout after `expired` timeouts in a row, nanoseconds (RFC 6298 sections 2.3 and 5.5).
    pub fn timeout_ns(&self, expired: u32) -> u64 {
        let once_ns = self.smoothed_ns.map_or(FIRST_TIMEOUT_NS, |smoothed_ns| {
            smoothed_ns + (4 * self.deviation_ns).max(LEAST_TIMEOUT_NS)
        });
        once_ns.saturating_mul(1 << expired.min(16)).min(MOST_TIMEOUT_NS)
    }
}
