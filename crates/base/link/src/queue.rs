//! The queue before a transmitter, and which packets it drops. This is the one place for queue
//! management: a discipline decides when a packet arrives and again when the transmitter takes the next. It must
//! not know about rates or routes.

use std::collections::VecDeque;

use crate::packet::{Nanos, Packet};
use crate::spec::QueueSpec;

/// A packet and its number in the order of acceptance.
#[derive(Clone, Debug)]
pub(crate) struct Waiting<P> {
    pub(crate) number: u64,
    pub(crate) packet: Packet<P>,
}

/// A queue discipline. A packet that finds the transmitter idle bypasses it.
pub(crate) trait QueueDiscipline<P> {
    /// Takes a packet, or returns it: dropped.
    fn enqueue(&mut self, now: Nanos, waiting: Waiting<P>) -> Result<(), Waiting<P>>;

    /// The packet to send next, at the start of its transmission. Packets dropped instead, such as too
    /// old ones, are counted in `dropped`.
    fn dequeue(&mut self, now: Nanos, dropped: &mut u64) -> Option<Waiting<P>>;

    /// Number of queued packets.
    fn packets(&self) -> u64;

    /// Their IP packet bytes.
    fn bytes(&self) -> u64;
}

/// First in, first out; a packet that does not fit is dropped.
#[derive(Clone, Debug)]
pub(crate) struct TailDrop<P> {
    waiting: VecDeque<Waiting<P>>,
    bytes: u64,
    most: QueueSpec,
}

impl<P> TailDrop<P> {
    pub(crate) fn new(most: QueueSpec) -> Self {
        Self {
            waiting: VecDeque::new(),
            bytes: 0,
            most,
        }
    }
}

impl<P> QueueDiscipline<P> for TailDrop<P> {
    fn enqueue(&mut self, _now: Nanos, waiting: Waiting<P>) -> Result<(), Waiting<P>> {
        let bytes = self.bytes + u64::from(waiting.packet.length);
        let fits = match self.most {
            QueueSpec::Unlimited => true,
            QueueSpec::Bytes(most) => bytes <= most,
            QueueSpec::Packets(most) => self.packets() < most,
        };
        if !fits {
            return Err(waiting);
        }
        self.bytes = bytes;
        self.waiting.push_back(waiting);
        Ok(())
    }

    fn dequeue(&mut self, _now: Nanos, _dropped: &mut u64) -> Option<Waiting<P>> {
        let waiting = self.waiting.pop_front()?;
        self.bytes -= u64::from(waiting.packet.length);
        Some(waiting)
    }

    fn packets(&self) -> u64 {
        self.waiting.len() as u64
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}
