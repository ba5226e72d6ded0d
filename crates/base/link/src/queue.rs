//! The queue before a transmitter: tail drop, which costs nothing, or a managed queue, which keeps accounts. It must
//! not know about rates or routes, nor how a discipline decides.

use std::collections::VecDeque;

use crate::discipline::{Discipline, FlowHash};
use crate::packet::{Nanos, Packet};
use crate::random::{Purpose, Stream, derive};
use crate::spec::{QueueLimit, QueueSpec};
use crate::waiting::{QueueAccount, QueueDiscipline, Waiting};

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
        self.account.sent_after(sojourn, next.packet.flow);
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
