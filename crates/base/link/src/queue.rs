//! The queue before a transmitter: tail drop, which costs nothing, or a managed queue, which keeps accounts. It must
//! not know about rates or routes, nor how a discipline decides.

use std::collections::{BTreeMap, VecDeque};

use weir_stats::DurationHistogram;

use crate::discipline::{Discipline, FlowHash};
use crate::packet::{Ecn, FlowKey, Nanos, Packet};
use crate::random::{Purpose, Stream, derive};
use crate::spec::{QueueLimit, QueueSpec};

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
    /// Waiting times of packets that were sent.
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

    fn of_flow(&mut self, flow: FlowKey, note: impl FnOnce(&mut FlowAccount)) {
        let Some(flows) = &mut self.flows else { return };
        if flows.len() < MOST_FLOWS || flows.contains_key(&flow.five_tuple) {
            note(flows.entry(flow.five_tuple).or_default());
        }
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

/// A queue with tail drop, apart from [`Fifo`]: it keeps no times, since this path is the fast one.
pub(crate) struct Plain<P> {
    waiting: VecDeque<(u64, Packet<P>)>,
    bytes: u64,
    limit: QueueLimit,
}

impl<P> Plain<P> {
    fn new(limit: QueueLimit) -> Self {
        Self {
            waiting: VecDeque::new(),
            bytes: 0,
            limit,
        }
    }

    fn enqueue(&mut self, number: u64, packet: Packet<P>) -> Result<(), Packet<P>> {
        let packets = self.waiting.len() as u64;
        if !self.limit.admits(packets, self.bytes, packet.length) {
            return Err(packet);
        }
        self.bytes += u64::from(packet.length);
        self.waiting.push_back((number, packet));
        Ok(())
    }

    fn dequeue(&mut self) -> Option<(u64, Packet<P>)> {
        let next = self.waiting.pop_front()?;
        self.bytes -= u64::from(next.1.length);
        Some(next)
    }
}

/// The queue of a route.
pub(crate) enum Queue<P> {
    Plain(Plain<P>),
    Managed(Box<Managed<P>>),
}

/// A discipline with its accounts.
pub(crate) struct Managed<P> {
    discipline: Discipline<P>,
    account: QueueAccount,
}

// Apart from the plain queue, whose path they would make slower by a tenth.
impl<P> Managed<P> {
    #[inline(never)]
    fn enqueue(&mut self, now: Nanos, number: u64, packet: Packet<P>) -> Result<(), Packet<P>> {
        let waiting = Waiting {
            number,
            since: now,
            packet,
        };
        let taken = self.discipline.enqueue(now, waiting, &mut self.account);
        taken.map_err(|refused| {
            let dropped = refused.packet;
            self.account.of_flow(dropped.flow, |flow| flow.dropped += 1);
            dropped
        })
    }

    #[inline(never)]
    fn dequeue(&mut self, now: Nanos) -> Option<(u64, Packet<P>)> {
        let next = self.discipline.dequeue(now, &mut self.account)?;
        let sojourn = i64::try_from(next.sojourn(now)).unwrap_or(i64::MAX);
        self.account.sojourns.record(sojourn);
        let flow = next.packet.flow;
        self.account.of_flow(flow, |flow| flow.sojourns.record(sojourn));
        Some((next.number, next.packet))
    }

    #[inline(never)]
    fn packets(&self) -> u64 {
        self.discipline.packets()
    }

    #[inline(never)]
    fn bytes(&self) -> u64 {
        self.discipline.bytes()
    }
}

impl<P> Queue<P> {
    /// Of the `index`-th route. With `by_host_pair`, the queue sees the hosts of a flow only.
    pub(crate) fn new(spec: &QueueSpec, seed: u64, index: u64, by_host_pair: bool) -> Self {
        let plain = |limit| Self::Plain(Plain::new(limit));
        match spec {
            QueueSpec::Unlimited => plain(QueueLimit::Unlimited),
            QueueSpec::Bytes(bytes) => plain(QueueLimit::Bytes(*bytes)),
            QueueSpec::Packets(packets) => plain(QueueLimit::Packets(*packets)),
            QueueSpec::Managed(spec) => {
                let stream = Stream::new(seed, Purpose::Queue, index);
                let flows = FlowHash {
                    seed: derive(seed, Purpose::FlowQueue, index),
                    by_host_pair,
                };
                Self::Managed(Box::new(Managed {
                    discipline: Discipline::new(spec, stream, flows),
                    account: QueueAccount::default(),
                }))
            }
        }
    }

    /// Whether a packet that finds the transmitter idle bypasses the queue. A discipline sees every packet, since
    /// its state depends on those that did not wait, too.
    pub(crate) fn is_bypassed(&self) -> bool {
        matches!(self, Self::Plain(_))
    }

    /// Takes the packet with this number in the order of acceptance, or returns it: dropped.
    #[inline]
    pub(crate) fn enqueue(&mut self, now: Nanos, number: u64, packet: Packet<P>) -> Result<(), Packet<P>> {
        match self {
            Self::Plain(plain) => plain.enqueue(number, packet),
            Self::Managed(managed) => managed.enqueue(now, number, packet),
        }
    }

    /// The packet to send next with its number, at the start of its transmission.
    #[inline]
    pub(crate) fn dequeue(&mut self, now: Nanos) -> Option<(u64, Packet<P>)> {
        match self {
            Self::Plain(plain) => plain.dequeue(),
            Self::Managed(managed) => managed.dequeue(now),
        }
    }

    /// Number of queued packets.
    pub(crate) fn packets(&self) -> u64 {
        match self {
            Self::Plain(plain) => plain.waiting.len() as u64,
            Self::Managed(managed) => managed.packets(),
        }
    }

    /// Their IP packet bytes.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Plain(plain) => plain.bytes,
            Self::Managed(managed) => managed.bytes(),
        }
    }

    /// Keeps an account of each flow from now on, if it is a managed queue.
    pub(crate) fn account_flows(&mut self) {
        if let Self::Managed(managed) = self {
            managed.account.flows.get_or_insert_default();
        }
    }

    /// What a managed queue has done.
    pub(crate) fn account(&self) -> Option<&QueueAccount> {
        match self {
            Self::Plain(_) => None,
            Self::Managed(managed) => Some(&managed.account),
        }
    }
}
