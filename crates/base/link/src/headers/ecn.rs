//! The ECN field of an IP packet (RFC 3168, sections 5 and 22; RFC 8200, section 7), and the mark of a router.

use super::checksum::fold;
use super::{IPV4_HEADER, IPV6_HEADER};
use crate::packet::Ecn;

const IPV4_CHECKSUM: std::ops::Range<usize> = 10..12;

/// The ECN field; that of a transport without ECN if it is neither IPv4 nor IPv6, or its fixed header is incomplete.
pub fn ecn(packet: &[u8]) -> Ecn {
    match version(packet) {
        Some(4) => Ecn::of_traffic_class(packet[1]),
        Some(6) => Ecn::of_traffic_class(packet[1] >> 4),
        _ => Ecn::NotEct,
    }
}

/// Sets the ECN field to CE and updates the checksum of an IPv4 header (RFC 1624, equation 3); false if the packet is
/// neither IPv4 nor IPv6, or its fixed header is incomplete. No checksum of a transport covers the field.
pub fn mark_ce(packet: &mut [u8]) -> bool {
    match version(packet) {
        Some(4) => {
            let word = |packet: &[u8]| u64::from(u16::from_be_bytes([packet[0], packet[1]]));
            let before = word(packet);
            packet[1] |= 0b11;
            let sum = (!word(&packet[IPV4_CHECKSUM]) & 0xffff) + (!before & 0xffff) + word(packet);
            packet[IPV4_CHECKSUM].copy_from_slice(&(!fold(sum)).to_be_bytes());
            true
        }
        Some(6) => {
            packet[1] |= 0b11 << 4;
            true
        }
        _ => false,
    }
}

/// The version of a packet whose fixed header is complete.
fn version(packet: &[u8]) -> Option<u8> {
    let version = packet.first()? >> 4;
    let complete = match version {
        4 => packet.len() >= IPV4_HEADER,
        6 => packet.len() >= IPV6_HEADER,
        _ => false,
    };
    complete.then_some(version)
}
