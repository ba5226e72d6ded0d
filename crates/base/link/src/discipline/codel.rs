//! CoDel (RFC 8289): drops at the head of the queue, ever more often, while packets have waited longer than a target
//! for a whole interval. It must not know the rate or the flows.

use crate::packet::Nanos;
use crate::spec::{CodelSpec, QueueLimit};
use crate::waiting::{Fifo, QueueAccount, QueueDiscipline, Waiting};

/// A drop state that ended less than so many intervals ago resumes at its drop rate (RFC 8289, section 5.5).
const RESUME_INTERVALS: u64 = 16;

/// One queue under CoDel.
pub(crate) struct Codel<P> {
    fifo: Fifo<P>,
    limit: QueueLimit,
    law: ControlLaw,
}

impl<P> Codel<P> {
    pub(crate) fn new(spec: CodelSpec, limit: QueueLimit) -> Self {
        Self {
            fifo: Fifo::new(),
            limit,
            law: ControlLaw::new(spec),
        }
    }
}

impl<P> QueueDiscipline<P> for Codel<P> {
    fn enqueue(
        &mut self,
        _now: Nanos,
        waiting: Waiting<P>,
        _account: &mut QueueAccount,
    ) -> Result<(), Waiting<P>> {
        if !self.fifo.admits(self.limit, waiting.packet.length) {
            return Err(waiting);
        }
        self.fifo.push(waiting);
        Ok(())
    }

    fn dequeue(&mut self, now: Nanos, account: &mut QueueAccount) -> Option<Waiting<P>> {
        self.law.dequeue(&mut self.fifo, now, account)
    }

    fn packets(&self) -> u64 {
        self.fifo.packets()
    }

    fn bytes(&self) -> u64 {
        self.fifo.bytes()
    }
}

/// The state of CoDel, apart from the packets, so that FQ-CoDel can have one for each of its queues.
#[derive(Clone, Debug)]
pub(crate) struct ControlLaw {
    spec: CodelSpec,
    /// When the queue will have been above the target for an interval; none while it is below.
    first_above: Option<u64>,
    dropping: bool,
    drop_next: u64,
    /// Drops since the drop state began.
    count: u64,
    /// The count with which it began.
    last_count: u64,
}

/// A packet that has left the queue, and whether it may be dropped.
struct Taken<P> {
    waiting: Option<Waiting<P>>,
    ok_to_drop: bool,
}

impl ControlLaw {
    pub(crate) fn new(spec: CodelSpec) -> Self {
        Self {
            spec,
            first_above: None,
            dropping: false,
            drop_next: 0,
            count: 0,
            last_count: 0,
        }
    }

    /// The time of the drop after the one at `from` (section 5.6).
    fn after(&self, from: u64) -> u64 {
        // Below 10^11 ns, which a double holds exactly.
        let step = self.spec.interval_ns as f64 / (self.count as f64).sqrt();
        from.saturating_add(step as u64)
    }

    /// Takes the head of the queue, and judges how long it has waited (section 5.6).
    fn take<P>(&mut self, fifo: &mut Fifo<P>, now: Nanos) -> Taken<P> {
        let Some(waiting) = fifo.pop() else {
            self.first_above = None;
            return Taken {
                waiting: None,
                ok_to_drop: false,
            };
        };
        let below =
            waiting.sojourn(now) < self.spec.target_ns || fifo.bytes() <= u64::from(self.spec.max_packet);
        let mut ok_to_drop = false;
        if below {
            self.first_above = None;
        } else {
            match self.first_above {
                None => self.first_above = Some(now.0.saturating_add(self.spec.interval_ns)),
                Some(at) => ok_to_drop = now.0 >= at,
            }
        }
        Taken {
            waiting: Some(waiting),
            ok_to_drop,
        }
    }

    /// The packet to send next (section 5.5). The RFC has no pseudocode for marks: a mark counts as the drop that it
    /// replaces, and its packet is sent.
    pub(crate) fn dequeue<P>(
        &mut self,
        fifo: &mut Fifo<P>,
        now: Nanos,
        account: &mut QueueAccount,
    ) -> Option<Waiting<P>> {
        let taken = self.take(fifo, now);
        if self.dropping {
            return self.go_on_dropping(taken, fifo, now, account);
        }
        if !taken.ok_to_drop {
            return taken.waiting;
        }
        let next = match self.signal(taken.waiting, account) {
            Some(marked) => Some(marked),
            None => self.take(fifo, now).waiting,
        };
        self.dropping = true;
        let delta = self.count.saturating_sub(self.last_count);
        let recent = now.0
            < self
                .drop_next
                .saturating_add(RESUME_INTERVALS * self.spec.interval_ns);
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.drop_next = self.after(now.0);
        self.last_count = self.count;
        next
    }

    fn go_on_dropping<P>(
        &mut self,
        mut taken: Taken<P>,
        fifo: &mut Fifo<P>,
        now: Nanos,
        account: &mut QueueAccount,
    ) -> Option<Waiting<P>> {
        self.dropping = taken.ok_to_drop;
        while self.dropping && now.0 >= self.drop_next {
            self.count += 1;
            if let Some(marked) = self.signal(taken.waiting, account) {
                self.drop_next = self.after(self.drop_next);
                return Some(marked);
            }
            taken = self.take(fifo, now);
            if taken.ok_to_drop {
                self.drop_next = self.after(self.drop_next);
            } else {
                self.dropping = false;
            }
        }
        taken.waiting
    }

    /// Marks the packet and returns it, or drops it.
    fn signal<P>(&self, waiting: Option<Waiting<P>>, account: &mut QueueAccount) -> Option<Waiting<P>> {
        let mut waiting = waiting?;
        if account.mark(&mut waiting.packet, self.spec.ecn) {
            return Some(waiting);
        }
        account.drop_waiting(waiting.packet.flow);
        None
    }
}
