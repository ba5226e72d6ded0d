//! A router's ICMP message about a packet that is too long for the next link.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::checksum::{fold, internet_checksum, sum};
use super::{Fragment, IPV4_HEADER, IPV6_HEADER, Parts, Version, protocol};

/// Source addresses of the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RouterAddresses {
    /// For IPv4.
    pub ipv4: Ipv4Addr,
    /// For IPv6.
    pub ipv6: Ipv6Addr,
}

/// Maximum length of a message, which quotes as much of the packet as fits (RFC 1812, section 4.3.2.3; RFC 4443,
/// section 3.2).
const LONGEST_IPV4: usize = 576;
const LONGEST_IPV6: usize = 1280;

const ICMP_HEADER: usize = 8;
const HOP_LIMIT: u8 = 64;
/// Internetwork control (RFC 1812, section 4.3.2.5).
const PRECEDENCE: u8 = 0xc0;
const DONT_FRAGMENT: u8 = 0x40;

/// The ICMP message to the sender of `packet` with the MTU of the next link, as a whole IP packet: for IPv4
/// "fragmentation needed" (RFC 792; type 3, code 4, with the MTU of RFC 1191), for IPv6 "packet too big" (RFC 4443,
/// section 3.2). The packet's length is not checked.
///
/// None where no message is allowed: IPv4 without the flag "don't fragment", which a router would cut into fragments and
/// this one drops and counts; ICMP errors and redirects, to avoid loops; later fragments; multicast and
/// broadcast; packets whose source is not one host (RFC 1122, section 3.2.2; RFC 1812, section 4.3.2.7; RFC 4443,
/// section 2.4). RFC 4443 would allow an answer to multicast; no driver of Weir sends any.
pub fn packet_too_big(packet: &[u8], mtu: u32, router: &RouterAddresses) -> Option<Vec<u8>> {
    let parts = Parts::of(packet)?;
    match parts.version {
        Version::V4 => ipv4(packet, &parts, mtu, router.ipv4),
        Version::V6 => ipv6(packet, &parts, mtu, router.ipv6),
    }
}

fn ipv4(packet: &[u8], parts: &Parts, mtu: u32, router: Ipv4Addr) -> Option<Vec<u8>> {
    let header: &[u8; IPV4_HEADER] = packet.first_chunk()?;
    let source = Ipv4Addr::new(header[12], header[13], header[14], header[15]);
    let destination = Ipv4Addr::new(header[16], header[17], header[18], header[19]);
    let fragmentable = header[6] & DONT_FRAGMENT == 0;
    let told = one_host(source) && one_host(destination) && !parts.is_icmp_error(packet);
    if fragmentable || parts.fragment == Fragment::Later || !told {
        return None;
    }
    let quoted = &packet[..parts.payload.end.min(LONGEST_IPV4 - IPV4_HEADER - ICMP_HEADER)];
    let total = IPV4_HEADER + ICMP_HEADER + quoted.len();
    let mut message = Vec::with_capacity(total);
    message.extend_from_slice(&[0x45, PRECEDENCE]);
    message.extend_from_slice(&u16::try_from(total).ok()?.to_be_bytes());
    message.extend_from_slice(&[0, 0, DONT_FRAGMENT, 0, HOP_LIMIT, protocol::ICMP, 0, 0]);
    message.extend_from_slice(&router.octets());
    message.extend_from_slice(&source.octets());
    let checksum = internet_checksum(&message);
    message[10..12].copy_from_slice(&checksum.to_be_bytes());

    let mtu = u16::try_from(mtu).unwrap_or(u16::MAX).to_be_bytes();
    message.extend_from_slice(&[3, 4, 0, 0, 0, 0, mtu[0], mtu[1]]);
    message.extend_from_slice(quoted);
    let checksum = internet_checksum(&message[IPV4_HEADER..]);
    message[IPV4_HEADER + 2..IPV4_HEADER + 4].copy_from_slice(&checksum.to_be_bytes());
    Some(message)
}

fn ipv6(packet: &[u8], parts: &Parts, mtu: u32, router: Ipv6Addr) -> Option<Vec<u8>> {
    let source = Ipv6Addr::from(<[u8; 16]>::try_from(packet.get(8..24)?).ok()?);
    let destination = Ipv6Addr::from(<[u8; 16]>::try_from(packet.get(24..40)?).ok()?);
    let one_host = !source.is_unspecified() && !source.is_multicast() && !source.is_loopback();
    if !one_host
        || destination.is_multicast()
        || destination.is_unspecified()
        || parts.fragment == Fragment::Later
        || parts.is_icmp_error(packet)
    {
        return None;
    }
    let quoted = &packet[..parts.payload.end.min(LONGEST_IPV6 - IPV6_HEADER - ICMP_HEADER)];
    let length = u16::try_from(ICMP_HEADER + quoted.len()).ok()?;
    let mut message = Vec::with_capacity(IPV6_HEADER + usize::from(length));
    message.extend_from_slice(&[0x60, 0, 0, 0]);
    message.extend_from_slice(&length.to_be_bytes());
    message.extend_from_slice(&[protocol::ICMPV6, HOP_LIMIT]);
    message.extend_from_slice(&router.octets());
    message.extend_from_slice(&source.octets());

    message.extend_from_slice(&[2, 0, 0, 0]);
    message.extend_from_slice(&mtu.to_be_bytes());
    message.extend_from_slice(quoted);
    // The pseudo-header of RFC 8200, section 8.1: both addresses, length and protocol.
    let parts = [
        sum(&message[8..IPV6_HEADER]),
        length,
        u16::from(protocol::ICMPV6),
        sum(&message[IPV6_HEADER..]),
    ];
    let checksum = !fold(parts.into_iter().map(u64::from).sum());
    message[IPV6_HEADER + 2..IPV6_HEADER + 4].copy_from_slice(&checksum.to_be_bytes());
    Some(message)
}

/// A unicast address, not unspecified, not loopback.
fn one_host(address: Ipv4Addr) -> bool {
    // 0.0.0.0/8 and 240.0.0.0/4 with the limited broadcast (RFC 1122, section 3.2.1.3).
    let reserved = address.octets()[0] == 0 || address.octets()[0] >= 240;
    !reserved && !address.is_multicast() && !address.is_loopback()
}

impl Parts {
    /// An ICMP error or redirect, or a part of an ICMP message that may be one.
    fn is_icmp_error(&self, packet: &[u8]) -> bool {
        let kind = self.payload(packet).first();
        match (self.version, self.protocol) {
            // Unreachable, source quench, redirect, time exceeded, parameter problem.
            (Version::V4, protocol::ICMP) => kind.is_none_or(|kind| matches!(kind, 3 | 4 | 5 | 11 | 12)),
            // RFC 4443, section 2.1: errors are below 128; 137 is a redirect.
            (Version::V6, protocol::ICMPV6) => kind.is_none_or(|kind| *kind < 128 || *kind == 137),
            _ => false,
        }
    }
}
