//! Packets with a wrong bit.

use super::Parts;

/// Flips one bit behind the IP headers, the one that `random` picks, and gives the index of its byte; none if there
/// is nothing behind them. The checksum of TCP, UDP, SCTP or ICMP no longer holds then, so that the receiving host
/// drops the packet; that of UDP over IPv4 may be absent, and the packet then arrives spoilt.
///
/// A partial checksum must be completed before ([`complete_checksum`](super::complete_checksum)), or the completion
/// would cover the wrong bit up.
pub fn flip_bit(packet: &mut [u8], random: u64) -> Option<usize> {
    let payload = Parts::of(packet)?.payload;
    let bit = random.checked_rem(8 * payload.len() as u64)?;
    // Less than the payload's length, which is a usize.
    let index = payload.start + (bit / 8) as usize;
    packet[index] ^= 1 << (bit % 8);
    Some(index)
}
