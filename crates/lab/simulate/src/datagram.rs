//! Packets on the emulated link: the fields of Weir's packets that a receiver reads, without bytes. It must
//! not know who sends it.

use weir_link::{Ecn, FlowKey, Packet};

/// IPv4 and UDP headers.
pub(crate) const OVERHEAD: u32 = 28;

/// One datagram. Times are the sending host's Unix nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Datagram {
    /// A packet of a stream.
    Flow {
        stream_sequence: u32,
        flow_sequence: u32,
        flow: u16,
        last_of_frame: bool,
        frame: u32,
        sent: u64,
    },
    /// A request of the RTT test or of the clock watch.
    Request { sequence: u32, sent: u64 },
    /// Its reply.
    Reply {
        sequence: u32,
        sent: u64,
        reflector_kernel: u64,
        reflector_received: u64,
        reflector_sent: u64,
    },
    /// A path MTU probe.
    Probe { probe: u32 },
    /// Its acknowledgement.
    ProbeAnswer { probe: u32 },
}

/// The ports of a 5-tuple between the two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ports {
    pub source: u16,
    pub destination: u16,
}

impl Ports {
    /// The ports of a packet.
    pub fn of(key: FlowKey) -> Self {
        Ports {
            source: (key.five_tuple >> 16) as u16,
            destination: key.five_tuple as u16,
        }
    }

    /// The ports of the reverse direction.
    pub fn swapped(self) -> Self {
        Ports {
            source: self.destination,
            destination: self.source,
        }
    }

    /// The flow key of the link.
    pub fn key(self) -> FlowKey {
        FlowKey {
            five_tuple: u64::from(self.source) << 16 | u64::from(self.destination),
            host_pair: 1,
            source_port: self.source,
        }
    }

    /// A packet with `payload` bytes of UDP payload.
    pub fn packet(self, payload: u32, datagram: Datagram) -> Packet<Datagram> {
        Packet {
            length: payload + OVERHEAD,
            flow: self.key(),
            ecn: Ecn::NotEct,
            payload: datagram,
        }
    }
}
