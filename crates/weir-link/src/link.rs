//! One direction of a link in virtual time. It has no clock and no I/O: packets and times come in, packets and the
//! next time that something happens come out. Equal seeds and inputs give equal outputs.

use crate::spec::DirectionSpec;

/// Nanoseconds since the link began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

/// Which flow a packet belongs to, as far as a router sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlowKey {
    /// Any number that differs with the 5-tuple.
    pub five_tuple: u64,
    /// Any number that differs with the pair of hosts.
    pub host_pair: u64,
}

/// A packet on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet<P> {
    /// IP packet bytes.
    pub length: u32,
    /// Its flow.
    pub flow: FlowKey,
    /// Whatever the driver carries; the link does not look at it.
    pub payload: P,
}

/// What became of a packet that was offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict<P> {
    /// On its way.
    Accepted,
    /// Gone. The payload comes back for reuse, or for an ICMP message.
    Dropped(DropCause, P),
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DropCause {
    /// Longer than the MTU, silently.
    TooBig,
    /// Longer than the MTU, and the sender is to be told.
    TooBigTold,
    /// Loss that grows with length.
    LongPacket,
    /// Over its flow's rate.
    FlowRate,
    /// Over the packet rate.
    PacketRate,
    /// Too many flows.
    ExtraFlow,
    /// The route was dark.
    Dark,
    /// A loss process of the route.
    Loss,
    /// The queue was full.
    Queue,
}

/// A packet that has come through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departure<P> {
    /// When it left the link.
    pub at: Nanos,
    /// The packet.
    pub packet: Packet<P>,
    /// Which route it took.
    pub route: u16,
    /// One bit is to be flipped: a random number by which the driver chooses it.
    pub corrupted: Option<u64>,
    /// It is the copy of another.
    pub duplicate: bool,
}

/// What a direction has done so far. Counts are packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Offered.
    pub offered: u64,
    /// Their bytes.
    pub offered_bytes: u64,
    /// Come through, copies included.
    pub delivered: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
    /// Dropped as too big, told or not.
    pub too_big: u64,
    /// Dropped as long packets.
    pub long_packet: u64,
    /// Dropped over their flow's rate.
    pub flow_rate: u64,
    /// Dropped over the packet rate.
    pub packet_rate: u64,
    /// Dropped for too many flows.
    pub extra_flow: u64,
    /// Dropped on a dark route.
    pub dark: u64,
    /// Dropped by a loss process.
    pub loss: u64,
    /// Dropped by a full queue.
    pub queue: u64,
    /// Copies made.
    pub duplicated: u64,
    /// Corrupted.
    pub corrupted: u64,
    /// Most bytes that waited before one transmitter.
    pub most_queued_bytes: u64,
}

/// One direction of a link.
pub struct Link<P> {
    payload: std::marker::PhantomData<P>,
}

impl<P: Clone> Link<P> {
    /// A link at time 0 with nothing on it. `spec` must have passed [`DirectionSpec::check`].
    pub fn new(_spec: &DirectionSpec, _seed: u64) -> Self {
        todo!()
    }

    /// Offers a packet at `now`, which must not lie before an earlier call's.
    pub fn enqueue(&mut self, _now: Nanos, _packet: Packet<P>) -> Verdict<P> {
        todo!()
    }

    /// When [`Link::poll`] will next have something, if nothing more is offered until then.
    pub fn next_departure(&self) -> Option<Nanos> {
        todo!()
    }

    /// The next packet that has come through by `now`, in order of time; to be called until there is none.
    pub fn poll(&mut self, _now: Nanos) -> Option<Departure<P>> {
        todo!()
    }

    /// What happened so far.
    pub fn counters(&self) -> Counters {
        todo!()
    }

    /// The route that a flow takes, where flows have one.
    pub fn route_of(&self, _flow: FlowKey) -> Option<u16> {
        todo!()
    }
}
