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
    /// Source port; 0 where there is none.
    pub source_port: u16,
}

/// The ECN field of an IP packet (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// 00: the transport does not support ECN.
    #[default]
    NotEct,
    /// 01: the transport supports L4S (RFC 9331, section 4.1).
    Ect1,
    /// 10: the transport supports ECN.
    Ect0,
    /// 11: a router has marked the packet.
    Ce,
}

impl Ecn {
    /// Of the last two bits of the byte that was the type of service, or of the traffic class.
    pub fn of_traffic_class(byte: u8) -> Self {
        match byte & 0b11 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// Whether a router may mark the packet instead of dropping it; so it may one that is marked already.
    pub fn is_capable(self) -> bool {
        self != Self::NotEct
    }

    /// Whether the packet belongs to the low-latency queue: ECT(1) or CE (RFC 9331, section 5.1).
    pub fn is_l4s(self) -> bool {
        matches!(self, Self::Ect1 | Self::Ce)
    }
}

/// A packet on the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet<P> {
    /// IP packet bytes.
    pub length: u32,
    /// Its flow.
    pub flow: FlowKey,
    /// Its ECN field; a queue may set it to [`Ecn::Ce`].
    pub ecn: Ecn,
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
    /// The queue was full, or its discipline dropped the packet.
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
