//! What passes a household's line: segments of TCP, requests, and packets of calls. It must not know who sends them.

use weir_link::{Ecn, FlowKey, Packet};
use weir_tcp::{HEADER_BYTES, Segment};

/// IP packet bytes of a request: a GET with its header fields, CMCD among them.
const REQUEST_BYTES: u32 = HEADER_BYTES + 600;
/// IP packet bytes of a call's packet: 160 bytes of G.711, RTP, UDP and IPv4.
const VOICE_BYTES: u32 = 160 + 12 + 8 + 20;

/// A request for bytes on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Counted from 1.
    pub number: u64,
    pub bytes: u64,
    /// Bits per second of payload; none: as fast as the network carries.
    pub pace: Option<u64>,
}

/// Content of a packet. Connections have the same number at both ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Content {
    Segment { connection: usize, segment: Segment },
    Request { connection: usize, asked: Asked },
    Voice { sent_ns: u64 },
}

/// What tells the packets of a connection apart on the line; none: those of calls.
pub(crate) fn five_tuple(connection: Option<usize>) -> u64 {
    connection.map_or(0, |connection| 1 + connection as u64)
}

impl Content {
    /// Its packet.
    pub fn packet(self, ecn: Ecn) -> Packet<Self> {
        let (connection, length) = match &self {
            Self::Segment { connection, segment } => (Some(*connection), segment.packet_length()),
            Self::Request { connection, .. } => (Some(*connection), REQUEST_BYTES),
            Self::Voice { .. } => (None, VOICE_BYTES),
        };
        let five_tuple = five_tuple(connection);
        Packet {
            length,
            flow: FlowKey {
                five_tuple,
                host_pair: 1,
                source_port: five_tuple as u16,
            },
            ecn,
            payload: self,
        }
    }
}
