//! The flow of a packet, as a router that balances by 5-tuple sees it.

use std::hash::Hasher;

use siphasher::sip::SipHasher13;

use super::{Fragment, Parts, Version, protocol};
use crate::packet::FlowKey;

/// Hashes flows with a key, so that an attacker cannot choose addresses and ports that all take one route, and so
/// that links with other seeds spread the same flows differently.
#[derive(Clone, Copy, Debug)]
pub struct FlowHasher {
    hosts: SipHasher13,
    flow: SipHasher13,
}

impl FlowHasher {
    /// Equal seeds give equal keys.
    pub fn new(seed: u64) -> Self {
        FlowHasher {
            hosts: SipHasher13::new_with_keys(seed, 0x686f_7374_7061_6972),
            flow: SipHasher13::new_with_keys(seed, 0x6669_7665_7475_706c),
        }
    }

    /// The flow of a packet: addresses and protocol, and the ports of TCP, UDP, SCTP, DCCP and UDP-Lite. None if it
    /// is neither IPv4 nor IPv6, or its fixed header is incomplete.
    ///
    /// Fragments count as without ports, including the first, so that all fragments of a packet take one route, as
    /// at routers. So does a packet whose transport header is truncated or follows more than eight extension
    /// headers. The flow label of IPv6 is not part of the key. The reverse direction is another
    /// flow.
    pub fn flow_key(&self, packet: &[u8]) -> Option<FlowKey> {
        let parts = Parts::of(packet)?;
        let addresses = match parts.version {
            Version::V4 => packet.get(12..20)?,
            Version::V6 => packet.get(8..40)?,
        };
        // One write of a fixed layout: lengths need not be hashed, since addresses and ports have one each.
        let mut tuple = [0; 37];
        tuple[..addresses.len()].copy_from_slice(addresses);
        tuple[32] = parts.protocol;
        let mut source_port = 0;
        if let Some(ports) = ports(&parts, packet) {
            tuple[33..].copy_from_slice(ports);
            source_port = u16::from_be_bytes([ports[0], ports[1]]);
        }
        Some(FlowKey {
            five_tuple: hashed(self.flow, &tuple, parts.version),
            host_pair: hashed(self.hosts, addresses, parts.version),
            source_port,
        })
    }
}

fn hashed(mut hasher: SipHasher13, bytes: &[u8], version: Version) -> u64 {
    hasher.write(bytes);
    hasher.write_u8(version as u8);
    hasher.finish()
}

/// Source and destination port.
fn ports<'p>(parts: &Parts, packet: &'p [u8]) -> Option<&'p [u8; 4]> {
    const WITH_PORTS: [u8; 5] = [
        protocol::TCP,
        protocol::UDP,
        protocol::SCTP,
        protocol::DCCP,
        protocol::UDP_LITE,
    ];
    if parts.fragment != Fragment::No || !WITH_PORTS.contains(&parts.protocol) {
        return None;
    }
    parts.payload(packet).first_chunk()
}
