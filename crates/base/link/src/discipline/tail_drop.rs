//! Tail drop as a managed queue: it differs from the plain one only by its histogram of sojourn times, so that it can
//! be compared with the disciplines. It must not know why packets arrive faster than they leave.

use crate::packet::Nanos;
use crate::spec::QueueLimit;
use crate::waiting::{Fifo, QueueAccount, QueueDiscipline, Waiting};

/// First in, first out; a packet that does not fit is dropped.
pub(crate) struct TailDrop<P> {
    fifo: Fifo<P>,
    limit: QueueLimit,
}

impl<P> TailDrop<P> {
    pub(crate) fn new(limit: QueueLimit) -> Self {
        Self {
            fifo: Fifo::new(),
            limit,
        }
    }
}

impl<P> QueueDiscipline<P> for TailDrop<P> {
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

    fn dequeue(&mut self, _now: Nanos, _account: &mut QueueAccount) -> Option<Waiting<P>> {
        self.fifo.pop()
    }

    fn packets(&self) -> u64 {
        self.fifo.packets()
    }

    fn bytes(&self) -> u64 {
        self.fifo.bytes()
    }
}
