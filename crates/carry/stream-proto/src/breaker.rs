//! Stops a stream that the path does not carry: a circuit breaker in the spirit of RFC 8083 (media and RTP circuit
//! breakers). Uncompressed video cannot be sent at a lower rate, so the stream is stopped. It has no clock.

/// Limits of the circuit breaker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BreakerLimits {
    /// Maximum raw loss rate, 0 to 1.
    pub loss: f64,
    /// How long the loss rate may exceed it, nanoseconds.
    pub sustained_ns: u64,
    /// Maximum silence of the receiver, nanoseconds.
    pub silence_ns: u64,
}

impl Default for BreakerLimits {
    /// 10 % for 3 s; silence for 3 s.
    fn default() -> Self {
        BreakerLimits {
            loss: 0.1,
            sustained_ns: 3_000_000_000,
            silence_ns: 3_000_000_000,
        }
    }
}

/// Why a stream was stopped.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum Broken {
    /// The loss rate exceeded the limit, second after second.
    #[error("{:.1} % of the packets were lost for {} s: the path does not carry this rate", loss * 100.0, sustained_ns / 1_000_000_000)]
    Loss {
        /// Loss rate of the last second, 0 to 1.
        loss: f64,
        /// Duration, nanoseconds.
        sustained_ns: u64,
    },
    /// The receiver is silent.
    #[error("no feedback from the receiver for {} s", silence_ns / 1_000_000_000)]
    Silence {
        /// Duration, nanoseconds.
        silence_ns: u64,
    },
}

const SECOND_NS: u64 = 1_000_000_000;

/// Watches the receiver's feedback.
#[derive(Clone, Debug)]
pub struct Breaker {
    limits: BreakerLimits,
    heard_ns: u64,
    second_began_ns: u64,
    received: u32,
    lost: u32,
    /// Since when every second was above the limit.
    bad_since_ns: Option<u64>,
}

impl Breaker {
    /// A breaker, closed at `now_ns`.
    pub fn new(limits: BreakerLimits, now_ns: u64) -> Self {
        Breaker {
            limits,
            heard_ns: now_ns,
            second_began_ns: now_ns,
            received: 0,
            lost: 0,
            bad_since_ns: None,
        }
    }

    /// Takes the receiver's counts since the session began, which wrap.
    pub fn on_report(&mut self, now_ns: u64, received: u32, lost: u32) -> Option<Broken> {
        self.heard_ns = now_ns;
        if now_ns < self.second_began_ns + SECOND_NS {
            return None;
        }
        let (came, gone) = (received.wrapping_sub(self.received), lost.wrapping_sub(self.lost));
        let loss = f64::from(gone) / (f64::from(came) + f64::from(gone)).max(1.0);
        let began_ns = self.second_began_ns;
        (self.received, self.lost, self.second_began_ns) = (received, lost, now_ns);
        if loss <= self.limits.loss {
            self.bad_since_ns = None;
            return None;
        }
        let sustained_ns = now_ns - *self.bad_since_ns.get_or_insert(began_ns);
        (sustained_ns >= self.limits.sustained_ns).then_some(Broken::Loss { loss, sustained_ns })
    }

    /// Closes the breaker again after a time without expected feedback.
    pub fn resume(&mut self, now_ns: u64) {
        (self.heard_ns, self.bad_since_ns) = (now_ns, None);
    }

    /// Whether the receiver has been silent for too long; call periodically.
    pub fn on_time(&self, now_ns: u64) -> Option<Broken> {
        let silence_ns = self.silence_ns(now_ns);
        (silence_ns >= self.limits.silence_ns).then_some(Broken::Silence { silence_ns })
    }

    /// Time since the last report, nanoseconds.
    pub fn silence_ns(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.heard_ns)
    }

    /// When to ask next.
    pub fn next_wake(&self) -> u64 {
        self.heard_ns + self.limits.silence_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loss_breaks_only_when_it_lasts() {
        let mut breaker = Breaker::new(BreakerLimits::default(), 0);
        let second = |number: u64| number * SECOND_NS;
        // Counts wrap: both begin at 0.
        let (mut received, mut lost) = (0u32, 0u32);
        let mut report = |breaker: &mut Breaker, number, came: u32, gone: u32| {
            received = received.wrapping_add(came);
            lost = lost.wrapping_add(gone);
            breaker.on_report(second(number), received, lost)
        };
        assert_eq!(report(&mut breaker, 1, 80, 20), None);
        assert_eq!(report(&mut breaker, 2, 80, 20), None);
        assert_eq!(report(&mut breaker, 3, 95, 5), None, "a better second");
        assert_eq!(report(&mut breaker, 4, 80, 20), None);
        assert_eq!(report(&mut breaker, 5, 80, 20), None);
        let broken = report(&mut breaker, 6, 60, 40);
        let sustained_ns = 3 * SECOND_NS;
        assert_eq!(
            broken,
            Some(Broken::Loss {
                loss: 0.4,
                sustained_ns
            })
        );
        assert_eq!(
            broken.unwrap().to_string(),
            "40.0 % of the packets were lost for 3 s: the path does not carry this rate"
        );
    }

    #[test]
    fn silence_breaks() {
        let mut breaker = Breaker::new(BreakerLimits::default(), 0);
        breaker.resume(SECOND_NS);
        assert_eq!(breaker.on_time(4 * SECOND_NS - 1), None);
        assert_eq!(breaker.on_report(2 * SECOND_NS, 1, 0), None);
        assert_eq!(breaker.next_wake(), 5 * SECOND_NS);
        assert_eq!(breaker.on_time(5 * SECOND_NS - 1), None);
        let silence_ns = 3 * SECOND_NS;
        assert_eq!(
            breaker.on_time(5 * SECOND_NS),
            Some(Broken::Silence { silence_ns })
        );
    }
}
