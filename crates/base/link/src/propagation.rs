//! Packets with a fixed arrival time, until then. It must not know how the time was computed.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

use crate::packet::{Nanos, Packet};

/// A packet with a fixed arrival time.
#[derive(Clone, Debug)]
pub(crate) struct Settled<P> {
    pub(crate) at: Nanos,
    pub(crate) number: u64,
    pub(crate) packet: Packet<P>,
    pub(crate) corrupted: Option<u64>,
    pub(crate) twice: bool,
}

impl<P> Settled<P> {
    /// The order of departures: by time, then by acceptance.
    pub(crate) fn order(&self) -> (Nanos, u64) {
        (self.at, self.number)
    }
}

impl<P> PartialEq for Settled<P> {
    fn eq(&self, other: &Self) -> bool {
        self.order() == other.order()
    }
}

impl<P> Eq for Settled<P> {}

impl<P> PartialOrd for Settled<P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<P> Ord for Settled<P> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order().cmp(&other.order())
    }
}

/// Packets by time of arrival.
#[derive(Clone, Debug)]
pub(crate) enum Propagation<P> {
    /// None overtakes another.
    InOrder(VecDeque<Settled<P>>),
    /// Any may overtake any.
    AnyOrder(BinaryHeap<Reverse<Settled<P>>>),
}

impl<P> Propagation<P> {
    pub(crate) fn new(reorder: bool) -> Self {
        if reorder {
            Self::AnyOrder(BinaryHeap::new())
        } else {
            Self::InOrder(VecDeque::new())
        }
    }

    /// Takes a packet; without reordering, it arrives no earlier than the previous one.
    pub(crate) fn push(&mut self, mut settled: Settled<P>) {
        match self {
            Self::InOrder(packets) => {
                settled.at = packets.back().map_or(settled.at, |last| settled.at.max(last.at));
                packets.push_back(settled);
            }
            Self::AnyOrder(packets) => packets.push(Reverse(settled)),
        }
    }

    pub(crate) fn first(&self) -> Option<&Settled<P>> {
        match self {
            Self::InOrder(packets) => packets.front(),
            Self::AnyOrder(packets) => packets.peek().map(|Reverse(settled)| settled),
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Settled<P>> {
        match self {
            Self::InOrder(packets) => packets.pop_front(),
            Self::AnyOrder(packets) => packets.pop().map(|Reverse(settled)| settled),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::InOrder(packets) => packets.len(),
            Self::AnyOrder(packets) => packets.len(),
        }
    }

    pub(crate) fn may_overtake(&self) -> bool {
        matches!(self, Self::AnyOrder(_))
    }
}
