//! PIE (RFC 8033): drops at arrival with a probability that a proportional-integral controller sets, so that packets
//! wait for a target time. It must not know the rate or the flows.

use super::periodic::Periodic;
use crate::packet::Nanos;
use crate::random::Stream;
use crate::spec::{PieSpec, QueueLimit};
use crate::waiting::{Fifo, QueueAccount, QueueDiscipline, Waiting};

/// The probability changes in smaller steps while it is small: below the first number, by the step over the second
/// (section 4.2).
const SCALES: [(f64, f64); 6] = [
    (0.000_001, 2048.0),
    (0.000_01, 512.0),
    (0.000_1, 128.0),
    (0.001, 32.0),
    (0.01, 8.0),
    (0.1, 2.0),
];
/// The probability shrinks by this factor per update while nothing waits (section 4.2).
const DECAY: f64 = 0.98;
/// No drop below this probability while the delay is below half of the target (section 4.1).
const WORK_CONSERVING: f64 = 0.2;
/// From this probability on, its increase is capped (section 5.5).
const CAP_FROM: f64 = 0.1;
const CAP: f64 = 0.02;
/// Sums of probabilities below and above which there is no chance in a drop (section 5.4).
const NO_DROP_BELOW: f64 = 0.85;
const DROP_FROM: f64 = 8.5;

/// One queue under PIE.
pub(crate) struct Pie<P> {
    fifo: Fifo<P>,
    limit: QueueLimit,
    spec: PieSpec,
    stream: Stream,
    updates: Periodic,
    probability: f64,
    /// Sum of the probabilities since the last drop.
    sum: f64,
    /// Waiting time of the last packet sent, and the same at the last update.
    delay_ns: u64,
    delay_before_ns: u64,
    burst_allowance_ns: u64,
}

impl<P> Pie<P> {
    pub(crate) fn new(spec: PieSpec, limit: QueueLimit, stream: Stream) -> Self {
        Self {
            fifo: Fifo::new(),
            limit,
            spec,
            stream,
            updates: Periodic::new(spec.update_ns),
            probability: 0.0,
            sum: 0.0,
            delay_ns: 0,
            delay_before_ns: 0,
            burst_allowance_ns: spec.max_burst_ns,
        }
    }

    fn catch_up(&mut self, now: Nanos) {
        while self.updates.due(now).is_some() {
            self.update();
        }
    }

    /// The controller (section 4.2) and the burst allowance (section 4.4).
    fn update(&mut self) {
        let seconds = |ns: u64| ns as f64 / 1e9;
        let (delay, before) = (seconds(self.delay_ns), seconds(self.delay_before_ns));
        let mut step =
            self.spec.alpha * (delay - seconds(self.spec.target_ns)) + self.spec.beta * (delay - before);
        if let Some((_, divisor)) = SCALES.iter().find(|(below, _)| self.probability < *below) {
            step /= divisor;
        }
        if self.spec.cap_adjustment && self.probability >= CAP_FROM && step > CAP {
            step = CAP;
        }
        self.probability += step;
        if self.delay_ns == 0 && self.delay_before_ns == 0 {
            self.probability *= DECAY;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.burst_allowance_ns = self.burst_allowance_ns.saturating_sub(self.spec.update_ns);
        if self.probability == 0.0
            && self.is_below_half(self.delay_ns)
            && self.is_below_half(self.delay_before_ns)
        {
            self.burst_allowance_ns = self.spec.max_burst_ns;
        }
        self.delay_before_ns = self.delay_ns;
    }

    /// Whether a delay is below half of the target.
    fn is_below_half(&self, delay_ns: u64) -> bool {
        delay_ns.saturating_mul(2) < self.spec.target_ns
    }

    /// Whether to signal congestion with the packet that arrives (section 4.1).
    fn signals(&mut self) -> bool {
        if self.is_below_half(self.delay_before_ns) && self.probability < WORK_CONSERVING {
            return false;
        }
        if self.fifo.bytes() <= 2 * u64::from(self.spec.mean_packet) {
            return false;
        }
        if self.spec.derandomize
            && let Some(certain) = self.certain()
        {
            return certain;
        }
        let signals = self.stream.chance(self.probability);
        if signals {
            self.sum = 0.0;
        }
        signals
    }

    /// The decision where it does not depend on chance (section 5.4).
    fn certain(&mut self) -> Option<bool> {
        if self.probability == 0.0 {
            self.sum = 0.0;
        }
        self.sum += self.probability;
        if self.sum < NO_DROP_BELOW {
            return Some(false);
        }
        (self.sum >= DROP_FROM).then(|| {
            self.sum = 0.0;
            true
        })
    }
}

impl<P> QueueDiscipline<P> for Pie<P> {
    fn enqueue(
        &mut self,
        now: Nanos,
        mut waiting: Waiting<P>,
        account: &mut QueueAccount,
    ) -> Result<(), Waiting<P>> {
        self.catch_up(now);
        if !self.fifo.admits(self.limit, waiting.packet.length) {
            self.sum = 0.0;
            return Err(waiting);
        }
        if self.burst_allowance_ns == 0 && self.signals() {
            let markable = self.spec.ecn && self.probability < self.spec.mark_below;
            if !account.mark(&mut waiting.packet, markable) {
                account.dropped_early += 1;
                return Err(waiting);
            }
        }
        self.fifo.push(waiting);
        Ok(())
    }

    /// The delay is measured by timestamps (section 5.2); it is 0 when the transmitter finds nothing to send.
    fn dequeue(&mut self, now: Nanos, _account: &mut QueueAccount) -> Option<Waiting<P>> {
        self.catch_up(now);
        let next = self.fifo.pop();
        self.delay_ns = next.as_ref().map_or(0, |next| next.sojourn(now));
        next
    }

    fn packets(&self) -> u64 {
        self.fifo.packets()
    }

    fn bytes(&self) -> u64 {
        self.fifo.bytes()
    }
}
