//! Packets that wait, what decides about them, and the account of what it did. It must not know how a discipline decides.

use std::collections::{BTreeMap, VecDeque};

use weir_stats::DurationHistogram;

use crate::packet::{Ecn, FlowKey, Nanos, Packet};
use crate::spec::QueueLimit;

/// Most flows with an account of their own.
const MOST_FLOWS: usize = 4096;

/// A packet, its number in the order of acceptance, and when it began to wait.
#[derive(Clone, Debug)]
pub(crate) struct Waiting<P> {
    pub(crate) number: u64,
    pub(crate) since: Nanos,
    pub(crate) packet: Packet<P>,
}

impl<P> Waiting<P> {
    /// How long it has waited, nanoseconds.
    pub(crate) fn sojourn(&self, now: Nanos) -> u64 {
        now.0.saturating_sub(self.since.0)
    }
}

/// A queue discipline: decides when a packet arrives, and again when the transmitter takes the next.
pub(crate) trait QueueDiscipline<P> {
    /// Takes a packet, or returns it: dropped.
    fn enqueue(
        &mut self,
        now: Nanos,
        waiting: Waiting<P>,
        account: &mut QueueAccount,
    ) -> Result<(), Waiting<P>>;

    /// The packet to send next, at the start of its transmission.
    fn dequeue(&mut self, now: Nanos, account: &mut QueueAccount) -> Option<Waiting<P>>;

    /// Number of queued packets.
    fn packets(&self) -> u64;

    /// Their IP packet bytes.
    fn bytes(&self) -> u64;
}

/// What managed queues have done to the packets of a flow.
#[derive(Clone, Debug, Default)]
pub struct FlowAccount {
    /// Dropped, when they arrived or later.
    pub dropped: u64,
    /// Marked with CE.
    pub marked: u64,
    /// Waiting times of those that were sent, nanoseconds.
    pub sojourns: DurationHistogram,
}

/// What a managed queue has done.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueueAccount {
    /// Dropped after they had been accepted.
    pub(crate) dropped_while_waiting: u64,
    /// Dropped though there was room, before or after they had been accepted.
    pub(crate) dropped_early: u64,
    /// Marked with CE.
    pub(crate) marked: u64,
    /// Waiting times of packets that were sent, but for those of flows with an account of their own.
    pub(crate) sojourns: DurationHistogram,
    /// By 5-tuple, where they are wanted.
    pub(crate) flows: Option<BTreeMap<u64, FlowAccount>>,
}

impl QueueAccount {
    /// Signals congestion with a mark if the packet carries ECT and `allowed`; false if it must be dropped instead.
    pub(crate) fn mark<P>(&mut self, packet: &mut Packet<P>, allowed: bool) -> bool {
        if !allowed || !packet.ecn.is_capable() {
            return false;
        }
        if packet.ecn != Ecn::Ce {
            self.marked += 1;
            self.of_flow(packet.flow, |flow| flow.marked += 1);
        }
        packet.ecn = Ecn::Ce;
        true
    }

    /// Counts a drop that its discipline has decided after the packet had been accepted.
    pub(crate) fn drop_waiting(&mut self, flow: FlowKey) {
        self.drop_for_room(flow);
        self.dropped_early += 1;
    }

    /// Counts a drop of an accepted packet in favour of another one.
    pub(crate) fn drop_for_room(&mut self, flow: FlowKey) {
        self.dropped_while_waiting += 1;
        self.of_flow(flow, |flow| flow.dropped += 1);
    }

    /// Counts a packet that was sent after it had waited that long, nanoseconds, once: histograms are larger than a cache of
    /// the processor.
    pub(crate) fn sent_after(&mut self, sojourn_ns: i64, flow: FlowKey) {
        match self.account_of(flow) {
            Some(flow) => flow.sojourns.record(sojourn_ns),
            None => self.sojourns.record(sojourn_ns),
        }
    }

    pub(crate) fn of_flow(&mut self, flow: FlowKey, note: impl FnOnce(&mut FlowAccount)) {
        if let Some(account) = self.account_of(flow) {
            note(account);
        }
    }

    fn account_of(&mut self, flow: FlowKey) -> Option<&mut FlowAccount> {
        let flows = self.flows.as_mut()?;
        let has_room = flows.len() < MOST_FLOWS || flows.contains_key(&flow.five_tuple);
        has_room.then(|| flows.entry(flow.five_tuple).or_default())
    }
}

/// Packets in the order of their arrival.
#[derive(Clone, Debug)]
pub(crate) struct Fifo<P> {
    waiting: VecDeque<Waiting<P>>,
    bytes: u64,
}

impl<P> Fifo<P> {
    pub(crate) fn new() -> Self {
        Self {
            waiting: VecDeque::new(),
            bytes: 0,
        }
    }

    pub(crate) fn push(&mut self, waiting: Waiting<P>) {
        self.bytes += u64::from(waiting.packet.length);
        self.waiting.push_back(waiting);
    }

    pub(crate) fn pop(&mut self) -> Option<Waiting<P>> {
        let waiting = self.waiting.pop_front()?;
        self.bytes -= u64::from(waiting.packet.length);
        Some(waiting)
    }

    pub(crate) fn head(&self) -> Option<&Waiting<P>> {
        self.waiting.front()
    }

    pub(crate) fn packets(&self) -> u64 {
        self.waiting.len() as u64
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether a packet of `length` bytes fits within the limit.
    pub(crate) fn admits(&self, limit: QueueLimit, length: u32) -> bool {
        limit.admits(self.packets(), self.bytes, length)
    }
}
