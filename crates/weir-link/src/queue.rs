//! What waits before a transmitter, and which packets do not get to wait. This is the one place for queue
//! management: a discipline decides when a packet comes and again when the transmitter asks for the next. It must
//! not know about rates or routes.

use std::collections::VecDeque;

use crate::link::{Nanos, Packet};
use crate::spec::QueueSpec;

/// A packet and its number in the order of acceptance.
#[derive(Clone, Debug)]
pub(crate) struct Waiting<P> {
    pub(crate) number: u64,
    pub(crate) packet: Packet<P>,
}

/// A way of managing a queue. A packet that finds the transmitter idle does not come through it.
pub(crate) trait QueueDiscipline<P> {
    /// Takes a packet, or gives it back: dropped.
    fn enqueue(&mut self, now: Nanos, waiting: Waiting<P>) -> Result<(), Waiting<P>>;

    /// The packet to send next, at the time at which its transmission begins. What is dropped instead, being too
    /// old for example, is counted in `dropped`.
    fn dequeue(&mut self, now: Nanos, dropped: &mut u64) -> Option<Waiting<P>>;

    /// Packets that wait.
    fn packets(&self) -> u64;

    /// Their bytes, IP packets.
    fn bytes(&self) -> u64;
}

/// First in, first out; what does not fit is dropped.
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
