//! What went over the interfaces of a task, as the kernel counts it, and the TCP payload in it. It must not know how interfaces
//! are made.

use serde::{Deserialize, Serialize};
use weir_net::interface::InterfaceCounters;

/// Bytes and packets in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Way {
    /// Bytes, link headers included.
    pub bytes: u64,
    /// Packets; a segment that the kernel did not cut counts as one.
    pub packets: u64,
    /// Bytes of TCP payload: bytes without the headers of each packet.
    pub payload_bytes: u64,
}

impl Way {
    /// Of bytes and packets with this many bytes of headers each.
    fn of(bytes: u64, packets: u64, headers: u64) -> Self {
        Way {
            bytes,
            packets,
            payload_bytes: bytes.saturating_sub(packets * headers),
        }
    }

    fn with(self, other: Way, combine: fn(u64, u64) -> u64) -> Way {
        Way {
            bytes: combine(self.bytes, other.bytes),
            packets: combine(self.packets, other.packets),
            payload_bytes: combine(self.payload_bytes, other.payload_bytes),
        }
    }

    /// Sum.
    pub(crate) fn plus(self, other: Way) -> Way {
        self.with(other, u64::saturating_add)
    }

    /// Difference to an earlier reading.
    pub(crate) fn since(self, earlier: Way) -> Way {
        self.with(earlier, u64::saturating_sub)
    }
}

/// Both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    pub(crate) received: Way,
    pub(crate) sent: Way,
}

/// Counters of an interface on whose packets there are this many bytes of headers.
pub(crate) fn of_interface(counters: InterfaceCounters, headers: u64) -> Traffic {
    Traffic {
        received: Way::of(counters.rx_bytes, counters.rx_packets, headers),
        sent: Way::of(counters.tx_bytes, counters.tx_packets, headers),
    }
}

/// What a task took from its servers and gave to its clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// From its servers (IN).
    pub taken: Way,
    /// To its clients (OUT).
    pub given: Way,
}

impl Flow {
    pub(crate) fn since(self, earlier: Flow) -> Flow {
        Flow {
            taken: self.taken.since(earlier.taken),
            given: self.given.since(earlier.given),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payload_is_what_is_left_without_headers() {
        // Two segments of 1,448 bytes of payload, and an acknowledgement, on Ethernet with TCP timestamps.
        let counters = InterfaceCounters {
            tx_bytes: 2 * 1514 + 66,
            tx_packets: 3,
            ..InterfaceCounters::default()
        };
        assert_eq!(of_interface(counters, 66).sent.payload_bytes, 2 * 1448);
    }
}
