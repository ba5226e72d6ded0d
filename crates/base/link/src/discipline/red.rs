//! RED (Floyd and Jacobson, "Random early detection gateways for congestion avoidance", IEEE/ACM ToN 1993): drops at
//! arrival with a probability that grows with the average queue, with Floyd's gentle variant ("Recommendations on using
//! the gentle variant of RED", 2000). It must not know the rate or the flows.

use crate::packet::Nanos;
use crate::random::Stream;
use crate::spec::{QueueLimit, RedSpec};
use crate::waiting::{Fifo, QueueAccount, QueueDiscipline, Waiting};

/// One queue under RED.
pub(crate) struct Red<P> {
    fifo: Fifo<P>,
    limit: QueueLimit,
    spec: RedSpec,
    stream: Stream,
    /// Average queue, packets.
    average: f64,
    /// Packets since the last signal; none while the average is below the minimum.
    since_signal: Option<u64>,
    /// Since when the queue is empty, as far as the average reflects it.
    empty_since: Nanos,
}

/// What to do with a packet that arrives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Judgement {
    Admit,
    /// Mark, or drop what cannot be marked.
    Signal,
    Drop,
}

impl<P> Red<P> {
    pub(crate) fn new(spec: RedSpec, limit: QueueLimit, stream: Stream) -> Self {
        Self {
            fifo: Fifo::new(),
            limit,
            spec,
            stream,
            average: 0.0,
            since_signal: None,
            empty_since: Nanos(0),
        }
    }

    /// While the queue is empty, the average ages as if packets had found it empty at the rate of the link (section 4).
    fn average(&mut self, now: Nanos) {
        let keep = 1.0 - self.spec.weight;
        if self.fifo.packets() > 0 {
            self.average = keep * self.average + self.spec.weight * self.fifo.packets() as f64;
            return;
        }
        let idle = now.0.saturating_sub(self.empty_since.0);
        self.average *= power(keep, idle / self.spec.packet_time_ns);
        self.empty_since = now;
    }

    fn judge(&mut self) -> Judgement {
        let RedSpec { minimum, maximum, .. } = self.spec;
        let most = self.spec.max_probability;
        if self.average < minimum {
            self.since_signal = None;
            return Judgement::Admit;
        }
        // A mark stands for a drop only below the maximum (RFC 3168, section 7).
        let (probability, signal) = if self.average < maximum {
            let share = (self.average - minimum) / (maximum - minimum);
            (most * share, Judgement::Signal)
        } else if self.spec.gentle && self.average < 2.0 * maximum {
            let share = (self.average - maximum) / maximum;
            (most + (1.0 - most) * share, Judgement::Drop)
        } else {
            self.since_signal = Some(0);
            return Judgement::Drop;
        };
        let count = self.since_signal.map_or(0, |count| count + 1);
        self.since_signal = Some(count);
        // Spreads the signals evenly (section 4).
        let spread = count as f64 * probability;
        let spread = if spread < 1.0 {
            probability / (1.0 - spread)
        } else {
            1.0
        };
        if !self.stream.chance(spread) {
            return Judgement::Admit;
        }
        self.since_signal = Some(0);
        signal
    }
}

/// By squaring, since the mathematical libraries of platforms differ in the last bit.
fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut product = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            product *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    product
}

impl<P> QueueDiscipline<P> for Red<P> {
    fn enqueue(
        &mut self,
        now: Nanos,
        mut waiting: Waiting<P>,
        account: &mut QueueAccount,
    ) -> Result<(), Waiting<P>> {
        self.average(now);
        let fits = self.fifo.admits(self.limit, waiting.packet.length);
        let signalled = match self.judge() {
            Judgement::Admit => true,
            Judgement::Signal => fits && account.mark(&mut waiting.packet, self.spec.ecn),
            Judgement::Drop => false,
        };
        if !fits {
            self.since_signal = Some(0);
            return Err(waiting);
        }
        if !signalled {
            account.dropped_early += 1;
            return Err(waiting);
        }
        self.fifo.push(waiting);
        Ok(())
    }

    fn dequeue(&mut self, now: Nanos, _account: &mut QueueAccount) -> Option<Waiting<P>> {
        let next = self.fifo.pop()?;
        if self.fifo.packets() == 0 {
            self.empty_since = now;
        }
        Some(next)
    }

    fn packets(&self) -> u64 {
        self.fifo.packets()
    }

    fn bytes(&self) -> u64 {
        self.fifo.bytes()
    }
}
