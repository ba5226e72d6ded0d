//! Stand-in until the real one is merged.
use crate::link::FlowKey;
pub fn flow_key(packet: &[u8]) -> FlowKey {
    let mut five: u64 = 0xcbf2_9ce4_8422_2325;
    let mut mix = |bytes: &[u8]| {
        for byte in bytes {
            five = (five ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        five
    };
    let (addresses, transport, protocol) = match packet.first().map(|b| b >> 4) {
        Some(4) if packet.len() >= 24 => (&packet[12..20], usize::from(packet[0] & 15) * 4, packet[9]),
        Some(6) if packet.len() >= 44 => (&packet[8..40], 40, packet[6]),
        _ => {
            return FlowKey {
                five_tuple: 0,
                host_pair: 0,
            };
        }
    };
    let pair = mix(addresses);
    mix(&[protocol]);
    if matches!(protocol, 6 | 17) {
        mix(packet.get(transport..transport + 4).unwrap_or(&[]));
    }
    let five_tuple = mix(&[]);
    FlowKey {
        five_tuple,
        host_pair: pair,
    }
}
pub fn too_big(_packet: &[u8], _mtu: u32) -> Option<Vec<u8>> {
    None
}
pub fn complete_checksum(packet: &mut [u8], start: usize, offset: usize) {
    if start + offset + 2 > packet.len() {
        return;
    }
    let mut sum: u32 = 0;
    for word in packet[start..].chunks(2) {
        sum += u32::from(u16::from_be_bytes([word[0], *word.get(1).unwrap_or(&0)]));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    let mut sum = !(sum as u16);
    if sum == 0 {
        sum = 0xffff;
    }
    packet[start + offset..start + offset + 2].copy_from_slice(&sum.to_be_bytes());
}
pub fn flip_bit(packet: &mut [u8], random: u64) {
    let bit = (random % (packet.len() as u64 * 8)) as usize;
    packet[bit / 8] ^= 1 << (bit % 8);
}
