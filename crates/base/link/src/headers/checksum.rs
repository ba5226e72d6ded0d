//! The Internet checksum (RFC 1071), whole and completed.

/// The checksum of `data`: the complement of the one's complement sum of its 16-bit words, an odd last byte being
/// the high half of a word.
pub fn internet_checksum(data: &[u8]) -> u16 {
    !sum(data)
}

/// Completes a checksum that the kernel left partial (`VIRTIO_NET_HDR_F_NEEDS_CSUM`, virtio 1.2, section 5.1.6): the
/// field at `start + offset` holds the sum of the pseudo-header and is to cover everything from `start` on. False if
/// the field lies outside the packet, which is then left alone.
///
/// A checksum that comes out as 0 is written as 0xffff, since 0 in UDP says that there is none (RFC 768); the two are
/// equal in one's complement.
pub fn complete_checksum(packet: &mut [u8], start: usize, offset: usize) -> bool {
    let Some(covered) = packet.get_mut(start..) else {
        return false;
    };
    let Some(end) = offset.checked_add(2).filter(|end| *end <= covered.len()) else {
        return false;
    };
    let checksum = match internet_checksum(covered) {
        0 => 0xffff,
        other => other,
    };
    covered[offset..end].copy_from_slice(&checksum.to_be_bytes());
    true
}

/// The one's complement sum of 16-bit words.
pub(super) fn sum(data: &[u8]) -> u16 {
    let (words, rest) = data.as_chunks::<2>();
    let words = words.iter().map(|word| u64::from(u16::from_be_bytes(*word)));
    let last = rest.first().map_or(0, |byte| u64::from(*byte) << 8);
    fold(words.sum::<u64>() + last)
}

/// Adds the carries until none is left.
pub(super) fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
