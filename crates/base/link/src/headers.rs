//! The parts of IP packets that a driver must understand: their flow, their ECN field, the answer to packets that are too
//! long, corruption, and checksums that the kernel has left partial. Pure functions on bytes, which come
//! from hosts and may be invalid. It must not know devices or links.

use std::ops::Range;

mod checksum;
mod corrupt;
mod ecn;
mod flow;
mod too_big;

pub use checksum::{complete_checksum, internet_checksum};
pub use corrupt::flip_bit;
pub use ecn::{ecn, mark_ce};
pub use flow::FlowHasher;
pub use too_big::{RouterAddresses, packet_too_big};

/// Maximum number of IPv6 extension headers; a packet with more counts as one without ports.
const MOST_EXTENSION_HEADERS: usize = 8;

const IPV4_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;

/// Protocol numbers (IANA).
mod protocol {
    pub(super) const HOP_BY_HOP: u8 = 0;
    pub(super) const ICMP: u8 = 1;
    pub(super) const TCP: u8 = 6;
    pub(super) const UDP: u8 = 17;
    pub(super) const DCCP: u8 = 33;
    pub(super) const ROUTING: u8 = 43;
    pub(super) const FRAGMENT: u8 = 44;
    pub(super) const AUTHENTICATION: u8 = 51;
    pub(super) const ICMPV6: u8 = 58;
    pub(super) const DESTINATION_OPTIONS: u8 = 60;
    pub(super) const SCTP: u8 = 132;
    pub(super) const MOBILITY: u8 = 135;
    pub(super) const UDP_LITE: u8 = 136;
    pub(super) const HIP: u8 = 139;
    pub(super) const SHIM6: u8 = 140;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    V4,
    V6,
}

/// Whether a packet is a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fragment {
    /// Not a fragment.
    No,
    /// The first fragment, with the transport header.
    First,
    /// A later fragment.
    Later,
}

/// Positions of the parts of an IP packet.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Parts {
    version: Version,
    fragment: Fragment,
    /// Protocol after the last IP header that was understood.
    protocol: u8,
    /// Payload from there to the end by the packet's length field, cut at the end of the bytes.
    payload: Range<usize>,
}

impl Parts {
    /// None if it is neither IPv4 nor IPv6, or its fixed header is incomplete.
    fn of(packet: &[u8]) -> Option<Parts> {
        match packet.first()? >> 4 {
            4 => Parts::of_ipv4(packet),
            6 => Parts::of_ipv6(packet),
            _ => None,
        }
    }

    /// RFC 791, section 3.1.
    fn of_ipv4(packet: &[u8]) -> Option<Parts> {
        let header: &[u8; IPV4_HEADER] = packet.first_chunk()?;
        let start = usize::from(header[0] & 0x0f) * 4;
        if start < IPV4_HEADER || start > packet.len() {
            return None;
        }
        let flags_and_offset = u16::from_be_bytes([header[6], header[7]]);
        let fragment = fragment(flags_and_offset & 0x1fff, flags_and_offset & 0x2000 != 0);
        let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
        Some(Parts {
            version: Version::V4,
            fragment,
            protocol: header[9],
            payload: start..end(packet, total).max(start),
        })
    }

    /// RFC 8200, sections 3 and 4.
    fn of_ipv6(packet: &[u8]) -> Option<Parts> {
        let header: &[u8; IPV6_HEADER] = packet.first_chunk()?;
        let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
        // A jumbogram, and a large packet that the kernel has not segmented yet, have a length of 0.
        let total = if length == 0 { 0 } else { IPV6_HEADER + length };
        let mut parts = Parts {
            version: Version::V6,
            fragment: Fragment::No,
            protocol: header[6],
            payload: IPV6_HEADER..end(packet, total).max(IPV6_HEADER),
        };
        for _ in 0..MOST_EXTENSION_HEADERS {
            if parts.fragment == Fragment::Later || !parts.pass_extension_header(packet) {
                break;
            }
        }
        Some(parts)
    }

    /// Skips one extension header; false if there is none, or it is incomplete.
    fn pass_extension_header(&mut self, packet: &[u8]) -> bool {
        let rest = &packet[self.payload.clone()];
        let (Some(&next), Some(&length)) = (rest.first(), rest.get(1)) else {
            return false;
        };
        let length = match self.protocol {
            protocol::HOP_BY_HOP
            | protocol::ROUTING
            | protocol::DESTINATION_OPTIONS
            | protocol::MOBILITY
            | protocol::HIP
            | protocol::SHIM6 => 8 * (usize::from(length) + 1),
            protocol::FRAGMENT => 8,
            // RFC 4302, section 2.2: in words of 32 bits, less 2.
            protocol::AUTHENTICATION => 4 * (usize::from(length) + 2),
            _ => return false,
        };
        if length > rest.len() {
            return false;
        }
        if self.protocol == protocol::FRAGMENT {
            let field = u16::from_be_bytes([rest[2], rest[3]]);
            self.fragment = fragment(field >> 3, field & 1 != 0);
        }
        self.protocol = next;
        self.payload.start += length;
        true
    }

    /// The bytes after the IP headers.
    fn payload<'p>(&self, packet: &'p [u8]) -> &'p [u8] {
        &packet[self.payload.clone()]
    }
}

fn fragment(offset: u16, more: bool) -> Fragment {
    match (offset, more) {
        (0, false) => Fragment::No,
        (0, true) => Fragment::First,
        _ => Fragment::Later,
    }
}

/// End of a packet of `total` bytes; 0 means up to the last byte.
fn end(packet: &[u8], total: usize) -> usize {
    if total == 0 {
        packet.len()
    } else {
        total.min(packet.len())
    }
}

#[cfg(test)]
mod tests;
