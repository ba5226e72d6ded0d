//! The virtio-net header before each packet of a TUN device: which checksum is partial,
//! and into which segments to cut the packet (virtio 1.2, section 5.1.6; `linux/virtio_net.h`). Numbers are in
//! the host's byte order, as in the kernel's TUN driver. It must not know the packet's content.

use thiserror::Error;

/// The checksum must be completed from [`Offload::checksum_start`] on.
const NEEDS_CHECKSUM: u8 = 1;
const GSO_NONE: u8 = 0;
const GSO_TCP4: u8 = 1;
const GSO_TCP6: u8 = 4;
const GSO_UDP: u8 = 5;
/// Only the first segment carries CWR.
const GSO_ECN: u8 = 0x80;

/// Segmentation of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Segmentation {
    /// Not segmented.
    #[default]
    None,
    /// TCP segments over IPv4.
    Tcp4,
    /// TCP segments over IPv6.
    Tcp6,
    /// UDP datagrams over either.
    Udp,
}

/// Work on a packet that is left to the next stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offload {
    /// The checksum field holds the sum over the pseudo-header only; the rest must be added.
    pub needs_checksum: bool,
    /// Its segmentation.
    pub segmentation: Segmentation,
    /// Length of IP and transport header together, for segmentation.
    pub header_length: u16,
    /// Bytes of payload in each segment but the last.
    pub segment_size: u16,
    /// Start of the checksummed bytes, from the start of the packet.
    pub checksum_start: u16,
    /// Offset of the checksum field, from there.
    pub checksum_offset: u16,
}

/// A header that this crate did not enable in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum OffloadError {
    /// Too few bytes for a header.
    #[error("a packet from the TUN device is shorter than its header")]
    Short,
    /// A kind of segmentation that was not enabled.
    #[error("a packet from the TUN device has an unknown kind of segmentation ({0})")]
    UnknownKind(u8),
}

impl Offload {
    /// Bytes of an encoded header.
    pub const LENGTH: usize = 10;

    /// Reads a header from the start of `bytes`.
    ///
    /// # Errors
    /// When there are too few bytes, or the kind of segmentation is none of [`Segmentation`].
    pub fn decode(bytes: &[u8]) -> Result<Self, OffloadError> {
        let header: &[u8; Self::LENGTH] = bytes.first_chunk().ok_or(OffloadError::Short)?;
        let word = |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]);
        let segmentation = match header[1] & !GSO_ECN {
            GSO_NONE => Segmentation::None,
            GSO_TCP4 => Segmentation::Tcp4,
            GSO_TCP6 => Segmentation::Tcp6,
            GSO_UDP => Segmentation::Udp,
            other => return Err(OffloadError::UnknownKind(other)),
        };
        Ok(Offload {
            needs_checksum: header[0] & NEEDS_CHECKSUM != 0,
            segmentation,
            header_length: word(2),
            segment_size: word(4),
            checksum_start: word(6),
            checksum_offset: word(8),
        })
    }

    /// Writes the header.
    pub fn encode(&self) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        bytes[0] = if self.needs_checksum { NEEDS_CHECKSUM } else { 0 };
        bytes[1] = match self.segmentation {
            Segmentation::None => GSO_NONE,
            Segmentation::Tcp4 => GSO_TCP4,
            Segmentation::Tcp6 => GSO_TCP6,
            Segmentation::Udp => GSO_UDP,
        };
        let words = [
            self.header_length,
            self.segment_size,
            self.checksum_start,
            self.checksum_offset,
        ];
        for (place, word) in bytes[2..].chunks_exact_mut(2).zip(words) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Laid out by hand after `struct virtio_net_hdr`.
    #[test]
    fn the_layout_is_that_of_the_kernel() {
        let mut bytes = vec![1, 5];
        for word in [28_u16, 1200, 20, 6] {
            bytes.extend_from_slice(&word.to_ne_bytes());
        }
        let header = Offload {
            needs_checksum: true,
            segmentation: Segmentation::Udp,
            header_length: 28,
            segment_size: 1200,
            checksum_start: 20,
            checksum_offset: 6,
        };
        assert_eq!(Offload::decode(&bytes), Ok(header));
        assert_eq!(header.encode().as_slice(), bytes);
        assert_eq!(Offload::decode(&bytes[..9]), Err(OffloadError::Short));
        bytes[1] = 3;
        assert_eq!(Offload::decode(&bytes), Err(OffloadError::UnknownKind(3)));
        assert_eq!(Offload::default().encode(), [0; 10]);
    }
}
