//! A limit that was met, and what passes it. It must not know how it is found (`limits`).

use weir_measure::survey::LossOnset;

/// Limited tests agree on a limit, where others do not, if they differ by at most this share: what a policer lets through varies with
/// the sender's bursts.
pub(super) const LOOSELY: f64 = 0.1;

/// What kind of limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LimitKind {
    /// Each flow is held at a rate.
    FlowRate,
    /// Packets per second are held.
    PacketRate,
    /// The path is full: packets wait in a queue before some are lost.
    Path,
    /// All flows together are held at a rate without a queue.
    Together,
}

impl LimitKind {
    /// What a bit per second of payload is in its quantity, with so many flows and payloads of this length.
    fn of_payload_bit(self, flows: u16, payload: u32, header_bytes: u32) -> f64 {
        let packet = f64::from(payload + header_bytes) / f64::from(payload.max(1));
        match self {
            LimitKind::FlowRate => packet / f64::from(flows.max(1)),
            LimitKind::PacketRate => 1.0 / 8.0 / f64::from(payload.max(1)),
            LimitKind::Path | LimitKind::Together => packet,
        }
    }
}

/// A limit that was met.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Limit {
    /// What kind.
    pub kind: LimitKind,
    /// Bits per second of IP packets, or packets per second.
    pub value: f64,
    /// Smallest and largest value of the same in the limited tests.
    pub range: (f64, f64),
    /// Indices of the tests that it touched.
    pub steps: Vec<usize>,
    /// p-value of losses spread at random, against ones spread as evenly as these.
    pub steady: f64,
    /// Most tests in which it was met had a queue.
    pub queued: bool,
    /// Delay that 99 % of the packets stayed below in each of them, nanoseconds, the least: of a full path, its queue.
    pub queue_ns: f64,
    /// Highest rate without its loss in tests at lower rates, bits per second of payload; 0 where it is not known.
    pub carried: f64,
    /// What more passed at first of what met it, in seconds of what it lets through; 0 where that was not seen.
    pub credit_s: f64,
    /// What it lets through changes with time: it did so all along in two tests at least.
    pub drifts: bool,
    /// The sweep over the number of flows was wide enough to say that it changes nothing.
    pub flows_swept: bool,
    /// Tests at several rates agree with it: loss begins between these.
    pub between: Option<(f64, f64)>,
    /// What it lets through of bursts that are longer than those of the tests at several rates, where that is less.
    pub of_long_bursts: Option<f64>,
}

impl Limit {
    /// Whether it did not hold all tests at the same.
    pub fn varies(&self) -> bool {
        self.range.1 > (1.0 + LOOSELY) * self.range.0
    }

    /// Whether more passed for a while, out of a bucket that began full: it holds more than a burst.
    pub fn has_credit(&self) -> bool {
        self.credit_s > 0.0 && self.kind != LimitKind::Path
    }

    /// As how many values it counts: one more for each time that its range doubles.
    pub fn values(&self) -> f64 {
        let doubled = (self.range.1 / self.range.0.max(1.0)).log2();
        if doubled > 1.0 { 1.0 + doubled } else { 1.0 }
    }

    /// What passes it with so many flows and payloads of this length, bits per second of payload; none where no tests at several
    /// rates agree with it.
    pub fn carries(&self, flows: u16, payload: u32, header_bytes: u32) -> Option<f64> {
        let (low, _) = self.between?;
        Some(low / self.kind.of_payload_bit(flows, payload, header_bytes))
    }

    /// The same with the rates at which loss begins, where these agree with it. What it lets through of faster tests says more
    /// exactly what it holds, but where their bursts are longer than a policer's bucket: then it holds more of shorter ones.
    /// Where more passes for a while, a test of a second or two may carry more than a longer one.
    pub fn beside(mut self, onset: Option<&LossOnset>, header_bytes: u32) -> Self {
        let Some(onset) = onset.filter(|_| !self.has_credit()) else {
            return self;
        };
        let each = self.kind.of_payload_bit(onset.flows, onset.length, header_bytes);
        let (low, high) = (onset.carried.0 as f64 * each, onset.lossy.0 as f64 * each);
        let is_near = self.range.1 >= low * (1.0 - LOOSELY) && self.range.0 <= high * (1.0 + LOOSELY);
        let lets_less = low > self.range.1 * (1.0 + LOOSELY) && self.kind != LimitKind::Path;
        if lets_less {
            self.of_long_bursts = Some(self.value);
            self.value = 0.5 * (low + high);
            self.range = (low, high);
        }
        if is_near || lets_less {
            self.between = Some((low, high));
        }
        if is_near && self.kind == LimitKind::PacketRate && self.varies() {
            // Of longer bursts the bucket lets more or fewer through, by their length.
            self.value = 0.5 * (low + high);
        }
        self
    }
}
