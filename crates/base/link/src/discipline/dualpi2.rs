//! DualPI2 (RFC 9332, appendix A): one queue for packets of L4S, marked early, and one for all others, whose drop
//! probability is the square of what the first is coupled to. It must not know the rate or the flows.

use super::periodic::Periodic;
use crate::packet::Nanos;
use crate::spec::{DualPi2Spec, QueueLimit};
use crate::waiting::{Fifo, QueueAccount, QueueDiscipline, Waiting};

/// Both queues.
pub(crate) struct DualPi2<P> {
    l4s: Fifo<P>,
    classic: Fifo<P>,
    limit: QueueLimit,
    spec: DualPi2Spec,
    updates: Periodic,
    /// The base probability, p'.
    base: f64,
    delay_before_ns: u64,
    /// Sums of probabilities since the last signal.
    l4s_sum: Recurrence,
    classic_sum: Recurrence,
    /// Bytes by which the L4S queue is ahead of its share, below 0, or behind it.
    credit: f64,
}

/// True as often as a likelihood says, evenly spread and without chance (`recur`, appendix A.1).
#[derive(Clone, Copy, Default)]
struct Recurrence(f64);

impl Recurrence {
    fn recurs(&mut self, likelihood: f64) -> bool {
        self.0 += likelihood;
        let recurs = self.0 > 1.0;
        if recurs {
            self.0 -= 1.0;
        }
        recurs
    }
}

/// The probabilities of one moment.
struct Probabilities {
    /// Of the classic queue: p_C, the square of the base.
    classic: f64,
    /// Of the L4S queue by coupling: p_CL, the base times the coupling factor.
    coupled: f64,
}

impl<P> DualPi2<P> {
    pub(crate) fn new(spec: DualPi2Spec, limit: QueueLimit) -> Self {
        Self {
            l4s: Fifo::new(),
            classic: Fifo::new(),
            limit,
            spec,
            updates: Periodic::new(spec.update_ns),
            base: 0.0,
            delay_before_ns: 0,
            l4s_sum: Recurrence::default(),
            classic_sum: Recurrence::default(),
            credit: 0.0,
        }
    }

    /// The controller (appendix A.1, figure 6); between updates the heads of the queues age.
    fn catch_up(&mut self, now: Nanos) {
        while let Some(at) = self.updates.due(now) {
            let heads = [self.l4s.head(), self.classic.head()];
            let delay_ns = heads.into_iter().flatten().map(|head| head.sojourn(at)).max();
            let delay_ns = delay_ns.unwrap_or(0);
            let seconds = |from: u64, less: u64| (i128::from(from) - i128::from(less)) as f64 / 1e9;
            let base = self.base
                + self.spec.alpha * seconds(delay_ns, self.spec.target_ns)
                + self.spec.beta * seconds(delay_ns, self.delay_before_ns);
            self.base = base.clamp(0.0, 1.0);
            self.delay_before_ns = delay_ns;
        }
    }

    fn probabilities(&self) -> Probabilities {
        Probabilities {
            classic: self.base * self.base,
            coupled: self.spec.coupling * self.base,
        }
    }

    /// The next packet, and whether it is from the L4S queue. The RFC leaves the scheduler open (section 4.2.2): the
    /// L4S queue goes first, unless the classic one is behind its share of the bytes.
    fn take(&mut self) -> Option<(Waiting<P>, bool)> {
        let (waits_l4s, waits_classic) = (self.l4s.packets() > 0, self.classic.packets() > 0);
        if waits_classic && (self.credit < 0.0 || !waits_l4s) {
            let waiting = self.classic.pop()?;
            if waits_l4s {
                self.credit += f64::from(waiting.packet.length) * (1.0 - self.spec.classic_share);
            }
            return Some((waiting, false));
        }
        let waiting = self.l4s.pop()?;
        if waits_classic {
            self.credit -= f64::from(waiting.packet.length) * self.spec.classic_share;
        }
        Some((waiting, true))
    }

    /// The marking probability of the L4S queue's own ramp (appendix A.1, figure 5). A packet that leaves a short
    /// queue behind gets no mark: at low rates one packet alone takes longer than the threshold.
    fn ramp(&self, delay_ns: u64) -> f64 {
        if self.l4s.packets() < self.spec.threshold_packets {
            return 0.0;
        }
        let above = delay_ns.saturating_sub(self.spec.threshold_ns);
        if delay_ns >= self.spec.threshold_ns + self.spec.range_ns {
            1.0
        } else {
            // The range is above 0 here.
            above as f64 / self.spec.range_ns as f64
        }
    }

    /// Whether the packet is dropped; it may be marked instead. In overload, that is when the coupled probability has
    /// reached 1, the L4S queue drops as the classic one does (appendix A.2).
    fn signal_l4s(&mut self, waiting: &mut Waiting<P>, now: Nanos, account: &mut QueueAccount) -> bool {
        let Probabilities { classic, coupled } = self.probabilities();
        let marks = if coupled < 1.0 {
            let own = self.ramp(waiting.sojourn(now));
            self.l4s_sum.recurs(own.max(coupled))
        } else if self.l4s_sum.recurs(classic) {
            return true;
        } else {
            self.l4s_sum.recurs(coupled)
        };
        if marks {
            account.mark(&mut waiting.packet, true);
        }
        false
    }

    /// Whether the packet is dropped; it may be marked instead.
    fn signal_classic(&mut self, waiting: &mut Waiting<P>, account: &mut QueueAccount) -> bool {
        let classic = self.probabilities().classic;
        if !self.classic_sum.recurs(classic) {
            return false;
        }
        // Overload switches marks off (appendix A.2).
        let most = f64::min(1.0 / (self.spec.coupling * self.spec.coupling), 1.0);
        !account.mark(&mut waiting.packet, classic < most)
    }
}

impl<P> QueueDiscipline<P> for DualPi2<P> {
    fn enqueue(
        &mut self,
        now: Nanos,
        waiting: Waiting<P>,
        _account: &mut QueueAccount,
    ) -> Result<(), Waiting<P>> {
        self.catch_up(now);
        if !self
            .limit
            .admits(self.packets(), self.bytes(), waiting.packet.length)
        {
            return Err(waiting);
        }
        if waiting.packet.ecn.is_l4s() {
            self.l4s.push(waiting);
        } else {
            self.classic.push(waiting);
        }
        Ok(())
    }

    fn dequeue(&mut self, now: Nanos, account: &mut QueueAccount) -> Option<Waiting<P>> {
        self.catch_up(now);
        loop {
            let (mut waiting, l4s) = self.take()?;
            let dropped = if l4s {
                self.signal_l4s(&mut waiting, now, account)
            } else {
                self.signal_classic(&mut waiting, account)
            };
            if !dropped {
                return Some(waiting);
            }
            account.drop_waiting(waiting.packet.flow);
        }
    }

    fn packets(&self) -> u64 {
        self.l4s.packets() + self.classic.packets()
    }

    fn bytes(&self) -> u64 {
        self.l4s.bytes() + self.classic.bytes()
    }
}
