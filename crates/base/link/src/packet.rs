//! What goes over a link: a packet, its flow, its time, and its fate. It must not know how a link works.

/// Nanoseconds since the start of the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

/// The flow of a packet, as a router sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlowKey {
    /// Any number that differs with the 5-tuple.
    pub five_tuple: u64,
    /// Any number that differs with the pair of hosts.
    pub host_pair: u64,
}

/// A packet on the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet<P> {
    /// IP packet bytes.
    pub length: u32,
    /// Its flow.
    pub flow: FlowKey,
    /// The driver's data; the link does not read it.
    pub payload: P,
}

/// Result of an offered packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict<P> {
    /// Accepted.
    Accepted,
    /// Dropped. The payload is returned for reuse, or for an ICMP message.
    Dropped(DropCause, P),
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DropCause {
    /// Longer than the MTU, silently.
    TooBig,
    /// Longer than the MTU, with an ICMP message to the sender.
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

/// A packet that has passed the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departure<P> {
    /// When it left the link.
    pub at: Nanos,
    /// The packet.
    pub packet: Packet<P>,
    /// Its route.
    pub route: u16,
    /// One bit must be flipped: a random number by which the driver chooses the bit.
    pub corrupted: Option<u64>,
    /// Whether it is a copy.
    pub duplicate: bool,
}
